/* classify.c — text → ids → encoder, or decoder → a logit for each label → probabilities. */
#include <hecate/classify.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/size.h"
#include "base/status.h"
#include "format/json.h"
#include "task/folder.h"
#include "task/label_names.h"
#include "task/text_inputs.h"

struct hec_classifier {
	task_model m;
	batches batches;
	hec_scoring scoring;
	char **names; /* [labels]; NULL: those of the model */
};

struct hec_token_classes {
	hec_token_class *items; /* of all texts, one behind the other */
	int64_t *begin;         /* [texts + 1] where those of each text begin */
	int64_t texts;
};

/* ---- making one ---- */

static bool labels_tokens(const hec_classifier *c)
{
	return hec_model_config_of(c->m.model)->head == HEC_HEAD_TOKENS;
}

/* As the text-classification pipeline of Transformers decides. */
static void set_problem(const char *problem, hec_classifier *c)
{
	static const struct {
		const char *name;
		hec_scoring scoring;
	} known[] = {{"regression", HEC_SCORING_LOGITS},
	             {"multi_label_classification", HEC_SCORING_SIGMOID}};
	const int64_t labels = hec_classifier_labels(c);
	c->scoring = labels == 1 ? HEC_SCORING_SIGMOID : HEC_SCORING_SOFTMAX;
	for (size_t i = 0; problem && i < sizeof known / sizeof *known; i++) {
		if (strcmp(problem, known[i].name) == 0)
			c->scoring = known[i].scoring;
	}
}

static hec_status check_model(hec_classifier *c)
{
	const hec_model_config *config = hec_model_config_of(c->m.model);
	if (config->head != HEC_HEAD_CLASSIFY && config->head != HEC_HEAD_TOKENS)
		return fail(HEC_ERR_UNSUPPORTED,
		            "classify: the model has no head that gives labels: it was not made to "
		            "classify");
	set_problem(NULL, c);
	return label_names_make(c->m.model, &c->names);
}

static hec_status read_problem(const char *dir, hec_classifier *c)
{
	json_t *root = NULL;
	json_scope scope;
	const char *problem = NULL;
	char path[PATH_MOST];
	HEC_TRY(folder_json(dir, "config.json", path, &root));
	hec_status status = json_scope_root(path, root, &scope);
	if (status == HEC_OK)
		status = json_want_string(&scope, "problem_type", &problem);
	if (status == HEC_OK)
		set_problem(problem, c);
	json_decref(root);
	return status;
}

static hec_status finish(void *handle, const char *dir, const hec_model_load_options *options)
{
	(void)options;
	HEC_TRY(check_model(handle));
	return dir ? read_problem(dir, handle) : HEC_OK;
}

static void clear(void *handle)
{
	hec_classifier *c = handle;
	batches_free(&c->batches);
	if (c->names)
		label_names_free(c->names, hec_classifier_labels(c));
}

static const task_kind kind = {
	.name = "classify", .bytes = sizeof(hec_classifier), .finish = finish, .clear = clear};

hec_status hec_classifier_load(hec_ctx *ctx, const char *dir, const hec_model_load_options *options,
                               hec_classifier **out)
{
	return task_load(&kind, ctx, dir, options, out);
}

hec_status hec_classifier_create(hec_ctx *ctx, const hec_model *model,
                                 const hec_tokenizer *tokenizer, hec_classifier **out)
{
	return task_create(&kind, ctx, model, tokenizer, NULL, out);
}

void hec_classifier_destroy(hec_classifier *classifier)
{
	task_destroy(&kind, classifier);
}

const hec_model *hec_classifier_model(const hec_classifier *classifier)
{
	return classifier->m.model;
}

const hec_tokenizer *hec_classifier_tokenizer(const hec_classifier *classifier)
{
	return classifier->m.tokenizer;
}

int64_t hec_classifier_max_tokens(const hec_classifier *classifier)
{
	return classifier->m.longest;
}

hec_scoring hec_classifier_scoring(const hec_classifier *classifier)
{
	return classifier->scoring;
}

int64_t hec_classifier_labels(const hec_classifier *classifier)
{
	return hec_model_config_of(classifier->m.model)->labels;
}

const char *hec_classifier_label(const hec_classifier *classifier, int64_t i)
{
	if (i < 0 || i >= hec_classifier_labels(classifier))
		return NULL;
	return classifier->names ? classifier->names[i] : hec_model_label(classifier->m.model, i);
}

/* ---- logits to scores ---- */

/* Weights that are no numbers, or too large, would come out as some label all the same. */
static hec_status check_logits(const float *logits, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		if (!isfinite(logits[i]))
			return fail(HEC_ERR_FORMAT,
			            "classify: the model's logit of label %lld is %g", (long long)i,
			            (double)logits[i]);
	return HEC_OK;
}

