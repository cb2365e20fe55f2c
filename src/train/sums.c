/* sums.c — see sums.h. A file is read in pieces: it may be larger than memory. */
#include "train/sums.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/quote.h"
#include "format/json.h"
#include "train/folder.h"

#define PIECE ((size_t)1 << 20)
#define SUM_TEXT 9

uint32_t sum_of_bytes(const void *data, uint64_t size)
{
	return (uint32_t)crc32_z(0, data, (size_t)size);
}

/* The file of this name in a folder, for file_in_close. */
static hec_status open_in(const char *folder, const char *name, file_in **in)
{
	char *path;
	HEC_TRY(path_make(&path, "%s/%s", folder, name));
	hec_status status = file_in_open(path, in);
	mem_free(path);
	return status;
}

static hec_status sum_open_file(const file_in *in, char text[SUM_TEXT])
{
	char *piece = mem_alloc(PIECE);
	if (!piece)
		return fail(HEC_ERR_MEMORY, "%s: no memory to sum it up", file_in_path(in));
	hec_status status = HEC_OK;
	const uint64_t size = file_in_size(in);
	uint32_t sum = 0;
	for (uint64_t at = 0; at < size && status == HEC_OK; at += PIECE) {
		size_t n = size - at < PIECE ? (size_t)(size - at) : PIECE;
		status = file_in_read(in, at, piece, n);
		if (status == HEC_OK)
			sum = (uint32_t)crc32_z(sum, (const unsigned char *)piece, n);
	}
	mem_free(piece);
	snprintf(text, SUM_TEXT, "%08" PRIx32, sum);
	return status;
}

/* ---- making ---- */

static hec_status put_file(json_t *to, const char *name, const file_in *in)
{
	char sum[SUM_TEXT];
	HEC_TRY(sum_open_file(in, sum));
	json_t *one = json_object();
	HEC_TRY(json_put(to, name, one));
	HEC_TRY(json_put(one, "size", json_integer((json_int_t)file_in_size(in))));
	return json_put(one, "sum", json_string(sum));
}

static hec_status make_one(const char *folder, const char *name, json_t *to)
{
	file_in *in;
	HEC_TRY(open_in(folder, name, &in));
	hec_status status = put_file(to, name, in);
	file_in_close(in);
	return status;
}

hec_status sums_make(const char *folder, json_t **out)
{
	char **names;
	size_t count;
	HEC_TRY(folder_names(folder, "", &names, &count));
	json_t *sums = json_object();
	hec_status status =
		sums ? HEC_OK : fail(HEC_ERR_MEMORY, "%s: no memory for its sums", folder);
	for (size_t i = 0; i < count && status == HEC_OK; i++)
		if (names[i][0] != '.')
			status = make_one(folder, names[i], sums);
	names_free(names, count);
	if (status == HEC_OK)
		*out = sums;
	else
		json_decref(sums);
	return status;
}

/* ---- checking ---- */

static hec_status check_open_file(const file_in *in, int64_t size, const char *sum)
{
	char have[SUM_TEXT], quoted[QUOTE_TEXT];
	if (file_in_size(in) != (uint64_t)size)
		return fail(HEC_ERR_FORMAT, "%s: has %" PRIu64 " bytes, %" PRId64 " were written",
		            file_in_path(in), file_in_size(in), size);
	HEC_TRY(sum_open_file(in, have));
	return strcmp(have, sum) == 0
	               ? HEC_OK
	               : fail(HEC_ERR_FORMAT,
	                      "%s: its sum is %s, what was written has %s: it is damaged, or of "
	                      "another save",
	                      file_in_path(in), have, quote(sum, quoted));
}

static hec_status check_one(const char *folder, const char *name, const json_scope *said)
{
	char quoted[QUOTE_TEXT];
	const char *sum;
	int64_t size;
	file_in *in;
	HEC_TRY(json_need_int(said, "size", 0, INT64_MAX, &size));
	HEC_TRY(json_need_string(said, "sum", &sum));
	if (!*name || strchr(name, '/') || name[0] == '.')
		return fail(HEC_ERR_FORMAT, "%s: '%s' is no name of a file of it", folder,
		            quote(name, quoted));
	HEC_TRY(open_in(folder, name, &in));
	hec_status status = check_open_file(in, size, sum);
	file_in_close(in);
	return status;
}

hec_status sums_check(const char *folder, const json_t *sums, const char *but)
{
	json_scope all, one;
	HEC_TRY(json_scope_root(folder, sums, &all));
	for (void *i = json_object_iter((json_t *)sums); i;
	     i = json_object_iter_next((json_t *)sums, i)) {
		const char *name = json_object_iter_key(i);
		HEC_TRY(json_need_object(&all, name, &one));
		if (!but || strcmp(name, but) != 0)
			HEC_TRY(check_one(folder, name, &one));
	}
	return HEC_OK;
}
