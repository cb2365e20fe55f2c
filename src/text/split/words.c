/* words.c — the alternatives of the patterns in their order: the first that matches decides. */
#include "text/split/words.h"

#include <string.h>

#include "text/unicode/classes.h"
#include "text/unicode/utf8.h"

#define CONTRACTIONS "'s|'t|'re|'ve|'m|'ll|'d|"
#define MARK "\xe2\x96\x81" /* ▁ */
#define MARK_BYTES 3

const word_rule words_gpt2 = {CONTRACTIONS
                              " ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
                              CLASS_LETTER,
                              0,
                              false,
                              false,
                              false};
#define LLAMA(numbers)                                                                             \
	"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" numbers                      \
	"| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
const word_rule words_llama3 = {LLAMA("\\p{N}{1,3}"), CLASS_LETTER, 3, false, true, false};
const word_rule words_qwen2 = {LLAMA("\\p{N}"), CLASS_LETTER, 1, false, true, false};
#define O200K_UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define O200K_LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define O200K(upper, lower)                                                                        \
	"[^\\r\\n\\p{L}\\p{N}]?" O200K_UPPER upper O200K_LOWER lower                               \
	"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
const word_rule words_o200k = {
	O200K("*", "+") O200K(
		"+",
		"*") "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
	CLASS_LETTER,
	3,
	false,
	false,
	true};
const word_rule words_learned = {
	CONTRACTIONS " ?[\\p{L}\\p{M}]+| ?\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+|\\s+(?!\\S)|\\s+",
	CLASS_LETTER | CLASS_MARK,
	1,
	false,
	false,
	false};
const word_rule words_marked = {CONTRACTIONS MARK "?[\\p{L}\\p{M}]+|" MARK "?\\p{N}|" MARK
                                                  "?[^\\s\\p{L}\\p{M}\\p{N}" MARK "]+|" MARK
                                                  "|\\s+",
                                CLASS_LETTER | CLASS_MARK,
                                1,
                                true,
                                false,
                                false};

const word_rule *word_rule_of(const char *pattern)
{
	static const word_rule *const rules[] = {&words_gpt2,  &words_llama3,  &words_qwen2,
	                                         &words_o200k, &words_learned, &words_marked};
	for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
		if (strcmp(rules[i]->pattern, pattern) == 0)
			return rules[i];
	return NULL;
}

static size_t contraction_end(const char *text, size_t at, size_t end)
{
	static const char *const tails[] = {"s", "t", "re", "ve", "m", "ll", "d"};
	for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
		size_t n = strlen(tails[i]);
		if (end - at > n && memcmp(text + at + 1, tails[i], n) == 0)
			return at + 1 + n;
	}
	return 0;
}

/* The same in any case; "ſ" is an s, too. */
static size_t caseless_contraction_end(const char *text, size_t at, size_t end)
{
	char tail[3] = "'";
	size_t n = end - at < 3 ? end - at : 3, stop;
	for (size_t i = 1; i < n; i++)
		tail[i] = text[at + i] >= 'A' && text[at + i] <= 'Z' ? (char)(text[at + i] + 32)
		                                                     : text[at + i];
	if ((stop = contraction_end(tail, 0, n)))
		return at + stop;
	return n == 3 && memcmp(tail + 1, "\xc5\xbf", 2) == 0 ? at + 3 : 0;
}

static bool is_mark(const char *text, size_t at, size_t end)
{
	return text[at] == MARK[0] && end - at >= MARK_BYTES &&
	       memcmp(text + at, MARK, MARK_BYTES) == 0;
}

/* Characters of a class in `some`. */
static size_t class_run_end(const char *text, size_t at, size_t end, unsigned some)
{
	for (size_t length; at < end; at += length)
		if (!(class_of(utf8_get(text + at, &length)) & some))
			break;
	return at;
}

/* Characters of no class in `none`. */
static size_t other_run_end(const char *text, size_t at, size_t end, unsigned none, bool marked)
{
	for (size_t length; at < end; at += length)
		if ((class_of(utf8_get(text + at, &length)) & none) ||
		    (marked && is_mark(text, at, end)))
			break;
	return at;
}

/* At most so many numbers. */
static size_t numbers_end(const char *text, size_t at, size_t end, unsigned most)
{
	for (size_t length; most > 0 && at < end; most--, at += length)
		if (!(class_of(utf8_get(text + at, &length)) & CLASS_NUMBER))
			break;
	return at;
}

/* White space up to the one before a word, which is the word's own; a single one stays alone. */
static size_t spaces_end(const char *text, size_t at, size_t end)
{
	size_t stop = at, last = at;
	for (size_t length; stop < end; stop += length) {
		if (!(class_of(utf8_get(text + stop, &length)) & CLASS_SPACE))
			break;
		last = stop;
	}
	return stop < end && last > at ? last : stop;
}

static bool is_line_end(char c)
{
	return c == '\r' || c == '\n';
}

/* White space up to its last line end; 0: it has none. */
static size_t lines_end(const char *text, size_t at, size_t end)
{
	size_t stop = 0;
	for (size_t length; at < end; at += length) {
		if (!(class_of(utf8_get(text + at, &length)) & CLASS_SPACE))
			break;
		if (is_line_end(text[at]))
			stop = at + 1;
	}
	return stop;
}

