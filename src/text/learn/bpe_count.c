/* bpe_count.c — lines are gathered into blocks; each block is a task of the pool; each thread counts
 * into a table of its own, and the tables are added up at the end: sums do not depend on who counted. */
#include "text/learn/bpe_count.h"

#include <stdlib.h>
#include <string.h>

#include <hecate/context.h>

#include "base/memory.h"
#include "base/pool.h"
#include "base/size.h"
#include "base/threads.h"
#include "text/unicode/classes.h"
#include "base/grow.h"
#include "text/unicode/utf8.h"

#define BLOCK ((size_t)1 << 20) /* bytes */
#define BLOCKS_EACH 4           /* for each thread, so that all have work to the end */
static const char mark[3] = {'\xe2', '\x96', '\x81'}; /* ▁ */

typedef struct block {
	char *text;
	size_t used, capacity;
	size_t *ends; /* of lines */
	size_t n, ends_capacity;
} block;

typedef struct counting {
	const word_rule *rule;
	block *blocks;
	size_t count; /* of blocks */
	struct worker {
		word_counts words;
		hec_status status;
	} * workers;
	int threads;
	pool *pool;
} counting;

/* ---- a task: one block ---- */

static hec_status count_line(const word_rule *rule, const char *text, size_t at, size_t end,
                             word_counts *to)
{
	for (size_t stop; at < end; at = stop) {
		stop = word_end(rule, text, at, end);
		if (stop - at <= BPE_WORD_MOST)
			HEC_TRY(word_counts_add(to, text + at, stop - at, 1, NULL));
	}
	return HEC_OK;
}

static void count_block(void *arg, int64_t task, int worker)
{
	counting *c = arg;
	struct worker *w = &c->workers[worker];
	const block *b = &c->blocks[task];
	size_t at = 0;
	for (size_t i = 0; i < b->n && w->status == HEC_OK; i++) {
		w->status = count_line(c->rule, b->text, at, b->ends[i], &w->words);
		at = b->ends[i];
	}
}

/* ---- gathering lines ---- */

/* Each line begins with a space, as encoding will put one there. */
static hec_status add_line(block *b, const char *line, size_t bytes, bool unicode)
{
	size_t most;
	if (!size_mul(bytes, unicode ? 3 : 1, &most) || !size_add(most, b->used + 3, &most))
		return fail(HEC_ERR_MEMORY, "a line of %zu bytes", bytes);
	HEC_TRY(GROW(&b->text, &b->capacity, most));
	HEC_TRY(GROW(&b->ends, &b->ends_capacity, b->n + 1));
	char *to = b->text + b->used;
	if (!unicode) {
		*to++ = ' ';
		memcpy(to, line, bytes);
		to += bytes;
	} else {
		if (line[0] != ' ' &&
		    !(bytes >= sizeof mark && memcmp(line, mark, sizeof mark) == 0)) {
			memcpy(to, mark, sizeof mark);
			to += sizeof mark;
		}
		for (size_t i = 0; i < bytes; i++) {
			if (line[i] == ' ') {
				memcpy(to, mark, sizeof mark);
				to += sizeof mark;
			} else {
				*to++ = line[i];
			}
		}
	}
	b->used = (size_t)(to - b->text);
	b->ends[b->n++] = b->used;
	return HEC_OK;
}

static hec_status run_blocks(counting *c, size_t count)
{
	pool_run(c->pool, (int64_t)count, count_block, c);
	for (int i = 0; i < c->threads; i++)
		if (c->workers[i].status != HEC_OK)
			return fail(c->workers[i].status,
			            "no memory to count the words of the text");
	for (size_t i = 0; i < count; i++)
		c->blocks[i].used = c->blocks[i].n = 0;
	return HEC_OK;
}

static hec_status count_lines(counting *c, const bpe_count_options *o, hec_line_fn *next_line,
                              void *user)
{
	size_t at = 0;
	int64_t lines = 0, done = 0;
	for (const char *line;; lines++) {
		size_t bytes = 0;
		HEC_TRY(next_line(user, &line, &bytes));
		if (!line)
			break;
		if (bytes == 0)
			continue;
		size_t good = utf8_valid(line, bytes);
		if (good != bytes)
			return fail(HEC_ERR_FORMAT, "line %lld is not UTF-8: byte %zu is 0x%02x",
			            (long long)lines + 1, good, (unsigned char)line[good]);
		HEC_TRY(add_line(&c->blocks[at], line, bytes, o->unicode));
		done += (int64_t)bytes;
		if (c->blocks[at].used < BLOCK)
			continue;
		if (++at < c->count)
			continue;
		HEC_TRY(run_blocks(c, at));
		at = 0;
		HEC_TRY(call_progress(o->progress, o->user, "counting words", done, 0));
	}
	return run_blocks(c, at + 1 < c->count ? at + 1 : c->count);
}

static hec_status count_with(counting *c, const bpe_count_options *o, hec_line_fn *next_line,
                             void *user, word_counts *out)
{
	HEC_TRY(threads_choose(o->threads, &c->threads));
	c->count = (size_t)c->threads * BLOCKS_EACH;
	c->blocks = mem_zeros(c->count, sizeof *c->blocks);
	c->workers = mem_zeros((size_t)c->threads, sizeof *c->workers);
	if (!c->blocks || !c->workers)
		return fail(HEC_ERR_MEMORY, "no memory to count with %d threads", c->threads);
	HEC_TRY(pool_create(c->threads, false, &c->pool));
	HEC_TRY(count_lines(c, o, next_line, user));
	*out = c->workers[0].words;
	memset(&c->workers[0].words, 0, sizeof c->workers[0].words);
	for (int i = 1; i < c->threads; i++) {
		HEC_TRY(word_counts_merge(out, &c->workers[i].words));
		word_counts_free(&c->workers[i].words);
	}
	return HEC_OK;
}

hec_status bpe_count(const bpe_count_options *o, hec_line_fn *next_line, void *user,
                     word_counts *out)
{
	classes_prepare();
	counting c = {.rule = o->unicode ? &words_marked : &words_learned};
	hec_status status = count_with(&c, o, next_line, user, out);
	pool_destroy(c.pool);
	for (size_t i = 0; c.blocks && i < c.count; i++) {
		mem_free(c.blocks[i].text);
		mem_free(c.blocks[i].ends);
	}
	for (int i = 0; c.workers && i < c.threads; i++)
		word_counts_free(&c.workers[i].words);
	mem_free(c.blocks);
	mem_free(c.workers);
	return status;
}
