/* settings.c — the table of settings. */
#include "cli/train/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/io/put.h"

typedef struct setting {
	option_kind kind;
	const char *name, *word, *help, *shown; /* shown: the default as help says it */
	size_t place;
	const char *field; /* what the library calls it */
	bool of_run;       /* part of train.json */
} setting;

#define O(member) offsetof(train_settings, o.member), #member
#define S(member) offsetof(train_settings, member), #member

static const setting table[] = {
	{OPTION_TEXT, "--task", "T", "translate, seq2seq, lm, mlm, classify, answer", NULL, S(task),
         true},
	{OPTION_LIST, "--train", "F…", "text to learn from; lines may be gzip", NULL, S(train),
         true},
	{OPTION_LIST, "--valid", "F…", "text to validate on", NULL, S(valid), true},
	{OPTION_TEXT, "--out", "DIR", "where everything goes", NULL, O(dir), false},
	{OPTION_FLAG, "--resume", NULL, "go on with the run in DIR", NULL, O(resume), false},
	{OPTION_TEXT, "--from", "DIR", "a pretrained model to go on from, with its tokenizer", NULL,
         O(from), true},
	{OPTION_EACH, "--override", "KEY=VALUE",
         "--from: its config.json says this instead; what does not fit starts fresh", NULL,
         S(overrides), true},
	{OPTION_TEXT, "--config", "F", "a config.json: its architecture", NULL, O(config), true},
	{OPTION_TEXT, "--tokenizer", "DIR", "a tokenizer.json instead of learning one", NULL,
         O(tokenizer), true},
	{OPTION_TEXT, "--effort", "E",
         "small, normal, large: how large a model, and how long it learns", "normal", S(effort),
         true},
	{OPTION_WHOLE, "--vocab", "N", "tokens of a vocabulary that is learned", "by the data",
         O(vocab), true},
	{OPTION_WHOLE, "--max-length", "N", "tokens; longer examples are left out", "by the task",
         O(max_length), true},
	{OPTION_FLAG, "--truncate", NULL, "cut longer texts instead of leaving them out", NULL,
         O(truncate), true},
	{OPTION_TEXT, "--source-prefix", "TEXT", "before every source: \"summarize: \"", NULL,
         O(source_prefix), true},
	{OPTION_TEXT, "--from-lang", "L", "mBART: the language of sources: de_DE, …",
         "the tokenizer's", O(from_language), true},
	{OPTION_TEXT, "--to-lang", "L", "mBART: the language of targets", NULL, O(to_language),
         true},
	{OPTION_TEXT, "--language", "L", "Whisper: what is spoken: en, de, …",
         "generation_config.json's", O(language), true},
	{OPTION_TEXT, "--speech-task", "T",
         "Whisper: transcribe, or translate where texts are English", "generation_config.json's",
         O(speech_task), true},
	{OPTION_WHOLE, "--stride", "N", "answer: tokens that windows share", "max-length / 3",
         O(stride), true},
	{OPTION_WHOLE, "--width", "N", "of the model", "by the data", O(width), true},
	{OPTION_WHOLE, "--encoder-layers", "N", "", "by the data", O(encoder_layers), true},
	{OPTION_WHOLE, "--decoder-layers", "N", "", "by the data", O(decoder_layers), true},
	{OPTION_WHOLE, "--heads", "N", "", "by the width", O(heads), true},
	{OPTION_WHOLE, "--hidden", "N", "width of the feed-forward layers", "4 · width", O(hidden),
         true},
	{OPTION_REAL, "--dropout", "X", "of embeddings and sublayers", "0.1; the model's",
         O(dropout), true},
	{OPTION_REAL, "--attention-dropout", "X", "of attention weights", "0; the model's",
         O(attention_dropout), true},
	{OPTION_REAL, "--activation-dropout", "X", "inside the feed-forward layers",
         "0; the model's", O(activation_dropout), true},
	{OPTION_TEXT, "--schedule", "S", "inverse-sqrt, noam, cosine, linear, constant",
         "linear; without an end inverse-sqrt; constant", S(schedule), true},
	{OPTION_REAL, "--lr", "X", "peak of the learning rate (noam: its factor)",
         "by the width; 5e-5, 3e-4 for T5, 1e-5 for Whisper", O(lr), true},
	{OPTION_REAL, "--lr-end", "X", "where cosine and linear arrive after the last step", "0",
         O(lr_end), true},
	{OPTION_WHOLE, "--warmup", "N", "steps in which the learning rate rises",
         "by the steps; 6 in 100", O(warmup), true},
	{OPTION_REAL, "--beta1", "X", "of AdamW", "0.9", O(beta1), true},
	{OPTION_REAL, "--beta2", "X", "of AdamW", "0.98; 0.999", O(beta2), true},
	{OPTION_REAL, "--eps", "X", "of AdamW", "1e-9; 1e-8", O(eps), true},
	{OPTION_REAL, "--weight-decay", "X", "of matrices", "0.01", O(weight_decay), true},
	{OPTION_REAL, "--clip", "X", "longest gradient; 0: any", "1", O(clip), true},
	{OPTION_REAL, "--label-smoothing", "X", "", "0.1, 0 for mlm, lm; 0", O(smoothing), true},
	{OPTION_REAL, "--mask-rate", "X", "mlm: share of tokens asked for", "0.15", O(mask_rate),
         true},
	{OPTION_TEXT, "--batch-tokens", "N", "tokens of a batch on its longer side, or auto",
         "auto: as memory allows", S(batch_tokens), true},
	{OPTION_WHOLE, "--batch-rows", "N", "most examples of a batch",
         "no limit; 16, 32 to classify", O(batch_rows), true},
	{OPTION_WHOLE, "--accumulate", "N", "batches a step", "by the data", O(accumulate), true},
	{OPTION_WHOLE, "--memory", "MB", "what batch-tokens auto may use", "half of what is free",
         O(memory), false},
	{OPTION_WHOLE, "--steps", "N", "at most; 0: no limit", "by the data; by the epochs",
         O(steps), true},
	{OPTION_WHOLE, "--epochs", "N", "at most; 0: no limit", "0; by the effort, 3", O(epochs),
         true},
	{OPTION_REAL, "--time", "S", "seconds after which to save and stop; 0: no limit", "0",
         O(seconds), false},
	{OPTION_WHOLE, "--report-every", "N", "steps between lines of log.jsonl", "50",
         O(report_every), true},
	{OPTION_WHOLE, "--valid-every", "N", "steps between validations; 0: by the data", "0",
         O(valid_every), true},
	{OPTION_WHOLE, "--save-every", "N", "steps between checkpoints; 0: as --valid-every", "0",
         O(save_every), true},
	{OPTION_WHOLE, "--keep", "N", "checkpoints kept", "3", O(keep), true},
	{OPTION_WHOLE, "--average", "N", "at the end, try the mean of N checkpoints", "0",
         O(average), true},
	{OPTION_WHOLE, "--patience", "N",
         "stop after N validations without a better model; 0: never", "10", O(patience), true},
	{OPTION_WHOLE, "--valid-sentences", "N", "decoded and scored at a validation; 0: none",
         "200", O(valid_sentences), true},
	{OPTION_WHOLE, "--valid-beam", "N", "beams of that", "1", O(valid_beam), true},
	{OPTION_TEXT, "--best", "M", "keep the best by loss, bleu, chrf, accuracy, exact, f1",
         "loss", S(best), true},
	{OPTION_TEXT, "--dtype", "D", "of the model in DIR: f32, bf16, f16", "f32", S(dtype), true},
	{OPTION_SEED, "--seed", "N", "of weights, order and dropout", "1", S(seed), true},
	{OPTION_WHOLE, "--threads", "N", "", "the cores available", S(threads), false},
	{OPTION_TEXT, "--dump-batches", "F", "write each batch as a line of JSON", NULL,
         S(dump_batches), false},
	{OPTION_FLAG, "--dump-config", NULL, "print all settings as JSON and stop", NULL,
         S(dump_config), false},
	{OPTION_FLAG, "--quiet", NULL, "no progress and no plan", NULL, S(quiet), false},
	{OPTION_FLAG, "--json", NULL, "the result as JSON", NULL, S(json), false},
};
#define SETTINGS (sizeof table / sizeof *table)
_Static_assert(SETTINGS < SETTINGS_MOST, "room for the end of the table");

