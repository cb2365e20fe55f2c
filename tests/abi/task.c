/* task.c — reading with models: filling masks, classifying, answering, embedding. */
#include "world.h"

static hec_status count_progress(void *user, const char *phase, int64_t done, int64_t total)
{
	EXPECT(*phase != 0 && done <= total);
	++*(int *)user;
	return HEC_OK;
}

/* ---- fill.h ---- */

static void show_guesses(const hec_filled *filled, int64_t text, int64_t masks, int64_t top)
{
	EXPECT(hec_filled_masks(filled, text) == masks);
	for (int64_t m = 0; m < masks; m++) {
		for (int64_t r = 0; r < top; r++) {
			const hec_guess *g = hec_filled_at(filled, text, m, r);
			EXPECT(g && g->score > 0 && g->score < 1);
			EXPECT(g->token_bytes == strlen(g->token) &&
			       g->text_bytes == strlen(g->text));
			EXPECT(strstr(g->text, g->token));
			EXPECT(r == 0 || hec_filled_at(filled, text, m, r - 1)->score >= g->score);
			printf("guess %d.%d.%d: %d \"%s\" %.17g \"%s\"\n", (int)text, (int)m,
			       (int)r, (int)g->id, g->token, g->score, g->text);
		}
		EXPECT(!hec_filled_at(filled, text, m, top));
	}
	EXPECT(!hec_filled_at(filled, text, masks, 0));
}

static void run_fill(hec_ctx *ctx, const hec_tokenizer *tokenizer)
{
	static const int32_t targets[] = {5, 6, 7, 8};
	const char *texts[] = {"the [MASK] saw a bird .", "a [MASK] [MASK] ran home"};
	int calls = 0;
	hec_model *model = world_model(ctx, true, false, HEC_HEAD_MASKED, 21);
	hec_fill_options o = HEC_FILL_OPTIONS_INIT;
	hec_filler *filler;
	hec_filled *filled;
	EXPECT_OK(hec_filler_create(ctx, model, tokenizer, &filler));
	EXPECT_TEXT(hec_filler_mask(filler), "[MASK]");
	o.top = 3;
	o.targets = targets;
	o.target_count = 4;
	o.batch = 8;
	o.progress = count_progress;
	o.user = &calls;
	EXPECT_OK(hec_fill(filler, 2, texts, NULL, &o, &filled));
	EXPECT(calls > 0);
	show_guesses(filled, 0, 1, 3);
	show_guesses(filled, 1, 2, 3);
	for (int64_t r = 0; r < 3; r++) {
		int32_t id = hec_filled_at(filled, 0, 0, r)->id;
		EXPECT(id >= 5 && id <= 8);
	}
	hec_filled_free(filled);
	hec_filler_destroy(filler);
	hec_model_destroy(model);
}

/* ---- classify.h ---- */

static void show_classes(const hec_classes *c, bool sums)
{
	EXPECT(c->texts == 3 && c->labels == 3);
	for (int64_t i = 0; i < 3; i++) {
		const float *s = c->scores + 3 * i;
		const int32_t *o = c->order + 3 * i;
		EXPECT(s[o[0]] >= s[o[1]] && s[o[1]] >= s[o[2]]);
		if (sums)
			EXPECT_NEAR(s[0] + s[1] + s[2], 1);
		show_floats("scores", s, 3);
	}
}

static void run_classify(hec_ctx *ctx, const hec_tokenizer *tokenizer)
{
	static const char *const names[] = {"bad", "fair", "good"};
	const char *texts[] = {"the cat ran", "a dog", "blue"}, *pairs[] = {"", "red bird", "home"};
	int calls = 0;
	hec_model *model = world_model(ctx, true, false, HEC_HEAD_CLASSIFY, 22);
	hec_classify_options o = HEC_CLASSIFY_OPTIONS_INIT;
	hec_classifier *classifier;
	hec_classes *alone, *paired;
	EXPECT_OK(hec_model_set_labels(model, names, 3));
	EXPECT_OK(hec_classifier_create(ctx, model, tokenizer, &classifier));
	EXPECT_TEXT(hec_classifier_label(classifier, 2), "good");
	EXPECT_OK(hec_classify(classifier, 3, texts, NULL, &o, &alone));
	show_classes(alone, true);
	o.scoring = HEC_SCORING_SIGMOID;
	o.pairs = pairs;
	o.progress = count_progress;
	o.user = &calls;
	EXPECT_OK(hec_classify(classifier, 3, texts, NULL, &o, &paired));
	show_classes(paired, false);
	EXPECT(calls > 0);
	hec_classes_free(alone);
	hec_classes_free(paired);
	hec_classifier_destroy(classifier);
	hec_model_destroy(model);
}

