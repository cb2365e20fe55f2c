/* transcribe_input.h — a sound from wherever it comes. */
#ifndef CLI_TASKS_TRANSCRIBE_INPUT_H
#define CLI_TASKS_TRANSCRIBE_INPUT_H

#include <hecate/audio.h>

#define SOUND_REASON 1024

/* "-": what is called standard input everywhere. */
const char *sound_shown(const char *path);

/* A file; a pipe, or a device, which is read to its end first; "-": standard input. False: *reason says why, with
 * the name. */
bool sound_read(const char *path, const hec_audio_options *options, hec_audio **out,
                char reason[SOUND_REASON]);

#endif
