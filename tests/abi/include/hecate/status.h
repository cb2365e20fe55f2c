/* status.h — how a call says that it failed, and why.
 *
 * Every public function that can fail returns hec_status. The library never prints, exits or
 * aborts; the message of the last failure on this thread says what, where and with which numbers.
 * After a failure, what the call was to write or to add to is undefined: arguments are checked first,
 * but an arena can turn out too small in the middle of a layer. Inputs, and the arena, are as before. A
 * handle that was to be made (the **out of a _create, _load, _open, …) is NULL after a failure, whatever it
 * was before: giving it to its _destroy is always right. */
#ifndef HECATE_STATUS_H
#define HECATE_STATUS_H

#include <hecate/api.h>

HEC_BEGIN

typedef enum hec_status {
	HEC_OK = 0,
	HEC_ERR_ARGUMENT,    /* a value that no call could accept */
	HEC_ERR_SHAPE,       /* tensors whose shapes do not fit each other */
	HEC_ERR_MEMORY,      /* memory could not be had, or an arena is full */
	HEC_ERR_IO,          /* the system refused to read or write */
	HEC_ERR_FORMAT,      /* a file or text that is not what it claims to be */
	HEC_ERR_UNSUPPORTED, /* right, but not built in, or not on this CPU */
	HEC_ERR_CANCELLED,   /* a callback asked to stop */
	HEC_ERR_INTERNAL     /* a promise of this library was broken: please report it */
} hec_status;

/* "shape", "memory", … for logs and machines. Never NULL. */
HEC_API const char *hec_status_name(hec_status status);

/* The message of the last failure on the calling thread; "" before the first one. It stays valid
 * until the next failing call on this thread. It is one line of UTF-8, safe to print on a terminal: what it
 * quotes of a file, a name or the environment has '?' for every character that hec_text_clean replaces. */
HEC_API const char *hec_error_message(void);

/* The input to blame for the last failure on the calling thread, where the call takes many (texts, prompts,
 * sounds, …): its number, from 0. −1: no single one is to blame. */
HEC_API int64_t hec_error_item(void);

/* Reports how far a long call is: `done` of `total` (0: not known yet) of what `phase` names: "texts", "windows",
 * "counting words", …. HEC_OK goes on, HEC_ERR_CANCELLED stops; the call then fails with what was returned. */
typedef hec_status hec_progress_fn(void *user, const char *phase, int64_t done, int64_t total);

HEC_END

#endif