void settings_default(train_settings *s)
{
	*s = (train_settings){
		.o = HEC_TRAINING_OPTIONS_INIT,
		.schedule = "auto",
		.batch_tokens = "auto",
		.best = "loss",
		.dtype = "f32",
		.effort = "normal",
		.seed = {1, true},
	};
}

/* What may be asked for; the default, "choose", may be less. */
static void range_of(const setting *t, int64_t *low, int64_t *high)
{
	if (strcmp(t->field, "threads") == 0) { /* an int there */
		*low = 0;
		*high = HEC_MAX_THREADS;
	} else if (!hec_training_range(t->field, low, high)) {
		*low = *high = 0;
	}
}

const option *settings_options(train_settings *s)
{
	static option options[SETTINGS_MOST];
	static char help[SETTINGS_MOST][160];
	for (size_t i = 0; i < SETTINGS; i++) {
		const setting *t = &table[i];
		snprintf(help[i], sizeof help[i], "%s%s%s%s%s", t->help, t->shown ? " (" : "",
		         t->shown ? "default: " : "", t->shown ? t->shown : "",
		         t->shown ? ")" : "");
		options[i] = (option){.kind = t->kind,
		                      .name = t->name,
		                      .word = t->word,
		                      .help = help[i] + (help[i][0] == ' '),
		                      .value = (char *)s + t->place};
		range_of(t, &options[i].low, &options[i].high);
	}
	options[SETTINGS] = (option){0};
	return options;
}

