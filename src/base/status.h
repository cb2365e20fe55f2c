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

/* Says which of many inputs is to blame for the failure that is already recorded (hec_error_item). A later fail()
 * forgets it. Returns status. */
hec_status fail_item(hec_status status, int64_t item);

/* Failures on this thread so far. */
uint64_t fail_count(void);
/* What a callback returned, passed up. One that fails by a call of this library has its message; for any other a
 * message is made here. before: fail_count() before the callback; what: what was under way, "translate". */
hec_status from_callback(hec_status returned, uint64_t before, const char *what);
#define TRY_CALLBACK(what, call)                                                                   \
	do {                                                                                       \
		const uint64_t before_ = fail_count();                                             \
		HEC_TRY(from_callback(call, before_, what));                                       \
	} while (0)
/* Calls a progress function; NULL: there is none. */
hec_status call_progress(hec_progress_fn *progress, void *user, const char *phase, int64_t done,
                         int64_t total);

#define HEC_TRY(call)                                                                              \
	do {                                                                                       \
		hec_status try_status_ = (call);                                                   \
		if (try_status_ != HEC_OK)                                                         \
			return try_status_;                                                        \
	} while (0)

#endif
