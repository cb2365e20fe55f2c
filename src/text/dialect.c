/* dialect.c — see dialect.h. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/dialect.h"

#include <pcre2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "text/classes.h"
#include "text/grow.h"
#include "text/utf8.h"

#define WRITTEN_MOST ((size_t)1 << 20) /* bytes of an expression in PCRE2's words */
#define MORE_MOST 8192
#define CHARACTERS 0x110000u

/* \w as Oniguruma has it; PCRE2 10.42 knows no marks as words. Outside of classes, and only there,
 * Oniguruma takes these six numbers for words too. */
#define WORD "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"
#define WORD_OUTSIDE WORD "\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}"
/* \s without U+180E, which was a space once and is one to PCRE2. */
#define SPACE                                                                                      \
	"\\t-\\r \\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}"   \
	"\\x{3000}"
#define HEX "0-9a-fA-F"

/* ---- characters that this PCRE2 does not know yet ---- */

static struct newer {
	const char *name, *long_name;
	unsigned class, none; /* of this class, and of none of those */
	char more[MORE_MOST]; /* ranges, as they are written in a class */
} newer[] = {{"L", "Letter", CLASS_LETTER, 0, ""},
             {"N", "Number", CLASS_NUMBER, 0, ""},
             {"M", "Mark", CLASS_MARK, 0, ""},
             {"Lu", "Uppercase_Letter", CLASS_UPPER, 0, ""},
             {"Ll", "Lowercase_Letter", CLASS_LOWER, 0, ""},
             {"Lt", "Titlecase_Letter", CLASS_TITLE, 0, ""},
             {"Lm", "Modifier_Letter", CLASS_MODIFIER, 0, ""},
             {"Lo", "Other_Letter", CLASS_LETTER,
              CLASS_UPPER | CLASS_LOWER | CLASS_TITLE | CLASS_MODIFIER, ""}};
#define NEWER (sizeof newer / sizeof newer[0])

/* The next characters that follow one another in text from *at on; false: there are none. */
static bool next_range(const char *text, size_t end, size_t *at, uint32_t *first, uint32_t *last)
{
	size_t length;
	if (*at == end)
		return false;
	*first = *last = utf8_get(text + *at, &length);
	for (*at += length; *at < end && utf8_get(text + *at, &length) == *last + 1; *at += length)
		++*last;
	return true;
}

/* All characters of the class go past PCRE2; those that it does not match are written down. */
static hec_status find_newer(struct newer *n, char *text, pcre2_match_data *data)
{
	size_t bytes = 0, used = 0;
	char name[16];
	for (uint32_t c = 0x80; c < CHARACTERS; c++)
		if ((class_of(c) & n->class) && !(class_of(c) & n->none) &&
		    (c < 0xd800 || c > 0xdfff))
			bytes += utf8_put(c, text + bytes);
	snprintf(name, sizeof name, "\\P{%s}+", n->name);
	int error;
	PCRE2_SIZE place;
	pcre2_code *code = pcre2_compile((PCRE2_SPTR)name, PCRE2_ZERO_TERMINATED, PCRE2_UTF, &error,
	                                 &place, NULL);
	if (!code)
		return fail(HEC_ERR_MEMORY, "no memory for an expression");
	for (size_t at = 0; at < bytes;) {
		int found = pcre2_match(code, (PCRE2_SPTR)text, bytes, at, PCRE2_NO_UTF_CHECK, data,
		                        NULL);
		if (found < 0)
			break;
		const PCRE2_SIZE *match = pcre2_get_ovector_pointer(data);
		at = match[0];
		for (uint32_t a, b; next_range(text, match[1], &at, &a, &b);)
			if (used + 32 < sizeof n->more)
				used += (size_t)snprintf(n->more + used, 32, "\\x{%x}-\\x{%x}", a,
				                         b);
	}
	pcre2_code_free(code);
	return HEC_OK;
}

