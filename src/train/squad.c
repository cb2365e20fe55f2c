/* squad.c — {"data": [{"paragraphs": [{"context", "qas": [{"id", "question", "answers": [{"text",
 * "answer_start"}], "is_impossible"}]}]}]}
 *
 * The texts stay where Jansson has them. Places are counted in characters there: a mark every MARK
 * characters of a context keeps finding one from growing with the context. */
#include <hecate/squad.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/quote.h"
#include "base/size.h"
#include "format/json.h"
#include "tensor/check.h"

#define MARK 256

struct hec_squad {
	json_t **roots; /* [n] they own the texts */
	size_t n;
	hec_squad_question *questions;
	hec_squad_answer *answers; /* of all questions, one after another */
	size_t count, answer_count;
};

typedef struct squad_reader {
	hec_squad *squad; /* NULL: only count */
	const char *file;
	size_t count, answers;
	size_t article, paragraph, question; /* where it is */
	const char *context;
	size_t bytes, characters;
	size_t *marks; /* byte of character i · MARK */
	size_t room;
} squad_reader;

/* ---- messages ---- */

static hec_status __attribute__((format(printf, 2, 3)))
wrong(const squad_reader *r, const char *format, ...)
{
	char what[400], file[QUOTE_TEXT];
	va_list args;
	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	return fail(HEC_ERR_FORMAT, "%s: data[%zu].paragraphs[%zu].qas[%zu]: %s",
	            quote(r->file, file), r->article, r->paragraph, r->question, what);
}

static hec_status no_memory(size_t n)
{
	return fail(HEC_ERR_MEMORY, "squad: no memory for %zu questions", n);
}

/* ---- places ---- */

static bool begins_character(char c)
{
	return ((unsigned char)c & 0xC0) != 0x80;
}

static hec_status mark_context(squad_reader *r)
{
	size_t wanted = r->bytes / MARK + 2, at = 0;
	if (wanted > r->room) {
		size_t *more = mem_resize(r->marks, wanted * sizeof *more);
		if (!more)
			return no_memory(r->count);
		r->marks = more;
		r->room = wanted;
	}
	r->characters = 0;
	for (at = 0; at < r->bytes; at++) {
		if (!begins_character(r->context[at]))
			continue;
		if (r->characters % MARK == 0)
			r->marks[r->characters / MARK] = at;
		r->characters++;
	}
	return HEC_OK;
}

/* The byte at which character i begins; i ≤ characters. */
static size_t byte_of(const squad_reader *r, size_t i)
{
	if (i >= r->characters)
		return r->bytes;
	size_t at = r->marks[i / MARK];
	for (size_t left = i % MARK; left > 0; left--)
		do
			at++;
		while (!begins_character(r->context[at]));
	return at;
}

/* ---- one question ---- */

static hec_status read_answer(squad_reader *r, const json_t *from, size_t i)
{
	const char *text = json_string_value(json_object_get(from, "text"));
	int64_t start = -1;
	char quoted[QUOTE_TEXT], there[QUOTE_TEXT];
	if (!text)
		return wrong(r, "answers[%zu] has no 'text'", i);
	if (!json_whole(json_object_get(from, "answer_start"), &start) || start < 0)
		return wrong(r, "answers[%zu] has no 'answer_start', a whole number from 0", i);
	if (!*text)
		return wrong(r, "answers[%zu] is empty", i);
	if ((uint64_t)start >= r->characters)
		return wrong(r, "answers[%zu] begins at character %lld of a context of %zu", i,
		             (long long)start, r->characters);
	size_t n = strlen(text), begin = byte_of(r, (size_t)start);
	if (n > r->bytes - begin || memcmp(r->context + begin, text, n) != 0) {
		char found[64];
		snprintf(found, sizeof found, "%s", r->context + begin);
		return wrong(r, "answers[%zu] is '%s', but at character %lld stands '%s…'", i,
		             quote(text, quoted), (long long)start, quote(found, there));
	}
	if (r->squad)
		r->squad->answers[r->answers] = (hec_squad_answer){text, begin, begin + n};
	r->answers++;
	return HEC_OK;
}

