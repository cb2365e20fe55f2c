/* dump.c — batches as JSON. */
#include "cli/train/dump.h"

#include <jansson.h>

/* NULL once something did not fit into memory: a list that is cut short would look like a whole one. */
static void append(json_t **list, json_t *value)
{
	if (!*list) {
		json_decref(value);
	} else if (json_array_append_new(*list, value) != 0) {
		json_decref(*list);
		*list = NULL;
	}
}

static json_t *rows_json(const hec_tensor *t)
{
	json_t *rows = json_array();
	int64_t width = t->rank == 2 ? t->shape[1] : 1;
	for (int64_t i = 0; i < t->shape[0]; i++) {
		json_t *row = json_array();
		for (int64_t k = 0; k < width; k++)
			append(&row, json_integer(((const int32_t *)t->data)[i * width + k]));
		append(&rows, row);
	}
	return rows;
}

static json_t *lengths_json(const int32_t *lengths, int64_t n)
{
	json_t *list = json_array();
	for (int64_t i = 0; i < n; i++)
		append(&list, json_integer(lengths[i]));
	return list;
}

/* [rows, mels, frames], as lists in lists. */
static json_t *features_json(const hec_tensor *t, int axis, const float **at)
{
	json_t *list = json_array();
	for (int64_t i = 0; i < t->shape[axis]; i++)
		append(&list, axis + 1 < t->rank ? features_json(t, axis + 1, at)
		                                 : json_real((double)*(*at)++));
	return list;
}

bool train_dump(FILE *out, int64_t step, const hec_batch *batch)
{
	const hec_model_input *in = batch->input;
	const float *features = in->features.data;
	json_t *line = json_object();
	bool good = json_object_set_new(line, "step", json_integer(step)) == 0;
	if (in->ids.rank)
		good &= json_object_set_new(line, "ids", rows_json(&in->ids)) == 0;
	if (in->features.rank)
		good &= json_object_set_new(line, "features",
		                            features_json(&in->features, 0, &features)) == 0;
	if (in->types.rank)
		good &= json_object_set_new(line, "types", rows_json(&in->types)) == 0;
	if (in->ids.rank && in->length)
		good &= json_object_set_new(line, "lengths",
		                            lengths_json(in->length, in->ids.shape[0])) == 0;
	if (in->decoder_ids.rank && in->decoder_length)
		good &= json_object_set_new(
				line, "decoder_lengths",
				lengths_json(in->decoder_length, in->decoder_ids.shape[0])) == 0;
	if (in->decoder_ids.rank)
		good &= json_object_set_new(line, "decoder_ids", rows_json(&in->decoder_ids)) == 0;
	good &= json_object_set_new(line, "targets", rows_json(&batch->targets)) == 0;
	good = good && json_dumpf(line, out, JSON_COMPACT) == 0 && fputc('\n', out) != EOF;
	json_decref(line);
	return good;
}