static size_t line_word_end(const word_rule *rule, const char *text, size_t at, size_t end)
{
	const unsigned none = CLASS_LETTER | CLASS_NUMBER | CLASS_SPACE;
	size_t length, stop = text[at] == '\'' ? caseless_contraction_end(text, at, end) : 0;
	if (stop)
		return stop;
	unsigned c = class_of(utf8_get(text + at, &length));
	if (c & CLASS_LETTER)
		return class_run_end(text, at, end, CLASS_LETTER);
	if (c & CLASS_NUMBER)
		return numbers_end(text, at, end, rule->digits);
	/* Anything else but a line end goes with the letters behind it. */
	stop = is_line_end(text[at]) ? 0 : class_run_end(text, at + length, end, CLASS_LETTER);
	if (stop > at + length)
		return stop;
	size_t from = text[at] == ' ' ? at + 1 : at;
	stop = other_run_end(text, from, end, none, false);
	if (stop > from) {
		while (stop < end && is_line_end(text[stop]))
			stop++;
		return stop;
	}
	stop = lines_end(text, at, end);
	return stop ? stop : spaces_end(text, at, end);
}

/* ---- GPT-4o ---- */

/* [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}] and [\p{Ll}\p{Lm}\p{Lo}\p{M}]: most characters that are in one are in
 * both. */
static bool is_upper(unsigned c)
{
	return (c & (CLASS_LETTER | CLASS_MARK)) && !(c & CLASS_LOWER);
}

static bool is_lower(unsigned c)
{
	return (c & (CLASS_LETTER | CLASS_MARK)) && !(c & (CLASS_UPPER | CLASS_TITLE));
}

/* upper*lower+ from at; 0: it does not match. *run: where the first run of upper ends. */
static size_t cased_run(const char *text, size_t at, size_t end, size_t *run)
{
	size_t length, stop = 0;
	unsigned c = 0;
	for (; at < end && is_upper(c = class_of(utf8_get(text + at, &length))); at += length)
		if (is_lower(c))
			stop = at + length; /* where the run must end if nothing lower follows it */
	*run = at;
	if (at == end || !is_lower(c))
		return stop;
	for (; at < end && is_lower(class_of(utf8_get(text + at, &length))); at += length)
		;
	return at;
}

/* A word with at most one other character before it; 0: there is none. */
static size_t cased_word(const char *text, size_t at, size_t end)
{
	size_t length, run, stop = 0, behind = at, capitals = 0;
	unsigned c = class_of(utf8_get(text + at, &length));
	bool other = !(c & (CLASS_LETTER | CLASS_NUMBER)) && !is_line_end(text[at]);
	if (other) {
		behind = at + length;
		stop = cased_run(text, behind, end, &run);
		capitals = run > behind ? run : 0;
	}
	if (!stop)
		stop = cased_run(text, at, end, &run);
	if (!stop && !other)
		capitals = run > at ? run : 0;
	if (!stop)
		stop = capitals;
	size_t tail = stop && stop < end && text[stop] == '\''
	                      ? caseless_contraction_end(text, stop, end)
	                      : 0;
	return tail ? tail : stop;
}

static size_t cased_word_end(const word_rule *rule, const char *text, size_t at, size_t end)
{
	size_t length, stop = cased_word(text, at, end);
	if (stop)
		return stop;
	if (class_of(utf8_get(text + at, &length)) & CLASS_NUMBER)
		return numbers_end(text, at, end, rule->digits);
	size_t from = text[at] == ' ' ? at + 1 : at;
	stop = other_run_end(text, from, end, CLASS_LETTER | CLASS_NUMBER | CLASS_SPACE, false);
	if (stop > from) {
		while (stop < end && (is_line_end(text[stop]) || text[stop] == '/'))
			stop++;
		return stop;
	}
	stop = lines_end(text, at, end);
	return stop ? stop : spaces_end(text, at, end);
}

size_t word_end(const word_rule *rule, const char *text, size_t at, size_t end)
{
	if (rule->cased)
		return cased_word_end(rule, text, at, end);
	if (rule->lines)
		return line_word_end(rule, text, at, end);
	if (text[at] == '\'') {
		size_t stop = contraction_end(text, at, end);
		if (stop)
			return stop;
	}
	size_t length, from = at;
	bool mark = rule->marked && is_mark(text, at, end);
	if (mark)
		from = at + MARK_BYTES;
	else if (!rule->marked && text[at] == ' ' && at + 1 < end)
		from = at + 1;
	if (mark && (from == end || is_mark(text, from, end)))
		return from;
	unsigned c = class_of(utf8_get(text + from, &length));
	if (c & rule->letters)
		return class_run_end(text, from + length, end, rule->letters);
	if (c & CLASS_NUMBER)
		return rule->digits ? numbers_end(text, from, end, rule->digits)
		                    : class_run_end(text, from + length, end, CLASS_NUMBER);
	if (!(c & CLASS_SPACE))
		return other_run_end(text, from + length, end,
		                     rule->letters | CLASS_NUMBER | CLASS_SPACE, rule->marked);
	if (rule->marked)
		return mark ? from : class_run_end(text, at, end, CLASS_SPACE);
	return spaces_end(text, at, end);
}
