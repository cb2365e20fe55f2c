/* status.c — one message per thread, in a fixed buffer: reporting an error must not need memory. */
#include "base/status.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/quote.h"

static _Thread_local char message[STATUS_MESSAGE];

/* Whatever it quotes, and whoever wrote that: it is cleaned here, where no caller can forget it. Ends at a
 * whole character. */
static void clean_message(void)
{
	clean_bytes(message, strlen(message), message, sizeof message);
}

static void set_message(const char *format, va_list args)
{
	vsnprintf(message, sizeof message, format, args);
	clean_message();
}

hec_status fail(hec_status status, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	set_message(format, args);
	va_end(args);
	return status;
}

hec_status fail_in(hec_status status, const char *format, ...)
{
	char inner[STATUS_MESSAGE];
	memcpy(inner, message, strlen(message) + 1);
	va_list args;
	va_start(args, format);
	set_message(format, args);
	va_end(args);
	const size_t n = strlen(message);
	const bool there = strncmp(inner, message, n) == 0 && inner[n] == ':';
	snprintf(message + n, sizeof message - n, "%s%s", there ? "" : ": ",
	         inner + (there ? n : 0));
	clean_message();
	return status;
}

const char *hec_error_message(void)
{
	return message;
}

const char *hec_status_name(hec_status status)
{
	static const char *const names[] = {
		[HEC_OK] = "ok",
		[HEC_ERR_ARGUMENT] = "argument",
		[HEC_ERR_SHAPE] = "shape",
		[HEC_ERR_MEMORY] = "memory",
		[HEC_ERR_IO] = "io",
		[HEC_ERR_FORMAT] = "format",
		[HEC_ERR_UNSUPPORTED] = "unsupported",
		[HEC_ERR_CANCELLED] = "cancelled",
		[HEC_ERR_INTERNAL] = "internal",
	};
	if ((size_t)status >= sizeof names / sizeof *names)
		return "?";
	return names[status];
}
