/* dialect_escape.c — what a \ begins, and sets of characters by name. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/pattern/dialect_parts.h"
#include "text/unicode/properties.h"
#include "text/unicode/utf8.h"

/* ---- sets of characters by name ---- */

/* One character of the set, or of all others. */
static hec_status add_property(dialect_text *t, const property *p, bool others)
{
	if (!p->less[0])
		return dialect_add_all(t, others ? "[^" : "[", p->known, p->more, "]");
	HEC_TRY(dialect_add_all(t, others ? "(?:[" : "(?:(?![", p->less, others ? "]|[^" : "])[",
	                        p->known));
	return dialect_add_all(t, p->more, "])", "", "");
}

/* Where case is ignored, a class of Oniguruma has all that its characters fold to, those of sets too; PCRE2
 * leaves sets as they are. Most have the same letters in any case; for some, a character brings the rest.
 * NULL: not in a few words. */
static const char *folded(const property *p, bool others)
{
	static const struct {
		const char *known, *more;
	} open[] = {
		{"\\p{Lu}", NULL},
		{"\\p{Ll}", NULL},
		{"\\p{Lt}", NULL},
		{"\\p{Lowercase}", NULL},
		{"\\p{Uppercase}", NULL},
		{"\\p{L}", "\\x{345}"},
		{"\\p{Lu}\\p{Ll}\\p{Lt}", "\\x{345}"},
		{"\\p{M}", "\\x{345}"},
		{"\\p{Mn}", "\\x{345}"},
		{"\\p{Emoji}", "\\x{24c2}"},
		{"\\p{sc:greek}", "\\x{b5}\\x{345}"},
		{"\\p{sc:grek}", "\\x{b5}\\x{345}"},
		{"\\p{sc:common}", "\\x{b5}"},
		{"\\p{sc:zyyy}", "\\x{b5}"},
		{"\\p{sc:inherited}", "\\x{345}"},
		{"\\p{sc:zinh}", "\\x{345}"},
		{"\\p{sc:qaai}", "\\x{345}"},
		{"\\x00-\\x7f", ""},
	};
	for (size_t i = 0; i < sizeof open / sizeof open[0]; i++)
		if (strcmp(p->known, open[i].known) == 0)
			return others ? NULL : open[i].more;
	return "";
}

static hec_status put_property(dialect_writing *w, const property *p, bool others)
{
	others = others != p->others;
	if (!w->set && !w->options.caseless)
		return add_property(&w->to, p, others);
	if (!w->set) { /* sets that stand alone mean what they mean in any case */
		HEC_TRY(dialect_put(w, "(?-i:"));
		HEC_TRY(add_property(&w->to, p, others));
		return dialect_put(w, ")");
	}
	const char *fold = w->options.caseless ? folded(p, others) : "";
	if (!fold)
		return dialect_refuse(w, "this set in a class where case is ignored");
	if (!others && !p->less[0])
		return dialect_add_all(&w->set->in, p->known, p->more, fold, "");
	HEC_TRY(dialect_add_all(&w->set->in, fold, "", "", ""));
	HEC_TRY(dialect_add(&w->set->beside, "|"));
	return add_property(&w->set->beside, p, others);
}

/* \w and its like; in the class [\w], too. */
static hec_status find_own(const dialect_writing *w, const char *name, property *p)
{
	bool found;
	return property_find(name, strlen(name), w->set ? PROPERTY_IN_CLASS : PROPERTY_ALONE, p,
	                     &found);
}

/* \p{L}, \P{L}, \p{^L}. */
static hec_status put_named(dialect_writing *w)
{
	const char *name = w->at + 3, *end = strchr(name, '}');
	bool others = w->at[1] == 'P', found;
	property p;
	if (!end)
		return dialect_keep(w, 2);
	if (*name == '^') {
		others = !others;
		name++;
	}
	HEC_TRY(property_find(name, (size_t)(end - name),
	                      w->set ? PROPERTY_IN_CLASS : PROPERTY_ALONE, &p, &found));
	if (!found)
		return dialect_keep(w, (size_t)(end + 1 - w->at));
	HEC_TRY(put_property(w, &p, others));
	w->at = end + 1;
	return HEC_OK;
}

