/* status.c — one message per thread, in a fixed buffer: reporting an error must not need memory. */
#include "base/status.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/quote.h"

static _Thread_local char message[STATUS_MESSAGE];
static _Thread_local int64_t blamed = -1; /* the input to blame */
static _Thread_local uint64_t failures;

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
	blamed = -1;
	failures++;
	return status;
}

hec_status fail_item(hec_status status, int64_t item)
{
	blamed = item;
	return status;
}

uint64_t fail_count(void)
{
	return failures;
}

hec_status from_callback(hec_status returned, uint64_t before, const char *what)
{
	if (returned == HEC_OK)
		return HEC_OK;
	if (failures != before) /* of another call: its inputs are not this one's */
		return fail_item(returned, -1);
	return fail(returned, "%s: %s by the caller's function", what,
	            returned == HEC_ERR_CANCELLED ? "cancelled" : "ended");
}

hec_status call_progress(hec_progress_fn *progress, void *user, const char *phase, int64_t done,
                         int64_t total)
{
	const uint64_t before = failures;
	hec_status status = progress ? progress(user, phase, done, total) : HEC_OK;
	if (status == HEC_OK)
		return HEC_OK;
	if (failures != before)
		return fail_item(status, -1);
	return fail(status, "%s: %s by the caller's function after %lld of %lld", phase,
	            status == HEC_ERR_CANCELLED ? "cancelled" : "ended", (long long)done,
	            (long long)total);
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

int64_t hec_error_item(void)
{
	return blamed;
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
