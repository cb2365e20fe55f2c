/* corpus_sound.c — a name and a text become a source and a target; sound.h says what they look like.
 *
 * The target is what Whisper's decoder is to write behind <|startoftranscript|>, as the usual recipe of
 * fine-tuning in Transformers has it: its prompt is learned with the text. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/size.h"
#include "train/corpus_build.h"
#include "train/sound.h"

hec_status corpus_check_speech(const hec_corpus_options *o)
{
	const hec_speech *s = o->speech;
	if (!hec_audio_available())
		return fail(HEC_ERR_UNSUPPORTED, "corpus: this build reads no sound: libsndfile "
		                                 "and libsamplerate were missing");
	if (o->task != HEC_TASK_SEQ2SEQ)
		return fail(HEC_ERR_ARGUMENT, "corpus: sounds are the sources of seq2seq, not %s",
		            hec_task_name(o->task));
	if (s->mel.length < 1 || s->mel.hop < 1 || s->mel.rate < 1 || s->mel.mels < 1 ||
	    sound_places(s) < 1 || s->prompt_length < 1 || s->prompt_length > SPEECH_PROMPT)
		return fail(HEC_ERR_ARGUMENT,
		            "corpus: a window of %lld samples, a prompt of %lld tokens",
		            (long long)s->mel.length, (long long)s->prompt_length);
	const int64_t vocab = hec_tokenizer_vocab(o->tokenizer);
	for (int64_t i = 0; i < s->prompt_length; i++)
		if (s->prompt[i] < 0 || s->prompt[i] >= vocab || s->end < 0 || s->end >= vocab)
			return fail(HEC_ERR_ARGUMENT,
			            "corpus: the prompt has the id %d and the end %d; the "
			            "tokenizer has %lld tokens",
			            s->prompt[i], s->end, (long long)vocab);
	return HEC_OK;
}

/* ---- whether it is what it was ---- */

static uint64_t mix_sound(uint64_t hash, const char *list, const line *name)
{
	char path[PATH_MOST];
	struct stat info;
	int64_t about[3] = {-1, 0, 0};
	if (sound_path(list, name->text, name->bytes, path) && stat(path, &info) == 0) {
		about[0] = (int64_t)info.st_size;
		about[1] = (int64_t)info.st_mtim.tv_sec;
		about[2] = (int64_t)info.st_mtim.tv_nsec;
	}
	return corpus_mix(hash, about, sizeof about);
}

/* The lists themselves are in already, with their names. */
static hec_status mix_lines(const hec_corpus_options *o, hec_lines *lines, uint64_t *hash)
{
	for (;;) {
		example e;
		bool more;
		HEC_TRY(lines_next_example(lines, &e, &more));
		if (!more)
			return HEC_OK;
		if (e.kind == EXAMPLE_GOOD)
			*hash = mix_sound(*hash, o->files[lines_file(lines)], &e.side[0]);
		const int64_t seen = hec_lines_counts(lines)->lines;
		if (seen % 1000 == 0)
			HEC_TRY(call_progress(o->progress, o->user, "looking at sounds", seen, 0));
	}
}

hec_status corpus_mix_sounds(const hec_corpus_options *o, uint64_t *hash)
{
	const hec_speech *s = o->speech;
	const int64_t numbers[] = {s->mel.rate,   s->mel.fft,       s->mel.hop, s->mel.mels,
	                           s->mel.length, s->prompt_length, s->end};
	*hash = corpus_mix(*hash, numbers, sizeof numbers);
	*hash = corpus_mix(*hash, s->prompt, (size_t)s->prompt_length * sizeof *s->prompt);
	hec_lines *lines;
	HEC_TRY(hec_lines_create(o->task, o->files, o->n, &lines));
	hec_status status = mix_lines(o, lines, hash);
	hec_lines_destroy(lines);
	return status;
}

/* ---- making ---- */

/* The prompt but its start, which a decoder begins with; the text; the end. *n 0: it is left out. */
static hec_status make_target(builder *b, const line *text, int32_t *to, size_t *n)
{
	const hec_speech *s = b->o->speech;
	const size_t before = (size_t)s->prompt_length - 1,
		     room = (size_t)max_i64(0, b->o->max_target - (int64_t)before - 1);
	hec_encode_options options = HEC_ENCODE_OPTIONS_INIT;
	hec_encoding *e = &b->side[1];
	options.no_special = true;
	*n = 0;
	HEC_TRY(hec_tokenizer_encode(b->o->tokenizer, text->text, text->bytes, &options, e));
	const bool cut = e->n > room && b->o->truncate && room > 0;
	if (e->n == 0 || (e->n > room && !cut)) {
		builder_leave_out(b, e->n);
		return HEC_OK;
	}
	const size_t words = cut ? room : e->n;
	b->header.cut += cut;
	memcpy(to, s->prompt + 1, before * sizeof *to);
	memcpy(to + before, e->ids, words * sizeof *to);
	to[before + words] = s->end;
	*n = before + words + 1;
	return HEC_OK;
}

static void tell_left_out(const hec_corpus_options *o, size_t list, bool named)
{
	if (!o->left_out)
		return;
	if (!named)
		(void)fail(HEC_ERR_FORMAT, "%s: names a sound that there cannot be",
		           o->files[list]);
	o->left_out(o->user, hec_error_message());
}

static hec_status read_source(builder *b, const line *name, int32_t *to, size_t *n)
{
	const size_t list = lines_file(b->lines);
	char path[PATH_MOST];
	hec_audio *audio = NULL;
	sound_kind kind = SOUND_NONE;
	*n = 0;
	const bool named = sound_path(b->o->files[list], name->text, name->bytes, path);
	if (named)
		HEC_TRY(sound_read(b->o->speech, path, &audio, &kind));
	b->header.no_sound += kind == SOUND_NONE;
	b->header.long_sound += kind == SOUND_TOO_LONG;
	if (kind != SOUND_GOOD) {
		tell_left_out(b->o, list, named);
		return HEC_OK;
	}
	*n = sound_pack(sound_sum(audio), list, name->text, name->bytes, to);
	b->header.samples += audio->count;
	hec_audio_free(audio);
	return HEC_OK;
}

hec_status builder_put_sound(builder *b, const example *e)
{
	int32_t source[SOUND_MOST];
	size_t n, m;
	const int64_t cut = b->header.cut;
	HEC_TRY(make_target(b, &e->side[1], b->piece, &m));
	if (m == 0)
		return HEC_OK;
	HEC_TRY(read_source(b, &e->side[0], source, &n));
	if (n == 0) {
		b->header.cut = cut;
		return HEC_OK;
	}
	HEC_TRY(builder_put(b, source, n, b->piece, m));
	/* What the model reads, not how long the name is. */
	b->header.source_tokens += sound_places(b->o->speech) - (int64_t)n;
	return HEC_OK;
}
