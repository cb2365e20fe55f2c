/* safetensors.c — reading one file.
 *
 * The header is walked member by member (json_members), so that a header of 100 MB never becomes a
 * tree in memory. Three passes then check the rules that span tensors: sorted by place, each begins
 * where the one before ended, from 0 to the end of the file; sorted by name, no two are equal. */
#include "format/safetensors.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/quote.h"
#include "base/size.h"
#include "format/json.h"
#include "format/safetensors_file.h"

#define HEADER_MOST 100000000u
#define ENTRY_MOST 4096 /* bytes of text of one tensor's description */

/* ---- types ---- */

static const struct {
	const char *name;
	int bits;
	int known; /* hec_dtype, or −1 */
} dtypes[] = {
	[ST_BOOL] = {"BOOL", 8, -1},
	[ST_F4] = {"F4", 4, -1},
	[ST_F6_E2M3] = {"F6_E2M3", 6, -1},
	[ST_F6_E3M2] = {"F6_E3M2", 6, -1},
	[ST_U8] = {"U8", 8, -1},
	[ST_I8] = {"I8", 8, HEC_I8},
	[ST_F8_E5M2] = {"F8_E5M2", 8, -1},
	[ST_F8_E4M3] = {"F8_E4M3", 8, -1},
	[ST_F8_E8M0] = {"F8_E8M0", 8, -1},
	[ST_F8_E4M3FNUZ] = {"F8_E4M3FNUZ", 8, -1},
	[ST_F8_E5M2FNUZ] = {"F8_E5M2FNUZ", 8, -1},
	[ST_I16] = {"I16", 16, -1},
	[ST_U16] = {"U16", 16, -1},
	[ST_F16] = {"F16", 16, HEC_F16},
	[ST_BF16] = {"BF16", 16, HEC_BF16},
	[ST_I32] = {"I32", 32, HEC_I32},
	[ST_U32] = {"U32", 32, -1},
	[ST_F32] = {"F32", 32, HEC_F32},
	[ST_C64] = {"C64", 64, -1},
	[ST_F64] = {"F64", 64, HEC_F64},
	[ST_I64] = {"I64", 64, -1},
	[ST_U64] = {"U64", 64, -1},
};
#define DTYPES (sizeof dtypes / sizeof *dtypes)

const char *safetensors_dtype_name(safetensors_dtype dtype)
{
	return dtypes[dtype].name;
}

int safetensors_dtype_bits(safetensors_dtype dtype)
{
	return dtypes[dtype].bits;
}

bool safetensors_dtype_known(safetensors_dtype dtype, hec_dtype *out)
{
	if (dtypes[dtype].known < 0)
		return false;
	*out = (hec_dtype)dtypes[dtype].known;
	return true;
}

safetensors_dtype safetensors_dtype_of(hec_dtype dtype)
{
	size_t i = 0;
	while (i + 1 < DTYPES && dtypes[i].known != (int)dtype)
		i++;
	return (safetensors_dtype)i;
}

bool safetensors_dtype_find(const char *name, safetensors_dtype *out)
{
	for (size_t i = 0; i < DTYPES; i++) {
		if (strcmp(dtypes[i].name, name) == 0) {
			*out = (safetensors_dtype)i;
			return true;
		}
	}
	return false;
}

const char *safetensors_shape_text(const safetensors_entry *e, char text[SAFETENSORS_SHAPE_TEXT])
{
	size_t n = 0;
	text[n++] = '[';
	for (int i = 0; i < e->rank; i++)
		n += (size_t)snprintf(text + n, SAFETENSORS_SHAPE_TEXT - n, "%s%" PRId64,
		                      i > 0 ? ", " : "", e->shape[i]);
	snprintf(text + n, SAFETENSORS_SHAPE_TEXT - n, "]");
	return text;
}

bool safetensors_size(const safetensors_entry *e, uint64_t *count, uint64_t *bytes)
{
	size_t n = 1, bits;
	for (int i = 0; i < e->rank; i++)
		if (e->shape[i] < 0 || !size_mul(n, (size_t)e->shape[i], &n))
			return false;
	if (!size_mul(n, (size_t)dtypes[e->dtype].bits, &bits) || bits % 8 != 0)
		return false;
	*count = n;
	*bytes = bits / 8;
	return true;
}

/* ---- one description ---- */

static hec_status fail_tensor(const json_members *m, const char *what)
{
	char file[QUOTE_TEXT], name[QUOTE_TEXT];
	return fail(HEC_ERR_FORMAT, "%s: tensor '%s': %s", quote(m->file, file),
	            quote(m->key, name), what);
}

