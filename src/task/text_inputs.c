/* text_inputs.c — one text after the other through the tokenizer. */
#include "task/text_inputs.h"

#include "task/encode.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

hec_status text_inputs_check(const task_model *m, const text_inputs *t)
{
	if (t->n < 0 || (t->n > 0 && !t->texts))
		return fail(HEC_ERR_ARGUMENT, "%s: %lld texts, texts %s", m->task, (long long)t->n,
		            t->texts ? "given" : "NULL");
	return HEC_OK;
}

static hec_status encode_one(const task_model *m, const text_inputs *t, int64_t i, hec_encoding *e,
                             batch_input *out)
{
	task_text text = {.text = t->texts[i],
	                  .pair = t->pairs ? t->pairs[i] : NULL,
	                  .longest = t->longest,
	                  .truncate = t->truncate,
	                  .lossy = t->lossy};
	if (!text.text || (t->pairs && !text.pair))
		return fail(HEC_ERR_ARGUMENT, "%s: text %lld is NULL", m->task, (long long)i);
	text.bytes = t->bytes ? t->bytes[i] : strlen(text.text);
	if (text.pair)
		text.pair_bytes = t->pair_bytes ? t->pair_bytes[i] : strlen(text.pair);
	if (text.pair_bytes == 0) /* an empty one is none, as with Transformers */
		text.pair = NULL;
	HEC_TRY(task_encode(m, &text, e));
	if (e->n == 0)
		return fail(HEC_ERR_SHAPE, "the text has no tokens");
	HEC_TRY(batch_input_copy(e, out));
	return t->encoded ? t->encoded(t->user, i, e) : HEC_OK;
}

hec_status text_inputs_encode(const task_model *m, const text_inputs *t, batch_input **out)
{
	batch_input *inputs = mem_zeros((size_t)(t->n > 0 ? t->n : 1), sizeof *inputs);
	if (!inputs)
		return fail(HEC_ERR_MEMORY, "%s: no memory for %lld texts", m->task,
		            (long long)t->n);
	hec_encoding e = HEC_ENCODING_INIT;
	hec_status status = HEC_OK;
	for (int64_t i = 0; status == HEC_OK && i < t->n; i++) {
		status = encode_one(m, t, i, &e, &inputs[i]);
		if (status != HEC_OK && status != HEC_ERR_MEMORY)
			fail_item(status, i);
	}
	hec_encoding_free(&e);
	if (status != HEC_OK)
		batch_inputs_free(inputs, t->n);
	else
		*out = inputs;
	return status;
}