/* ---- JSON ---- */

/* "--max-length" is max_length there. */
static const char *key_of(const setting *t, char key[64])
{
	size_t i = 0;
	for (const char *from = t->name + 2; *from && i < 63; from++)
		key[i++] = *from == '-' ? '_' : *from;
	key[i] = '\0';
	return key;
}

static void print_text(const char *text, FILE *out)
{
	json_t *value = text ? json_string(text) : json_null();
	if (!put_json_value(value, JSON_ENCODE_ANY, out))
		fputs("null", out);
	json_decref(value);
}

/* By the fewest digits that read back as the same bits. */
static void print_real(double value, FILE *out)
{
	char text[40];
	snprintf(text, sizeof text, "%.15g", value);
	if (strtod(text, NULL) != value)
		snprintf(text, sizeof text, "%.17g", value);
	fputs(text, out);
}

static void print_value(const setting *t, const void *at, FILE *out)
{
	switch (t->kind) {
	case OPTION_FLAG:
		fputs(*(const bool *)at ? "true" : "false", out);
		break;
	case OPTION_TEXT:
		print_text(*(const char *const *)at, out);
		break;
	case OPTION_WHOLE:
		fprintf(out, "%lld", (long long)*(const int64_t *)at);
		break;
	case OPTION_REAL:
		print_real(*(const double *)at, out);
		break;
	case OPTION_SEED: /* a text: a JSON number holds 53 bits for others */
		fprintf(out, "\"%llu\"", (unsigned long long)((const option_seed *)at)->value);
		break;
	case OPTION_LIST:
	case OPTION_EACH:
		for (size_t i = 0; i < ((const option_list *)at)->count; i++) {
			fputs(i ? ", " : "[", out);
			print_text(((const option_list *)at)->items[i], out);
		}
		fputs(((const option_list *)at)->count ? "]" : "[]", out);
		break;
	case OPTION_PICTURE:
	case OPTION_END:
		break;
	}
}

void settings_print(const train_settings *s, FILE *out)
{
	const char *before = "{";
	for (size_t i = 0; i < SETTINGS; i++) {
		const setting *t = &table[i];
		char key[64];
		if (!t->of_run)
			continue;
		fprintf(out, "%s\n  \"%s\": ", before, key_of(t, key));
		print_value(t, (const char *)s + t->place, out);
		before = ",";
	}
	fputs("\n}\n", out);
}

static bool take_list(option_list *to, const json_t *value)
{
	to->count = 0;
	for (size_t i = 0; i < json_array_size(value); i++) {
		const char *text = json_string_value(json_array_get(value, i));
		if (!text || to->count == OPTION_LIST_MOST)
			return false;
		to->items[to->count++] = text;
	}
	return json_is_array(value);
}

static bool take_seed(option_seed *to, const json_t *value)
{
	const char *text = json_string_value(value);
	errno = 0;
	unsigned long long seed = text ? strtoull(text, NULL, 10) : 0;
	if (!text || !*text || errno || strspn(text, "0123456789") != strlen(text))
		return false;
	*to = (option_seed){seed, true};
	return true;
}

