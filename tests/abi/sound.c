/* sound.c — sound: features, files, and a small Whisper of random weights that writes something down. */
#include "world.h"

#include <math.h>

/* Tokens: 26 letters and the space, seven with a meaning, then the times 0.00 … 1.00 in steps of 0.02. */
enum {
	END = 27,
	START,
	ENGLISH,
	GERMAN,
	TRANSLATE,
	TRANSCRIBE,
	NO_SPEECH,
	NO_TIMES,
	TIMES,
	WORDS = TIMES + 51
};
enum { MELS = 14, RATE = 16000, SOUNDS = 2 };

static float sounds[SOUNDS][RATE * 5 / 2];
static const int64_t counts[SOUNDS] = {RATE * 5 / 2, RATE / 2};
static const float *const samples[SOUNDS] = {sounds[0], sounds[1]};

static void make_sounds(void)
{
	for (int s = 0; s < SOUNDS; s++)
		for (int64_t i = 0; i < counts[s]; i++)
			sounds[s][i] = 0.5f * (float)(i % (37 + 20 * s) - 18) / 18 *
			               (float)(1 + i / 4000 % 3) / 3;
}

/* ---- audio.h ---- */

static void run_mel(hec_ctx *ctx)
{
	hec_mel_options o = HEC_MEL_OPTIONS_INIT;
	int64_t frames;
	o.rate = 8000;
	o.fft = 200;
	o.hop = 80;
	o.mels = 5;
	o.length = 800;
	EXPECT_OK(hec_log_mel_frames(&o, 1000, &frames));
	EXPECT(frames == 10);
	float numbers[50];
	hec_tensor out = hec_tensor_2d(numbers, HEC_F32, 5, 10);
	EXPECT_OK(hec_log_mel(ctx, &o, sounds[0], 1000, &out));
	show_floats("mel", numbers, 50);
}

static void put_number(unsigned char **at, uint32_t x, int bytes)
{
	for (int i = 0; i < bytes; i++)
		*(*at)++ = (unsigned char)(x >> 8 * i);
}

/* A WAV of two channels at 8,000 Hz; the second is silent. */
static size_t write_wav(const char *folder, const char *name, unsigned char *wav)
{
	enum { FRAMES = 2000 };
	unsigned char *at = wav;
	memcpy(at, "RIFF", 4), at += 4, put_number(&at, 36 + 4 * FRAMES, 4);
	memcpy(at, "WAVEfmt ", 8), at += 8, put_number(&at, 16, 4);
	put_number(&at, 1, 2), put_number(&at, 2, 2), put_number(&at, 8000, 4);
	put_number(&at, 32000, 4), put_number(&at, 4, 2), put_number(&at, 16, 2);
	memcpy(at, "data", 4), at += 4, put_number(&at, 4 * FRAMES, 4);
	for (uint32_t i = 0; i < FRAMES; i++)
		put_number(&at, i % 50 * 600, 2), put_number(&at, 0, 2);
	world_write(folder, name, wav, (size_t)(at - wav));
	return (size_t)(at - wav);
}

static hec_status count_progress(void *user, const char *phase, int64_t done, int64_t total)
{
	(void)done, (void)total;
	EXPECT(*phase != 0);
	++*(int *)user;
	return HEC_OK;
}

static void run_audio(const char *folder)
{
	static unsigned char wav[9000];
	char path[4096];
	int calls = 0;
	hec_audio_options o = HEC_AUDIO_OPTIONS_INIT;
	hec_audio *audio, *cut;
	const size_t bytes = write_wav(folder, "sound.wav", wav);
	snprintf(path, sizeof path, "%s/sound.wav", folder);
	o.rate = 4000;
	o.progress = count_progress;
	o.user = &calls;
	EXPECT_OK(hec_audio_read(path, &o, &audio));
	EXPECT(audio->rate == 4000 && audio->file_rate == 8000 && audio->channels == 2);
	EXPECT(audio->frames == 2000 && audio->count >= 990 && audio->count <= 1010);
	EXPECT(!audio->cut && calls > 0);
	o.rate = 8000;
	EXPECT_OK(hec_audio_read_memory("half a file", wav, bytes / 2, &o, &cut));
	EXPECT(cut->cut && cut->rate == 8000 && cut->count < 1000);
	EXPECT_NEAR(cut->samples[49], 49 * 300 / 32768.0);
	o.max_seconds = 0.1;
	hec_audio *none;
	EXPECT(hec_audio_read(path, &o, &none) != HEC_OK && !none);
	hec_audio_free(audio);
	hec_audio_free(cut);
}

/* ---- transcribe.h ---- */

