/* log.h — what the library would say while it works, for a program's own log.
 *
 * The library never prints. What a caller must know comes as a status and its message (status.h); what is only good to
 * know comes here: a context was made at which level, a model was loaded from where, weights of its files were left
 * out. A line is UTF-8 without a line end, safe to print on a terminal. */
#ifndef HECATE_LOG_H
#define HECATE_LOG_H

#include <hecate/status.h>

HEC_BEGIN

typedef enum hec_log_level {
	HEC_LOG_WARNING = 0, /* the result is right, but may not be what was meant */
	HEC_LOG_INFO,        /* what was made or loaded, once for each */
	HEC_LOG_DEBUG        /* choices inside: plans, sizes */
} hec_log_level;

HEC_API const char *
hec_log_level_name(hec_log_level level); /* "warning", …; "?" for an unknown one */

/* Called on the thread that works, several at a time where several do. It must not call the library. */
typedef void hec_log_fn(void *user, hec_log_level level, const char *line);

/* For the whole process: lines up to this level go to log. NULL: nowhere, as at the start. Set it while no other
 * call is under way. */
HEC_API void hec_log_set(hec_log_fn *log, void *user, hec_log_level most);

HEC_END

#endif
