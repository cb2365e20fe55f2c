/* look_models.h — small models of every form with a tokenizer, saved as folders, for the tests of the
 * commands that look at models. Needs support/models.h before it. */
#ifndef TESTS_LOOK_MODELS_H
#define TESTS_LOOK_MODELS_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <hecate/tokenizer.h>
#include <jansson.h>

#include "program_run.h"

#define WIDTH 32
#define HEADS 4
#define LAYERS 2

static const char *const forms[] = {"encoder", "decoder", "both"};

/* ---- models ---- */

/* A Marian model whose two sides have vocabularies of pieces, with settings that make room for them. */
static inline const char *make_marian(void)
{
	if (shell("mkdir '%s/marian' && cp '%s/golden/models/marian/'* '%s/golden/vocab/marian/'* "
	          "'%s/marian' && chmod -R u+w '%s/marian' && cp "
	          "'%s/golden/vocab/unigram-folded.model' '%s/marian/target.spm'",
	          folder, TESTS_DIR, TESTS_DIR, folder, folder, TESTS_DIR, folder) != 0)
		fail_msg("no model in %s/marian", folder);
	return "--override vocab_size=181 --override decoder_vocab_size=181";
}

static const char *const lines[] = {
	"the cat sat on the mat",      "the dog sat on the log",
	"a cat and a dog on the mat",  "die katze saß auf der matte",
	"der hund saß auf dem klotz",  "eine katze und ein hund auf der matte",
	"the mat and the log and cat", "die matte und der klotz und katze",
};

static inline hec_status next_line(void *user, const char **line, size_t *bytes)
{
	size_t *at = user;
	*line = *at < sizeof lines / sizeof lines[0] ? lines[*at] : NULL;
	*bytes = *line ? strlen(*line) : 0;
	++*at;
	return HEC_OK;
}

static inline hec_tokenizer *make_tokenizer(kit *k)
{
	hec_tokenizer *tokenizer = NULL;
	hec_bpe_train_options o = HEC_BPE_TRAIN_OPTIONS_INIT;
	size_t at = 0;
	o.vocab = 320;
	OK(k, hec_bpe_train(&o, next_line, &at, &tokenizer));
	return tokenizer;
}

static inline hec_stack_config make_stack(void)
{
	hec_stack_config s = {.layers = LAYERS,
	                      .embedding_scale = sqrt(WIDTH),
	                      .position = {.kind = HEC_POSITION_SINUSOIDAL,
	                                   .max = 64,
	                                   .sinusoid = HEC_SINUSOID_HALVES}};
	s.attention = (hec_multi_head_config){.size = sizeof s.attention, .heads = HEADS};
	s.feed_forward = (hec_feed_forward_config){.size = sizeof s.feed_forward, .hidden = 64};
	return s;
}

static inline void make_model(kit *k, model_form form, const hec_tokenizer *tokenizer)
{
	hec_model_config c = {.size = sizeof c,
	                      .vocab = hec_tokenizer_vocab(tokenizer),
	                      .width = WIDTH,
	                      .head = form == FORM_ENCODER ? HEC_HEAD_MASKED : HEC_HEAD_LM,
	                      .output_bias = true,
	                      .bos_id = -1,
	                      .init_std = 0.5};
	c.eos_id = hec_tokenizer_role(tokenizer, "eos");
	c.pad_id = c.start_id = hec_tokenizer_role(tokenizer, "pad");
	if (form != FORM_DECODER)
		c.encoder = make_stack();
	if (form != FORM_ENCODER)
		c.decoder = make_stack();
	char dir[256];
	snprintf(dir, sizeof dir, "%s/%s", folder, forms[form]);
	assert_int_equal(shell("mkdir -p %s", dir), 0);
	hec_model *model = NULL;
	OK(k, hec_model_create(k->ctx, &c, HEC_F32, 7, &model));
	OK(k, hec_model_save(k->ctx, model, HEC_F32, dir));
	OK(k, hec_tokenizer_save(tokenizer, dir));
	hec_model_destroy(model);
}

static inline int make_models(void **state)
{
	if (make_folder(state) != 0)
		return -1;
	kit k = kit_open(1);
	hec_tokenizer *tokenizer = make_tokenizer(&k);
	for (int form = 0; form < MODEL_FORMS; form++)
		make_model(&k, (model_form)form, tokenizer);
	hec_tokenizer_destroy(tokenizer);
	kit_close(&k);
	return 0;
}

static inline result run_on(const char *command, model_form form, const char *arguments)
{
	char line[2048];
	snprintf(line, sizeof line, "%s %s%s/%s %s", command,
	         strcmp(command, "info") == 0 ? "" : "-m ", folder, forms[form], arguments);
	return run(line);
}

static inline json_t *json_of(result *r)
{
	json_error_t error;
	assert_int_equal(r->code, 0);
	json_t *root = json_loads(r->out, JSON_REJECT_DUPLICATES, &error);
	if (!root) {
		print_error("line %d: %s\n", error.line, error.text);
		assert_non_null(root);
	}
	return root;
}

/* An invocation and how it must end. */
typedef struct invocation {
	model_form form;
	const char *arguments;
	int code;
	const char *out, *err; /* part of it; NULL: nothing at all */
} invocation;

static inline void check_invocations(const char *command, const invocation *table, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const invocation *t = &table[i];
		result r = run_on(command, t->form, t->arguments);
		bool out = t->out ? strstr(r.out, t->out) != NULL : *r.out == '\0';
		bool err = t->err ? strstr(r.err, t->err) != NULL : *r.err == '\0';
		if (r.code != t->code || !out || !err) {
			print_error(
				"hecate %s (%s) %s: exit %d, not %d\nout: %.300s\nerr: %.300s\n",
				command, forms[t->form], t->arguments, r.code, t->code, r.out,
				r.err);
			assert_true(false);
		}
		done(&r);
	}
}

#endif
