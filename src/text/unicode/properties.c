/* properties.c — see properties.h. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/unicode/properties.h"

#include <ctype.h>
#include <pcre2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "text/unicode/newer_table.h"

#define NEWER (sizeof newer / sizeof newer[0])

/* White space without U+180E, which was a space once and is one to PCRE2. */
#define SPACE                                                                                      \
	"\\t-\\r \\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}"   \
	"\\x{3000}"
#define WORD "Alphabetic M Nd Pc"

typedef struct named_set {
	const char *names; /* in small letters, without separators, with spaces between them */
	const char *sets;  /* the union of these sets of PCRE2 */
	const char *text;  /* and of these characters */
} named_set;

/* Outside of classes Oniguruma also takes these six numbers for word characters. */
static const named_set word_alone = {"word", WORD, "\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}"};

static const named_set named_sets[] = {
	{"l letter", "L", ""},
	{"lu uppercaseletter", "Lu", ""},
	{"ll lowercaseletter", "Ll", ""},
	{"lt titlecaseletter", "Lt", ""},
	{"lm modifierletter", "Lm", ""},
	{"lo otherletter", "Lo", ""},
	{"lc casedletter", "Lu Ll Lt", ""},
	{"m mark combiningmark", "M", ""},
	{"mn nonspacingmark", "Mn", ""},
	{"mc spacingmark", "Mc", ""},
	{"me enclosingmark", "Me", ""},
	{"n number", "N", ""},
	{"nd decimalnumber digit", "Nd", ""},
	{"nl letternumber", "Nl", ""},
	{"no othernumber", "No", ""},
	{"p punctuation punct", "P", ""},
	{"pc connectorpunctuation", "Pc", ""},
	{"pd dashpunctuation", "Pd", ""},
	{"ps openpunctuation", "Ps", ""},
	{"pe closepunctuation", "Pe", ""},
	{"pi initialpunctuation", "Pi", ""},
	{"pf finalpunctuation", "Pf", ""},
	{"po otherpunctuation", "Po", ""},
	{"s symbol", "S", ""},
	{"sm mathsymbol", "Sm", ""},
	{"sc currencysymbol", "Sc", ""},
	{"sk modifiersymbol", "Sk", ""},
	{"so othersymbol", "So", ""},
	{"z separator", "Z", ""},
	{"zs spaceseparator", "Zs", ""},
	{"zl lineseparator", "Zl", ""},
	{"zp paragraphseparator", "Zp", ""},
	{"c other", "C", ""},
	{"cc control cntrl", "Cc", ""},
	{"cf format", "Cf", ""},
	{"co privateuse", "Co", ""},
	{"cs surrogate", "Cs", ""},
	{"cn unassigned", "Cn", ""},
	{"alphabetic alpha", "Alphabetic", ""},
	{"lowercase lower", "Lowercase", ""},
	{"uppercase upper", "Uppercase", ""},
	{"emoji", "Emoji", ""},
	{"emojipresentation", "Emoji_Presentation", ""},
	{"ideographic", "Ideographic", ""},
	{"alnum", "Alphabetic Nd", ""},
	{"word", WORD, ""},
	{"space whitespace", "", SPACE},
	{"blank", "Zs", "\\t"},
	{"xdigit", "", "0-9a-fA-F"},
	{"ascii", "", "\\x00-\\x7f"},
};

/* The next of the words that spaces part; its length, 0 at the end. */
static size_t next_word(const char **at, size_t before)
{
	*at += before;
	*at += **at == ' ';
	return strcspn(*at, " ");
}

static bool has_word(const char *words, const char *word)
{
	size_t length = strlen(word);
	for (size_t n = next_word(&words, 0); n > 0; n = next_word(&words, n))
		if (n == length && memcmp(words, word, n) == 0)
			return true;
	return false;
}

static const named_set *find_named_set(const char *name, bool in_class)
{
	if (!in_class && strcmp(name, word_alone.names) == 0)
		return &word_alone;
	for (size_t i = 0; i < sizeof named_sets / sizeof named_sets[0]; i++)
		if (has_word(named_sets[i].names, name))
			return &named_sets[i];
	return NULL;
}

