/* transcribe.c — `hecate transcribe`: sound files in, text or subtitles out, in order. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hecate/transcribe.h>

#include "cli/command/interrupt.h"
#include "cli/io/result.h"
#include "cli/io/plural.h"
#include "cli/io/put.h"
#include "cli/io/say.h"
#include "cli/model/run.h"
#include "cli/tasks/transcribe_attend.h"
#include "cli/tasks/transcribe_input.h"
#include "cli/tasks/transcribe_out.h"
#include "cli/tasks/transcribe_settings.h"

typedef struct transcribing {
	const command *self;
	transcribe_settings s;
	model_args m;
	transcript_look look;
	hec_transcriber *transcriber;
	hec_transcribe_options options;
	bool bar, bar_shown;
	int files, first, some; /* all, before these, these */
	int failures;           /* --keep-going */
} transcribing;

/* ---- progress ---- */

static void clear_bar(transcribing *w)
{
	if (w->bar_shown)
		fputs("\r\033[K", stderr);
	w->bar_shown = false;
}

static hec_status show_progress(void *user, const char *phase, int64_t done, int64_t total)
{
	transcribing *w = user;
	(void)phase;
	if (w->bar) {
		fprintf(stderr, "\r%.0f of %.0f s", 1e-3 * (double)done, 1e-3 * (double)total);
		if (w->files > 1)
			fprintf(stderr, " (files %d to %d of %d)", w->first + 1, w->first + w->some,
			        w->files);
		fputs("\033[K", stderr);
		w->bar_shown = true;
	}
	return interrupt_status();
}

/* ---- files ---- */

static int show_all(const transcribing *w, char **files, const hec_transcripts *out)
{
	const hec_transcript *t;
	for (int64_t i = 0; (t = hec_transcripts_at(out, i)); i++) {
		int code = EXIT_DONE;
		const input_name name = {.number = w->first + i + 1, .file = files[i]};
		if (w->s.out_dir)
			code = transcribe_out_write(w->self, w->s.out_dir, &w->look, &name, t);
		else if (!transcript_show(t, &w->look, &name, stdout))
			code = command_failed(w->self, "no memory for the results");
		if (code != EXIT_DONE)
			return code;
	}
	return put_done();
}

/* What stands in the place of a sound that failed. */
static bool put_error(const transcribing *w, const char *file, const char *reason, int number)
{
	if (w->s.out_dir)
		return true;
	if (w->look.named)
		return put_field(file, strlen(file), stdout), puts("\t") >= 0;
	if (w->s.json)
		return result_put_error(&(input_name){.number = number, .file = file},
		                        command_reason(w->self, reason), stdout);
	return putchar('\n') != EOF;
}

/* What went wrong: the end, or with --keep-going an error in the sound's place. The reason names it. */
static int refuse(transcribing *w, const char *file, const char *reason, int number)
{
	clear_bar(w);
	if (interrupt_asked())
		return command_failed(w->self, "interrupted after %d file%s", w->first,
		                      plural(w->first));
	int code = command_failed(w->self, "%s", reason);
	if (!w->m.keep_going)
		return code;
	w->failures++;
	return put_error(w, file, reason, number) ? put_done()
	                                          : command_failed(w->self, "no memory for JSON");
}

static int transcribe_read(transcribing *w, int n, char **files, hec_audio *const *audio)
{
	const float *samples[TRANSCRIBE_BATCH_MOST];
	int64_t counts[TRANSCRIBE_BATCH_MOST];
	for (int i = 0; i < n; i++) {
		samples[i] = audio[i]->samples;
		counts[i] = audio[i]->count;
	}
	hec_transcripts *out;
	w->options.first = (uint64_t)w->first;
	if (hec_transcribe(w->transcriber, n, samples, counts, &w->options, &out) != HEC_OK) {
		const int64_t item = hec_error_item();
		char reason[SOUND_REASON];
		snprintf(reason, sizeof reason, "%s%s%s", item >= 0 ? sound_shown(files[item]) : "",
		         item >= 0 ? ": " : "", hec_error_message());
		if (n == 1 || !w->m.keep_going || interrupt_asked())
			return refuse(w, files[item >= 0 ? item : 0], reason, w->first + 1);
		const int first = w->first;
		int code = EXIT_DONE; /* each by itself: which of them fail is seen then */
		for (int i = 0; code == EXIT_DONE && i < n; i++, w->first++)
			code = transcribe_read(w, 1, files + i, audio + i);
		w->first = first;
		return code;
	}
	clear_bar(w);
	int code = show_all(w, files, out);
	if (code == EXIT_DONE && w->first == 0)
		code = transcribe_attend(&w->m.attend, w->self, w->transcriber, audio[0],
		                         &w->options, hec_transcripts_at(out, 0));
	hec_transcripts_free(out);
	return code;
}

static void tell_cut(transcribing *w, const char *file, const hec_audio *audio)
{
	if (!audio->cut)
		return;
	clear_bar(w);
	say_line("hecate transcribe: warning: %s: the file ends before its sound does",
	         sound_shown(file));
}