hec_status dialect_brackets(dialect_writing *w, const char *end)
{
	bool others = w->at[2] == '^', found;
	const char *name = w->at + 2 + others;
	property p;
	HEC_TRY(property_find(name, (size_t)(end - 2 - name), PROPERTY_BRACKETS, &p, &found));
	if (!found)
		return dialect_keep(w, (size_t)(end - w->at));
	HEC_TRY(put_property(w, &p, others));
	w->at = end;
	return HEC_OK;
}

/* Where words begin and end, and all other places. */
static hec_status put_border(dialect_writing *w, bool others)
{
	property p;
	HEC_TRY(find_own(w, "word", &p));
	HEC_TRY(dialect_put(w, "(?:(?<="));
	HEC_TRY(put_property(w, &p, false));
	HEC_TRY(dialect_put(w, others ? ")(?=" : ")(?!"));
	HEC_TRY(put_property(w, &p, false));
	HEC_TRY(dialect_put(w, ")|(?<!"));
	HEC_TRY(put_property(w, &p, false));
	HEC_TRY(dialect_put(w, others ? ")(?!" : ")(?="));
	HEC_TRY(put_property(w, &p, false));
	return dialect_put(w, "))");
}

/* ---- numbers ---- */

static size_t digits_of(const char *p, size_t most, const char *digits)
{
	size_t n = strspn(p, digits);
	return n < most ? n : most;
}

/* A code of less than 128 is a character; one of more is a byte of one, and the others must follow. */
static hec_status put_code(dialect_writing *w, const char *digits, size_t n, int base)
{
	char number[16] = "", words[16];
	memcpy(number, digits, n);
	unsigned long code = strtoul(number, NULL, base);
	if (code > 0xff)
		return dialect_refuse(w, "a byte of more than 255");
	if (code > 0x7f)
		snprintf(words, sizeof words, "%c", (char)code);
	else
		snprintf(words, sizeof words, "\\x{%lx}", code);
	w->at = digits + n;
	return dialect_put(w, words);
}

static bool is_byte(const char *p, bool *hex)
{
	*hex = p[0] == '\\' && p[1] == 'x' && p[2] != '{';
	return *hex || (p[0] == '\\' && p[1] >= '0' && p[1] <= '7');
}

/* \xe3\x81\x82 or \343\201\202, one character. */
static hec_status put_bytes(dialect_writing *w)
{
	bool hex;
	size_t begin = w->set ? w->set->in.n : w->to.n;
	for (size_t i = 0, n = 1; i < n && is_byte(w->at, &hex); i++) {
		const char *digits = w->at + 1 + hex;
		size_t many = hex ? digits_of(digits, 2, "0123456789abcdefABCDEF")
		                  : digits_of(digits, 3, "01234567");
		HEC_TRY(put_code(w, digits, many, hex ? 16 : 8));
		if (i == 0)
			n = utf8_length((w->set ? w->set->in : w->to).bytes[begin]);
	}
	return HEC_OK;
}

/* Is this the name of that group? */
static bool is_named(const dialect_group *g, const char *name)
{
	size_t n = strcspn(name, ">'");
	return g->number && g->at[1] == '?' && strncmp(g->at + 3, name, n) == 0 &&
	       strcspn(g->at + 3, ">'") == n;
}

/* A call \g<…>, or a reference to a group by number, or (0) by the name at w->at. */
static hec_status note_use(dialect_writing *w, bool call, size_t number)
{
	w->facts.calls |= call;
	w->refers |= !call;
	/* What a group matched in a call is its text afterwards; to PCRE2 it is what it was before. */
	if (w->facts.calls && w->refers)
		return dialect_refuse(w, "a call beside a reference");
	for (size_t i = 1; i <= w->inside && !call; i++)
		if (number ? w->groups[i].number == number : is_named(&w->groups[i], w->at + 3))
			return dialect_refuse(w, "a reference to the group that it is in");
	return HEC_OK;
}