static void softmax(const float *logits, int64_t n, float *scores)
{
	double most = logits[0], sum = 0;
	for (int64_t i = 1; i < n; i++)
		most = fmax(most, logits[i]);
	for (int64_t i = 0; i < n; i++)
		sum += exp(logits[i] - most);
	for (int64_t i = 0; i < n; i++)
		scores[i] = (float)(exp(logits[i] - most) / sum);
}

static void score(hec_scoring scoring, const float *logits, int64_t n, float *scores)
{
	if (scoring == HEC_SCORING_SOFTMAX) {
		softmax(logits, n, scores);
		return;
	}
	for (int64_t i = 0; i < n; i++)
		scores[i] = scoring == HEC_SCORING_SIGMOID
		                    ? (float)(1 / (1 + exp(-(double)logits[i])))
		                    : logits[i];
}

typedef struct ranked {
	float score;
	int32_t label;
} ranked;

static int better_first(const void *a, const void *b)
{
	const ranked *x = a, *y = b;
	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return x->label < y->label ? -1 : 1;
}

/* ---- both kinds of work ---- */

typedef struct classify_call {
	hec_classifier *c;
	hec_classify_options o;
	text_inputs texts;
	/* of whole texts */
	int64_t labels;
	float *scores;  /* [texts, labels] written */
	int32_t *order; /* [texts, labels] written */
	ranked *ranks;  /* [labels] */
	/* of tokens */
	hec_token_classes *tokens;
	int64_t items, room;
} classify_call;

static hec_status take(classify_call *call, bool tokens, const hec_classify_options *options)
{
	call->o = (hec_classify_options)HEC_CLASSIFY_OPTIONS_INIT;
	if (!call->c)
		return fail(HEC_ERR_ARGUMENT, "classify: the classifier is NULL");
	HEC_TRY(options_take("hec_classify_options", &call->o, sizeof call->o, options));
	if (call->o.scoring < HEC_SCORING_MODEL || call->o.scoring > HEC_SCORING_LOGITS)
		return fail(HEC_ERR_ARGUMENT, "classify: scoring is %d; there are 0 to %d",
		            (int)call->o.scoring, HEC_SCORING_LOGITS);
	if (call->o.scoring == HEC_SCORING_MODEL)
		call->o.scoring = call->c->scoring;
	if (labels_tokens(call->c) != tokens)
		return fail(HEC_ERR_UNSUPPORTED,
		            tokens ? "classify: the model labels whole texts, not their tokens"
		                   : "classify: the model labels tokens, not whole texts");
	call->texts.pairs = call->o.pairs;
	call->texts.pair_bytes = call->o.pair_bytes;
	call->texts.truncate = call->o.truncate;
	call->texts.lossy = call->o.lossy;
	return text_inputs_check(&call->c->m, &call->texts);
}

static hec_status label_all(classify_call *call, batch_fn *take_rows)
{
	batch_input *inputs = NULL;
	HEC_TRY(text_inputs_encode(&call->c->m, &call->texts, &inputs));
	batch_work work = {.model = &call->c->m,
	                   .want = BATCH_LOGITS,
	                   .inputs = inputs,
	                   .n = call->texts.n,
	                   .take_rows = take_rows,
	                   .user = call,
	                   .progress = call->o.progress,
	                   .progress_user = call->o.user};
	hec_status status = batches_run(&call->c->batches, &work);
	batch_inputs_free(inputs, call->texts.n);
	return status;
}

/* ---- whole texts ---- */

static hec_status label_text(void *user, int64_t text, const hec_tensor *rows)
{
	classify_call *call = user;
	const int64_t n = call->labels;
	float *scores = call->scores + text * n;
	HEC_TRY(check_logits(rows->data, n));
	score(call->o.scoring, rows->data, n, scores);
	for (int64_t i = 0; i < n; i++)
		call->ranks[i] = (ranked){scores[i], (int32_t)i};
	qsort(call->ranks, (size_t)n, sizeof *call->ranks, better_first);
	for (int64_t i = 0; i < n; i++)
		call->order[text * n + i] = call->ranks[i].label;
	return HEC_OK;
}

static hec_status classes_create(int64_t texts, int64_t labels, hec_classes **out)
{
	size_t count = 0;
	hec_classes *c = mem_zeros(1, sizeof *c);
	if (c && size_mul((size_t)texts, (size_t)labels, &count)) {
		c->scores = mem_zeros(count + 1, sizeof *c->scores);
		c->order = mem_zeros(count + 1, sizeof *c->order);
	}
	if (!c || !c->scores || !c->order) {
		hec_classes_free(c);
		return fail(HEC_ERR_MEMORY, "classify: no memory for %lld texts of %lld labels",
		            (long long)texts, (long long)labels);
	}
	c->texts = texts;
	c->labels = labels;
	*out = c;
	return HEC_OK;
}

