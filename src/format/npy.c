/* npy.c — reading and writing NumPy's .npy format. The header is read by a parser of just the dictionary that the
 * format defines; nothing of it is evaluated. The data must fill the rest of the file exactly. */
#include "format/npy.h"

#include <hecate/npy.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/quote.h"
#include "base/size.h"
#include "tensor/check.h"

#define PIECE (1 << 14) /* bytes read at a time; a multiple of every size */

/* ---- the dictionary ---- */

typedef struct reader {
	const char *name; /* of the file, for messages */
	const char *at, *end;
	const char *begin;
} reader;

static hec_status fail_header(const reader *r, const char *wanted)
{
	char file[QUOTE_TEXT], there[QUOTE_TEXT];
	const size_t left = (size_t)(r->end - r->at);
	if (left == 0)
		return fail(HEC_ERR_FORMAT, "%s: the header ends where %s should be",
		            quote(r->name, file), wanted);
	return fail(HEC_ERR_FORMAT, "%s: byte %zu of the header should be %s, not '%s'",
	            quote(r->name, file), (size_t)(r->at - r->begin), wanted,
	            quote_bytes(r->at, left < 16 ? left : 16, there));
}

static void skip_space(reader *r)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t'))
		r->at++;
}

/* Takes a sign where it is next. */
static bool skip_sign(reader *r, char sign)
{
	skip_space(r);
	if (r->at == r->end || *r->at != sign)
		return false;
	r->at++;
	return true;
}

static hec_status read_string(reader *r, const char *wanted, const char **text, size_t *length)
{
	skip_space(r);
	if (r->at == r->end || (*r->at != '\'' && *r->at != '"'))
		return fail_header(r, wanted);
	const char *close = memchr(r->at + 1, *r->at, (size_t)(r->end - r->at - 1));
	if (!close || memchr(r->at, '\\', (size_t)(close - r->at)))
		return fail_header(r, wanted);
	*text = r->at + 1;
	*length = (size_t)(close - *text);
	r->at = close + 1;
	return HEC_OK;
}

static bool is_word(const char *text, size_t length, const char *word)
{
	return length == strlen(word) && memcmp(text, word, length) == 0;
}

static hec_status read_type(reader *r, npy_header *h)
{
	static const struct {
		const char *word;
		hec_dtype dtype;
	} known[] = {{"<f2", HEC_F16}, {"<f4", HEC_F32}, {"<f8", HEC_F64}};
	const char *text;
	size_t length;
	char file[QUOTE_TEXT], word[QUOTE_TEXT];
	HEC_TRY(read_string(r, "a type such as '<f4'", &text, &length));
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (is_word(text, length, known[i].word)) {
			h->dtype = known[i].dtype;
			return HEC_OK;
		}
	return fail(HEC_ERR_UNSUPPORTED,
	            "%s: the numbers are of type '%s'; known are '<f2', '<f4' and '<f8': save it "
	            "by array.astype('<f4')",
	            quote(r->name, file), quote_bytes(text, length, word));
}

static hec_status read_order(reader *r)
{
	char file[QUOTE_TEXT];
	skip_space(r);
	const size_t left = (size_t)(r->end - r->at);
	if (left >= 5 && memcmp(r->at, "False", 5) == 0) {
		r->at += 5;
		return HEC_OK;
	}
	if (left >= 4 && memcmp(r->at, "True", 4) == 0)
		return fail(HEC_ERR_UNSUPPORTED,
		            "%s: the array is in Fortran order: save it by "
		            "numpy.ascontiguousarray(array)",
		            quote(r->name, file));
	return fail_header(r, "True or False");
}

static hec_status read_size(reader *r, int64_t *out)
{
	int64_t n = 0;
	skip_space(r);
	const char *first = r->at;
	for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
		if (n > (INT64_MAX - 9) / 10) {
			r->at = first;
			return fail_header(r, "a smaller number");
		}
		n = n * 10 + (*r->at - '0');
	}
	if (r->at == first)
		return fail_header(r, "a number");
	*out = n;
	return HEC_OK;
}

static hec_status read_shape(reader *r, npy_header *h)
{
	if (!skip_sign(r, '('))
		return fail_header(r, "a shape such as (3, 4)");
	h->rank = 0;
	while (!skip_sign(r, ')')) {
		int64_t n = 0;
		HEC_TRY(read_size(r, &n));
		if (h->rank == HEC_MAX_RANK) {
			char file[QUOTE_TEXT];
			return fail(HEC_ERR_UNSUPPORTED, "%s: the array has more than %d axes",
			            quote(r->name, file), HEC_MAX_RANK);
		}
		h->shape[h->rank++] = n;
		/* One number alone is in parentheses, not a shape. */
		if (!skip_sign(r, ',') && (h->rank == 1 || r->at == r->end || *r->at != ')'))
			return fail_header(r, "a comma");
	}
	return HEC_OK;
}

