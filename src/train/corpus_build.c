/* corpus_build.c — texts become ids, once.
 *
 * Written beside their names and renamed when both files are on the disk, the index last: an index
 * that is there belongs to tokens that are there. */
#include "train/corpus_build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "base/memory.h"
#include "base/size.h"
#include "text/vocab/language.h"

#define RUNNING_PART (1 << 16) /* bytes of running text that are encoded at once */

hec_status builder_put(builder *b, const int32_t *source, size_t n, const int32_t *target, size_t m)
{
	corpus_entry e = {
		.offset = (uint64_t)b->header.ids, .source = (uint16_t)n, .target = (uint16_t)m};
	if (b->header.count >= UINT32_MAX)
		return fail(HEC_ERR_UNSUPPORTED, "%s: more than %u examples", b->o->cache,
		            UINT32_MAX);
	if ((n && fwrite(source, sizeof *source, n, b->tokens) != n) ||
	    (m && fwrite(target, sizeof *target, m, b->tokens) != m) ||
	    fwrite(&e, sizeof e, 1, b->index) != 1)
		return fail(HEC_ERR_IO, "%s: could not be written: %s", b->o->cache,
		            strerror(errno));
	uint32_t crc = b->header.checksum;
	crc = (uint32_t)crc32(crc, (const Bytef *)&e, sizeof e);
	/* Where there is nothing, zlib is not asked: for it NULL means to begin again. */
	if (n > 0)
		crc = (uint32_t)crc32(crc, (const Bytef *)source, (uInt)(n * sizeof *source));
	if (m > 0)
		crc = (uint32_t)crc32(crc, (const Bytef *)target, (uInt)(m * sizeof *target));
	b->header.checksum = crc;
	b->header.count++;
	b->header.ids += (int64_t)(n + m);
	b->header.source_tokens += (int64_t)n;
	b->header.target_tokens += (int64_t)m;
	return HEC_OK;
}

static hec_status encode(builder *b, const line *text, bool special, hec_encoding *out)
{
	hec_encode_options options = HEC_ENCODE_OPTIONS_INIT;
	options.no_special = !special;
	return hec_tokenizer_encode(b->o->tokenizer, text->text, text->bytes, &options, out);
}

/* Texts that are read whole end with the end of sentence, unless the tokenizer has put something at
 * their end itself. */
static bool needs_end(const builder *b, const hec_encoding *e)
{
	return b->eos >= 0 &&
	       (e->n == 0 || (e->ids[e->n - 1] != b->eos && e->sequence[e->n - 1] >= 0));
}

/* All of a text, or as much as there may be; *n: with the end that is still to come. */
static hec_status encode_whole(builder *b, const hec_tokenizer *t, const line *text, int64_t most,
                               bool ended, hec_encoding *out, size_t *n)
{
	hec_encode_options options = HEC_ENCODE_OPTIONS_INIT;
	HEC_TRY(hec_tokenizer_encode(t, text->text, text->bytes, &options, out));
	bool end = ended && needs_end(b, out);
	*n = out->n + end;
	if ((int64_t)*n <= most || !b->o->truncate)
		return HEC_OK;
	options.max_length = most - end;
	b->header.cut++;
	HEC_TRY(hec_tokenizer_encode(t, text->text, text->bytes, &options, out));
	*n = out->n + end;
	return HEC_OK;
}

/* A tokenizer may take everything away, of control characters for instance. */
void builder_leave_out(builder *b, size_t tokens)
{
	if (tokens == 0)
		b->header.empty++;
	else
		b->header.too_long++;
}

/* More of the text that is put together. */
static hec_status join(builder *b, const char *text, size_t bytes)
{
	size_t all;
	if (!size_add(b->joined_bytes, bytes, &all))
		return fail(HEC_ERR_MEMORY, "corpus: no memory for a text");
	if (all > b->joined_room) {
		size_t room = all > 2 * b->joined_room ? all : 2 * b->joined_room;
		char *more = mem_resize(b->joined, room);
		if (!more)
			return fail(HEC_ERR_MEMORY, "corpus: no memory for a text of %zu bytes",
			            room);
		b->joined = more;
		b->joined_room = room;
	}
	if (bytes > 0)
		memcpy(b->joined + b->joined_bytes, text, bytes);
	b->joined_bytes = all;
	return HEC_OK;
}