static hec_tokenizer *open_tokenizer(void)
{
	static const char *const special[] = {"endoftext", "startoftranscript", "en",
	                                      "de",        "translate",         "transcribe",
	                                      "nospeech",  "notimestamps"};
	char json[4096] = "{\"version\": \"1.0\", \"added_tokens\": [", row[256];
	hec_tokenizer *t;
	for (int i = 0; i < 8; i++) {
		snprintf(row, sizeof row,
		         "%s{\"id\": %d, \"content\": \"<|%s|>\", \"single_word\": false, "
		         "\"lstrip\": false, "
		         "\"rstrip\": false, \"normalized\": false, \"special\": true}",
		         i ? ", " : "", END + i, special[i]);
		strcat(json, row);
	}
	strcat(json, "], \"normalizer\": null, \"pre_tokenizer\": {\"type\": \"ByteLevel\", "
	             "\"add_prefix_space\": false, \"trim_offsets\": true, \"use_regex\": true}, "
	             "\"post_processor\": null, \"decoder\": {\"type\": \"ByteLevel\", "
	             "\"add_prefix_space\": true, \"trim_offsets\": true, \"use_regex\": true}, "
	             "\"model\": {\"type\": \"BPE\", \"merges\": [], \"vocab\": {");
	for (int i = 0; i < 26; i++) {
		snprintf(row, sizeof row, "\"%c\": %d, ", 'a' + i, i);
		strcat(json, row);
	}
	strcat(json, "\"Ġ\": 26}}}");
	EXPECT_OK(hec_tokenizer_parse(json, strlen(json), NULL, 0, &t));
	EXPECT(hec_tokenizer_id(t, "<|notimestamps|>") == NO_TIMES);
	return t;
}

/* Weights large enough to write more than one kind of token. */
static hec_model *open_model(hec_ctx *ctx)
{
	hec_model_config c = {.size = sizeof c,
	                      .vocab = WORDS,
	                      .width = WIDTH,
	                      .encoder = world_stack(),
	                      .decoder = world_stack(),
	                      .head = HEC_HEAD_LM,
	                      .init_std = 0.6,
	                      .pad_id = END,
	                      .bos_id = END,
	                      .eos_id = END,
	                      .start_id = START,
	                      .front.features = MELS};
	hec_model *model;
	c.encoder.position.max = 50;
	EXPECT_OK(hec_model_create(ctx, &c, HEC_F32, 51, &model));
	EXPECT_OK(hec_model_pack(ctx, model, false));
	return model;
}

static int64_t show_words(const hec_transcript *t, int64_t segment)
{
	const hec_segment *s = hec_transcript_segment(t, segment);
	EXPECT(s->words >= 0 && s->temperature == 0 && s->log_prob < 0 && s->compression > 0);
	EXPECT(!hec_transcript_word(t, segment, s->words));
	for (int64_t i = 0; i < s->words; i++) {
		const hec_word *w = hec_transcript_word(t, segment, i);
		EXPECT(w->end >= w->begin && w->begin >= s->begin && w->end <= s->end);
		EXPECT(*w->text && w->probability >= 0 && w->probability <= 1);
		printf("%.17g to %.17g: \"%s\"\n", w->begin, w->end, w->text);
	}
	return s->words;
}

/* By all rules but chance. */
static void run_words(hec_transcriber *t, hec_transcribe_options o)
{
	const double cold = 0;
	hec_transcripts *out;
	int64_t words = 0;
	o.plain = false;
	o.words = true;
	o.temperatures = &cold;
	o.temperature_count = 1;
	EXPECT_OK(hec_transcribe(t, SOUNDS, samples, counts, &o, &out));
	for (int64_t i = 0; i < SOUNDS; i++)
		for (int64_t k = 0; k < hec_transcripts_at(out, i)->segments; k++)
			words += show_words(hec_transcripts_at(out, i), k);
	EXPECT(words > 0);
	hec_transcripts_free(out);
}

static void show_transcript(const hec_transcript *t, int64_t sound)
{
	double before = 0;
	EXPECT(t && t->segments >= 1 && !hec_transcript_segment(t, t->segments));
	EXPECT_TEXT(t->language, "de");
	EXPECT(t->translated && t->prompt_length == 3 && t->prompt[0] == START);
	EXPECT(t->prompt[1] == GERMAN && t->prompt[2] == TRANSLATE);
	printf("sound %d: \"%s\"\n", (int)sound, t->text);
	for (int64_t i = 0; i < t->segments; i++) {
		const hec_segment *s = hec_transcript_segment(t, i);
		EXPECT(s->begin >= before && s->end >= s->begin && s->window <= s->begin);
		EXPECT(*s->text && s->n >= 1 && s->place >= 0 && strstr(t->text, s->text));
		EXPECT(memcmp(s->written + s->place, s->ids, (size_t)s->n * sizeof *s->ids) == 0);
		printf("%.17g to %.17g, window %.17g: \"%s\"", s->begin, s->end, s->window,
		       s->text);
		show_ids("", s->written, s->place + s->n);
		before = s->begin;
	}
}