static hec_status read_member(reader *r, npy_header *h, bool seen[3])
{
	static const char *const names[3] = {"descr", "fortran_order", "shape"};
	const char *text;
	size_t length;
	char file[QUOTE_TEXT], word[QUOTE_TEXT];
	HEC_TRY(read_string(r, "a key", &text, &length));
	int which = 0;
	while (which < 3 && !is_word(text, length, names[which]))
		which++;
	if (which == 3 || seen[which])
		return fail(HEC_ERR_FORMAT, "%s: the header has '%s'%s", quote(r->name, file),
		            quote_bytes(text, length, word),
		            which == 3 ? ", which the format does not know" : " twice");
	seen[which] = true;
	if (!skip_sign(r, ':'))
		return fail_header(r, "a colon");
	return which == 0 ? read_type(r, h) : which == 1 ? read_order(r) : read_shape(r, h);
}

static hec_status count_numbers(const char *name, npy_header *h)
{
	char file[QUOTE_TEXT];
	size_t n = 1, bytes;
	if (h->rank == 0)
		return fail(HEC_ERR_UNSUPPORTED, "%s: a single number without axes is no array",
		            quote(name, file));
	for (int i = 0; i < h->rank; i++)
		if (!size_mul(n, (size_t)h->shape[i], &n) || !size_mul(n, 8, &bytes) ||
		    bytes > PTRDIFF_MAX)
			return fail(HEC_ERR_FORMAT,
			            "%s: the array has more numbers than can be addressed",
			            quote(name, file));
	if (n == 0)
		return fail(HEC_ERR_UNSUPPORTED, "%s: the array is empty", quote(name, file));
	h->count = (int64_t)n;
	return HEC_OK;
}

hec_status npy_parse(const char *name, const char *text, size_t length, npy_header *out)
{
	reader r = {.name = name, .at = text, .end = text + length, .begin = text};
	bool seen[3] = {false, false, false};
	npy_header h = {0};
	if (!skip_sign(&r, '{'))
		return fail_header(&r, "a dictionary {…}");
	while (!skip_sign(&r, '}')) {
		HEC_TRY(read_member(&r, &h, seen));
		if (!skip_sign(&r, ',') && (r.at == r.end || *r.at != '}'))
			return fail_header(&r, "a comma or the end }");
	}
	skip_space(&r);
	if (r.at != r.end)
		return fail_header(&r, "spaces");
	if (!seen[0] || !seen[1] || !seen[2]) {
		char file[QUOTE_TEXT];
		return fail(HEC_ERR_FORMAT, "%s: the header lacks '%s'", quote(name, file),
		            !seen[0]   ? "descr"
		            : !seen[1] ? "fortran_order"
		                       : "shape");
	}
	HEC_TRY(count_numbers(name, &h));
	*out = h;
	return HEC_OK;
}

/* ---- the file ---- */

static hec_status read_header(const file_in *f, npy_header *h, uint64_t *data)
{
	unsigned char start[12] = {0};
	char file[QUOTE_TEXT];
	const char *name = quote(file_in_path(f), file);
	const uint64_t size = file_in_size(f);
	if (size < 10)
		return fail(HEC_ERR_FORMAT, "%s: %llu bytes are no .npy file", name,
		            (unsigned long long)size);
	HEC_TRY(file_in_read(f, 0, start, size < 12 ? (size_t)size : 12));
	if (memcmp(start, "\x93NUMPY", 6) != 0)
		return fail(HEC_ERR_FORMAT, "%s: it does not begin as a .npy file does", name);
	if (start[6] < 1 || start[6] > 3 || start[7] != 0)
		return fail(HEC_ERR_UNSUPPORTED,
		            "%s: version %d.%d of the format; known are 1.0, 2.0 and 3.0", name,
		            start[6], start[7]);
	const uint64_t begin = start[6] == 1 ? 10 : 12;
	uint64_t length = start[8] | (uint64_t)start[9] << 8;
	if (start[6] > 1)
		length |= (uint64_t)start[10] << 16 | (uint64_t)start[11] << 24;
	if (size < begin || length > size - begin)
		return fail(HEC_ERR_FORMAT, "%s: a header of %llu bytes in a file of %llu", name,
		            (unsigned long long)length, (unsigned long long)size);
	if (length > NPY_HEADER_MOST)
		return fail(HEC_ERR_FORMAT, "%s: a header of %llu bytes, at most %d are read", name,
		            (unsigned long long)length, NPY_HEADER_MOST);
	char *text = mem_alloc((size_t)length + 1);
	if (!text)
		return fail(HEC_ERR_MEMORY, "%s: no memory for its header", name);
	hec_status status = file_in_read(f, begin, text, (size_t)length);
	if (status == HEC_OK)
		status = npy_parse(file_in_path(f), text, (size_t)length, h);
	mem_free(text);
	*data = begin + length;
	return status;
}

/* Bits of a half as a float: subnormal numbers are counted in units of 2⁻²⁴. */
static float half_to_float(uint16_t bits)
{
	const uint32_t sign = (uint32_t)(bits & 0x8000) << 16, rest = bits & 0x7fff;
	uint32_t wide;
	float x;
	if (rest < 0x400) {
		x = (float)rest * 0x1p-24f;
		return sign ? -x : x;
	}
	wide = sign | (rest >= 0x7c00 ? 0x7f800000 | (rest & 0x3ff) << 13
	                              : (rest << 13) + ((127 - 15) << 23));
	memcpy(&x, &wide, sizeof x);
	return x;
}

