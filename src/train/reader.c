/* reader.c — lines of a file, plain or packed.
 *
 * The buffer holds one line of the longest allowed length and slides: a line of a gigabyte without
 * an end takes no more memory than a short one. */
#include "train/reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "text/unicode/utf8.h"
#include "train/gzip.h"

#define BUFFER (READER_LONGEST + ((size_t)64 << 10))

struct reader {
	gzip_in *file;
	char *buffer;
	size_t begin, end; /* what is read and not yet given away */
	bool begun, ended;
};

hec_status reader_open(const char *path, reader **out)
{
	gzip_in *file;
	HEC_TRY(gzip_open(path, &file));
	reader *r = mem_zeros(1, sizeof *r);
	char *buffer = mem_alloc(BUFFER);
	if (!r || !buffer) {
		mem_free(r);
		mem_free(buffer);
		gzip_close(file);
		return fail(HEC_ERR_MEMORY, "%s: no memory to read it", path);
	}
	*r = (reader){.file = file, .buffer = buffer};
	*out = r;
	return HEC_OK;
}

void reader_close(reader *r)
{
	if (!r)
		return;
	gzip_close(r->file);
	mem_free(r->buffer);
	mem_free(r);
}

/* Reads on behind what is there. */
static hec_status read_more(reader *r)
{
	if (r->begin > 0) {
		memmove(r->buffer, r->buffer + r->begin, r->end - r->begin);
		r->end -= r->begin;
		r->begin = 0;
	}
	size_t n;
	HEC_TRY(gzip_read(r->file, r->buffer + r->end, BUFFER - r->end, &n));
	r->end += n;
	r->ended = n == 0;
	return HEC_OK;
}

/* Finds the end of the line that starts at begin: *length up to it, *skip with it. A line that
 * does not fit is drained; of it only its first bytes are left. */
static hec_status find_end(reader *r, size_t *length, size_t *skip, bool *whole)
{
	size_t seen = 0;
	*whole = true;
	for (;;) {
		char *at = memchr(r->buffer + r->begin + seen, '\n', r->end - r->begin - seen);
		if (at) {
			*length = (size_t)(at - (r->buffer + r->begin));
			*skip = *length + 1;
			return HEC_OK;
		}
		seen = r->end - r->begin;
		if (r->ended) {
			*length = *skip = seen;
			return HEC_OK;
		}
		if (seen > READER_LONGEST) {
			*whole = false;
			r->begin = r->end = 0;
			seen = 0;
		}
		HEC_TRY(read_more(r));
	}
}

static bool is_blank(const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (!strchr(" \t\v\f\r", text[i]) || text[i] == '\0')
			return false;
	return true;
}

hec_status reader_next(reader *r, line *out, bool *more)
{
	size_t length, skip;
	bool whole;
	HEC_TRY(find_end(r, &length, &skip, &whole));
	*more = skip > 0 || !whole;
	if (!*more)
		return HEC_OK;
	const char *text = r->buffer + r->begin;
	r->begin += skip;
	/* Some programs begin a file with a mark of its encoding, which is no part of the text. */
	if (!r->begun && whole && length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
		text += 3;
		length -= 3;
	}
	r->begun = true;
	if (length > 0 && text[length - 1] == '\r')
		length--;
	*out = (line){text, length, LINE_GOOD};
	if (!whole || length > READER_LONGEST)
		out->kind = LINE_TOO_LONG;
	else if (is_blank(text, length))
		out->kind = LINE_EMPTY;
	else if (utf8_valid(text, length) < length)
		out->kind = LINE_BAD_UTF8;
	return HEC_OK;
}