static hec_status read_shape(const json_members *m, const json_t *list, safetensors_entry *e)
{
	char what[96];
	if (!json_is_array(list))
		return fail_tensor(m, "'shape' is no list");
	if (json_array_size(list) > SAFETENSORS_RANK) {
		snprintf(what, sizeof what, "has %zu axes, at most %d are read",
		         json_array_size(list), SAFETENSORS_RANK);
		return fail_tensor(m, what);
	}
	e->rank = (int)json_array_size(list);
	for (int i = 0; i < e->rank; i++) {
		const json_t *value = json_array_get(list, (size_t)i);
		if (!json_is_integer(value) || json_integer_value(value) < 0) {
			snprintf(what, sizeof what, "shape[%d] is no whole number ≥ 0", i);
			return fail_tensor(m, what);
		}
		e->shape[i] = json_integer_value(value);
	}
	return HEC_OK;
}

static hec_status read_offsets(const json_members *m, const json_t *list, safetensors_entry *e)
{
	const json_t *begin = json_array_get(list, 0), *end = json_array_get(list, 1);
	if (json_array_size(list) != 2 || !json_is_integer(begin) || !json_is_integer(end))
		return fail_tensor(m, "'data_offsets' is no list of two whole numbers");
	int64_t from = json_integer_value(begin), to = json_integer_value(end);
	char what[2 * SAFETENSORS_SHAPE_TEXT], shape[SAFETENSORS_SHAPE_TEXT];
	if (from < 0 || to < from) {
		snprintf(what, sizeof what,
		         "'data_offsets' [%" PRId64 ", %" PRId64 "] are no range", from, to);
		return fail_tensor(m, what);
	}
	e->begin = (uint64_t)from;
	if (!safetensors_size(e, &e->count, &e->bytes)) {
		snprintf(what, sizeof what, "shape %s of %s is no number of bytes",
		         safetensors_shape_text(e, shape), dtypes[e->dtype].name);
		return fail_tensor(m, what);
	}
	if (e->bytes != (uint64_t)(to - from)) {
		snprintf(what, sizeof what,
		         "shape %s of %s takes %" PRIu64 " bytes, 'data_offsets' give it %" PRId64,
		         safetensors_shape_text(e, shape), dtypes[e->dtype].name, e->bytes,
		         to - from);
		return fail_tensor(m, what);
	}
	return HEC_OK;
}

/* Where one number is beyond int64, all of the description are read as reals (json.c): that one is to blame,
 * not the first. */
static hec_status refuse_huge(const json_members *m, const char *key)
{
	size_t i;
	json_t *value;
	json_array_foreach(json_object_get(m->value, key), i, value)
	{
		if (!json_is_real(value) || fabs(json_real_value(value)) < 0x1p63)
			continue;
		char what[96];
		snprintf(what, sizeof what, "'%s'[%zu] is %g, more than a file can hold", key, i,
		         json_real_value(value));
		return fail_tensor(m, what);
	}
	return HEC_OK;
}

static hec_status read_entry(const json_members *m, safetensors_entry *e)
{
	const json_t *dtype = json_object_get(m->value, "dtype");
	if (!json_is_object(m->value) || !json_is_string(dtype))
		return fail_tensor(m, "is not described by an object with 'dtype', 'shape' and "
		                      "'data_offsets'");
	if (!safetensors_dtype_find(json_string_value(dtype), &e->dtype)) {
		char name[QUOTE_TEXT], what[QUOTE_TEXT + 32];
		snprintf(what, sizeof what, "the type '%s' is not known",
		         quote(json_string_value(dtype), name));
		return fail_tensor(m, what);
	}
	HEC_TRY(refuse_huge(m, "shape"));
	HEC_TRY(refuse_huge(m, "data_offsets"));
	HEC_TRY(read_shape(m, json_object_get(m->value, "shape"), e));
	return read_offsets(m, json_object_get(m->value, "data_offsets"), e);
}

/* ---- the table ---- */

static hec_status no_memory(const char *path)
{
	char name[QUOTE_TEXT];
	return fail(HEC_ERR_MEMORY, "%s: no memory for its list of tensors", quote(path, name));
}

hec_status safetensors_add(safetensors *s, const safetensors_entry *e)
{
	if (s->count == s->room) {
		size_t room = s->room ? s->room * 2 : 64, bytes;
		safetensors_entry *bigger = size_mul(room, sizeof *bigger, &bytes)
		                                    ? mem_resize(s->entries, bytes)
		                                    : NULL;
		if (!bigger)
			return no_memory("safetensors");
		s->entries = bigger;
		s->room = room;
	}
	s->entries[s->count++] = *e;
	return HEC_OK;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const safetensors_entry *)a)->name, ((const safetensors_entry *)b)->name);
}

