/* encode.c — the one place that says that a text is too long. */
#include "task/encode.h"

#include "base/size.h"
#include "base/status.h"

hec_status task_check_length(int64_t n, int64_t longest)
{
	if (n > longest)
		return fail(HEC_ERR_SHAPE, "the text has %lld tokens; the model takes %lld",
		            (long long)n, (long long)longest);
	return HEC_OK;
}

hec_status task_encode(const task_model *m, const task_text *text, hec_encoding *out)
{
	const int64_t most = text->longest > 0 ? text->longest : m->longest;
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	o.lossy = text->lossy;
	o.pair = text->pair;
	o.pair_bytes = text->pair_bytes;
	if (text->truncate)
		o.max_length = min_i64(most, m->cut);
	HEC_TRY(hec_tokenizer_encode(m->tokenizer, text->text, text->bytes, &o, out));
	return task_check_length((int64_t)out->n, most);
}

bool task_has_words(const hec_encoding *e)
{
	for (size_t i = 0; i < e->n; i++) {
		if (e->sequence[i] >= 0)
			return true;
	}
	return false;
}
