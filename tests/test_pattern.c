/* test_pattern.c — expressions from a file: found through windows as they are in the whole text, never in
 * quadratic time, and meaning what they mean to the original. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "support/test.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "format/json.h"
#include "text/pattern/dialect.h"
#include "text/pattern/pattern.h"
#include "text/unicode/utf8.h"

/* What the end of a window could spoil: looking ahead and behind, ends of lines and texts, borders of words,
 * groups that repeat, empty matches. */
static const char *const expressions[] = {
	"a+b|a",
	"(?<=a)b+",
	"a+(?!b)",
	"a+(?= )|b",
	"[ab]+$",
	"^[ab ]+",
	"[ab\\n ]+\\z",
	"\\b[ab]+\\b",
	"(?:ab?)+ ?",
	"(?:a|ab)(?:c|bcd)*é+",
	"\\s+(?!\\S)|\\s+",
	"b*",
	"(?=b)",
	"[^\\r\\n\\p{L}]?\\p{L}+|\\s*[\\r\\n]+",
	".+é",
	"é+|(?i:É)",
	"a{3,}?b",
	"a(?=.*é)",
	"(?=.*\\n\\n)a",
	"(?<!b)a(?=[^é]*é)",
	"a+é",
	"[ab]*\\n",
	"[^é]+é ",
	".+?👩",
	"\\w+(?<=a)[.é]",
	"\\p{L}*\\r",
	".*é",
	"^.*é",
	"(.*)\\r",
	"\\A[ab]+",
	"(?:a|ab|aab|aaab){2,}é",
	"\\n^",
	"^.*\\n(?:^[ab].*\\n)*",
	"(?:^[ab ]*\\n)+?b",
};

static size_t write_text(kit *k, char *text, size_t most)
{
	static const char *const parts[] = {"a",    "b", " ",         "\n",
	                                    "\r\n", "é", "e\xcc\x81", "👩‍🚀"};
	size_t n = 0;
	while (n + 16 < most) {
		const char *part = parts[draw(k) % (draw(k) % 4 ? 3 : 8)];
		/* Runs of any length: some end just at a window's end. */
		for (int64_t run = draw(k) % 8 ? 1 : draw_in(k, 1, 300); run > 0 && n + 16 < most;
		     run--) {
			n += (size_t)sprintf(text + n, "%s", part);
		}
	}
	return n;
}

/* The first match at or after from, in the whole text at once. */
static bool at_once(const pattern *p, pcre2_match_data *data, const char *text, size_t n,
                    size_t from, size_t *start, size_t *stop)
{
	if (pcre2_match(p->code, (PCRE2_SPTR)text, n, from, 0, data, NULL) < 0)
		return false;
	const PCRE2_SIZE *at = pcre2_get_ovector_pointer(data);
	*start = at[0];
	*stop = at[1];
	return true;
}

static void windows_give_what_the_whole_text_gives(void **state)
{
	(void)state;
	kit k = kit_open(8800);
	enum { MOST = 3000 };
	char *text = malloc(MOST);
	pcre2_match_data *data = pcre2_match_data_create(8, NULL);
	for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
		pattern p;
		pattern_work *work = NULL;
		OK(&k, pattern_compile(expressions[i], false, &p));
		for (int round = 0; round < 12; round++) {
			size_t n = write_text(&k, text, MOST), start = 0, stop = 0, found = 0;
			for (pattern_walk w = {0};; found++) {
				size_t from = w.from, last = w.stop;
				bool again = w.found, is;
				OK(&k, pattern_next(&p, &work, text, 0, n, &w));
				while ((is = at_once(&p, data, text, n, from, &start, &stop)) &&
				       again && start == stop && stop == last && from < n)
					from += utf8_length(text[from]);
				if (is && again && start == stop && stop == last)
					is = false; /* an empty one at the end */
				CHECK(&k,
				      is == w.found &&
				              (!is || (start == w.start && stop == w.stop)),
				      "%s: match %zu from %zu of %zu: %d at %zu … %zu, not %d at "
				      "%zu … %zu",
				      expressions[i], found, from, n, w.found, w.start, w.stop, is,
				      start, stop);
				if (!w.found)
					break;
			}
		}
		pattern_work_free(work);
		pattern_free(&p);
	}
	pcre2_match_data_free(data);
	free(text);
	kit_close(&k);
}

