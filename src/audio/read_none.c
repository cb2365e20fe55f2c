/* read_none.c — what stands for read.c where libsndfile or libsamplerate is missing. */
#include "audio/read.h"

#include "base/status.h"

static hec_status refuse_audio(const char *name, hec_audio **out)
{
	if (out)
		*out = NULL;
	return fail(HEC_ERR_UNSUPPORTED,
	            "%s: this build reads no sound: libsndfile and libsamplerate were missing",
	            name ? name : "audio");
}

hec_status audio_read(const char *path, const hec_audio_options *options, hec_audio **out,
                      bool *too_long)
{
	(void)options;
	*too_long = false;
	return refuse_audio(path, out);
}

hec_status hec_audio_read(const char *path, const hec_audio_options *options, hec_audio **out)
{
	bool too_long;
	return audio_read(path, options, out, &too_long);
}

hec_status hec_audio_read_memory(const char *name, const void *data, size_t bytes,
                                 const hec_audio_options *options, hec_audio **out)
{
	(void)data, (void)bytes, (void)options;
	return refuse_audio(name, out);
}

bool hec_audio_available(void)
{
	return false;
}
