/* fuzz_sentence.c — any bytes as what sentence-transformers writes beside a model: either a reason, or a
 * folder inside, a pooling that there is and a length. */
#include "task/sentence_files.h"

#include "parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"modules.json",
	                                    "1_Pooling/",
	                                    "1_Pooling/config.json",
	                                    "sentence_bert_config.json",
	                                    "config_sentence_transformers.json",
	                                    NULL};
	sentence_files s;
	parts_make(names);
	parts_fill(data, size);
	if (sentence_files_read(parts_folder, &s) != HEC_OK) {
		expect_reason();
		if (s.model)
			stop("refused, and a folder is held");
		return 0;
	}
	const size_t n = strlen(parts_folder);
	if (strncmp(s.model, parts_folder, n) != 0 || strcmp(s.model + n, "/..") == 0 ||
	    (s.model[n] && strchr(s.model + n + 1, '/')))
		stop("the model lies elsewhere");
	const int all = HEC_POOL_FIRST | HEC_POOL_MAX | HEC_POOL_MEAN | HEC_POOL_MEAN_SQRT |
	                HEC_POOL_WEIGHTED | HEC_POOL_LAST;
	bool good = s.poolings > 0 && s.poolings <= SENTENCE_POOLINGS && s.longest >= 0;
	for (size_t i = 0; good && i < s.poolings; i++)
		good = ((int)s.pooling[i] & all) != 0 && ((int)s.pooling[i] & ~all) == 0;
	if (!good)
		stop("a pooling or a length that there is not");
	sentence_files_free(&s);
	return 0;
}