/* In a run that ended before it was settled what the default means, the default stands. */
static bool fits(const setting *t, const json_t *value, double by_default)
{
	const double number = json_number_value(value);
	int64_t low, high;
	range_of(t, &low, &high);
	return json_is_number(value) &&
	       (number == by_default || (number >= (double)low && number <= (double)high));
}

static bool take_value(const setting *t, void *at, const json_t *value)
{
	switch (t->kind) {
	case OPTION_FLAG:
		*(bool *)at = json_is_true(value);
		return json_is_boolean(value);
	case OPTION_TEXT:
		/* Only what has no default may be missing. */
		if (!json_is_string(value) && !(json_is_null(value) && !*(const char *const *)at))
			return false;
		*(const char **)at = json_string_value(value);
		return true;
	case OPTION_WHOLE:
		if (!json_is_integer(value) || !fits(t, value, (double)*(int64_t *)at))
			return false;
		*(int64_t *)at = json_integer_value(value);
		return true;
	case OPTION_REAL:
		if (!fits(t, value, *(double *)at))
			return false;
		*(double *)at = json_number_value(value);
		return true;
	case OPTION_SEED:
		return take_seed(at, value);
	case OPTION_LIST:
	case OPTION_EACH:
		return take_list(at, value);
	default:
		return false;
	}
}

static const char *wanted(const setting *t, char text[80])
{
	int64_t low, high;
	range_of(t, &low, &high);
	switch (t->kind) {
	case OPTION_FLAG:
		return "true or false";
	case OPTION_WHOLE:
	case OPTION_REAL:
		snprintf(text, 80, "a %snumber from %lld to %lld",
		         t->kind == OPTION_WHOLE ? "whole " : "", (long long)low, (long long)high);
		return text;
	case OPTION_SEED:
		return "a whole number as a text";
	case OPTION_LIST:
	case OPTION_EACH:
		snprintf(text, 80, "a list of at most %d texts", OPTION_LIST_MOST);
		return text;
	default:
		return "a text";
	}
}

static void say_wrong(const setting *t, const char *key, const json_t *value, char *error,
                      size_t room)
{
	char must[80], *is = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII);
	snprintf(error, room, "train.json: '%s' is %.60s%s, which is not what it must be: %s", key,
	         is ? is : "?", is && strlen(is) > 60 ? "…" : "", wanted(t, must));
	free(is);
}

bool settings_take_json(train_settings *s, const json_t *root, char *error, size_t room)
{
	for (size_t i = 0; i < SETTINGS; i++) {
		const setting *t = &table[i];
		char key[64];
		const json_t *value = t->of_run ? json_object_get(root, key_of(t, key)) : NULL;
		/* A run of an older program lacks what came later: the default holds. */
		if (value && !take_value(t, (char *)s + t->place, value)) {
			say_wrong(t, key, value, error, room);
			return false;
		}
	}
	return true;
}

/* ---- words ---- */

static const char *const schedules[] = {"inverse-sqrt", "noam", "cosine", "linear", "constant"};
static const char *const efforts[] = {"normal", "small", "large"};
static const char *const dtypes[] = {"f32", "bf16", "f16"};
static const hec_dtype dtype_ids[] = {HEC_F32, HEC_BF16, HEC_F16};

static int find(const char *word, const char *const *words, int count)
{
	for (int i = 0; word && i < count; i++)
		if (strcmp(word, words[i]) == 0)
			return i;
	return -1;
}

static int find_task(const char *word)
{
	for (int i = 0; word && i < HEC_TASKS; i++)
		if (strcmp(word, hec_task_name((hec_task)i)) == 0)
			return i;
	return -1;
}

static int find_metric(const char *word)
{
	for (int i = 0; word && i < HEC_METRICS; i++)
		if (strcmp(word, hec_metric_name((hec_metric)i)) == 0)
			return i;
	return -1;
}

static bool is_whole(const char *text, int64_t most)
{
	return strlen(text) <= 9 && strspn(text, "0123456789") == strlen(text) && atoi(text) >= 1 &&
	       atoi(text) <= most;
}