/* Wherever a line ends, also where what is looked at at once does. */
static void a_line_begins_behind_any_end(void **state)
{
	(void)state;
	kit k = kit_open(8801);
	char text[1200];
	for (size_t n = 1; n < 1100; n++) {
		pattern p;
		pattern_work *work = NULL;
		pattern_walk w = {0};
		memset(text, 'x', n);
		memcpy(text + n, "\ny\n", 4);
		OK(&k, pattern_compile("^x.*\\n(?:^y.*\\n)*", false, &p));
		OK(&k, pattern_next(&p, &work, text, 0, n + 3, &w));
		CHECK(&k, w.found && w.start == 0 && w.stop == n + 3, "%zu: %zu … %zu", n, w.start,
		      w.stop);
		pattern_work_free(work);
		pattern_free(&p);
	}
	kit_close(&k);
}

static hec_status walk(const char *expression, const char *text, size_t n)
{
	pattern p;
	pattern_work *work = NULL;
	HEC_TRY(pattern_compile(expression, false, &p));
	hec_status status = HEC_OK;
	for (pattern_walk w = {0}; status == HEC_OK;) {
		status = pattern_next(&p, &work, text, 0, n, &w);
		if (!w.found)
			break;
	}
	pattern_work_free(work);
	pattern_free(&p);
	return status;
}

/* Quadratic time over these 8 MiB would be hours. */
static void a_pattern_that_would_take_quadratic_time_is_told(void **state)
{
	(void)state;
	kit k = kit_open(8810);
	const size_t most = (size_t)8 << 20;
	char *text = malloc(most);
	memset(text, 'a', most);
	for (size_t n = most >> 7; n <= most; n <<= 7) {
		FAILS(&k, HEC_ERR_FORMAT, walk("a*b|a", text, n), "quadratic time", "at byte");
		FAILS(&k, HEC_ERR_FORMAT, walk("a(?=a*b)|a", text, n), "quadratic time", "at byte");
		FAILS(&k, HEC_ERR_FORMAT, walk("(?:a|a)*b|a", text, n), "a pattern");
		/* Nothing is found, and much looked at from every start. */
		FAILS(&k, HEC_ERR_FORMAT, walk("a(?=.*b)", text, n), "quadratic time", "at byte");
		FAILS(&k, HEC_ERR_FORMAT, walk("(?=.*b)a", text, n), "quadratic time", "at byte");
		FAILS(&k, HEC_ERR_FORMAT, walk("(?<!x)a(?=[^b]*b)", text, n), "quadratic time",
		      "at byte");
		FAILS(&k, HEC_ERR_FORMAT, walk("[ab](?:[ab]*c)", text, n), "quadratic time",
		      "at byte");
		/* In one go, with nothing to look at, or where one start answers for others. */
		OK(&k, walk("a*b|a+", text, n));
		OK(&k, walk("[^a]", text, n));
		OK(&k, walk("a", text, n));
		OK(&k, walk("a*b", text, n));
		OK(&k, walk("\\w+[.!?]", text, n));
		OK(&k, walk("\\p{L}+é", text, n));
		OK(&k, walk("[^b\\n]*\\n", text, n));
		OK(&k, walk(".*b", text, n));
		OK(&k, walk("^a*b", text, n));
	}
	/* Many steps from every start, and nothing found. */
	FAILS(&k, HEC_ERR_FORMAT, walk("(a|aa)+c", text, most >> 7), "quadratic time", "at byte");
	/* A text as it is, all but the last of it everywhere: minutes, were each place tried in full. */
	const size_t bytes = most >> 2;
	char *almost = malloc(bytes + 1);
	memset(almost, 'a', bytes);
	memcpy(almost + bytes - 1, "b", 2);
	const pattern plain = {.plain = almost, .plain_bytes = bytes};
	pattern_work *work = NULL;
	pattern_walk w = {0};
	OK(&k, pattern_next(&plain, &work, text, 0, most, &w));
	CHECK(&k, !w.found, "found at %zu", w.start);
	free(almost);
	/* Runs of some hundred characters are gone over again and again. */
	for (size_t i = 0; i < most; i += 300)
		text[i] = ' ';
	OK(&k, walk("a*b|a", text, 30000));
	free(text);
	kit_close(&k);
}