/* ---- characters newer than PCRE2's Unicode ---- */

/* Whether a character of this category and these other properties is in one of the sets. Names of categories have one
 * or two letters; other properties are told apart by their first letter. */
static bool in_sets(const char *sets, const char *category, const char *also)
{
	for (size_t n = next_word(&sets, 0); n > 0; n = next_word(&sets, n))
		if (n <= 2 ? memcmp(sets, category, n) == 0
		           : strchr(also, tolower((unsigned char)*sets)) != NULL)
			return true;
	return false;
}

typedef struct ranges {
	char *to;
	size_t n;
	uint32_t first, last;
	bool open;
} ranges;

/* The table cannot fill PROPERTY_RANGES: a row takes 21 bytes at most. */
_Static_assert(NEWER * 21 < PROPERTY_RANGES, "newer_table.h is too long");

static void close_range(ranges *r)
{
	if (r->open)
		r->n += (size_t)sprintf(r->to + r->n,
		                        r->first == r->last ? "\\x{%x}" : "\\x{%x}-\\x{%x}",
		                        r->first, r->last);
	r->open = false;
}

static void add_range(ranges *r, const struct newer *row)
{
	if (r->open && r->last + 1 == row->first) {
		r->last = row->last;
		return;
	}
	close_range(r);
	r->first = row->first;
	r->last = row->last;
	r->open = true;
}

static void describe_named_set(const named_set *named, property *out)
{
	ranges more = {.to = out->more}, less = {.to = out->less};
	char *to = out->known;
	const char *set = named->sets;
	for (size_t n = next_word(&set, 0); n > 0; n = next_word(&set, n))
		to += sprintf(to, "\\p{%.*s}", (int)n, set);
	strcpy(to, named->text);
	for (size_t i = 0; i < NEWER; i++) {
		bool was = in_sets(named->sets, newer[i].was, "");
		bool is = in_sets(named->sets, newer[i].is, newer[i].also);
		if (is && !was)
			add_range(&more, &newer[i]);
		else if (was && !is)
			add_range(&less, &newer[i]);
	}
	close_range(&more);
	close_range(&less);
}

/* A script's own characters; without sc: PCRE2 adds those of other scripts that are used with it. */
static hec_status describe_script(const char *name, property *out, bool *found)
{
	int error;
	PCRE2_SIZE at;
	ranges more = {.to = out->more};
	snprintf(out->known, sizeof out->known, "\\p{sc:%s}", name);
	pcre2_code *code = pcre2_compile((PCRE2_SPTR)out->known, PCRE2_ZERO_TERMINATED, PCRE2_UTF,
	                                 &error, &at, NULL);
	if (!code && error == PCRE2_ERROR_HEAP_FAILED)
		return fail(HEC_ERR_MEMORY, "no memory for an expression");
	if (!code)
		out->known[0] = '\0'; /* it may be one of the newest */
	pcre2_code_free(code);
	for (size_t i = 0; i < NEWER; i++)
		if (has_word(newer[i].script, name))
			add_range(&more, &newer[i]);
	close_range(&more);
	*found = out->known[0] || out->more[0];
	return HEC_OK;
}

/* Makes letters small and leaves separators out; false: this cannot be a name. */
static bool plain_name(const char *name, size_t n, char plain[PROPERTY_NAME])
{
	size_t used = 0;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)name[i];
		if (c >= 0x80 || (!isalnum(c) && !strchr(" -_", c)) || used + 1 == PROPERTY_NAME)
			return false;
		if (isalnum(c))
			plain[used++] = (char)tolower(c);
	}
	plain[used] = '\0';
	return used > 0;
}

hec_status property_find(const char *name, size_t n, bool in_class, property *out, bool *found)
{
	char plain[PROPERTY_NAME];
	memset(out, 0, sizeof *out);
	*found = plain_name(name, n, plain);
	if (!*found)
		return HEC_OK;
	const named_set *named = find_named_set(plain, in_class);
	if (!named)
		return describe_script(plain, out, found);
	describe_named_set(named, out);
	return HEC_OK;
}