static int by_place(const void *a, const void *b)
{
	const safetensors_entry *x = a, *y = b;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

void safetensors_sort(safetensors *s)
{
	if (s->count > 0)
		qsort(s->entries, s->count, sizeof *s->entries, by_name);
}

static hec_status fail_duplicate(const char *path, const char *what, const char *key)
{
	char file[QUOTE_TEXT], name[QUOTE_TEXT];
	return fail(HEC_ERR_FORMAT, "%s: %s '%s' is there twice", quote(path, file), what,
	            quote(key, name));
}

/* Without holes or overlaps, from 0 to size; then places become those in the file. */
static hec_status check_places(safetensors *s, uint64_t data, uint64_t size)
{
	const char *path = file_in_path(s->files[0]);
	char file[QUOTE_TEXT], name[QUOTE_TEXT];
	uint64_t end = 0;
	if (s->count > 0)
		qsort(s->entries, s->count, sizeof *s->entries, by_place);
	for (size_t i = 0; i < s->count; i++) {
		safetensors_entry *e = &s->entries[i];
		if (e->begin != end)
			return fail(HEC_ERR_FORMAT,
			            "%s: tensor '%s' begins at byte %" PRIu64
			            " of the data, %s %" PRIu64,
			            quote(path, file), quote(e->name, name), e->begin,
			            e->begin < end ? "but the one before it goes on to"
			                           : "which leaves a hole from",
			            end);
		end += e->bytes; /* begin + bytes was an int64 */
		e->begin += data;
	}
	if (end != size - data)
		return fail(HEC_ERR_FORMAT,
		            "%s: its tensors take %" PRIu64
		            " bytes, after the header there are %" PRIu64,
		            quote(path, file), end, size - data);
	safetensors_sort(s);
	for (size_t i = 1; i < s->count; i++)
		if (strcmp(s->entries[i - 1].name, s->entries[i].name) == 0)
			return fail_duplicate(path, "tensor", s->entries[i].name);
	return HEC_OK;
}

/* ---- metadata: pairs of texts ---- */

static int by_key(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static hec_status add_metadata(safetensors *s, size_t *room, json_members *m)
{
	char file[QUOTE_TEXT], name[QUOTE_TEXT];
	if (!json_is_string(m->value))
		return fail(HEC_ERR_FORMAT, "%s: __metadata__: '%s' is no text",
		            quote(m->file, file), quote(m->key, name));
	if (s->metadata_count == *room) {
		size_t next = *room ? *room * 2 : 8, bytes;
		char **bigger = size_mul(next, 2 * sizeof *bigger, &bytes)
		                        ? mem_resize(s->metadata, bytes)
		                        : NULL;
		if (!bigger)
			return no_memory(m->file);
		s->metadata = bigger;
		*room = next;
	}
	size_t bytes = json_string_length(m->value) + 1;
	char *value = mem_alloc(bytes);
	if (!value)
		return no_memory(m->file);
	memcpy(value, json_string_value(m->value), bytes);
	s->metadata[2 * s->metadata_count] = m->key;
	s->metadata[2 * s->metadata_count++ + 1] = value;
	m->key = NULL; /* ours now */
	return HEC_OK;
}

static hec_status read_metadata(safetensors *s, json_members *outer)
{
	if (s->metadata)
		return fail_duplicate(outer->file, "the key", "__metadata__");
	json_members m;
	bool more = true;
	size_t room = 0;
	hec_status status = HEC_OK;
	json_members_enter(outer, &m);
	while (status == HEC_OK && more) {
		status = json_members_next(&m, &more);
		if (status == HEC_OK && more)
			status = json_members_value(&m, ENTRY_MOST);
		if (status == HEC_OK && more)
			status = add_metadata(s, &room, &m);
	}
	json_members_leave(outer, &m);
	HEC_TRY(status);
	if (!s->metadata && !(s->metadata = mem_alloc(sizeof *s->metadata)))
		return no_memory(outer->file);
	qsort(s->metadata, s->metadata_count, 2 * sizeof *s->metadata, by_key);
	for (size_t i = 1; i < s->metadata_count; i++)
		if (strcmp(s->metadata[2 * i - 2], s->metadata[2 * i]) == 0)
			return fail_duplicate(outer->file, "__metadata__:", s->metadata[2 * i]);
	return HEC_OK;
}

/* ---- the header ---- */

static hec_status read_member(safetensors *s, json_members *m)
{
	if (strcmp(m->key, "__metadata__") == 0)
		return read_metadata(s, m);
	HEC_TRY(json_members_value(m, ENTRY_MOST));
	safetensors_entry e = {.name = m->key};
	HEC_TRY(read_entry(m, &e));
	HEC_TRY(safetensors_add(s, &e));
	m->key = NULL; /* the entry's now */
	return HEC_OK;
}

static hec_status read_members(safetensors *s, const char *text, size_t size)
{
	json_members m;
	bool more = true;
	hec_status status = HEC_OK;
	json_members_begin(&m, file_in_path(s->files[0]), text, size);
	while (status == HEC_OK && more) {
		status = json_members_next(&m, &more);
		if (status == HEC_OK && more)
			status = read_member(s, &m);
	}
	json_members_end(&m);
	return status;
}

static hec_status read_header(safetensors *s)
{
	const file_in *f = s->files[0];
	char file[QUOTE_TEXT];
	quote(file_in_path(f), file);
	uint64_t size = file_in_size(f), n = 0;
	unsigned char length[8];
	if (size < sizeof length)
		return fail(HEC_ERR_FORMAT, "%s: has %" PRIu64 " bytes, too few for safetensors",
		            file, size);
	HEC_TRY(file_in_read(f, 0, length, sizeof length));
	for (int i = 8; i-- > 0;)
		n = n << 8 | length[i];
	if (n > HEADER_MOST)
		return fail(HEC_ERR_FORMAT,
		            "%s: is no safetensors file: its header would have %" PRIu64
		            " bytes, at most %u are allowed",
		            file, n, HEADER_MOST);
	if (n > size - sizeof length)
		return fail(HEC_ERR_FORMAT,
		            "%s: its header has %" PRIu64
		            " bytes, but the file ends after %" PRIu64,
		            file, n, size - sizeof length);
	char *text = mem_alloc((size_t)n + 1);
	if (!text)
		return no_memory(file);
	hec_status status = file_in_read(f, sizeof length, text, (size_t)n);
	if (status == HEC_OK && (n == 0 || text[0] != '{'))
		status = fail(HEC_ERR_FORMAT, "%s: its header does not begin with '{'", file);
	if (status == HEC_OK)
		status = read_members(s, text, (size_t)n);
	mem_free(text);
	return status == HEC_OK ? check_places(s, sizeof length + n, size) : status;
}

hec_status safetensors_open(const char *path, safetensors **out)
{
	safetensors *s = mem_zeros(1, sizeof *s);
	if (s)
		s->files = mem_zeros(1, sizeof *s->files);
	hec_status status = s && s->files ? file_in_open(path, &s->files[0]) : no_memory(path);
	if (status == HEC_OK) {
		s->file_count = 1;
		status = read_header(s);
	}
	if (status != HEC_OK) {
		safetensors_close(s);
		return status;
	}
	*out = s;
	return HEC_OK;
}

void safetensors_close(safetensors *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		mem_free((char *)s->entries[i].name);
	for (size_t i = 0; i < 2 * s->metadata_count; i++)
		mem_free(s->metadata[i]);
	for (size_t i = 0; i < s->file_count; i++)
		file_in_close(s->files[i]);
	mem_free(s->entries);
	mem_free(s->metadata);
	mem_free(s->files);
	mem_free(s);
}

/* ---- asking ---- */

size_t safetensors_count(const safetensors *s)
{
	return s->count;
}

const safetensors_entry *safetensors_at(const safetensors *s, size_t i)
{
	return i < s->count ? &s->entries[i] : NULL;
}

const safetensors_entry *safetensors_find(const safetensors *s, const char *name)
{
	safetensors_entry wanted = {.name = name};
	return s->count > 0 ? bsearch(&wanted, s->entries, s->count, sizeof *s->entries, by_name)
	                    : NULL;
}

const char *safetensors_path(const safetensors *s, const safetensors_entry *e)
{
	return file_in_path(s->files[e->shard]);
}

const char *safetensors_metadata(const safetensors *s, const char *key)
{
	for (size_t i = 0; i < s->metadata_count; i++)
		if (strcmp(s->metadata[2 * i], key) == 0)
			return s->metadata[2 * i + 1];
	return NULL;
}

hec_status safetensors_read(const safetensors *s, const safetensors_entry *e, uint64_t first,
                            uint64_t count, void *to)
{
	unsigned bits = (unsigned)dtypes[e->dtype].bits;
	if (first > e->count || count > e->count - first || bits % 8 != 0)
		return fail(HEC_ERR_ARGUMENT,
		            "tensor '%s': %" PRIu64 " elements from %" PRIu64
		            " on were asked of its %" PRIu64 " of %u bits",
		            e->name, count, first, e->count, bits);
	return file_in_read(s->files[e->shard], e->begin + first * (bits / 8), to,
	                    (size_t)count * (bits / 8));
}