/* ---- sets of characters ---- */

/* Does a match begin at the character in a, the character, b? */
static bool begins_at(kit *k, const pattern *p, pattern_work **work, uint32_t c)
{
	char text[UTF8_MOST + 2] = "a";
	size_t n = 1 + utf8_put(c, text + 1);
	text[n++] = 'b';
	pattern_walk w = {0};
	do
		OK(k, pattern_next(p, work, text, 0, n, &w));
	while (w.found && w.start < 1);
	return w.found && w.start == 1;
}

/* Characters that are newer than PCRE2 among them (tests/golden/patterns.json, by
 * tools/parity_patterns.py). */
static void sets_have_the_characters_that_oniguruma_gives_them(void **state)
{
	(void)state;
	kit k = kit_open(8820);
	json_t *root, *one;
	size_t i;
	OK(&k, json_file_read(TESTS_DIR "/golden/patterns.json", 1 << 20, &root));
	const json_t *characters = json_object_get(root, "characters");
	const json_t *all = json_object_get(root, "expressions");
	json_array_foreach(all, i, one)
	{
		const char *expression = json_string_value(json_array_get(one, 0));
		const char *want = json_string_value(json_array_get(one, 1));
		pattern p;
		pattern_work *work = NULL;
		OK(&k, pattern_compile(expression, false, &p));
		for (size_t c = 0; c < json_array_size(characters); c++) {
			uint32_t code = (uint32_t)json_integer_value(json_array_get(characters, c));
			bool is = begins_at(&k, &p, &work, code);
			CHECK(&k, is == (want[c] == '1'), "%s: U+%04X is %s", expression, code,
			      is ? "in it" : "not in it");
		}
		pattern_work_free(work);
		pattern_free(&p);
	}
	CHECK(&k, i >= 90 && json_array_size(characters) >= 300, "%zu expressions", i);
	json_decref(root);
	kit_close(&k);
}

static bool has(kit *k, const char *expression, uint32_t c)
{
	pattern p = {0};
	pattern_work *work = NULL;
	OK(k, pattern_compile(expression, false, &p));
	bool begins = begins_at(k, &p, &work, c);
	pattern_work_free(work);
	pattern_free(&p);
	return begins;
}

/* PCRE2 has other meanings for many of them. */
static void escaped_letters_and_digits_without_support_are_refused(void **state)
{
	(void)state;
	kit k = kit_open(8831);
	char name[] = "\\? is not supported", *out;
	bool lines;
	for (const char *c = "BCEFGHIJKLMNOQRTUVXYZaceghijklmoqvyz0123456789"; *c; c++)
		for (int in_class = 0; in_class < 2; in_class++) {
			char pattern[8];
			if (*c == 'z' || *c == 'Z')
				continue; /* anchors */
			snprintf(pattern, sizeof pattern, in_class ? "[\\%c]" : "\\%c", *c);
			name[1] = *c;
			FAILS(&k, HEC_ERR_UNSUPPORTED, dialect_translate(pattern, &out, &lines),
			      pattern, name);
		}
	for (const char *c = "AbzZ"; *c; c++) {
		char pattern[8];
		snprintf(pattern, sizeof pattern, "[\\%c]", *c);
		name[1] = *c;
		FAILS(&k, HEC_ERR_UNSUPPORTED, dialect_translate(pattern, &out, &lines), name);
	}
	CHECK(&k, has(&k, "\\.", '.') && !has(&k, "\\.", 'z'), "an escaped sign is itself");
	CHECK(&k, has(&k, "[\\]]", ']') && has(&k, "\\u0041", 'A') && has(&k, "\\x{e9}", 0xe9),
	      "signs and codes");
	kit_close(&k);
}

