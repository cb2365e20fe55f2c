/* contrast.h — whether the text that a drawing writes to a terminal stands out from what is behind it, wherever that
 * is light or dark. Written for tests from the definition (WCAG 2), not with the library's own numbers. */
#ifndef TESTS_SUPPORT_CONTRAST_H
#define TESTS_SUPPORT_CONTRAST_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define CONTRAST_LEAST 4.5

typedef struct painted {
	bool set; /* else the terminal's own */
	int r, g, b;
} painted;

static inline double painted_luminance(painted c)
{
	const int parts[] = {c.r, c.g, c.b};
	const double share[] = {0.2126, 0.7152, 0.0722};
	double sum = 0;
	for (int i = 0; i < 3; i++) {
		const double v = parts[i] / 255.0;
		sum += share[i] * (v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4));
	}
	return sum;
}

static inline double painted_contrast(painted one, painted other)
{
	const double a = painted_luminance(one) + 0.05, b = painted_luminance(other) + 0.05;
	return a > b ? a / b : b / a;
}

/* The colour of "5;N" or "2;R;G;B"; false: none of these. Numbers below 16 are the terminal's own. */
static inline bool painted_read(const char *at, painted *out)
{
	int n, r, g, b;
	if (sscanf(at, "2;%d;%d;%d", &r, &g, &b) == 3) {
		*out = (painted){true, r, g, b};
		return true;
	}
	if (sscanf(at, "5;%d", &n) != 1 || n < 0 || n > 255)
		return false;
	if (n < 16)
		*out = (painted){false, 0, 0, 0};
	else if (n >= 232)
		*out = (painted){true, 8 + 10 * (n - 232), 8 + 10 * (n - 232), 8 + 10 * (n - 232)};
	else {
		const int steps[] = {0, 95, 135, 175, 215, 255};
		n -= 16;
		*out = (painted){true, steps[n / 36], steps[n / 6 % 6], steps[n % 6]};
	}
	return true;
}

/* The least contrast of any character in the text; *coloured counts those that have a colour of their own. A text
 * without any has infinity. */
static inline double least_contrast(const char *text, int *coloured)
{
	const painted own = {false, 0, 0, 0}, white = {true, 255, 255, 255},
		      black = {true, 0, 0, 0};
	painted ink = own, ground = own;
	double least = INFINITY;
	*coloured = 0;
	while (*text) {
		if (*text == '\033' && text[1] == '[') {
			const char *at = text + 2;
			while (*at && *at != 'm') {
				char *end;
				const long code = strtol(at, &end, 10);
				if (code == 0)
					ink = ground = own;
				if (code == 38 || code == 48) {
					if (!painted_read(end + 1, code == 38 ? &ink : &ground))
						return 0;
					while (*end && *end != 'm')
						end++;
				}
				at = end + (*end == ';');
				if (at == text + 2 && *at != 'm')
					return 0; /* a sequence that sets no colour */
			}
			text = at + (*at == 'm');
			continue;
		}
		if (*text != ' ' && *text != '\n' && *text != '\r') {
			double c = INFINITY;
			if (ground.set) /* the terminal's own ink may be any */
				c = ink.set ? painted_contrast(ink, ground) : 1;
			else if (ink.set)
				c = fmin(painted_contrast(ink, white),
				         painted_contrast(ink, black));
			*coloured += ink.set;
			least = fmin(least, c);
		}
		text++;
	}
	return least;
}

#endif
