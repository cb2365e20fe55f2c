/* sound.c — names, samples, features. */
#include "train/sound.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <zlib.h>

#include "audio/read.h"
#include "base/size.h"
#include "base/status.h"

#define SUMMED 4096 /* samples at a time: zlib counts in 32 bits */

/* ---- names ---- */

bool sound_path(const char *list, const char *name, size_t bytes, char out[PATH_MOST])
{
	char text[PATH_MOST];
	if (bytes == 0 || bytes >= sizeof text || memchr(name, '\0', bytes))
		return false;
	memcpy(text, name, bytes);
	text[bytes] = '\0';
	/* What does not fit is no name of a file; the message is of no use. */
	return (*text == '/' ? path_in(out, text, "") : path_beside(out, list, text)) == HEC_OK;
}

size_t sound_pack(uint32_t sum, size_t list, const char *name, size_t bytes,
                  int32_t ids[SOUND_MOST])
{
	size_t n = SOUND_HEAD + bytes / sizeof *ids + 1; /* one zero byte at least */
	memset(ids, 0, n * sizeof *ids);
	memcpy(&ids[0], &sum, sizeof sum);
	ids[1] = (int32_t)list;
	memcpy(ids + SOUND_HEAD, name, bytes);
	return n;
}

bool sound_fits(const int32_t *ids, int64_t n, size_t lists)
{
	return n > SOUND_HEAD && n <= SOUND_MOST && ids[1] >= 0 && (size_t)ids[1] < lists &&
	       memchr(ids + SOUND_HEAD, '\0', (size_t)(n - SOUND_HEAD) * sizeof *ids);
}

/* ---- samples ---- */

/* Whether there is no such file, whatever else the system may have against reading it. */
static bool is_absent(const char *path)
{
	struct stat info;
	if (stat(path, &info) == 0)
		return !S_ISREG(info.st_mode);
	return errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG || errno == ELOOP;
}

hec_status sound_read(const hec_speech *speech, const char *path, hec_audio **out, sound_kind *kind)
{
	hec_audio_options o = HEC_AUDIO_OPTIONS_INIT;
	o.rate = speech->mel.rate;
	o.max_seconds = (double)speech->mel.length / (double)speech->mel.rate;
	bool too_long;
	*kind = SOUND_GOOD;
	hec_status status = audio_read(path, &o, out, &too_long);
	if (status == HEC_OK && (*out)->count == 0)
		status = fail(HEC_ERR_FORMAT, "%s: holds no sample", path);
	if (status == HEC_OK && (*out)->cut) /* what is said in it is more than what is there */
		status = fail(HEC_ERR_FORMAT, "%s: the file ends before its sound does", path);
	if (too_long)
		*kind = SOUND_TOO_LONG;
	else if (status == HEC_ERR_FORMAT || (status == HEC_ERR_IO && is_absent(path)))
		*kind = SOUND_NONE;
	if (*kind == SOUND_GOOD && status == HEC_OK)
		return HEC_OK;
	hec_audio_free(*out);
	*out = NULL;
	return *kind == SOUND_GOOD ? status : HEC_OK;
}

uint32_t sound_sum(const hec_audio *audio)
{
	uLong sum = crc32(0, NULL, 0);
	for (int64_t i = 0; i < audio->count; i += SUMMED)
		sum = crc32(sum, (const Bytef *)(audio->samples + i),
		            (uInt)(min_i64(SUMMED, audio->count - i) * (int64_t)sizeof(float)));
	return (uint32_t)sum;
}

/* ---- features ---- */

int64_t sound_frames(const hec_speech *speech)
{
	return speech->mel.length / speech->mel.hop;
}

int64_t sound_places(const hec_speech *speech)
{
	return sound_frames(speech) / 2; /* the second convolution takes every other frame */
}

static hec_status read_again(const hec_speech *speech, const char *path, uint32_t sum,
                             hec_audio **out)
{
	sound_kind kind;
	HEC_TRY(sound_read(speech, path, out, &kind));
	if (kind != SOUND_GOOD)
		return fail_in(HEC_ERR_IO, "a sound that could be read before");
	if (sound_sum(*out) == sum)
		return HEC_OK;
	hec_audio_free(*out);
	*out = NULL;
	return fail(HEC_ERR_FORMAT, "%s: changed while it was in use", path);
}

hec_status sound_features(hec_ctx *ctx, const hec_speech *speech, const char *const *lists,
                          const int32_t *ids, hec_tensor *out)
{
	const char *name = (const char *)(ids + SOUND_HEAD);
	char path[PATH_MOST];
	hec_audio *audio;
	uint32_t sum;
	memcpy(&sum, &ids[0], sizeof sum);
	if (!sound_path(lists[ids[1]], name, strlen(name), path))
		return fail(HEC_ERR_FORMAT, "%s: names a sound that there cannot be",
		            lists[ids[1]]);
	HEC_TRY(read_again(speech, path, sum, &audio));
	hec_status status = hec_log_mel(ctx, &speech->mel, audio->samples, audio->count, out);
	hec_audio_free(audio);
	return status;
}
