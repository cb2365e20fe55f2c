/* numbers.c — numbers in words and in digits, one a line, to learn from and to be tested on:
 *
 *   three hundred twelve thousand four hundred five<TAB>3 1 2 4 0 5
 *
 *   numbers COUNT SEED train|test [source|target]
 *
 * One number in sixteen, by itself alone, belongs to the test: learning never sees it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/random.h>

#define MOST 1000000u

static const char *const small[20] = {"zero",    "one",     "two",       "three",    "four",
                                      "five",    "six",     "seven",     "eight",    "nine",
                                      "ten",     "eleven",  "twelve",    "thirteen", "fourteen",
                                      "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
static const char *const tens[10] = {"",      "",      "twenty",  "thirty", "forty",
                                     "fifty", "sixty", "seventy", "eighty", "ninety"};

static void add(char *text, const char *word)
{
	if (*text)
		strcat(text, " ");
	strcat(text, word);
}

/* 1 … 999 */
static void add_hundreds(char *text, uint32_t n)
{
	if (n >= 100) {
		add(text, small[n / 100]);
		add(text, "hundred");
	}
	n %= 100;
	if (n >= 20) {
		add(text, tens[n / 10]);
		n %= 10;
	}
	if (n > 0)
		add(text, small[n]);
}

static void in_words(uint32_t n, char text[256])
{
	text[0] = '\0';
	if (n == 0)
		add(text, small[0]);
	if (n >= 1000) {
		add_hundreds(text, n / 1000);
		add(text, "thousand");
	}
	if (n % 1000 > 0)
		add_hundreds(text, n % 1000);
}

static void in_digits(uint32_t n, char text[256])
{
	char digits[16];
	snprintf(digits, sizeof digits, "%u", (unsigned)n);
	text[0] = '\0';
	for (char *d = digits; *d; d++)
		add(text, (const char[2]){*d, '\0'});
}

static int is_for_test(uint32_t n)
{
	uint32_t out[4];
	hec_philox((const uint32_t[4]){n, 0, 0, 0}, (const uint32_t[2]){2017, 0}, out);
	return out[0] % 16 == 0;
}

/* As many digits as likely as any other number of them. */
static uint32_t draw(uint32_t seed, uint32_t i)
{
	uint32_t out[4], below = 10;
	hec_philox((const uint32_t[4]){i, 0, 0, 1}, (const uint32_t[2]){seed, 0}, out);
	for (uint32_t digits = out[0] % 6; digits > 0; digits--)
		below *= 10;
	return out[1] % (below < MOST ? below : MOST);
}

int main(int argc, char **argv)
{
	const char *which = argc > 3 ? argv[3] : "", *side = argc > 4 ? argv[4] : "";
	int test = strcmp(which, "test") == 0;
	if (argc < 4 || (!test && strcmp(which, "train") != 0)) {
		fprintf(stderr, "usage: numbers COUNT SEED train|test [source|target]\n");
		return 2;
	}
	long left = atol(argv[1]);
	for (uint32_t i = 0; left > 0; i++) {
		char words[256], digits[256];
		uint32_t n = draw((uint32_t)atol(argv[2]), i);
		if (is_for_test(n) != test)
			continue;
		in_words(n, words);
		in_digits(n, digits);
		if (strcmp(side, "source") == 0)
			printf("%s\n", words);
		else if (strcmp(side, "target") == 0)
			printf("%s\n", digits);
		else
			printf("%s\t%s\n", words, digits);
		left--;
	}
	return 0;
}
