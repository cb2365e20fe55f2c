/* gzip.c — zlib's inflate, member by member: its gzread passes over what is no gzip behind a member as if
 * the file had ended there. */
#include "train/gzip.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/file.h"
#include "base/memory.h"

#define PIECE ((size_t)128 << 10)
#define GZIP_ONLY (16 + MAX_WBITS) /* of inflate: no zlib, no bare deflate */

struct gzip_in {
	file_in *file;
	uint64_t at;  /* of the file: all before it is in the piece or used up */
	bool packed;  /* it begins as gzip does */
	bool inside;  /* a member that has not ended */
	z_stream out; /* its input is what the piece still holds */
	unsigned char piece[PIECE];
};

/* Makes the next `want` bytes of the file lie in the piece, or as many as there are. */
static hec_status fill(gzip_in *g, unsigned want)
{
	z_stream *z = &g->out;
	const uint64_t left = file_in_size(g->file) - g->at;
	if (z->avail_in >= want || left == 0)
		return HEC_OK;
	const size_t room = PIECE - z->avail_in, n = left < room ? (size_t)left : room;
	memmove(g->piece, z->next_in, z->avail_in);
	z->next_in = g->piece;
	HEC_TRY(file_in_read(g->file, g->at, g->piece + z->avail_in, n));
	z->avail_in += (unsigned)n;
	g->at += n;
	return HEC_OK;
}

/* Of the file: the next byte to be used. */
static uint64_t place(const gzip_in *g)
{
	return g->at - g->out.avail_in;
}

static hec_status wrong(const gzip_in *g, const char *what)
{
	return fail(HEC_ERR_FORMAT, "%s: byte %" PRIu64 ": %s", file_in_path(g->file), place(g),
	            what);
}

static hec_status see_begin(gzip_in *g, bool *is_gzip)
{
	HEC_TRY(fill(g, 2));
	*is_gzip = g->out.avail_in >= 2 && g->out.next_in[0] == 0x1f && g->out.next_in[1] == 0x8b;
	return HEC_OK;
}

static hec_status start(gzip_in *g)
{
	HEC_TRY(see_begin(g, &g->packed));
	if (!g->packed)
		return HEC_OK;
	if (inflateInit2(&g->out, GZIP_ONLY) != Z_OK) {
		g->packed = false;
		return fail(HEC_ERR_MEMORY, "%s: no memory to unpack it", file_in_path(g->file));
	}
	g->inside = true;
	return HEC_OK;
}

hec_status gzip_open(const char *path, gzip_in **out)
{
	*out = NULL;
	file_in *file;
	HEC_TRY(file_in_open(path, &file));
	gzip_in *g = mem_zeros(1, sizeof *g);
	if (!g) {
		file_in_close(file);
		return fail(HEC_ERR_MEMORY, "%s: no memory to read it", path);
	}
	g->file = file;
	g->out.next_in = g->piece;
	hec_status status = start(g);
	if (status == HEC_OK)
		*out = g;
	else
		gzip_close(g);
	return status;
}

void gzip_close(gzip_in *g)
{
	if (!g)
		return;
	if (g->packed)
		(void)inflateEnd(&g->out);
	file_in_close(g->file);
	mem_free(g);
}

/* Behind a member: another one, or nothing but zeros. */
static hec_status next_member(gzip_in *g)
{
	const uint64_t end = place(g);
	HEC_TRY(see_begin(g, &g->inside));
	if (g->inside) {
		(void)inflateReset(&g->out);
		return HEC_OK;
	}
	while (g->out.avail_in > 0) {
		if (*g->out.next_in != 0)
			return fail(HEC_ERR_FORMAT,
			            "%s: byte %" PRIu64 ": its gzip data ends here, and what "
			            "follows is neither gzip data nor zeros",
			            file_in_path(g->file), end);
		g->out.next_in++;
		g->out.avail_in--;
		HEC_TRY(fill(g, 1));
	}
	return HEC_OK;
}

static hec_status unpack(gzip_in *g)
{
	HEC_TRY(fill(g, 1));
	if (g->out.avail_in == 0)
		return wrong(g, "the file ends within its gzip data");
	switch (inflate(&g->out, Z_NO_FLUSH)) {
	case Z_OK:
		return HEC_OK;
	case Z_STREAM_END:
		g->inside = false;
		return next_member(g);
	case Z_MEM_ERROR:
		return fail(HEC_ERR_MEMORY, "%s: no memory to unpack it", file_in_path(g->file));
	default:
		return wrong(g, g->out.msg ? g->out.msg : "this is no gzip data");
	}
}

hec_status gzip_read(gzip_in *g, char *to, size_t room, size_t *got)
{
	room = room < UINT_MAX ? room : UINT_MAX;
	if (!g->packed) {
		HEC_TRY(fill(g, 1));
		*got = room < g->out.avail_in ? room : g->out.avail_in;
		memcpy(to, g->out.next_in, *got);
		g->out.next_in += *got;
		g->out.avail_in -= (unsigned)*got;
		return HEC_OK;
	}
	g->out.next_out = (unsigned char *)to;
	g->out.avail_out = (unsigned)room;
	while (g->inside && g->out.avail_out == room)
		HEC_TRY(unpack(g));
	*got = room - g->out.avail_out;
	return HEC_OK;
}
