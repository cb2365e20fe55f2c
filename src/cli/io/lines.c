/* lines.c — a buffer that is filled by read() and cut at "\n". */
#include "cli/io/lines.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE ((size_t)64 << 10)

/* Whether a read would give something at once; milliseconds to wait for it, −1: for ever. */
static bool is_ready(const lines *l, int wait)
{
	struct pollfd in = {.fd = l->fd, .events = POLLIN};
	return poll(&in, 1, wait) == 1;
}

static bool make_room(lines *l)
{
	if (l->begin > 0) {
		memmove(l->data, l->data + l->begin, l->end - l->begin);
		l->end -= l->begin;
		l->begin = 0;
	}
	if (l->capacity - l->end >= PIECE)
		return true;
	size_t capacity = l->capacity ? 2 * l->capacity : 2 * PIECE;
	char *data = realloc(l->data, capacity);
	if (!data) {
		snprintf(l->error, sizeof l->error, "no memory for a line of %zu bytes", capacity);
		return false;
	}
	l->data = data;
	l->capacity = capacity;
	return true;
}

static lines_result read_more(lines *l)
{
	if (!make_room(l))
		return LINES_FAILED;
	if (!is_ready(l, -1) && errno == EINTR)
		return LINES_STOPPED;
	/* No more than tells a line that is too long from the longest. */
	size_t room = l->capacity - l->end, most = LINES_LONGEST + 1 - (l->end - l->begin);
	ssize_t n = read(l->fd, l->data + l->end, room < most ? room : most);
	if (n < 0) {
		snprintf(l->error, sizeof l->error, "%.200s could not be read: %s",
		         l->name ? l->name : "standard input", strerror(errno));
		return LINES_FAILED;
	}
	l->ended = n == 0;
	l->end += (size_t)n;
	return LINES_SOME;
}

/* Whole lines that are in the buffer, up to most. What was searched before is not searched again: a long line
 * comes in many pieces. */
static int64_t count_lines(lines *l, int64_t most)
{
	while (l->whole < most && l->begin + l->searched < l->end) {
		const char *from = l->data + l->begin + l->searched;
		const size_t left = l->end - l->begin - l->searched;
		const char *newline = memchr(from, '\n', left);
		l->searched += newline ? (size_t)(newline - from) + 1 : left;
		l->whole += newline != NULL;
	}
	return l->whole < most ? l->whole : most;
}

/* A byte order mark before the first line is no text. */
static void pass_mark(lines *l)
{
	static const char mark[] = {'\xEF', '\xBB', '\xBF'};
	if (l->given == 0 && l->end - l->begin >= sizeof mark &&
	    memcmp(l->data + l->begin, mark, sizeof mark) == 0)
		l->begin += sizeof mark;
}

static void cut_lines(lines *l, int64_t n, const char **text, size_t *bytes)
{
	pass_mark(l);
	for (int64_t i = 0; i < n; i++) {
		const char *start = l->data + l->begin;
		const char *newline = memchr(start, '\n', l->end - l->begin);
		size_t length = newline ? (size_t)(newline - start) : l->end - l->begin;
		l->begin += length + (newline != NULL);
		if (newline && length > 0 && start[length - 1] == '\r')
			length--;
		text[i] = start;
		bytes[i] = length;
	}
	l->given += n;
	l->whole = 0;
	l->searched = 0;
}

/* The rest of a line that is too long, piece by piece. */
static lines_result pass_line(lines *l)
{
	for (;;) {
		const size_t left = l->end - l->begin;
		const char *newline = left > 0 ? memchr(l->data + l->begin, '\n', left) : NULL;
		l->begin = newline ? (size_t)(newline + 1 - l->data) : l->end;
		if (newline || l->ended) {
			l->given++;
			l->whole = 0;
			l->searched = 0;
			l->too_long = false;
			return LINES_SOME;
		}
		const lines_result r = read_more(l);
		if (r != LINES_SOME)
			return r;
	}
}

lines_result lines_take(lines *l, int64_t most, const char **text, size_t *bytes, int64_t *count)
{
	*count = 0;
	if (l->too_long) {
		const lines_result r = pass_line(l);
		if (r != LINES_SOME)
			return r;
	}
	for (;;) {
		int64_t n = count_lines(l, most);
		bool enough = l->ended || n == most || l->end - l->begin > LINES_LONGEST ||
		              (n > 0 && !is_ready(l, 0));
		if (l->ended && n < most && l->end > l->begin && l->data[l->end - 1] != '\n')
			n++; /* the last line has no end of its own */
		if (n > 0 && enough) {
			cut_lines(l, n, text, bytes);
			*count = n;
			return LINES_SOME;
		}
		if (l->ended)
			return LINES_END;
		if (l->end - l->begin > LINES_LONGEST) {
			snprintf(l->error, sizeof l->error,
			         "%.200s%sline %lld has more than %zu bytes",
			         l->name ? l->name : "", l->name ? ": " : "",
			         (long long)l->given + 1, LINES_LONGEST);
			l->too_long = true;
			return LINES_FAILED;
		}
		lines_result r = read_more(l);
		if (r != LINES_SOME)
			return r;
	}
}

void lines_close(lines *l)
{
	free(l->data);
}
