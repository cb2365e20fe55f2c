/* log.h — lines for the program's log (hecate/log.h). */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <hecate/log.h>

/* Whether a line of this level goes anywhere: ask before work that only a line needs. */
bool logs(hec_log_level level);

/* One line, at most STATUS_MESSAGE bytes; what it quotes is cleaned as a message is. */
void log_line(hec_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