static bool check_words(const train_settings *s, char *error, size_t room)
{
	if (!s->task)
		snprintf(error, room,
		         "--task is missing: translate, seq2seq, lm, mlm, classify "
		         "or answer");
	else if (find_task(s->task) < 0)
		snprintf(error, room, "there is no task '%.40s'", s->task);
	else if (strcmp(s->schedule, "auto") != 0 && find(s->schedule, schedules, 5) < 0)
		snprintf(error, room, "there is no schedule '%.40s'", s->schedule);
	else if (find(s->effort, efforts, 3) < 0)
		snprintf(error, room, "--effort wants small, normal or large, not '%.40s'",
		         s->effort);
	else if (find_metric(s->best) < 0)
		snprintf(error, room,
		         "--best wants loss, bleu, chrf, accuracy, exact or f1, not '%.40s'",
		         s->best);
	else if (find(s->dtype, dtypes, 3) < 0)
		snprintf(error, room, "--dtype wants f32, bf16 or f16, not '%.40s'", s->dtype);
	else if (strcmp(s->batch_tokens, "auto") != 0 &&
	         !is_whole(s->batch_tokens, HEC_MAX_BATCH_TOKENS))
		snprintf(error, room,
		         "--batch-tokens wants a whole number from 1 to %d, or auto, not '%.40s'",
		         HEC_MAX_BATCH_TOKENS, s->batch_tokens);
	else if (!s->train.count)
		snprintf(error, room, "--train is missing: the text to learn from");
	else if (!s->o.dir && !s->dump_config)
		snprintf(error, room, "--out is missing: the folder for everything");
	return !error[0];
}

static bool is_text(const char *text)
{
	json_t *value = json_string(text ? text : "");
	bool good = value != NULL;
	json_decref(value);
	return good;
}

/* train.json must give back what it was given, or the run could not be resumed. */
static bool check_texts(const train_settings *s, char *error, size_t room)
{
	for (size_t i = 0; i < SETTINGS && !error[0]; i++) {
		const setting *t = &table[i];
		const void *at = (const char *)s + t->place;
		const option_list *list = at;
		bool good = true;
		if (t->kind == OPTION_TEXT && t->of_run)
			good = is_text(*(const char *const *)at);
		const bool many = t->kind == OPTION_LIST || t->kind == OPTION_EACH;
		for (size_t j = 0; many && j < list->count; j++)
			good = good && is_text(list->items[j]);
		if (!good)
			snprintf(error, room,
			         "%s: not UTF-8; train.json could not hold it for --resume",
			         t->name);
	}
	return !error[0];
}

bool settings_check(train_settings *s, char *error, size_t room)
{
	hec_training_options *o = &s->o;
	error[0] = '\0';
	if (!check_words(s, error, room) || !check_texts(s, error, room))
		return false;
	o->task = (hec_task)find_task(s->task);
	o->schedule = find(s->schedule, schedules, 5); /* -1: auto */
	o->batch_tokens = strcmp(s->batch_tokens, "auto") == 0 ? -1 : atoi(s->batch_tokens);
	o->effort = (hec_effort)find(s->effort, efforts, 3);
	o->best = (hec_metric)find_metric(s->best);
	o->dtype = dtype_ids[find(s->dtype, dtypes, 3)];
	o->train = s->train.items;
	o->train_count = s->train.count;
	o->valid = s->valid.items;
	o->valid_count = s->valid.count;
	o->overrides = s->overrides.items;
	o->override_count = s->overrides.count;
	o->seed = s->seed.value;
	o->threads = (int)s->threads;
	return true;
}

void settings_take(train_settings *s, const hec_training_options *settled)
{
	s->o = *settled;
	s->schedule = schedules[settled->schedule];
	if (settled->batch_tokens > 0) {
		snprintf(s->batch_tokens_text, sizeof s->batch_tokens_text, "%lld",
		         (long long)settled->batch_tokens);
		s->batch_tokens = s->batch_tokens_text;
	}
}

/* ---- messages ---- */

static const setting *find_field(const char *name, size_t bytes)
{
	for (size_t i = 0; i < SETTINGS; i++)
		if (strncmp(table[i].field, name, bytes) == 0 && table[i].field[bytes] == '\0')
			return &table[i];
	return NULL;
}

void settings_message(const char *message, char *out, size_t room)
{
	size_t n = 0;
	while (*message && n + 1 < room) {
		const char *end = *message == '\'' ? strchr(message + 1, '\'') : NULL;
		const setting *t =
			end ? find_field(message + 1, (size_t)(end - message - 1)) : NULL;
		if (!t) {
			out[n++] = *message++;
			continue;
		}
		n += (size_t)snprintf(out + n, room - n, "%s", t->name);
		message = end + 1;
	}
	out[n < room ? n : room - 1] = '\0';
}
