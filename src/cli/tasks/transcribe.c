/* transcribe.c — `hecate transcribe`: sound files in, text or subtitles out, in order. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hecate/transcribe.h>

#include "cli/command/interrupt.h"
#include "cli/io/line_work.h"
#include "cli/io/plural.h"
#include "cli/io/put.h"
#include "cli/io/say.h"
#include "cli/io/valid_text.h"
#include "cli/model/run.h"
#include "cli/tasks/transcribe_attend.h"
#include "cli/tasks/transcribe_input.h"
#include "cli/tasks/transcribe_out.h"
#include "cli/tasks/transcribe_show.h"

#define BATCH 4
#define BATCH_MOST 64

typedef struct settings {
	const char *language, *task, *out_dir;
	int64_t beam, batch, max_tokens;
	double no_speech;
	bool json, tokens, srt, vtt, timestamps;
} settings;

typedef struct transcribing {
	const command *self;
	settings s;
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
		if (w->s.out_dir)
			code = transcribe_out_write(w->self, w->s.out_dir, &w->look, files[i], t);
		else if (!transcript_show(t, &w->look, files[i], stdout))
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
	size_t length;
	char *name = valid_text(file, strlen(file), &length),
	     *why = valid_text(reason, strlen(reason), &length);
	const bool good = name && why && line_work_put_error(w->s.json, number, name, why);
	free(name);
	free(why);
	return good;
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
	const float *samples[BATCH_MOST];
	int64_t counts[BATCH_MOST];
	for (int i = 0; i < n; i++) {
		samples[i] = audio[i]->samples;
		counts[i] = audio[i]->count;
	}
	hec_transcripts *out;
	if (hec_transcribe(w->transcriber, n, samples, counts, &w->options, &out) != HEC_OK) {
		const int64_t item = hec_error_item();
		char reason[SOUND_REASON];
		snprintf(reason, sizeof reason, "%s%s%s", item >= 0 ? sound_shown(files[item]) : "",
		         item >= 0 ? ": " : "", hec_error_message());
		if (n == 1 || !w->m.keep_going || interrupt_asked())
			return refuse(w, files[item >= 0 ? item : 0], reason, w->first + 1);
		int code = EXIT_DONE; /* each by itself: which of them fail is seen then */
		for (int i = 0; code == EXIT_DONE && i < n; i++, w->first++)
			code = transcribe_read(w, 1, files + i, audio + i);
		w->first -= n;
		return code;
	}
	clear_bar(w);
	int code = show_all(w, files, out);
	if (code == EXIT_DONE && w->first == 0)
		code = transcribe_attend(&w->m.attend, w->self, w->transcriber, audio[0],
		                         hec_transcripts_at(out, 0));
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
	hec_audio *audio[BATCH_MOST];
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

/* ---- options ---- */

static int set_form(transcribing *w, int operands)
{
	const settings *s = &w->s;
	if (s->json + s->srt + s->vtt > 1)
		return command_usage(w->self, "one of --json, --srt and --vtt at most");
	if (s->tokens && !s->json)
		return command_usage(w->self, "--tokens is for --json");
	if ((s->srt || s->vtt) && operands > 1 && !s->out_dir)
		return command_usage(w->self,
		                     "subtitles of %d files need --out-dir DIR, a file for each",
		                     operands);
	w->look = (transcript_look){.form = s->json         ? TRANSCRIPT_JSON
	                                    : s->srt        ? TRANSCRIPT_SRT
	                                    : s->vtt        ? TRANSCRIPT_VTT
	                                    : s->timestamps ? TRANSCRIPT_TIMES
	                                                    : TRANSCRIPT_TEXT,
	                            .tokens = s->tokens,
	                            .named = operands > 1 && !s->json && !s->out_dir};
	return EXIT_DONE;
}