/* The source with what is to stand before it. */
static hec_status put_before(builder *b, line *source)
{
	const char *prefix = b->o->source_prefix;
	if (!prefix || !*prefix)
		return HEC_OK;
	b->joined_bytes = 0;
	HEC_TRY(join(b, prefix, strlen(prefix)));
	HEC_TRY(join(b, source->text, source->bytes));
	source->text = b->joined;
	source->bytes = b->joined_bytes;
	return HEC_OK;
}

/* A target in the language of the sources would teach to write that one. */
static hec_status set_language(const builder *b, const hec_tokenizer *t, int side, hec_encoding *e)
{
	const char *name = side ? b->o->target_language : b->o->source_language;
	if (name)
		return hec_encoding_set_language(t, name, e, NULL);
	const size_t at = side ? language_at(t, e) : e->n;
	if (at == e->n)
		return HEC_OK;
	return fail(HEC_ERR_ARGUMENT,
	            "corpus: the tokenizer marks every text with its language (%s): say which one "
	            "the targets are in",
	            hec_tokenizer_token(t, e->ids[at]));
}

static hec_status put_pair(builder *b, const example *e)
{
	const int64_t most[2] = {b->o->max_source, b->o->max_target};
	const hec_tokenizer *tokenizer[2] = {b->o->tokenizer, b->o->target_tokenizer};
	int32_t *ids[2] = {b->piece, b->piece + b->o->max_source + 1};
	line text[2] = {e->side[0], e->side[1]};
	size_t n[2];
	HEC_TRY(put_before(b, &text[0]));
	for (int i = 0; i < 2; i++) {
		hec_encoding *side = &b->side[i];
		const hec_tokenizer *t = tokenizer[i] ? tokenizer[i] : tokenizer[0];
		HEC_TRY(encode_whole(b, t, &text[i], most[i], true, side, &n[i]));
		HEC_TRY(set_language(b, t, i, side));
		if ((int64_t)n[i] > most[i] || n[i] == 0) {
			builder_leave_out(b, n[i]);
			return HEC_OK;
		}
		memcpy(ids[i], side->ids, side->n * sizeof *side->ids);
		if (n[i] > side->n)
			ids[i][side->n] = b->eos;
	}
	return builder_put(b, ids[0], n[0], ids[1], n[1]);
}

/* Running text: ids one after the other, cut into pieces. An example is what is read and, one place
 * on, what is to come: the last id of a piece is the first of the next. */
static hec_status put_running(builder *b, const int32_t *ids, size_t n)
{
	int64_t full = b->o->max_target + 1;
	for (size_t i = 0; i < n; i++) {
		b->piece[b->pending++] = ids[i];
		if (b->pending < full)
			continue;
		HEC_TRY(builder_put(b, NULL, 0, b->piece, (size_t)full));
		b->piece[0] = b->piece[full - 1];
		b->pending = 1;
	}
	return HEC_OK;
}

static hec_status put_joined(builder *b)
{
	const line text = {b->joined, b->joined_bytes, LINE_GOOD};
	if (b->joined_bytes == 0)
		return HEC_OK;
	HEC_TRY(encode(b, &text, false, &b->side[1]));
	b->joined_bytes = 0;
	return put_running(b, b->side[1].ids, b->side[1].n);
}

/* Lines are encoded together, as a text that a model reads later is: by itself each would get the mark of a
 * beginning where a tokenizer puts one, and two ends of lines would never be one token. */
static hec_status put_text(builder *b, const example *e)
{
	if (e->kind == EXAMPLE_GOOD)
		HEC_TRY(join(b, e->side[1].text, e->side[1].bytes));
	HEC_TRY(join(b, "\n", 1));
	return b->joined_bytes < RUNNING_PART ? HEC_OK : put_joined(b);
}

static hec_status put_last_piece(builder *b)
{
	HEC_TRY(put_joined(b));
	return b->pending > 1 ? builder_put(b, NULL, 0, b->piece, (size_t)b->pending) : HEC_OK;
}

