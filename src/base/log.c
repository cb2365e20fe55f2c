/* log.c — where lines for the program's log go. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/quote.h"
#include "base/status.h"

static hec_log_fn *current;
static void *current_user;
static hec_log_level current_most;

void hec_log_set(hec_log_fn *log, void *user, hec_log_level most)
{
	current = log;
	current_user = user;
	current_most = most;
}

const char *hec_log_level_name(hec_log_level level)
{
	static const char *const names[] = {"warning", "info", "debug"};
	return (unsigned)level < sizeof names / sizeof *names ? names[level] : "?";
}

bool logs(hec_log_level level)
{
	return current && level <= current_most;
}

void log_line(hec_log_level level, const char *format, ...)
{
	char raw[STATUS_MESSAGE], line[STATUS_MESSAGE];
	va_list args;
	if (!logs(level))
		return;
	va_start(args, format);
	const int length = vsnprintf(raw, sizeof raw, format, args);
	va_end(args);
	if (length < 0)
		return;
	clean_bytes(raw, strlen(raw), line, sizeof line);
	current(current_user, level, line);
}