static int set_options(transcribing *w, int operands)
{
	const settings *s = &w->s;
	hec_transcribe_options *o = &w->options;
	*o = (hec_transcribe_options)HEC_TRANSCRIBE_OPTIONS_INIT;
	o->task = s->task;
	if (s->task && strcmp(s->task, "translate") != 0 && strcmp(s->task, "transcribe") != 0)
		return command_usage(w->self, "--task is transcribe or translate, not '%.40s'",
		                     s->task);
	int code = set_form(w, operands);
	if (code != EXIT_DONE)
		return code;
	o->language = s->language;
	o->timestamps = w->look.form != TRANSCRIPT_TEXT;
	o->beams = s->beam;
	o->batch = s->batch;
	o->max_tokens = s->max_tokens;
	if (s->no_speech >= 0)
		o->no_speech = s->no_speech;
	o->progress = show_progress;
	o->user = w;
	return EXIT_DONE;
}

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
	transcribing w = {.self = self, .s = {.batch = BATCH, .no_speech = -1}};
	settings *s = &w.s;
	const option table[] = {
		OPTION_MODEL(w.m.named, "a Whisper model (else the variable HECATE_MODEL)"),
		{OPTION_TEXT, "--language", "CODE",
	         "what is spoken: en, de, …; auto: heard from the first window (default: as the "
	         "model's files say, else auto)",
	         &s->language, 0, 0},
		{OPTION_TEXT, "--task", "T",
	         "transcribe, or translate into English (default: as the model's files say, else "
	         "transcribe)",
	         &s->task, 0, 0},
		{OPTION_FLAG, "--timestamps", NULL, "a line for each segment, with its times",
	         &s->timestamps, 0, 0},
		{OPTION_FLAG, "--srt", NULL, "subtitles as SubRip", &s->srt, 0, 0},
		{OPTION_FLAG, "--vtt", NULL, "subtitles as WebVTT", &s->vtt, 0, 0},
		{OPTION_TEXT, "--out-dir", "DIR",
	         "a file in DIR for each FILE: its name, ending in .txt, .srt, .vtt or .json",
	         &s->out_dir, 0, 0},
		OPTION_KEEP_GOING(w.m.keep_going),
		{OPTION_FLAG, "--json", NULL, "a JSON object for each FILE", &s->json, 0, 0},
		{OPTION_FLAG, "--tokens", NULL, "with --json: the ids of each segment", &s->tokens,
	         0, 0},
		OPTION_BEAM(s->beam),
		{OPTION_WHOLE, "--max-tokens", "N", "tokens of a window (default: as many as fit)",
	         &s->max_tokens, 1, 1 << 20},
		{OPTION_REAL, "--no-speech", "P",
	         "pass over unlikely words where the model hears no one with probability P "
	         "(default: 0.6; 2: never)",
	         &s->no_speech, 0, 2},
		ATTEND_OPTION_FILES(&w.m.attend),
		{OPTION_WHOLE, "--batch", "N", "files at a time (default: 4)", &s->batch, 1,
	         BATCH_MOST},
		OPTION_THREADS(w.m.threads),
		OPTION_OVERRIDE(w.m.overrides),
		{0},
	};
	int operands;
	int code = command_options(self, table, argc, argv, &operands);
	if (code != PARSED)
		return code;
	char *input[] = {"-"};
	char **files = operands > 0 ? argv : input;
	if (operands == 0 && isatty(STDIN_FILENO))
		return command_usage(self, "which FILE?");
	operands = operands > 0 ? operands : 1;
	code = check_inputs(self, operands, files);
	if (code == EXIT_DONE)
		code = set_options(&w, operands);
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
	"where the last finished segment ended.\n\n"
	"With --json, each line is\n"
	"  {\"name\": …, \"text\": …, \"language\": …,\n"
	"   \"segments\": [{\"begin\": …, \"end\": …, \"text\": …}, …]}\n"
	"with times in seconds.\n\n"
	"Examples: hecate transcribe -m whisper-tiny.en --srt talk.mp3 >talk.srt\n"
	"          hecate transcribe -m whisper-tiny.en --vtt --out-dir subtitles *.mp3\n"
	"          arecord -d 10 | hecate transcribe -m whisper-tiny.en\n",
	transcribe_run,
};