static void write_rules(const char *folder)
{
	char text[1024];
	snprintf(text, sizeof text,
	         "{\"lang_to_id\": {\"<|en|>\": %d, \"<|de|>\": %d}, \"task_to_id\": "
	         "{\"translate\": %d, "
	         "\"transcribe\": %d}, \"is_multilingual\": true, \"no_timestamps_token_id\": %d, "
	         "\"decoder_start_token_id\": %d, \"eos_token_id\": %d}",
	         ENGLISH, GERMAN, TRANSLATE, TRANSCRIBE, NO_TIMES, START, END);
	world_write_text(folder, "generation_config.json", text);
}

static void run_transcribe(hec_ctx *ctx, const char *folder, const hec_model *model,
                           const hec_tokenizer *tokenizer)
{
	int calls = 0;
	hec_transcriber *t;
	hec_transcripts *out;
	hec_transcribe_options o = HEC_TRANSCRIBE_OPTIONS_INIT;
	write_rules(folder);
	EXPECT_OK(hec_transcriber_create_like(ctx, folder, model, tokenizer, &t));
	EXPECT(hec_transcriber_rate(t) == RATE && hec_transcriber_multilingual(t));
	EXPECT_NEAR(hec_transcriber_window(t), 1);
	o.language = "de";
	o.task = "translate";
	o.timestamps = true;
	o.beams = 2;
	o.batch = 2;
	o.max_tokens = 12;
	o.no_speech = 2;
	o.plain = true;
	o.progress = count_progress;
	o.user = &calls;
	EXPECT_OK(hec_transcribe(t, SOUNDS, samples, counts, &o, &out));
	EXPECT(calls > 0 && !hec_transcripts_at(out, SOUNDS));
	for (int64_t i = 0; i < SOUNDS; i++)
		show_transcript(hec_transcripts_at(out, i), i);
	hec_transcripts_free(out);
	run_words(t, o);
	hec_transcriber_destroy(t);
}

/* ---- corpus.h, of sounds: the last fields of its options and counts ---- */

static void take_left_out(void *user, const char *why)
{
	(void)user;
	EXPECT(strstr(why, "nothing.wav"));
	printf("one left out\n");
}

static void run_corpus(hec_ctx *ctx, const char *folder, const hec_model *model,
                       const hec_tokenizer *tokenizer)
{
	char lines[4096], cache[4096];
	const char *file = lines;
	hec_speech *speech;
	hec_corpus *corpus;
	hec_corpus_options o = HEC_CORPUS_OPTIONS_INIT;
	EXPECT_OK(hec_model_save(ctx, model, HEC_F32, folder)); /* config.json is read */
	write_rules(folder);
	EXPECT_OK(hec_speech_load(folder, tokenizer, "de", "transcribe", &speech));
	EXPECT_TEXT(hec_speech_language(speech), "de");
	world_write_text(folder, "lines", "sound.wav\tab c\nnothing.wav\td\n");
	snprintf(lines, sizeof lines, "%s/lines", folder);
	snprintf(cache, sizeof cache, "%s/ids", folder);
	o.task = HEC_TASK_SEQ2SEQ;
	o.files = &file;
	o.n = 1;
	o.tokenizer = tokenizer;
	o.max_source = 50;
	o.max_target = 12;
	o.cache = cache;
	o.speech = speech;
	o.left_out = take_left_out;
	EXPECT_OK(hec_corpus_create(&o, &corpus));
	const hec_corpus_counts *c = hec_corpus_counts_of(corpus);
	EXPECT(c->lines == 2 && c->examples == 1 && c->no_sound == 1 && c->long_sound == 0);
	EXPECT_NEAR(c->seconds, 0.25);
	hec_corpus_destroy(corpus);
	hec_speech_destroy(speech);
}

int main(int argc, char **argv)
{
	EXPECT(argc == 2);
	hec_ctx *ctx = world_ctx();
	hec_tokenizer *tokenizer = open_tokenizer();
	hec_model *model = open_model(ctx);
	make_sounds();
	run_mel(ctx);
	run_transcribe(ctx, argv[1], model, tokenizer);
	if (hec_audio_available()) {
		run_audio(argv[1]);
		run_corpus(ctx, argv[1], model, tokenizer);
	} else {
		printf("left out: this library reads no sound files\n");
	}
	hec_model_destroy(model);
	hec_tokenizer_destroy(tokenizer);
	hec_ctx_destroy(ctx);
	return 0;
}
