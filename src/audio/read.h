/* read.h — reading a sound, for those who want to know why it was refused. */
#ifndef AUDIO_READ_H
#define AUDIO_READ_H

#include <hecate/audio.h>

/* As hec_audio_read. *too_long: nothing but the limit of max_seconds is against it. */
hec_status audio_read(const char *path, const hec_audio_options *options, hec_audio **out,
                      bool *too_long);

#endif
