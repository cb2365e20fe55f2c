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

/* Names in small letters, without what parts their words; the first that fits is taken. */
static const struct named {
	const char *names;
	const char *sets; /* of PCRE2, all together */
	const char *text; /* and these characters */
	bool others;
} alone[] =
	{
		/* Oniguruma takes these six numbers for words too, but not in classes. */
		{"word", WORD, "\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}", false},
},
  brackets[] =
	  {
		  {"punct", "P S", "", false},
},
  anywhere[] = {
	  {"l letter", "L", "", false},
	  {"lu uppercaseletter", "Lu", "", false},
	  {"ll lowercaseletter", "Ll", "", false},
	  {"lt titlecaseletter", "Lt", "", false},
	  {"lm modifierletter", "Lm", "", false},
	  {"lo otherletter", "Lo", "", false},
	  {"lc casedletter", "Lu Ll Lt", "", false},
	  {"m mark combiningmark", "M", "", false},
	  {"mn nonspacingmark", "Mn", "", false},
	  {"mc spacingmark", "Mc", "", false},
	  {"me enclosingmark", "Me", "", false},
	  {"n number", "N", "", false},
	  {"nd decimalnumber digit", "Nd", "", false},
	  {"nl letternumber", "Nl", "", false},
	  {"no othernumber", "No", "", false},
	  {"p punctuation punct", "P", "", false},
	  {"pc connectorpunctuation", "Pc", "", false},
	  {"pd dashpunctuation", "Pd", "", false},
	  {"ps openpunctuation", "Ps", "", false},
	  {"pe closepunctuation", "Pe", "", false},
	  {"pi initialpunctuation", "Pi", "", false},
	  {"pf finalpunctuation", "Pf", "", false},
	  {"po otherpunctuation", "Po", "", false},
	  {"s symbol", "S", "", false},
	  {"sm mathsymbol", "Sm", "", false},
	  {"sc currencysymbol", "Sc", "", false},
	  {"sk modifiersymbol", "Sk", "", false},
	  {"so othersymbol", "So", "", false},
	  {"z separator", "Z", "", false},
	  {"zs spaceseparator", "Zs", "", false},
	  {"zl lineseparator", "Zl", "", false},
	  {"zp paragraphseparator", "Zp", "", false},
	  {"c other", "C", "", false},
	  {"cc control cntrl", "Cc", "", false},
	  {"cf format", "Cf", "", false},
	  {"co privateuse", "Co", "", false},
	  {"cs surrogate", "Cs", "", false},
	  {"cn unassigned", "Cn", "", false},
	  {"assigned", "Cn", "", true},
	  {"alphabetic alpha", "Alphabetic", "", false},
	  {"lowercase lower", "Lowercase", "", false},
	  {"uppercase upper", "Uppercase", "", false},
	  {"emoji", "Emoji", "", false},
	  {"emojipresentation", "Emoji_Presentation", "", false},
	  {"ideographic", "Ideographic", "", false},
	  {"alnum", "Alphabetic Nd", "", false},
	  {"word", WORD, "", false},
	  {"space whitespace", "", SPACE, false},
	  {"blank", "Zs", "\\t", false},
	  {"graph", "Cc Cn Cs Z", "", true},
	  {"print", "Cc Cn Cs Zl Zp", "", true},
	  {"xdigit", "", "0-9a-fA-F", false},
	  {"ascii", "", "\\x00-\\x7f", false},
};
#define FIND(list, name) find_in(list, sizeof list / sizeof list[0], name)

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

static const struct named *find_in(const struct named *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (has_word(list[i].names, name))
			return &list[i];
	return NULL;
}

/* ---- what is newer ---- */

/* Is a character of this category, which is also that, in one of the sets? Categories have one letter or
 * two; what a character can be besides begins with a letter of its own. */
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

static void set_of(const struct named *named, property *out)
{
	ranges more = {.to = out->more}, less = {.to = out->less};
	char *to = out->known;
	const char *set = named->sets;
	for (size_t n = next_word(&set, 0); n > 0; n = next_word(&set, n))
		to += sprintf(to, "\\p{%.*s}", (int)n, set);
	strcpy(to, named->text);
	out->others = named->others;
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

/* A script by itself: PCRE2 takes its name alone for all that is used with the script, too. */
static hec_status script_of(const char *name, property *out, bool *found)
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

/* Small letters without what parts words; false: this can be no name. */
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

hec_status property_find(const char *name, size_t n, property_place place, property *out,
                         bool *found)
{
	char plain[PROPERTY_NAME];
	const struct named *named = NULL;
	memset(out, 0, sizeof *out);
	*found = plain_name(name, n, plain);
	if (!*found)
		return HEC_OK;
	if (place == PROPERTY_ALONE)
		named = FIND(alone, plain);
	if (place == PROPERTY_BRACKETS)
		named = FIND(brackets, plain);
	if (!named)
		named = FIND(anywhere, plain);
	if (!named)
		return script_of(plain, out, found);
	set_of(named, out);
	return HEC_OK;
}