/* Those before a file that cannot be read are still done. */
static int transcribe_some(transcribing *w, int n, char **files)
{
	hec_audio *audio[TRANSCRIBE_BATCH_MOST];
	hec_audio_options options = HEC_AUDIO_OPTIONS_INIT;
	options.rate = hec_transcriber_rate(w->transcriber);
	options.progress = interrupt_stops;
	char reason[SOUND_REASON] = "";
	int read = 0, code = EXIT_DONE;
	w->some = n;
	while (read < n && sound_read(files[read], &options, &audio[read], reason)) {
		tell_cut(w, files[read], audio[read]);
		read++;
	}
	if (read > 0)
		code = transcribe_read(w, read, files, audio);
	for (int i = 0; i < read; i++)
		hec_audio_free(audio[i]);
	w->first += read;
	if (code != EXIT_DONE || read == n)
		return code;
	code = refuse(w, files[read], reason, w->first + 1);
	w->first++;
	return code;
}

/* ---- all of them ---- */

static const hec_model *load_transcriber(void *job, hec_ctx *ctx, const char *path,
                                         const hec_model_load_options *options)
{
	transcribing *w = job;
	hec_status status = hec_transcriber_load(ctx, path, options, &w->transcriber);
	return status == HEC_OK ? hec_transcriber_model(w->transcriber) : NULL;
}

static int transcribe_operands(void *job, int operands, char **argv)
{
	transcribing *w = job;
	int code = EXIT_DONE;
	w->files = operands;
	w->bar = isatty(STDERR_FILENO);
	interrupt_catch();
	while (code == EXIT_DONE && w->first < operands) {
		int n = operands - w->first < (int)w->s.batch ? operands - w->first
		                                              : (int)w->s.batch;
		code = transcribe_some(w, n, argv + w->first);
	}
	if (code == EXIT_DONE && w->failures > 0)
		code = command_failed(w->self, "%d of %d files failed", w->failures, operands);
	return code;
}

static void destroy_transcriber(void *job)
{
	transcribing *w = job;
	hec_transcriber_destroy(w->transcriber);
}

static const model_work transcribing_work = {load_transcriber, transcribe_operands,
                                             destroy_transcriber};

static int check_inputs(const command *self, int n, char **files)
{
	int inputs = 0;
	for (int i = 0; i < n; i++)
		inputs += strcmp(files[i], "-") == 0;
	return inputs > 1 ? command_usage(self, "standard input is named %d times", inputs)
	                  : EXIT_DONE;
}

static int transcribe_run(const command *self, int argc, char **argv)
{
	transcribing w = {.self = self};
	const transcribe_settings *s = &w.s;
	int operands;
	int code = transcribe_settings_read(&w.s, self, &w.m, argc, argv, &operands);
	if (code != PARSED)
		return code;
	char *input[] = {"-"};
	char **files = operands > 0 ? argv : input;
	if (operands == 0 && isatty(STDIN_FILENO))
		return command_usage(self, "which FILE?");
	operands = operands > 0 ? operands : 1;
	code = check_inputs(self, operands, files);
	if (code == EXIT_DONE)
		code = transcribe_settings_take(&w.s, self, operands, &w.look, &w.options);
	w.options.progress = show_progress;
	w.options.user = &w;
	if (code == EXIT_DONE && s->out_dir)
		code = transcribe_out_open(self, s->out_dir, w.look.form, operands, files);
	return code == EXIT_DONE ? model_run(self, &w.m, &transcribing_work, &w, operands, files)
	                         : code;
}

const command command_transcribe = {
	"transcribe",
	"Writes down what is spoken in sound files",
	"transcribe -m DIR [OPTION]… [FILE]…",
	"Reads WAV, FLAC, OGG and MP3 of any rate and number of channels, and writes a line for "
	"each\n"
	"FILE, in order; an empty line where nobody speaks. Of several FILEs, each line begins "
	"with "
	"the\n"
	"name and a tab. FILE - is standard input, which is also read where no FILE is given and "
	"it "
	"is\n"
	"no terminal. A file longer than the model's window (30 s) is read window by window, each "
	"from\n"
	"where the last finished segment ended, with the text of those before it in view. A window "
	"whose\n"
	"text repeats itself or is unlikely is written again, by chance, at higher "
	"temperatures.\n\n"
	"With --json, each line is\n"
	"  {\"input\": …, \"file\": …, \"text\": …, \"language\": …,\n"
	"   \"segments\": [{\"begin\": …, \"end\": …, \"text\": …, \"temperature\": …,\n"
	"                 \"log_prob\": …, \"compression\": …}, …]}\n"
	"with times in seconds; with --words, segments have \"words\", with --tokens "
	"\"tokens\".\n\n"
	"Examples: hecate transcribe -m whisper-tiny.en --srt talk.mp3 >talk.srt\n"
	"          hecate transcribe -m whisper-tiny.en --vtt --out-dir subtitles *.mp3\n"
	"          arecord -d 10 | hecate transcribe -m whisper-tiny.en\n",
	transcribe_run,
};
