/* status.c — one message per thread, in a fixed buffer: reporting an error must not need memory. */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char message[STATUS_MESSAGE];

hec_status fail(hec_status status, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(message, sizeof message, format, args);
	va_end(args);
	return status;
}

hec_status fail_in(hec_status status, const char *format, ...)
{
	char inner[STATUS_MESSAGE];
	memcpy(inner, message, strlen(message) + 1);
	va_list args;
	va_start(args, format);
	int n = vsnprintf(message, sizeof message, format, args);
	va_end(args);
	if (n >= 0 && (size_t)n < sizeof message)
		snprintf(message + n, sizeof message - (size_t)n, ": %.*s",
		         (int)(sizeof message - (size_t)n), inner);
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