static hec_status read_question(squad_reader *r, const json_t *from)
{
	const char *question = json_string_value(json_object_get(from, "question"));
	const json_t *answers = json_object_get(from, "answers"),
		     *impossible = json_object_get(from, "is_impossible");
	const char *id = json_string_value(json_object_get(from, "id"));
	if (!question)
		return wrong(r, "has no 'question'");
	if (impossible && !json_is_boolean(impossible))
		return wrong(r, "'is_impossible' is neither true nor false");
	if (answers && !json_is_array(answers))
		return wrong(r, "'answers' is no list");
	size_t first = r->answers, n = json_is_true(impossible) ? 0 : json_array_size(answers);
	if (n == 0 && !json_is_true(impossible))
		return wrong(r, "has no answer, and 'is_impossible' does not say so");
	for (size_t i = 0; i < n; i++)
		HEC_TRY(read_answer(r, json_array_get(answers, i), i));
	if (r->squad)
		r->squad->questions[r->count] = (hec_squad_question){
			.id = id ? id : "",
			.question = question,
			.context = r->context,
			.question_bytes = strlen(question),
			.context_bytes = r->bytes,
			.answers = r->squad->answers + first,
			.n = n,
		};
	r->count++;
	return HEC_OK;
}

/* ---- the tree ---- */

static hec_status read_paragraph(squad_reader *r, const json_t *from)
{
	const json_t *questions = json_object_get(from, "qas");
	r->question = 0;
	r->context = json_string_value(json_object_get(from, "context"));
	if (!r->context)
		return wrong(r, "its paragraph has no 'context'");
	if (!json_is_array(questions))
		return wrong(r, "its paragraph has no list 'qas'");
	r->bytes = strlen(r->context);
	HEC_TRY(mark_context(r));
	for (; r->question < json_array_size(questions); r->question++)
		HEC_TRY(read_question(r, json_array_get(questions, r->question)));
	return HEC_OK;
}

static hec_status read_root(squad_reader *r, const json_t *root)
{
	const json_t *data = json_object_get(root, "data");
	char file[QUOTE_TEXT];
	if (!json_is_array(data))
		return fail(HEC_ERR_FORMAT,
		            "%s: there is no list 'data': answer wants the JSON of SQuAD",
		            quote(r->file, file));
	for (r->article = 0; r->article < json_array_size(data); r->article++) {
		const json_t *paragraphs =
			json_object_get(json_array_get(data, r->article), "paragraphs");
		if (!json_is_array(paragraphs))
			return fail(HEC_ERR_FORMAT, "%s: data[%zu] has no list 'paragraphs'",
			            quote(r->file, file), r->article);
		for (r->paragraph = 0; r->paragraph < json_array_size(paragraphs); r->paragraph++)
			HEC_TRY(read_paragraph(r, json_array_get(paragraphs, r->paragraph)));
	}
	return HEC_OK;
}

/* Once to count and check, once to keep. */
static hec_status read_roots(squad_reader *r, hec_squad *s, const char *const *files)
{
	for (size_t i = 0; i < s->n; i++) {
		r->file = files[i];
		HEC_TRY(read_root(r, s->roots[i]));
	}
	return HEC_OK;
}

static hec_status read_all(squad_reader *r, hec_squad *s, const char *const *files)
{
	for (size_t i = 0; i < s->n; i++)
		HEC_TRY(json_file_read(files[i], HEC_SQUAD_MAX_BYTES, &s->roots[i]));
	HEC_TRY(read_roots(r, s, files));
	s->count = r->count;
	s->answer_count = r->answers;
	s->questions = mem_zeros(s->count + 1, sizeof *s->questions);
	s->answers = mem_zeros(s->answer_count + 1, sizeof *s->answers);
	if (!s->questions || !s->answers)
		return no_memory(s->count);
	r->squad = s;
	r->count = r->answers = 0;
	return read_roots(r, s, files);
}

hec_status hec_squad_load(const char *const *files, size_t n, hec_squad **out)
{
	HEC_TRY(CHECK_GIVEN("squad", out));
	*out = NULL;
	HEC_TRY(CHECK_GIVEN("squad", files));
	hec_squad *s = mem_zeros(1, sizeof *s);
	json_t **roots = mem_zeros(n + 1, sizeof *roots);
	if (!s || !roots) {
		mem_free(s);
		mem_free(roots);
		return no_memory(0);
	}
	*s = (hec_squad){.roots = roots, .n = n};
	squad_reader r = {0};
	hec_status status = read_all(&r, s, files);
	mem_free(r.marks);
	if (status != HEC_OK) {
		hec_squad_destroy(s);
		return status;
	}
	*out = s;
	return HEC_OK;
}

void hec_squad_destroy(hec_squad *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		json_decref(s->roots[i]);
	mem_free(s->roots);
	mem_free(s->questions);
	mem_free(s->answers);
	mem_free(s);
}

size_t hec_squad_count(const hec_squad *s)
{
	return s->count;
}

const hec_squad_question *hec_squad_at(const hec_squad *s, size_t i)
{
	return s && i < s->count ? &s->questions[i] : NULL;
}