static void run_token_classes(hec_ctx *ctx, const hec_tokenizer *tokenizer)
{
	const char *texts[] = {"the cats ran", "home"}, *pairs[] = {"red", ""};
	static const size_t begins[] = {0, 4, 7, 9, 0}, ends[] = {3, 7, 8, 12, 3};
	static const int32_t ids[] = {5, 6, 17, 15, 11};
	hec_model *model = world_model(ctx, true, false, HEC_HEAD_TOKENS, 23);
	hec_classify_options o = HEC_CLASSIFY_OPTIONS_INIT;
	hec_classifier *classifier;
	hec_token_classes *classes;
	EXPECT_OK(hec_classifier_create(ctx, model, tokenizer, &classifier));
	o.pairs = pairs;
	EXPECT_OK(hec_classify_tokens(classifier, 2, texts, NULL, &o, &classes));
	for (int64_t i = 0; i < 5; i++) {
		const hec_token_class *t = hec_token_classes_at(classes, 0, i);
		EXPECT(t && t->id == ids[i] && t->second == (i == 4));
		EXPECT(t->index == (i < 4 ? i + 1 : 6)); /* [SEP] stands between them */
		EXPECT(t->span.begin == begins[i] && t->span.end == ends[i]);
		EXPECT(t->label >= 0 && t->label < 3 && t->score > 0.333f && t->score < 1);
		printf("token %d: %d %.9g\n", (int)i, (int)t->label, (double)t->score);
	}
	EXPECT(!hec_token_classes_at(classes, 0, 5));
	EXPECT(hec_token_classes_at(classes, 1, 0)->id == 16 &&
	       !hec_token_classes_at(classes, 1, 1));
	hec_token_classes_free(classes);
	hec_classifier_destroy(classifier);
	hec_model_destroy(model);
}

/* ---- answer.h ---- */

static hec_question ask(const char *question, const char *context)
{
	return (hec_question){question, context, strlen(question), strlen(context)};
}

static void show_answers(const hec_answers *answers, int64_t i, const hec_question *q)
{
	int64_t n = 0;
	for (const hec_answer_item *a; (a = hec_answers_at(answers, i, n)); n++) {
		EXPECT(a->bytes == strlen(a->text) && a->end - a->begin == a->bytes);
		EXPECT(memcmp(q->context + a->begin, a->text, a->bytes) == 0);
		EXPECT(a->score >= 0 && a->score <= 1);
		printf("answer %d.%d: \"%s\" %d %.17g\n", (int)i, (int)n, a->text, (int)a->begin,
		       a->score);
	}
	EXPECT(n >= 1 && n <= 4 && hec_answers_windows(answers, i) >= 1);
	printf("windows %d, none %.17g\n", (int)hec_answers_windows(answers, i),
	       hec_answers_none(answers, i));
}

static void run_answer(hec_ctx *ctx, const hec_tokenizer *tokenizer)
{
	const hec_question questions[2] = {
		ask("a dog", "the big red cat saw a small blue bird . the dog ran home ."),
		ask("home", "the cat ran .")};
	int calls = 0;
	hec_model *model = world_model(ctx, true, false, HEC_HEAD_ANSWER, 24);
	hec_answer_options o = HEC_ANSWER_OPTIONS_INIT;
	hec_answerer *answerer;
	hec_answers *answers;
	EXPECT_OK(hec_answerer_create(ctx, model, tokenizer, &answerer));
	o.top = 4;
	o.max_tokens = 3;
	o.window = 12;
	o.stride = 2;
	o.may_be_none = true;
	o.none_margin = 0.01;
	o.batch = 24;
	o.progress = count_progress;
	o.user = &calls;
	EXPECT_OK(hec_answer(answerer, 2, questions, &o, &answers));
	EXPECT(calls > 0 && hec_answers_windows(answers, 0) == 3);
	show_answers(answers, 0, &questions[0]);
	show_answers(answers, 1, &questions[1]);
	EXPECT(!hec_answers_at(answers, 2, 0));
	hec_answers_free(answers);
	hec_answerer_destroy(answerer);
	hec_model_destroy(model);
}

/* ---- embed.h ---- */

static void run_embed(hec_ctx *ctx, const hec_tokenizer *tokenizer)
{
	const char *texts[] = {"the cat ran", "a dog", "the cat ran"};
	int calls = 0;
	hec_model *model = world_model(ctx, true, false, HEC_HEAD_NONE, 25);
	hec_embed_options o = HEC_EMBED_OPTIONS_INIT;
	hec_embedder *embedder;
	hec_embeddings *e;
	EXPECT_OK(hec_embedder_create(ctx, model, tokenizer, &embedder));
	o.pooling = HEC_POOL_FIRST | HEC_POOL_MEAN;
	o.normalize = true;
	o.progress = count_progress;
	o.user = &calls;
	EXPECT_OK(hec_embed(embedder, 3, texts, NULL, &o, &e));
	EXPECT(e->texts == 3 && e->width == 2 * WIDTH && calls > 0);
	EXPECT_NEAR(hec_cosine(e->rows, e->rows + 2 * e->width, e->width), 1);
	for (int64_t i = 0; i < 3; i++) {
		double sum = 0;
		for (int64_t j = 0; j < e->width; j++)
			sum += (double)e->rows[i * e->width + j] * e->rows[i * e->width + j];
		EXPECT_NEAR(sum, 1);
	}
	show_floats("vectors", e->rows, e->texts * e->width);
	hec_embeddings_free(e);
	hec_embedder_destroy(embedder);
	hec_model_destroy(model);
}

int main(int argc, char **argv)
{
	EXPECT(argc == 2);
	hec_ctx *ctx = world_ctx();
	hec_tokenizer *tokenizer = world_tokenizer(argv[1]);
	run_fill(ctx, tokenizer);
	run_classify(ctx, tokenizer);
	run_token_classes(ctx, tokenizer);
	run_answer(ctx, tokenizer);
	run_embed(ctx, tokenizer);
	hec_tokenizer_destroy(tokenizer);
	hec_ctx_destroy(ctx);
	return 0;
}
