/* transcribe_stage.h — small random Whisper models and sounds of the goldens. Needs support/golden.h before it. */
#ifndef TESTS_TRANSCRIBE_STAGE_H
#define TESTS_TRANSCRIBE_STAGE_H

#include <stdio.h>
#include <stdlib.h>

#include <hecate/transcribe.h>

#define SOUNDS 5
#define RATE 4000.0

/* Where another folder is named, its cases are compared; all else is of the committed one. */
static inline const char *folder(bool compared)
{
	const char *other = compared ? getenv("HECATE_GOLDENS") : NULL;
	return other ? other : TESTS_DIR "/golden";
}

typedef struct stage {
	kit k;
	golden sounds;
	hec_transcriber *many, *english;
	const float *samples[SOUNDS];
	int64_t counts[SOUNDS];
} stage;

static inline void stage_open_in(stage *s, const char *in)
{
	char path[600], name[16];
	s->k = kit_open(1);
	snprintf(path, sizeof path, "%s/transcribe_sounds.golden", in);
	golden_open(&s->sounds, &s->k, path);
	for (int i = 0; i < SOUNDS; i++) {
		snprintf(name, sizeof name, "sound%d", i);
		s->samples[i] = golden_get(&s->sounds, name)->data;
		s->counts[i] = golden_get(&s->sounds, name)->shape[0];
	}
	snprintf(path, sizeof path, "%s/transcribe_many", in);
	OK(&s->k, hec_transcriber_load(s->k.ctx, path, NULL, &s->many));
	snprintf(path, sizeof path, "%s/transcribe_english", in);
	OK(&s->k, hec_transcriber_load(s->k.ctx, path, NULL, &s->english));
}

static inline void stage_open(stage *s)
{
	stage_open_in(s, folder(false));
}

static inline void stage_close(stage *s)
{
	hec_transcriber_destroy(s->many);
	hec_transcriber_destroy(s->english);
	kit_close(&s->k);
}

#endif
