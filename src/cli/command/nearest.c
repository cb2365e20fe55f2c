/* nearest.c — edit distance over short names. */
#include "cli/command/nearest.h"

#include <stdbool.h>
#include <string.h>

#define LONGEST 48 /* letters of a name */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Letters that part them; two that stand side by side and are exchanged count as one. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
	size_t rows[3][LONGEST + 1], *before = rows[0], *last = rows[1], *row = rows[2];
	for (size_t j = 0; j <= m; j++)
		last[j] = j;
	for (size_t i = 1; i <= n; i++) {
		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			row[j] = least(least(last[j], row[j - 1]) + 1,
			               last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], before[j - 2] + 1);
		}
		size_t *next = before;
		before = last;
		last = row;
		row = next;
	}
	return last[m];
}

const char *nearest_name(const char *word, const char *const *names, size_t n)
{
	const size_t length = strlen(word);
	/* Letters that a mistake may have. */
	const size_t most = length < 3 ? 0 : length < 8 ? 2 : 3;
	const char *nearest = NULL;
	size_t best = most + 1;
	for (size_t i = 0; length <= LONGEST && i < n; i++) {
		const size_t m = strlen(names[i]);
		if (m > LONGEST)
			continue;
		size_t d = distance(word, length, names[i], m);
		if (length >= 3 && m > length && memcmp(word, names[i], length) == 0)
			d = 1; /* it was not written to its end */
		if (d < best) {
			best = d;
			nearest = names[i];
		}
	}
	return nearest;
}