static hec_status find_all_newer(void)
{
	hec_status status = HEC_OK;
	char *text = malloc((size_t)CHARACTERS * UTF8_MOST);
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	if (!text || !data)
		status = fail(HEC_ERR_MEMORY, "no memory to look at all characters");
	for (size_t i = 0; i < NEWER && status == HEC_OK; i++)
		status = find_newer(&newer[i], text, data);
	pcre2_match_data_free(data);
	free(text);
	return status;
}

/* Once a process; after a failure, again. */
static hec_status prepare(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static bool done;
	hec_status status = HEC_OK;
	classes_prepare();
	pthread_mutex_lock(&lock);
	if (!done)
		status = find_all_newer();
	done = done || status == HEC_OK;
	pthread_mutex_unlock(&lock);
	return status;
}

/* ---- rewriting ---- */

typedef struct writing {
	const char *all, *at; /* at: not read yet */
	char *to;
	size_t n, capacity;
	bool in_class;
} writing;

static hec_status put_bytes(writing *w, const char *bytes, size_t n)
{
	if (w->n + n > WRITTEN_MOST)
		return fail(HEC_ERR_FORMAT, "an expression of more than %zu bytes", WRITTEN_MOST);
	HEC_TRY(GROW(&w->to, &w->capacity, w->n + n + 1));
	memcpy(w->to + w->n, bytes, n);
	w->n += n;
	w->to[w->n] = '\0';
	return HEC_OK;
}

static hec_status put(writing *w, const char *text)
{
	return put_bytes(w, text, strlen(text));
}

static hec_status keep(writing *w, size_t n)
{
	HEC_TRY(put_bytes(w, w->at, n));
	w->at += n;
	return HEC_OK;
}

static hec_status cannot(const writing *w)
{
	char name[QUOTE_TEXT];
	return fail(HEC_ERR_UNSUPPORTED,
	            "the expression \"%s\" has classes that cannot be run here",
	            quote(w->all, name));
}

/* A set of characters, or all others; `in` a class it can only be a set. */
static hec_status put_set(writing *w, bool others, const char *a, const char *b)
{
	if (w->in_class && others)
		return cannot(w);
	if (!w->in_class)
		HEC_TRY(put(w, others ? "[^" : "["));
	HEC_TRY(put(w, a));
	HEC_TRY(put(w, b));
	return w->in_class ? HEC_OK : put(w, "]");
}

/* \p{L} and its like, with what PCRE2 does not know yet. */
static hec_status put_property(writing *w)
{
	const char *name = w->at + 3, *end = w->at[2] == '{' ? strchr(name, '}') : NULL;
	bool others = w->at[1] == 'P';
	if (!end)
		return keep(w, 2);
	if (*name == '^') {
		others = !others;
		name++;
	}
	size_t n = (size_t)(end - name);
	for (size_t i = 0; i < NEWER; i++) {
		const struct newer *k = &newer[i];
		if ((n != strlen(k->name) || strncmp(name, k->name, n) != 0) &&
		    (n != strlen(k->long_name) || strncmp(name, k->long_name, n) != 0))
			continue;
		char known[16];
		snprintf(known, sizeof known, "\\p{%s}", k->name);
		if (w->in_class && others) { /* near enough: the newest characters are in */
			known[1] = 'P';
			HEC_TRY(put(w, known));
		} else {
			HEC_TRY(put_set(w, others, known, k->more));
		}
		w->at = end + 1;
		return HEC_OK;
	}
	return keep(w, (size_t)(end + 1 - w->at));
}

static bool is_hex(const char *p, int n)
{
	for (int i = 0; i < n; i++)
		if (!p[i] || !strchr("0123456789abcdefABCDEF", p[i]))
			return false;
	return true;
}