/* ---- quantifiers, options, classes ---- */

/* An expression, a text, and the text with its matches in < >, as `tokenizers` 0.23.3 has them. PCRE2 takes
 * most of these expressions too, for something else. */
static const char *const meanings[][3] = {
	{"\\p{N}{1,3}+", "1234567", "<1234567>"},
	{"a{2}+", "aaaaa", "<aaaa>a"},
	{"a{2,}+a", "aaaaa", "<aaaaa>"},
	{"a++a", "aaa", "aaa"},
	{"a*+a", "aaa", "aaa"},
	{"a?+a", "a aa", "a <aa>"},
	{"xa{2,2}?", "xaaa xa", "<xaa>a xa"},
	{"xa{2,3}?", "xaaaa", "<xaa>aa"},
	{"xa{2,}?", "xaaaa", "<xaa>aa"},
	{"xa{0}", "xaa", "<x>aa"},
	{"(?:ab){2}+", "ababababab", "<abababab>ab"},
	{"[:alpha:]+", "alpha:x", "<alpha:>x"},
	{"(?=b)a?b", "ab", "a<b>"},
	{"\\n^", "a\nb\n", "a<\n>b\n"},
	{"(?i)\\p{Lu}", "aA", "a<A>"},
	{"(?i:'s|'T)|a", "A'S'ta", "A<'S><'t><a>"},
	{"[-ab-]+", "-ab-c", "<-ab->c"},
	{"[\\d-]+", "1-2 a", "<1-2> a"},
	{" ?[^(\\s|[.,!?])]+", "Ab, (c|d)", "<Ab>, (<c>|<d>)"},
	{"[a[bc-d]]+", "abcdef", "<abcd>ef"},
};

/* The text with its matches in < >. */
static void mark(kit *k, const char *expression, const char *text, char *out)
{
	pattern p;
	pattern_work *work = NULL;
	size_t at = 0;
	OK(k, pattern_compile(expression, false, &p));
	for (pattern_walk w = {0};;) {
		OK(k, pattern_next(&p, &work, text, 0, strlen(text), &w));
		size_t to = w.found ? w.start : strlen(text);
		out += sprintf(out, "%.*s", (int)(to - at), text + at);
		if (!w.found)
			break;
		out += sprintf(out, "<%.*s>", (int)(w.stop - w.start), text + w.start);
		at = w.stop;
	}
	pattern_work_free(work);
	pattern_free(&p);
}

static void quantifiers_options_and_classes_mean_what_they_mean_in_oniguruma(void **state)
{
	(void)state;
	kit k = kit_open(8840);
	for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
		char marked[256];
		mark(&k, meanings[i][0], meanings[i][1], marked);
		CHECK(&k, strcmp(marked, meanings[i][2]) == 0, "%s: %s, not %s", meanings[i][0],
		      marked, meanings[i][2]);
	}
	kit_close(&k);
}