/* \12: the text of a group, where there are so many or it has one digit; else a code. */
static hec_status put_number(dialect_writing *w)
{
	size_t n = strspn(w->at + 1, "0123456789");
	unsigned long group = strtoul(w->at + 1, NULL, 10);
	char words[32];
	if (w->at[1] == '0' || (group > 9 && group > w->captures)) {
		if (w->at[1] >= '8')
			return dialect_refuse(w, "a group that is not there");
		return put_bytes(w);
	}
	HEC_TRY(note_use(w, false, group));
	w->at += 1 + n;
	snprintf(words, sizeof words, "\\g{%lu}", group);
	return dialect_put(w, words);
}

/* ---- letters ---- */

/* Escaped letters that mean nothing to Oniguruma, and so themselves; to PCRE2 some of them do. */
static bool is_plain_letter(const dialect_writing *w)
{
	const char *p = w->at;
	bool named = p[2] == '<' || p[2] == '\'';
	return strchr("ijlmqEFIJLQTUV", p[1]) || (strchr("opP", p[1]) && p[2] != '{') ||
	       (p[1] == 'x' && !p[2]) || (strchr("gk", p[1]) && (w->set || !named)) ||
	       (w->set && strchr("ABGKNORXYZyz", p[1]));
}

/* \w, \d, \s, \h and their others. */
static hec_status put_own(dialect_writing *w, bool *found)
{
	static const struct {
		char one, others;
		const char *name;
	} own[] = {
		{'w', 'W', "word"}, {'d', 'D', "digit"}, {'s', 'S', "space"}, {'h', 'H', "xdigit"}};
	char c = w->at[1];
	property p;
	*found = false;
	for (size_t i = 0; i < sizeof own / sizeof own[0] && !*found; i++)
		if (c == own[i].one || c == own[i].others) {
			*found = true;
			HEC_TRY(find_own(w, own[i].name, &p));
			HEC_TRY(put_property(w, &p, c == own[i].others));
			w->at += 2;
		}
	return HEC_OK;
}

/* What PCRE2 has another meaning for. */
static hec_status refuse_letter(const dialect_writing *w)
{
	char c = w->at[1], next = c ? w->at[2] : '\0';
	if (c == 'G' && !w->set) /* a search is made of many */
		return dialect_refuse(w, "\\G");
	if (c == 'c' && !(next >= 'A' && next <= 'Z') && !(next >= 'a' && next <= 'z'))
		return dialect_refuse(w, "\\c without a letter");
	return HEC_OK;
}

static hec_status put_other(dialect_writing *w)
{
	static const struct {
		char letter;
		const char *words;
	} words[] = {
		{'v', "\\x{0b}"},
		{'N', "[^\\n]"},
		{'O', "\\p{Any}"}, /* line ends, too */
		/* PCRE2 believes that no . can follow its own. */
		{'R', "(?:\\r\\n|(?!\\r\\n)[\\n-\\r\\x{85}\\x{2028}\\x{2029}])"},
	};
	char c = w->at[1], code[16];
	if (c == 'u' && digits_of(w->at + 2, 4, "0123456789abcdefABCDEF") == 4) {
		snprintf(code, sizeof code, "\\x{%.4s}", w->at + 2);
		w->at += 6;
		return dialect_put(w, code);
	}
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (c == words[i].letter) {
			w->at += 2;
			return dialect_put(w, words[i].words);
		}
	if (!w->set && (c == 'b' || c == 'B')) {
		w->at += 2;
		return put_border(w, c == 'B');
	}
	if (c == 'g' || c == 'k') {
		HEC_TRY(note_use(w, c == 'g', 0));
		return dialect_keep(w, 4 + strcspn(w->at + 3, w->at[2] == '<' ? ">" : "'"));
	}
	if (c == 'x' || c == 'o') /* in braces */
		return dialect_keep(w, strcspn(w->at, "}") + 1);
	return dialect_keep(w, 1 + utf8_length(c));
}

hec_status dialect_escape(dialect_writing *w)
{
	char c = w->at[1];
	bool hex, found;
	HEC_TRY(refuse_letter(w));
	if (is_plain_letter(w)) {
		w->at++;
		return dialect_keep(w, 1);
	}
	if (c == 'p' || c == 'P')
		return put_named(w);
	if (!w->set && c >= '0' && c <= '9')
		return put_number(w);
	if (is_byte(w->at, &hex))
		return put_bytes(w);
	HEC_TRY(put_own(w, &found));
	return found ? HEC_OK : put_other(w);
}
