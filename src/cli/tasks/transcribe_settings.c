/* transcribe_settings.c — the table of options, and what they say together. */
#include "cli/tasks/transcribe_settings.h"

#include <stdlib.h>
#include <string.h>

#define BATCH 4
#define UNSAID (-1e10)

int transcribe_settings_read(transcribe_settings *s, const command *self, model_args *m, int argc,
                             char **argv, int *operands)
{
	*s = (transcribe_settings){.batch = BATCH,
	                           .no_speech = UNSAID,
	                           .compression = UNSAID,
	                           .log_prob = UNSAID,
	                           .silence = UNSAID};
	const option table[] = {
		OPTION_MODEL(m->named, "a Whisper model (else the variable HECATE_MODEL)"),
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
		{OPTION_FLAG, "--words", NULL, "with --json, --srt, --vtt: each word with its time",
	         &s->words, 0, 0},
		{OPTION_TEXT, "--out-dir", "DIR",
	         "a file in DIR for each FILE: its name, ending in .txt, .srt, .vtt or .json",
	         &s->out_dir, 0, 0},
		OPTION_KEEP_GOING(m->keep_going),
		{OPTION_FLAG, "--json", NULL, "a JSON object for each FILE", &s->json, 0, 0},
		{OPTION_FLAG, "--tokens", NULL, "with --json: the ids of each segment", &s->tokens,
	         0, 0},
		{OPTION_WHOLE, "--beam", "N",
	         "beams at temperature 0; 1: greedy (default: as the model says)", &s->beam, 1,
	         1024},
		{OPTION_TEXT, "--temperatures", "LIST",
	         "a window that repeats itself or is unlikely is written again at the next one "
	         "(default: 0,0.2,0.4,0.6,0.8,1)",
	         &s->temperatures, 0, 0},
		{OPTION_WHOLE, "--best-of", "N",
	         "above temperature 0: draw so often, keep the likeliest (default: 5)", &s->best_of,
	         1, 64},
		{OPTION_SEED, "--seed", "N", "of what is drawn (default: 0)", &s->seed, 0, 0},
		{OPTION_REAL, "--compression", "X",
	         "text that zlib packs by more than X repeats itself (default: 2.4; 1000: none "
	         "does)",
	         &s->compression, 0, 1000},
		{OPTION_REAL, "--log-prob", "X",
	         "text is unlikely below a mean log p of X (default: -1; -1000: never)",
	         &s->log_prob, -1000, 0},
		{OPTION_REAL, "--no-speech", "P",
	         "pass over unlikely words where the model hears no one with probability P "
	         "(default: 0.6; 2: never)",
	         &s->no_speech, 0, 2},
		{OPTION_FLAG, "--no-previous", NULL,
	         "do not show the model what it wrote of the windows before", &s->no_previous, 0,
	         0},
		{OPTION_REAL, "--silence", "S",
	         "with --words: leave out improbable words amid S seconds of silence", &s->silence,
	         0, 3600},
		{OPTION_FLAG, "--plain", NULL,
	         "each window once and by itself, as generate of Transformers", &s->plain, 0, 0},
		{OPTION_WHOLE, "--max-tokens", "N",
	         "tokens of a window (default: half of what the model can hold)", &s->max_tokens, 1,
	         1 << 20},
		ATTEND_OPTION_FILES(&m->attend),
		{OPTION_WHOLE, "--batch", "N", "files at a time (default: 4)", &s->batch, 1,
	         TRANSCRIBE_BATCH_MOST},
		OPTION_THREADS(m->threads),
		OPTION_OVERRIDE(m->overrides),
		{0},
	};
	return command_options(self, table, argc, argv, operands);
}

/* ---- what they say together ---- */

static int take_look(const transcribe_settings *s, const command *self, int files,
                     transcript_look *look)
{
	if (s->json + s->srt + s->vtt > 1)
		return command_usage(self, "one of --json, --srt and --vtt at most");
	if (s->tokens && !s->json)
		return command_usage(self, "--tokens is for --json");
	if (s->words && !s->json && !s->srt && !s->vtt)
		return command_usage(self, "--words is for --json, --srt and --vtt");
	if ((s->srt || s->vtt) && files > 1 && !s->out_dir)
		return command_usage(
			self, "subtitles of %d files need --out-dir DIR, a file for each", files);
	*look = (transcript_look){.form = s->json         ? TRANSCRIPT_JSON
	                                  : s->srt        ? TRANSCRIPT_SRT
	                                  : s->vtt        ? TRANSCRIPT_VTT
	                                  : s->timestamps ? TRANSCRIPT_TIMES
	                                                  : TRANSCRIPT_TEXT,
	                          .tokens = s->tokens,
	                          .words = s->words,
	                          .named = files > 1 && !s->json && !s->out_dir};
	return EXIT_DONE;
}

/* "0,0.2,1" */
static int take_temperatures(transcribe_settings *s, const command *self, hec_transcribe_options *o)
{
	const char *at = s->temperatures;
	for (size_t n = 0; at; n++) {
		char *end;
		const size_t length = strspn(at, "0123456789.");
		const double value = strtod(at, &end);
		if (length == 0 || end != at + length || (*end && *end != ',') ||
		    n == TEMPERATURES_MOST || value > 100)
			return command_usage(self,
			                     "--temperatures wants up to %d numbers from 0 to 100 "
			                     "with commas between, not '%.20s'",
			                     TEMPERATURES_MOST, at);
		s->temperature[n] = value;
		o->temperatures = s->temperature;
		o->temperature_count = n + 1;
		at = *end ? end + 1 : NULL;
	}
	return EXIT_DONE;
}

static int check_plain(const transcribe_settings *s, const command *self)
{
	if (s->plain && (s->temperatures || s->best_of || s->seed.given || s->no_previous ||
	                 s->compression > UNSAID))
		return command_usage(self, "--plain writes each window once and by itself: no "
		                           "--temperatures, --best-of, --seed, --compression or "
		                           "--no-previous");
	if (s->silence > 0 && !s->words)
		return command_usage(self, "--silence needs --words");
	if (s->task && strcmp(s->task, "translate") != 0 && strcmp(s->task, "transcribe") != 0)
		return command_usage(self, "--task is transcribe or translate, not '%.40s'",
		                     s->task);
	return EXIT_DONE;
}

static void put_said(double said, double *to)
{
	if (said > UNSAID)
		*to = said;
}

int transcribe_settings_take(transcribe_settings *s, const command *self, int files,
                             transcript_look *look, hec_transcribe_options *o)
{
	int code = check_plain(s, self);
	if (code == EXIT_DONE)
		code = take_look(s, self, files, look);
	*o = (hec_transcribe_options)HEC_TRANSCRIBE_OPTIONS_INIT;
	if (code == EXIT_DONE)
		code = take_temperatures(s, self, o);
	o->language = s->language;
	o->task = s->task;
	o->timestamps = look->form != TRANSCRIPT_TEXT;
	o->beams = s->beam;
	o->batch = s->batch;
	o->max_tokens = s->max_tokens;
	o->plain = s->plain;
	o->words = s->words;
	o->previous = !s->no_previous;
	o->seed = s->seed.value;
	if (s->best_of)
		o->best_of = s->best_of;
	put_said(s->no_speech, &o->no_speech);
	put_said(s->compression, &o->max_compression);
	put_said(s->log_prob, &o->least_log_prob);
	put_said(s->silence, &o->silence);
	return code;
}
