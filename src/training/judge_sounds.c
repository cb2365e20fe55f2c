/* judge_sounds.c — what a transcriber would write for sounds to validate on, by the rules of DIR/start, beside what
 * is spoken there. Sounds are read a few at a time, at each validation again. */
#include <string.h>

#include <hecate/transcribe.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/size.h"
#include "training/judge.h"

#define SOUNDS_AT_ONCE 8

typedef struct sound_judge {
	judge base;
	hec_training *t;
	char rules[PATH_MOST]; /* the directory that has them */
	hec_transcribe_options options;
	hec_audio_options reading;
	int64_t n;
	char **paths, **wanted, **written; /* [n] */
} sound_judge;

static void destroy(judge *base)
{
	sound_judge *j = (sound_judge *)base;
	judge_drop_texts(j->paths, j->n);
	judge_drop_texts(j->wanted, j->n);
	judge_drop_texts(j->written, j->n);
	mem_free(j->paths);
	mem_free(j->wanted);
	mem_free(j->written);
	mem_free(j);
}

/* ---- the sounds ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* A transcript has no space at its ends. */
static char *trimmed(const char *text, size_t bytes)
{
	for (; bytes > 0 && is_blank(*text); bytes--)
		text++;
	while (bytes > 0 && is_blank(text[bytes - 1]))
		bytes--;
	return mem_copy_bytes(text, bytes);
}

/* Of what kind the file is, whether it is there and how long it is: not what happened to us. */
static bool is_left_out(hec_status status)
{
	return status == HEC_ERR_FORMAT || status == HEC_ERR_IO || status == HEC_ERR_UNSUPPORTED;
}

/* Those that a corpus leaves out are passed over here as well. */
static hec_status is_good(const sound_judge *j, const char *path, bool *good)
{
	hec_audio *audio;
	const hec_status status = hec_audio_read(path, &j->reading, &audio);
	*good = false;
	if (is_left_out(status))
		return HEC_OK;
	HEC_TRY(status);
	*good = audio->count > 0 && !audio->cut;
	hec_audio_free(audio);
	return HEC_OK;
}

static hec_status read_list(sound_judge *j, hec_lines *lines)
{
	for (bool more = true; j->n < j->t->o.valid_sentences;) {
		const char *text[2];
		size_t bytes[2];
		char path[PATH_MOST];
		bool good;
		HEC_TRY(hec_lines_next_pair(lines, text, bytes, &more));
		if (!more)
			return HEC_OK;
		HEC_TRY(training_progress(j->t, "listening", j->n, 0));
		if (hec_lines_sound(lines, text[0], bytes[0], path, sizeof path) != HEC_OK)
			continue;
		HEC_TRY(is_good(j, path, &good));
		if (!good)
			continue;
		j->paths[j->n] = mem_copy_text(path);
		j->wanted[j->n] = trimmed(text[1], bytes[1]);
		j->n++;
		if (!j->paths[j->n - 1] || !j->wanted[j->n - 1])
			return judge_no_memory();
	}
	return HEC_OK;
}

static hec_status open_list(sound_judge *j)
{
	const hec_training_options *o = &j->t->o;
	const size_t most = (size_t)o->valid_sentences;
	j->paths = mem_zeros(most, sizeof *j->paths);
	j->wanted = mem_zeros(most, sizeof *j->wanted);
	j->written = mem_zeros(most, sizeof *j->written);
	if (!j->paths || !j->wanted || !j->written)
		return judge_no_memory();
	hec_lines *lines;
	HEC_TRY(hec_lines_create(o->task, o->valid, o->valid_count, &lines));
	hec_status status = read_list(j, lines);
	hec_lines_destroy(lines);
	return status;
}

/* ---- listening and comparing ---- */

static hec_status transcribe(sound_judge *j, hec_transcriber *by, int64_t first, int64_t n,
                             hec_audio *const *audio)
{
	const float *samples[SOUNDS_AT_ONCE] = {0};
	int64_t counts[SOUNDS_AT_ONCE] = {0};
	hec_transcripts *out;
	for (int64_t i = 0; i < n; i++) {
		samples[i] = audio[i]->samples;
		counts[i] = audio[i]->count;
	}
	HEC_TRY(hec_transcribe(by, n, samples, counts, &j->options, &out));
	hec_status status = HEC_OK;
	for (int64_t i = 0; i < n && status == HEC_OK; i++) {
		j->written[first + i] = mem_copy_text(hec_transcripts_at(out, i)->text);
		if (!j->written[first + i])
			status = judge_no_memory();
	}
	hec_transcripts_free(out);
	return status;
}

static hec_status listen_some(sound_judge *j, hec_transcriber *by, int64_t first, int64_t n)
{
	hec_audio *audio[SOUNDS_AT_ONCE];
	hec_status status = HEC_OK;
	int64_t read = 0;
	while (read < n && status == HEC_OK) {
		status = hec_audio_read(j->paths[first + read], &j->reading, &audio[read]);
		read += status == HEC_OK;
	}
	if (status == HEC_OK)
		status = transcribe(j, by, first, n, audio);
	for (int64_t i = 0; i < read; i++)
		hec_audio_free(audio[i]);
	return status;
}

static hec_status score(judge *base, hec_ctx *ctx, const hec_model *model, hec_train_scores *scores)
{
	sound_judge *j = (sound_judge *)base;
	hec_transcriber *by;
	HEC_TRY(hec_transcriber_create_like(ctx, j->rules, model, j->t->tokenizer, &by));
	hec_status status = HEC_OK;
	judge_drop_texts(j->written, j->n);
	for (int64_t i = 0; i < j->n && status == HEC_OK; i += SOUNDS_AT_ONCE)
		status = listen_some(j, by, i, min_i64(j->n - i, SOUNDS_AT_ONCE));
	hec_transcriber_destroy(by);
	return status == HEC_OK ? judge_compare(j->written, j->wanted, j->n, scores) : status;
}

static void choose_options(sound_judge *j)
{
	const hec_speech *speech = j->t->speech;
	const char *language = hec_speech_language(speech);
	j->options = (hec_transcribe_options)HEC_TRANSCRIBE_OPTIONS_INIT;
	j->options.language = language[0] ? language : NULL;
	j->options.task = hec_speech_translates(speech) ? "translate" : "transcribe";
	j->options.beams = j->t->o.valid_beam;
	j->options.batch = SOUNDS_AT_ONCE;
	j->options.plain = true;  /* a model is judged by what it writes at once */
	j->options.no_speech = 2; /* never: somebody speaks there */
	j->options.progress = training_progress;
	j->options.user = j->t;
	j->reading = (hec_audio_options)HEC_AUDIO_OPTIONS_INIT;
	j->reading.rate = hec_speech_rate(speech);
	j->reading.max_seconds = hec_speech_window(speech);
}

hec_status judge_sounds_create(hec_training *t, judge **out)
{
	sound_judge *j = mem_zeros(1, sizeof *j);
	if (!j)
		return judge_no_memory();
	j->base = (judge){score, destroy};
	j->t = t;
	choose_options(j);
	hec_status status = path_in(j->rules, t->o.dir, "start");
	if (status == HEC_OK)
		status = open_list(j);
	if (status == HEC_OK && j->n > 0)
		*out = &j->base;
	else
		destroy(&j->base);
	return status;
}