/* What no published tokenizer has. PCRE2 takes most of it too, for something else. */
static void what_no_tokenizer_has_is_refused_by_name(void **state)
{
	(void)state;
	kit k = kit_open(8842);
	static const char *const refused[][2] = {
		{"a|*b", "a quantifier of nothing is not supported, at byte 2: \"*b\""},
		{"(?=a)*b", "a quantifier of nothing"},
		{"^*a", "a quantifier of nothing"},
		{"{2}", "a quantifier of nothing"},
		{"xa{2}{2}", "a quantifier behind a quantifier is not supported, at byte 5"},
		{"xa{2}+?", "a quantifier behind a quantifier"},
		{"xa**", "a quantifier behind a quantifier"},
		{"xa+??", "a quantifier behind a quantifier"},
		{"[ab]+{0}b(?=a*)", "a quantifier behind a quantifier"},
		{"xa{2}?", "a ? behind a fixed number"},
		{"xa{3,2}", "a quantifier from more to less"},
		{"[a-z]+(?:'s){1,0}[a-z]", "a quantifier from more to less"},
		{"[a-z]+(?:'s)?+[a-z]", "a possessive quantifier of a group"},
		{"(?:ab){1}+", "a + behind {1}"},
		{"a{,2}", "a { that is not a quantifier like {2}, {2,} or {2,3}"},
		{"a{ 2}", "a { that is not a quantifier"},
		{"a{2", "a { that is not a quantifier"},
		{"(a)?(?(1)b)", "this group is not supported, at byte 4"},
		{"(?~ab)", "this group"},
		{"(?W:\\w)", "this group"},
		{"(?C)a", "this group"},
		{"(?s:.)", "this group"},
		{"(?m:.)", "this group is not supported, at byte 0: \"(?m:.)\""},
		{"a(?i)b|c", "this group is not supported, at byte 1: \"(?i)b|c\""},
		{"(?:(?i)a|b)c", "this group"},
		{"(?-i:a)", "this group"},
		{"(?i-m:A.)", "this group"},
		{"(?x)a b # c", "this group"},
		{"a(?#x)+", "this group"},
		{"(?>[^a]+?)b", "this group"},
		{"(?<n>a)\\k<n>", "this group"},
		{"(?'n'a)", "this group"},
		{"(*CRLF)^x", "(* is not supported"},
		{"a(*COMMIT)b", "(* is not supported"},
		{"\\xc3\\xa9", "this code"},
		{"\\x4", "this code"},
		{"\\x{110000000}", "this code"},
		{"\\u004", "this code"},
		{"\\p{Graph}", "this set"},
		{"\\p{^L}", "this set"},
		{"\\pL", "this set"},
		{"[\\S]", "this set in a class is not supported, at byte 1: \"\\S]\""},
		{"[^\\P{L}]", "this set in a class"},
		{"[\\p{Cn}]", "this set in a class"},
		{"[a-z&&[^aeiou]]", "&& in a class"},
		{"[a[^b]]", "[^ in a class"},
		{"[[:alpha:]]", "[: in a class"},
		{"[[:<:]]", "[: in a class"},
		{"[a[]b]]", "a ] or - at the beginning of a class in a class"},
		{"[xa-[b]]", "a range up to a set of characters"},
		{"[!-\\w]", "a range up to a set of characters"},
		{"(?i)[\\p{L}]", "a set in a class where case is ignored"},
		{"(?i:[\\s])", "a set in a class where case is ignored"},
	};
	char *out, deep[3 * 251 + 1];
	bool lines;
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		FAILS(&k, HEC_ERR_UNSUPPORTED, dialect_translate(refused[i][0], &out, &lines),
		      refused[i][0], refused[i][1]);
	for (int i = 0; i < 251; i++)
		memcpy(deep + 3 * i, "(?:", 4);
	FAILS(&k, HEC_ERR_UNSUPPORTED, dialect_translate(deep, &out, &lines),
	      "a group inside more than 250");
	kit_close(&k);
}

static void an_unclosed_class_or_group_is_told(void **state)
{
	(void)state;
	kit k = kit_open(8830);
	char *out;
	bool lines;
	FAILS(&k, HEC_ERR_FORMAT, dialect_translate("(?i)b)", &out, &lines), ") without its (");
	FAILS(&k, HEC_ERR_FORMAT, dialect_translate("[a[b]", &out, &lines), "[ without its ]");
	FAILS(&k, HEC_ERR_FORMAT, dialect_translate("[\\p{L}", &out, &lines), "[ without its ]");
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_give_what_the_whole_text_gives),
		cmocka_unit_test(a_line_begins_behind_any_end),
		cmocka_unit_test(a_pattern_that_would_take_quadratic_time_is_told),
		cmocka_unit_test(sets_have_the_characters_that_oniguruma_gives_them),
		cmocka_unit_test(escaped_letters_and_digits_without_support_are_refused),
		cmocka_unit_test(quantifiers_options_and_classes_mean_what_they_mean_in_oniguruma),
		cmocka_unit_test(what_no_tokenizer_has_is_refused_by_name),
		cmocka_unit_test(an_unclosed_class_or_group_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