static hec_status classify(classify_call *call, const hec_classes *out)
{
	call->labels = out->labels;
	call->scores = mem_own(out->scores);
	call->order = mem_own(out->order);
	call->ranks = mem_zeros((size_t)call->labels, sizeof *call->ranks);
	if (!call->ranks)
		return fail(HEC_ERR_MEMORY, "classify: no memory for %lld labels",
		            (long long)call->labels);
	hec_status status = label_all(call, label_text);
	mem_free(call->ranks);
	return status;
}

hec_status hec_classify(hec_classifier *classifier, int64_t n, const char *const *texts,
                        const size_t *bytes, const hec_classify_options *options, hec_classes **out)
{
	if (!out)
		return fail(HEC_ERR_ARGUMENT, "classify: out is NULL");
	*out = NULL;
	classify_call call = {.c = classifier, .texts = {.n = n, .texts = texts, .bytes = bytes}};
	hec_classes *made = NULL;
	HEC_TRY(take(&call, false, options));
	HEC_TRY(classes_create(n, hec_classifier_labels(classifier), &made));
	hec_status status = n > 0 ? classify(&call, made) : HEC_OK;
	if (status == HEC_OK)
		*out = made;
	else
		hec_classes_free(made);
	return status;
}

void hec_classes_free(hec_classes *classes)
{
	if (!classes)
		return;
	mem_free(mem_own(classes->scores));
	mem_free(mem_own(classes->order));
	mem_free(classes);
}

/* ---- tokens ---- */

/* What the tokenizer added has no place in the text. */
static hec_status keep_tokens(void *user, int64_t text, const hec_encoding *e)
{
	classify_call *call = user;
	hec_token_classes *out = call->tokens;
	const int64_t need = call->items + (int64_t)e->n;
	if (need > call->room) {
		const int64_t room = max_i64(need, 2 * call->room);
		hec_token_class *items = mem_resize(out->items, (size_t)room * sizeof *items);
		if (!items)
			return fail(HEC_ERR_MEMORY, "classify: no memory for %lld tokens",
			            (long long)room);
		out->items = items;
		call->room = room;
	}
	for (size_t i = 0; i < e->n; i++) {
		if (e->sequence[i] >= 0)
			out->items[call->items++] = (hec_token_class){.index = (int64_t)i,
			                                              .id = e->ids[i],
			                                              .second = e->sequence[i],
			                                              .span = e->offsets[i]};
	}
	out->begin[text + 1] = call->items;
	return HEC_OK;
}

static hec_status label_tokens(void *user, int64_t text, const hec_tensor *rows)
{
	classify_call *call = user;
	hec_token_classes *out = call->tokens;
	const int64_t n = rows->shape[1];
	for (int64_t i = out->begin[text]; i < out->begin[text + 1]; i++) {
		hec_token_class *t = &out->items[i];
		const float *logits = (const float *)rows->data + t->index * n;
		double sum = 0;
		HEC_TRY(check_logits(logits, n));
		t->label = 0;
		for (int32_t k = 1; k < n; k++)
			t->label = logits[k] > logits[t->label] ? k : t->label;
		for (int64_t k = 0; k < n; k++)
			sum += exp((double)logits[k] - logits[t->label]);
		t->score = (float)(1 / sum);
	}
	return HEC_OK;
}

static hec_status token_classes_create(int64_t texts, hec_token_classes **out)
{
	hec_token_classes *t = mem_zeros(1, sizeof *t);
	if (t)
		t->begin = mem_zeros((size_t)texts + 1, sizeof *t->begin);
	if (!t || !t->begin) {
		mem_free(t);
		return fail(HEC_ERR_MEMORY, "classify: no memory for %lld texts", (long long)texts);
	}
	t->texts = texts;
	*out = t;
	return HEC_OK;
}

hec_status hec_classify_tokens(hec_classifier *classifier, int64_t n, const char *const *texts,
                               const size_t *bytes, const hec_classify_options *options,
                               hec_token_classes **out)
{
	if (!out)
		return fail(HEC_ERR_ARGUMENT, "classify: out is NULL");
	*out = NULL;
	classify_call call = {.c = classifier};
	call.texts = (text_inputs){
		.n = n, .texts = texts, .bytes = bytes, .encoded = keep_tokens, .user = &call};
	HEC_TRY(take(&call, true, options));
	HEC_TRY(token_classes_create(n, &call.tokens));
	hec_status status = n > 0 ? label_all(&call, label_tokens) : HEC_OK;
	if (status == HEC_OK)
		*out = call.tokens;
	else
		hec_token_classes_free(call.tokens);
	return status;
}

const hec_token_class *hec_token_classes_at(const hec_token_classes *classes, int64_t text,
                                            int64_t i)
{
	if (!classes || text < 0 || text >= classes->texts || i < 0 ||
	    i >= classes->begin[text + 1] - classes->begin[text])
		return NULL;
	return &classes->items[classes->begin[text] + i];
}

void hec_token_classes_free(hec_token_classes *classes)
{
	if (!classes)
		return;
	mem_free(classes->items);
	mem_free(classes->begin);
	mem_free(classes);
}
