/* status.h — setting the error message of this thread, and passing failures up. */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include <hecate/status.h>

/* Room for a message: every tensor that a model lacks is named in one, those of its layers together. */
#define STATUS_MESSAGE 8192

/* Records the message and returns status, so that a check reads `return fail(HEC_ERR_SHAPE, …)`. Names and
 * words from outside may stand in it as they are: the whole message is made safe for a terminal here. */
hec_status fail(hec_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts "prefix: " before the message that is already set, unless it begins so; returns status. */
hec_status fail_in(hec_status status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define HEC_TRY(call)                                                                              \
	do {                                                                                       \
		hec_status try_status_ = (call);                                                   \
		if (try_status_ != HEC_OK)                                                         \
			return try_status_;                                                        \
	} while (0)

#endif
