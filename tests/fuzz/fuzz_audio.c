/* fuzz_audio.c — any bytes as a sound file: either a reason, or finite samples, no more of them than
 * was asked for, and in much less time than they play. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include <hecate/audio.h>

#include "stop.h"
#include "support/clock.h"

#define SECONDS 20.0

/* libsndfile 1.2.0 leaks what it had of a damaged Vorbis file. Leaks of our own are test_audio's. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!hec_audio_available())
		return 0;
	hec_audio_options options = HEC_AUDIO_OPTIONS_INIT;
	options.max_seconds = SECONDS;
	hec_audio *audio;
	const double begin = seconds_of_processor();
	hec_status status = hec_audio_read_memory("fuzz", data, size, &options, &audio);
	if (seconds_of_processor() - begin > SECONDS / 4)
		stop("it takes too long for what it plays");
	if (status == HEC_OK) {
		if ((double)audio->count > (SECONDS + 1) * (double)audio->rate)
			stop("more samples than were asked for");
		for (int64_t i = 0; i < audio->count; i++)
			if (!isfinite(audio->samples[i]))
				stop("a sample is not finite");
	} else if (audio || !*hec_error_message()) {
		stop("refused without a reason");
	}
	hec_audio_free(audio);
	return 0;
}
