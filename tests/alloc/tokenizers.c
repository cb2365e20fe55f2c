/* tokenizers.c — a vocabulary learned, saved, loaded and used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "world.h"

#include <cmocka.h>

#include "support/scratch.h"

static const char *const lines[] = {"the cat that sat on the mat, and the other cat",
                                    "größer, über die Straße 12", "the the the theme there",
                                    "你好世界"};
#define LINES (sizeof lines / sizeof lines[0])

static hec_status next_line(void *user, const char **line, size_t *bytes)
{
	size_t *next = user;
	*line = *next < 3 * LINES ? lines[*next % LINES] : NULL;
	*bytes = *line ? strlen(*line) : 0;
	++*next;
	return HEC_OK;
}

static hec_status learn(bool unicode, hec_tokenizer **out)
{
	size_t next = 0;
	hec_bpe_train_options o = HEC_BPE_TRAIN_OPTIONS_INIT;
	o.vocab = 290;
	o.unicode = unicode;
	o.threads = 2;
	return hec_bpe_train(&o, next_line, &next, out);
}

static hec_status encode_pair(const hec_tokenizer *t, const char *text, hec_encoding *e)
{
	hec_encode_options o = HEC_ENCODE_OPTIONS_INIT;
	o.lossy = true;
	o.pair = "the \xff mat";
	o.pair_bytes = strlen(o.pair);
	return hec_tokenizer_encode(t, text, strlen(text), &o, e);
}

static void take(world *w, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		w->bits = (w->bits ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
}

/* Each of these leaves early where memory stays refused: the caller cleans up. */
static void there_and_back(world *w, const hec_tokenizer *t, hec_encoding *e, char **text)
{
	char many[4000];
	memset(many, 'a', sizeof many - 1);
	many[sizeof many - 1] = '\0';
	const char *const texts[] = {"the cats </s> größte", many, ""};
	for (int i = 0; i < 3; i++) {
		CALL(w, encode_pair(t, texts[i], e));
		take(w, e->ids, e->n * sizeof *e->ids);
		take(w, e->offsets, e->n * sizeof *e->offsets);
		size_t bytes;
		CALL(w, hec_tokenizer_decode(t, e->ids, e->n, true, text, &bytes));
		take(w, *text, bytes);
		hec_free(*text);
		*text = NULL;
	}
	/* A repeated call asks for nothing. */
	long before = refuse_requests();
	for (int i = 0; i < 3; i++)
		assert_int_equal(encode_pair(t, texts[i], e), HEC_OK);
	assert_int_equal(refuse_requests(), before);
}

static void save_and_load(world *w, const hec_tokenizer *t, const char *folder,
                          hec_tokenizer **again)
{
	CALL(w, hec_tokenizer_save(t, folder));
	CALL(w, hec_tokenizer_load(folder, again));
}

static void learned(world *w, bool unicode, hec_tokenizer **t)
{
	CALL(w, learn(unicode, t));
}

static void tokenizers(world *w, bool unicode)
{
	hec_tokenizer *t = NULL;
	hec_encoding e = HEC_ENCODING_INIT;
	char *text = NULL;
	learned(w, unicode, &t);
	if (t)
		there_and_back(w, t, &e, &text);
	free(text);
	hec_encoding_free(&e);
	hec_tokenizer_destroy(t);
}

void tokenizers_of_bytes(world *w)
{
	tokenizers(w, false);
}

void tokenizers_of_characters(world *w)
{
	tokenizers(w, true);
}

static void parse(world *w, hec_tokenizer **t)
{
	static const char json[] =
		"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, "
		"\"merges\": [\"a b\"]}, \"added_tokens\": [{\"id\": 3, \"content\": \"</s>\"}], "
		"\"post_processor\": {\"type\": \"Sequence\", \"processors\": [{\"type\": "
		"\"TemplateProcessing\", \"single\": [{\"Sequence\": {\"id\": \"A\"}}], \"pair\": "
		"[], "
		"\"special_tokens\": {}}, {\"type\": \"BertProcessing\", \"cls\": [\"a\", 0], "
		"\"sep\": [\"b\", 1]}]}}";
	CALL(w, hec_tokenizer_parse(json, strlen(json), "{}", 2, t));
}

/* Apart from the others, because each save waits for the disk. */
void tokenizer_files(world *w)
{
	char folder[64];
	assert_int_equal(scratch_folder(folder, sizeof folder), 0);
	hec_tokenizer *t = NULL, *again = NULL;
	parse(w, &t);
	if (t)
		save_and_load(w, t, folder, &again);
	hec_tokenizer_destroy(t);
	hec_tokenizer_destroy(again);
	assert_int_equal(scratch_folder_remove(folder), 0);
}