static void widen_numbers(hec_dtype dtype, const char *from, size_t n, float *to)
{
	for (size_t i = 0; i < n; i++) {
		uint16_t bits;
		double x;
		if (dtype == HEC_F16) {
			memcpy(&bits, from + i * sizeof bits, sizeof bits);
			to[i] = half_to_float(bits);
		} else {
			memcpy(&x, from + i * sizeof x, sizeof x);
			to[i] = (float)x;
		}
	}
}

static hec_status read_numbers(const file_in *f, const npy_header *h, uint64_t begin, float *to)
{
	const size_t size = hec_dtype_size(h->dtype), all = (size_t)h->count;
	if (h->dtype == HEC_F32)
		return file_in_read(f, begin, to, all * size);
	char piece[PIECE];
	for (size_t at = 0; at < all; at += PIECE / size) {
		const size_t n = all - at < PIECE / size ? all - at : PIECE / size;
		HEC_TRY(file_in_read(f, begin + at * size, piece, n * size));
		widen_numbers(h->dtype, piece, n, to + at);
	}
	return HEC_OK;
}

static hec_status read_array(const file_in *f, hec_tensor *out)
{
	npy_header h;
	uint64_t begin = 0;
	char file[QUOTE_TEXT];
	HEC_TRY(read_header(f, &h, &begin));
	const uint64_t there = file_in_size(f) - begin,
		       wanted = (uint64_t)h.count * hec_dtype_size(h.dtype);
	if (there != wanted)
		return fail(HEC_ERR_FORMAT,
		            "%s: %lld numbers of %s take %llu bytes, %llu follow the header",
		            quote(file_in_path(f), file), (long long)h.count,
		            hec_dtype_name(h.dtype), (unsigned long long)wanted,
		            (unsigned long long)there);
	float *numbers = mem_alloc((size_t)h.count * sizeof *numbers);
	if (!numbers)
		return fail(HEC_ERR_MEMORY, "%s: no memory for %lld numbers",
		            quote(file_in_path(f), file), (long long)h.count);
	hec_tensor line = hec_tensor_1d(numbers, HEC_F32, h.count);
	hec_status status = read_numbers(f, &h, begin, numbers);
	if (status == HEC_OK)
		status = hec_tensor_reshape(&line, h.rank, h.shape, out);
	if (status != HEC_OK)
		mem_free(numbers);
	return status;
}

hec_status hec_npy_read(const char *path, hec_tensor *out)
{
	HEC_TRY(CHECK_GIVEN("npy", path));
	HEC_TRY(CHECK_GIVEN("npy", out));
	file_in *f;
	hec_tensor array = HEC_TENSOR_NONE;
	HEC_TRY(file_in_open(path, &f));
	hec_status status = read_array(f, &array);
	file_in_close(f);
	if (status == HEC_OK)
		*out = array;
	return status;
}

/* ---- writing ---- */

#define ALIGNMENT 64 /* of the data, as NumPy has it */

/* Version 1: the header ends with a newline where the data begin. */
static size_t make_header(const hec_tensor *x, char header[256])
{
	static const char magic[] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0};
	char *text = header + sizeof magic + 2;
	size_t n = (size_t)sprintf(text, "{'descr': '<f4', 'fortran_order': False, 'shape': (");
	for (int i = 0; i < x->rank; i++)
		n += (size_t)sprintf(text + n, "%s%lld", i ? ", " : "", (long long)x->shape[i]);
	n += (size_t)sprintf(text + n, x->rank == 1 ? ",), }" : "), }");
	while ((sizeof magic + 2 + n + 1) % ALIGNMENT != 0)
		text[n++] = ' ';
	text[n++] = '\n';
	memcpy(header, magic, sizeof magic);
	header[sizeof magic] = (char)(n & 255);
	header[sizeof magic + 1] = (char)(n >> 8);
	return sizeof magic + 2 + n;
}

hec_status hec_npy_write(const char *path, const hec_tensor *array)
{
	HEC_TRY(CHECK_GIVEN("npy", path));
	HEC_TRY(CHECK_GIVEN("npy", array));
	if (array->dtype != HEC_F32 || array->rank < 1 || !hec_tensor_is_contiguous(array))
		return fail(HEC_ERR_ARGUMENT,
		            "npy: %s with %d axes; a contiguous f32 tensor is written",
		            hec_dtype_name(array->dtype), array->rank);
	char header[256];
	const size_t begin = make_header(array, header);
	file_out *f;
	HEC_TRY(file_out_open(path, &f));
	hec_status status = file_out_write(f, header, begin);
	if (status == HEC_OK)
		status = file_out_write(f, array->data,
		                        (size_t)hec_tensor_count(array) * sizeof(float));
	if (status == HEC_OK)
		return file_out_commit(f);
	file_out_abort(f);
	return status;
}

void hec_npy_free(hec_tensor *array)
{
	if (!array || array->rank == 0)
		return;
	mem_free(array->data);
	*array = (hec_tensor)HEC_TENSOR_NONE;
}