/* A long text becomes several examples, each with its own beginning and end. */
static hec_status put_masked(builder *b, const example *e)
{
	HEC_TRY(encode(b, &e->side[1], false, &b->side[1]));
	const hec_encoding *text = &b->side[1];
	int64_t extra = (b->cls >= 0) + (b->sep >= 0), room = b->o->max_source - extra;
	if (room < 1)
		return fail(HEC_ERR_ARGUMENT,
		            "corpus: max_source is %lld: the ends of a text leave no place for it",
		            (long long)b->o->max_source);
	if (text->n == 0)
		builder_leave_out(b, 0);
	for (int64_t at = 0; at < (int64_t)text->n; at += room) {
		int64_t n = min_i64(room, (int64_t)text->n - at), m = 0;
		if (b->cls >= 0)
			b->piece[m++] = b->cls;
		memcpy(b->piece + m, text->ids + at, (size_t)n * sizeof *text->ids);
		m += n;
		if (b->sep >= 0)
			b->piece[m++] = b->sep;
		HEC_TRY(builder_put(b, b->piece, (size_t)m, NULL, 0));
	}
	return HEC_OK;
}

static int32_t find_label(const hec_corpus_options *o, const line *name)
{
	size_t low = 0, high = o->n_labels;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const char *label = o->labels[middle];
		size_t length = strlen(label);
		int order = memcmp(name->text, label, name->bytes < length ? name->bytes : length);
		if (order == 0 && name->bytes != length)
			order = name->bytes < length ? -1 : 1;
		if (order == 0)
			return (int32_t)middle;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return -1;
}

static hec_status put_labelled(builder *b, const example *e)
{
	int32_t label = find_label(b->o, &e->side[0]);
	if (label < 0) {
		b->header.unknown_label++;
		return HEC_OK;
	}
	size_t n;
	if (b->o->label_ids)
		label = b->o->label_ids[label];
	HEC_TRY(encode_whole(b, b->o->tokenizer, &e->side[1], b->o->max_source, false, &b->side[1],
	                     &n));
	if ((int64_t)n > b->o->max_source || n == 0) {
		builder_leave_out(b, n);
		return HEC_OK;
	}
	return builder_put(b, b->side[1].ids, n, &label, 1);
}

static hec_status put_example(builder *b, const example *e)
{
	bool is_lm = b->o->task == HEC_TASK_LM;
	/* An empty line of running text is where a paragraph ends. */
	if (e->kind != EXAMPLE_GOOD && !(is_lm && e->kind == EXAMPLE_EMPTY))
		return HEC_OK;
	switch (b->o->task) {
	case HEC_TASK_TRANSLATE:
	case HEC_TASK_SEQ2SEQ:
		return b->o->speech ? builder_put_sound(b, e) : put_pair(b, e);
	case HEC_TASK_LM:
		return put_text(b, e);
	case HEC_TASK_MLM:
		return put_masked(b, e);
	case HEC_TASK_CLASSIFY:
		return put_labelled(b, e);
	case HEC_TASK_ANSWER:
		break;
	}
	return HEC_OK;
}

static hec_status put_lines(builder *b)
{
	for (;;) {
		example e;
		bool more;
		HEC_TRY(lines_next_example(b->lines, &e, &more));
		if (!more)
			break;
		HEC_TRY(put_example(b, &e));
		int64_t lines = hec_lines_counts(b->lines)->lines;
		if (lines % (b->o->speech ? 10 : 1000) == 0)
			HEC_TRY(call_progress(b->o->progress, b->o->user, "reading", lines, 0));
	}
	if (b->o->task == HEC_TASK_LM)
		HEC_TRY(put_last_piece(b));
	const hec_corpus_counts *c = hec_lines_counts(b->lines);
	corpus_header *h = &b->header;
	h->lines = c->lines;
	h->bad_utf8 = c->bad_utf8;
	h->empty += c->empty;
	h->no_tab = c->no_tab;
	h->too_long += c->too_long;
	return HEC_OK;
}

/* ---- files ---- */