static hec_status put_escape(writing *w)
{
	char c = w->at[1], code[16];
	if (c == 'p' || c == 'P')
		return put_property(w);
	if (c == 'u' && is_hex(w->at + 2, 4)) {
		snprintf(code, sizeof code, "\\x{%.4s}", w->at + 2);
		w->at += 6;
		return put(w, code);
	}
	if (!strchr("wWsShHv", c))
		return keep(w, 2);
	w->at += 2;
	if (c == 'v')
		return put(w, "\\x{0b}");
	if (c == 'S' && w->in_class)
		return put(w, "\\S\\x{180e}");
	if (c == 's' || c == 'S')
		return put_set(w, c == 'S', SPACE, "");
	if (c == 'h' || c == 'H')
		return put_set(w, c == 'H', HEX, "");
	return put_set(w, c == 'W', w->in_class ? WORD : WORD_OUTSIDE, "");
}

/* [:alpha:] in a class, up to end. */
static hec_status put_named(writing *w, const char *end)
{
	static const char *const names[][2] = {{"[:alpha:]", "\\p{Alphabetic}"},
	                                       {"[:alnum:]", "\\p{Alphabetic}\\p{Nd}"},
	                                       {"[:word:]", WORD},
	                                       {"[:space:]", SPACE}};
	size_t n = (size_t)(end - w->at);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (n == strlen(names[i][0]) && memcmp(w->at, names[i][0], n) == 0) {
			w->at = end;
			return put(w, names[i][1]);
		}
	return keep(w, n);
}

static hec_status put_in_class(writing *w)
{
	const char *p = w->at;
	if (p[0] == '&' && p[1] == '&')
		return cannot(w); /* an intersection of classes */
	if (p[0] == '[') {
		const char *end = p[1] == ':' ? strstr(p + 2, ":]") : NULL;
		return end ? put_named(w, end + 2) : cannot(w); /* a class in a class */
	}
	w->in_class = p[0] != ']';
	return keep(w, 1);
}

static hec_status begin_class(writing *w)
{
	w->in_class = true;
	size_t n = 1 + (w->at[1] == '^');
	return keep(w, n + (w->at[n] == ']'));
}

/* (?m:…) lets . match line ends too, which PCRE2 calls s; its m is always on. */
static hec_status begin_group(writing *w)
{
	size_t n = 2 + strspn(w->at + 2, "imx-");
	if (n == 2 || (w->at[n] != ':' && w->at[n] != ')'))
		return keep(w, 1);
	for (const char *end = w->at + n; w->at < end; w->at++)
		HEC_TRY(*w->at == 'm' ? put(w, "s") : put_bytes(w, w->at, 1));
	return HEC_OK;
}

/* {,3} is {0,3}. */
static bool is_open_range(const char *p)
{
	size_t digits = p[0] == '{' && p[1] == ',' ? strspn(p + 2, "0123456789") : 0;
	return digits > 0 && p[2 + digits] == '}';
}

static hec_status translate(writing *w)
{
	HEC_TRY(put(w, ""));
	while (*w->at) {
		if (w->at[0] == '\\' && w->at[1]) {
			HEC_TRY(put_escape(w));
		} else if (w->in_class) {
			HEC_TRY(put_in_class(w));
		} else if (w->at[0] == '[') {
			HEC_TRY(begin_class(w));
		} else if (w->at[0] == '(' && w->at[1] == '?') {
			HEC_TRY(begin_group(w));
		} else if (is_open_range(w->at)) {
			HEC_TRY(put(w, "{0"));
			w->at++;
		} else {
			HEC_TRY(keep(w, 1));
		}
	}
	return HEC_OK;
}

hec_status dialect_translate(const char *expression, char **out)
{
	writing w = {.all = expression, .at = expression};
	*out = NULL;
	if (strstr(expression, "\\p") || strstr(expression, "\\P"))
		HEC_TRY(prepare());
	hec_status status = translate(&w);
	if (status != HEC_OK)
		free(w.to);
	else
		*out = w.to;
	return status;
}
