/* plan.c — what a person should know before a run begins. */
#include "cli/train/plan.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/io/plural.h"
#include "cli/command/try.h"

static void say_counts(train_progress *p, const hec_training *training,
                       const hec_training_options *o, const char *name, const hec_corpus *corpus)
{
	const hec_corpus_counts *c = hec_corpus_counts_of(corpus);
	const struct {
		int64_t n;
		const char *why;
	} left_out[] = {
		/* Of a language the empty lines part the paragraphs. */
		{o->task == HEC_TASK_LM ? 0 : c->empty, "empty"},
		{c->bad_utf8, "not UTF-8"},
		{c->too_long, "too long"},
		{c->no_tab, "without a tab"},
		{c->unknown_label, "of unknown label"},
		{c->no_sound, "whose sound cannot be read"},
		{c->long_sound, "with a sound longer than the window"},
	};
	char text[512] = "";
	size_t used = 0;
	for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
		if (left_out[i].n > 0)
			used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld %s",
			                         used ? ", " : "; left out: ",
			                         (long long)left_out[i].n, left_out[i].why);
	if (c->cut > 0)
		snprintf(text + used, sizeof text - used, "; cut to --max-length: %lld",
		         (long long)c->cut);
	if (hec_training_listens(training)) {
		train_progress_say(p,
		                   "%s: %lld line%s, %lld example%s, %.1f s of sound, %lld "
		                   "tokens%s",
		                   name, (long long)c->lines, plural(c->lines),
		                   (long long)c->examples, plural(c->examples), c->seconds,
		                   (long long)c->target_tokens, text);
		return;
	}
	train_progress_say(p, "%s: %lld line%s, %lld example%s, %lld + %lld tokens%s", name,
	                   (long long)c->lines, plural(c->lines), (long long)c->examples,
	                   plural(c->examples), (long long)c->source_tokens,
	                   (long long)c->target_tokens, text);
}

/* What the process has by now, without the weights, which the plan counts. */
static double memory_beside(const hec_model *model)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	if (!f || fscanf(f, "%*d %ld", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	double bytes = (double)pages * (double)sysconf(_SC_PAGESIZE) -
	               4.0 * (double)hec_model_block(model).shape[0];
	return bytes > 0 ? bytes : 0;
}

static void say_data(train_progress *p, const hec_training *training, const hec_training_options *o)
{
	const hec_corpus *valid = hec_training_valid(training);
	say_counts(p, training, o, "train", hec_training_corpus(training));
	if (valid)
		say_counts(p, training, o, "valid", valid);
}

static void say_model(train_progress *p, const hec_training *training,
                      const hec_training_options *o)
{
	const hec_model *model = hec_training_model(training);
	const hec_model_config *c = hec_model_config_of(model);
	train_progress_say(p,
	                   "model: width %lld, %lld + %lld layers, %lld head%s, hidden %lld, "
	                   "vocabulary %lld: %.2f M parameters",
	                   (long long)c->width, (long long)c->encoder.layers,
	                   (long long)c->decoder.layers, (long long)o->heads, plural(o->heads),
	                   (long long)o->hidden, (long long)c->vocab,
	                   (double)hec_model_block(model).shape[0] / 1e6);
}

static double all_bytes(const hec_training_memory *m)
{
	return (double)(m->parameters + m->activations + m->packs + m->sounds);
}

static void say_step(train_progress *p, const hec_training *training, const hec_training_options *o,
                     const hec_training_memory *m)
{
	const hec_ctx *ctx = hec_training_ctx(training);
	char sounds[64] = "";
	if (m->sounds > 0)
		snprintf(sounds, sizeof sounds, ", %.1f for features of sounds",
		         (double)m->sounds / 1e6);
	train_progress_say(
		p,
		"a step: %lld × %lld tokens; memory: %.0f MB: %.0f for parameters, %.0f for them "
		"as the kernels want them, %.0f for activations%s; beside it %.0f for the program, "
		"its tokenizer and lists; %s, %d thread%s",
		(long long)o->accumulate, (long long)o->batch_tokens, all_bytes(m) / 1e6,
		(double)m->parameters / 1e6, (double)m->packs / 1e6, (double)m->activations / 1e6,
		sounds, memory_beside(hec_training_model(training)) / 1e6, hec_ctx_isa(ctx),
		hec_ctx_threads(ctx), plural(hec_ctx_threads(ctx)));
}

/* Epochs that the steps are, as the batches of the first one tell. */
static hec_status count_epochs(const hec_training *training, const hec_training_options *o,
                               double *epochs)
{
	int64_t batches;
	TRY(hec_corpus_batches(hec_training_corpus(training), o->batch_tokens, o->batch_rows,
	                       o->seed, 1, &batches));
	*epochs = (double)(o->steps * o->accumulate) / (double)(batches > 0 ? batches : 1);
	return HEC_OK;
}

/* What may end the run before its last step. */
static void say_early(const hec_training *training, const hec_training_options *o, char text[160])
{
	char time[DURATION_ROOM];
	int n = 0;
	text[0] = '\0';
	if (o->seconds > 0)
		n = snprintf(text, 160, "; --time stops it after %s",
		             train_duration(o->seconds, time));
	if (hec_training_valid(training) && o->patience > 0)
		snprintf(text + n, 160 - (size_t)n,
		         "; less where %lld validations find no better model",
		         (long long)o->patience);
}

/* How long it will take at most, by how long a step takes now. */
static hec_status say_time(train_progress *p, hec_training *training, const hec_training_options *o)
{
	double seconds, epochs;
	char time[DURATION_ROOM], early[160];
	TRY(hec_training_time(training, &seconds));
	say_early(training, o, early);
	if (o->steps == 0) {
		train_progress_say(p, "time: no end was asked for: Ctrl-C saves and stops%s",
		                   early);
		return HEC_OK;
	}
	TRY(count_epochs(training, o, &epochs));
	train_progress_say(p, "time: about %s for %lld step%s, %.*f epochs%s%s",
	                   train_duration(seconds, time), (long long)o->steps, plural(o->steps),
	                   epochs < 10, epochs, early,
	                   o->effort == HEC_EFFORT_LARGE ? ""
	                   : o->from                     ? "; --effort large for more"
	                                                 : "; --effort large for a larger model");
	return HEC_OK;
}

hec_status train_plan_say(train_progress *p, hec_training *training, const hec_training_options *o,
                          bool goes_on)
{
	hec_training_memory *memory;
	TRY(hec_training_memory_of(training, &memory));
	if (o->memory > 0 && all_bytes(memory) > (double)o->memory * 1e6)
		train_progress_say(p,
		                   "hecate train: warning: --memory %lld MB is not enough: %.0f MB "
		                   "with batches of %lld tokens",
		                   (long long)o->memory, all_bytes(memory) / 1e6,
		                   (long long)o->batch_tokens);
	if (o->average > 1 && !hec_training_valid(training))
		train_progress_say(p, "hecate train: warning: --average does nothing: there is no "
		                      "--valid to try the mean on");
	if (!p->quiet) {
		say_data(p, training, o);
		say_model(p, training, o);
		say_step(p, training, o, memory);
	}
	hec_training_memory_free(memory);
	/* Of a run that goes on, the first report says what is left. */
	return p->quiet || goes_on ? HEC_OK : say_time(p, training, o);
}