static hec_status open_files(builder *b)
{
	static const char *const ends[4] = {".tokens.new", ".index.new", ".tokens", ".index"};
	for (int i = 0; i < 4; i++) {
		b->names[i] = path_join(b->o->cache, ends[i]);
		if (!b->names[i])
			return fail(HEC_ERR_MEMORY, "%s: no memory for a name", b->o->cache);
	}
	b->tokens = fopen(b->names[0], "wbe");
	b->index = fopen(b->names[1], "wbe");
	if (!b->tokens || !b->index)
		return fail(HEC_ERR_IO, "%s: could not be made: %s", b->names[b->tokens != NULL],
		            strerror(errno));
	if (fwrite(&b->header, sizeof b->header, 1, b->index) != 1)
		return fail(HEC_ERR_IO, "%s: could not be written: %s", b->names[1],
		            strerror(errno));
	return HEC_OK;
}

static bool flush_and_close(FILE **f)
{
	bool good = fflush(*f) == 0 && fsync(fileno(*f)) == 0;
	int error = errno;
	good = fclose(*f) == 0 && good;
	*f = NULL;
	if (error)
		errno = error;
	return good;
}

static hec_status finish_files(builder *b)
{
	const uint32_t sum = b->header.checksum, *wanted = b->o->wanted;
	if (wanted && sum != *wanted)
		return fail(
			HEC_ERR_FORMAT,
			"%s: gives other ids than the run had: their checksum was %u and is now "
			"%u; it cannot go on as if it had not been stopped",
			b->o->files[0], (unsigned)*wanted, (unsigned)sum);
	errno = 0;
	bool good = fseek(b->index, 0, SEEK_SET) == 0 &&
	            fwrite(&b->header, sizeof b->header, 1, b->index) == 1;
	good = flush_and_close(&b->tokens) && good;
	good = flush_and_close(&b->index) && good;
	if (good)
		good = rename(b->names[0], b->names[2]) == 0 &&
		       rename(b->names[1], b->names[3]) == 0;
	return good ? HEC_OK
	            : fail(HEC_ERR_IO, "%s: could not be written: %s", b->o->cache,
	                   errno ? strerror(errno) : "unknown reason");
}

static void close_builder(builder *b)
{
	if (b->tokens)
		(void)fclose(b->tokens);
	if (b->index)
		(void)fclose(b->index);
	for (int i = 0; i < 4; i++) {
		if (i < 2 && b->names[i])
			unlink(b->names[i]);
		mem_free(b->names[i]);
	}
	hec_lines_destroy(b->lines);
	hec_encoding_free(&b->side[0]);
	hec_encoding_free(&b->side[1]);
	mem_free(b->piece);
	mem_free(b->joined);
}

static hec_status build(builder *b)
{
	const hec_corpus_options *o = b->o;
	int64_t room = o->max_source + o->max_target + 2;
	b->piece = mem_alloc((size_t)room * sizeof *b->piece);
	if (!b->piece)
		return fail(HEC_ERR_MEMORY, "corpus: no memory for %lld ids", (long long)room);
	bool lines = o->task != HEC_TASK_ANSWER;
	if (lines)
		HEC_TRY(hec_lines_create(o->task, o->files, o->n, &b->lines));
	HEC_TRY(open_files(b));
	HEC_TRY(lines ? put_lines(b) : builder_put_answers(b));
	return finish_files(b);
}

hec_status corpus_build(const hec_corpus_options *o, uint64_t fingerprint)
{
	builder b = {
		.o = o,
		.side = {HEC_ENCODING_INIT, HEC_ENCODING_INIT},
		.eos = hec_tokenizer_role(o->tokenizer, "eos"),
		.cls = hec_tokenizer_role(o->tokenizer, "cls"),
		.sep = hec_tokenizer_role(o->tokenizer, "sep"),
		.header = {.version = CORPUS_VERSION,
	                   .task = (uint32_t)o->task,
	                   .fingerprint = fingerprint},
	};
	memcpy(b.header.magic, CORPUS_MAGIC, sizeof b.header.magic);
	hec_status status = build(&b);
	close_builder(&b);
	return status;
}
