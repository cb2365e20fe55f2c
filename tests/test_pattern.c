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

/* What a window's end could spoil: looking ahead and behind, ends of lines and texts, borders of words,
 * line ends of two characters, characters of several, groups that repeat, empty matches. */
static const char *const expressions[] = {
	"a+b|a",
	"(?<=a)b+",
	"a+(?!b)",
	"a+(?= )|b",
	"[ab]+$",
	"^[ab ]+",
	"[ab\\n ]+\\z",
	"\\b[ab]+\\b",
	"\\R+",
	"\\X+",
	"(?:ab?)+ ?",
	"(?:a|ab)(?:c|bcd)*é+",
	"\\s+(?!\\S)|\\s+",
	"b*",
	"(?=b)",
	"[^\\r\\n\\p{L}]?\\p{L}+|\\s*[\\r\\n]+",
	".+é",
	"é+|(?i:É)",
	"(a+) \\1",
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
	"(?m:.*)👩",
	"(?m:.*)x",
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
		FAILS(&k, HEC_ERR_FORMAT, walk("a*b|a", text, n), "byte", "quadratic time");
		FAILS(&k, HEC_ERR_FORMAT, walk("a(?=a*b)|a", text, n), "byte", "quadratic time");
		FAILS(&k, HEC_ERR_FORMAT, walk("(?:a|a)*b|a", text, n), "a pattern");
		/* Nothing is found, and much looked at from every start. */
		FAILS(&k, HEC_ERR_FORMAT, walk("a(?=.*b)", text, n), "byte", "quadratic time");
		FAILS(&k, HEC_ERR_FORMAT, walk("(?=.*b)a", text, n), "byte", "quadratic time");
		FAILS(&k, HEC_ERR_FORMAT, walk("(?<!x)a(?=[^b]*b)", text, n), "byte",
		      "quadratic time");
		FAILS(&k, HEC_ERR_FORMAT, walk("[ab](?:[ab]*c)", text, n), "byte",
		      "quadratic time");
		/* In one go, with nothing to look at, or where one start answers for others. */
		OK(&k, walk("a*b|a+", text, n));
		OK(&k, walk("[^a]", text, n));
		OK(&k, walk("a", text, n));
		OK(&k, walk("a*b", text, n));
		OK(&k, walk("\\w+[.!?]", text, n));
		OK(&k, walk("\\p{L}+é", text, n));
		OK(&k, walk("[^b\\n]*\\n", text, n));
		OK(&k, walk(".*b", text, n));
		OK(&k, walk("(?m:.*)b", text, n));
		OK(&k, walk("^a*b", text, n));
	}
	/* Calls without end. */
	FAILS(&k, HEC_ERR_FORMAT, walk("(b|\\g<1>)x", "bax", 3), "a pattern", "nested recursion");
	FAILS(&k, HEC_ERR_FORMAT, walk("(?<n>b|(?:\\g<n>))x", "bax", 3), "a pattern");
	OK(&k, walk("\\((?:[^()]|\\g<0>)*\\)", "(a(b)c)((x", 10));
	/* Many steps from every start, and nothing found. */
	FAILS(&k, HEC_ERR_FORMAT, walk("(a|aa)+c", text, most >> 7), "byte", "quadratic time");
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
	CHECK(&k, i >= 140 && json_array_size(characters) >= 300, "%zu expressions", i);
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

/* To PCRE2 some of these begin a quotation, change the case, or mean other sets. */
static void escaped_letters_without_a_meaning_are_themselves(void **state)
{
	(void)state;
	kit k = kit_open(8831);
	for (const char *c = "ijlmoqEFIJLQTUVpP"; *c; c++)
		for (int in_class = 0; in_class < 2; in_class++) {
			char expression[8];
			snprintf(expression, sizeof expression, in_class ? "[\\%c]" : "\\%c", *c);
			CHECK(&k, has(&k, expression, (uint32_t)*c), "%s", expression);
			CHECK(&k, !has(&k, expression, 'z'), "%s: z", expression);
		}
	CHECK(&k, has(&k, "\\N", 'a') && !has(&k, "\\N", '\n'), "all but a line end");
	CHECK(&k, has(&k, "\\O", 'a') && has(&k, "\\O", '\n'), "all");
	kit_close(&k);
}

/* ---- quantifiers, options, comments ---- */

/* An expression, a text, and the text with its matches in < >, as `tokenizers` 0.23.3 has them. PCRE2 takes
 * most of these expressions too, for something else. */
static const char *const meanings[][3] = {
	{"\\p{N}{1,3}+", "1234567", "<1234567>"},
	{"a{2}+", "aaaaa", "<aaaa>a"},
	{"a{2,}+a", "aaaaa", "<aaaaa>"},
	{"a{,2}+a", "aaaaa", "<aaaaa>"},
	{"a++a", "aaa", "aaa"},
	{"a*+a", "aaa", "aaa"},
	{"a?+a", "a aa", "a <aa>"},
	{"xa{2}?", "xaaa xa", "<xaa>a <x>a"},
	{"xa{2}?b", "xaab xaaab", "<xaab> xaaab"},
	{"xa{2,2}?", "xaaa xa", "<xaa>a xa"},
	{"xa{2,3}?", "xaaaa", "<xaa>aa"},
	{"xa{,3}?", "xaaa", "<x>aaa"},
	{"xa{2,}?", "xaaaa", "<xaa>aa"},
	{"xa{2}??", "xaaa", "<x>aaa"},
	{"xa{2}+?", "xaaaaa", "<xaa>aaa"},
	{"xa{2}{2}", "xaaaaaa", "<xaaaa>aa"},
	{"xa{1,2}{2}", "xaaaaaa", "<xaaaa>aa"},
	{"xa**", "xaaab", "<xaaa>b"},
	{"xa+??", "xaaa", "<xa>aa"},
	{"xa+?+", "xaaa", "<xaaa>"},
	{"xa?+?", "xaaa", "<xa>aa"},
	{"xa*{2}", "xaaa", "<xaaa>"},
	{"xa{3,2}", "xaaaa", "<xaaa>a"},
	{"xa{3,2}a", "xaaa", "xaaa"},
	{"xa{3,2}+", "xaaaaaaa", "<xaaaaaa>a"},
	{"xa{3,2}?a", "xaaa", "<xa>aa"},
	{"xa{0}", "xaa", "<x>aa"},
	{"a{,}", "aa{,}", "a<a{,}>"},
	{"a{ 2}", "aa{ 2}", "a<a{ 2}>"},
	{"a{2", "aa{2", "a<a{2>"},
	{"(?:ab){2}+", "ababababab", "<abababab>ab"},
	{"[ab]+{0}b", "aab", "aa<b>"},
	{"a(?i)b|c", "abaCcaB", "<ab><aC>c<aB>"},
	{"x|a(?i)b|c", "xXaBaC", "<x>X<aB><aC>"},
	{"(a(?i)b|c)d", "aBdaCdaCD", "<aBd><aCd>aCD"},
	{"(?i:a(?-i)b|c)", "AbACAc", "<Ab>AC<Ac>"},
	{"(?:(?i)a|b)c", "AcBcBC", "<Ac><Bc>BC"},
	{"(?<=(?i)a|bc)d", "AdBCdd", "A<d>BC<d>d"},
	{"a(?m).|b.", "a\nb\n", "<a\n>b\n"},
	{"(?i-m:A.)", "aba\n", "<ab>a\n"},
	{"(?#[)a", "ba", "b<a>"},
	{"(?#(\\))a", "ba", "b<a>"},
	{"a(?#x)+", "baa", "b<aa>"},
	{"xa+(?#x)?", "x xaa", "<x> <xaa>"},
	{"(?x)a b # c [", "abb", "<ab>b"},
	{"(?x)a#(", "aa", "<a><a>"},
	{"(?x)x a + ?", "xaa x", "<xaa> <x>"},
	{"(?x)a{2 }", "aaa{2}", "aa<a{2}>"},
	{"(?x)(a)\\1 2", "aa2", "<aa2>"},
	{"(?x)a\\ [ #]", "a #a", "<a #>a"},
	{"(?x: a b ) c", "ab abc", "ab abc"},
	{"a(?x) b | c", "abacc", "<ab><ac>c"},
	{"(a)\\g1", "aag1", "a<ag1>"},
	{"(?<n>a)\\k{n}", "aak{n}", "a<ak{n}>"},
	{"\\xc3\\xa9+", "xéé", "x<éé>"},
	{"[\\xc3\\xa9]\\303\\251", "éé", "<éé>"},
	{"[\\R\\A]+", "xRAr", "x<RA>r"},
	{"[:alpha:]+", "alpha:x", "<alpha:>x"},
	{"[[:<:]]", "a<:", "a<<><:>"},
	{"\\R?.", "a\r\nb", "<a><\r\nb>"},
	{"(?=b)a?b", "ab", "a<b>"},
	{"(?>[^a]+?)é", "aAbé", "aA<bé>"},
	{"[a-z]+(?:'s)?+[a-z]", "xaa aab", "<xaa> <aab>"},
	{"\\p{N}{1,3}(,)?+\\p{N}", "1234,5 x12", "<1234>,5 x<12>"},
	{"[a-z]+(?:'s){1,0}[a-z]", "xaa aab", "<xaa> <aab>"},
	{"\\n^", "a\nb\n", "a<\n>b\n"},
	{"(?i)\\p{Lu}", "aA", "a<A>"},
	{"(?i)[\\p{L}]", "aA\xcd\x85", "<a><A><\xcd\x85>"},
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

static void quantifiers_options_and_comments_mean_what_they_mean_in_oniguruma(void **state)
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

/* A long run is not skipped where {0} takes away what the expression begins with. */
static void a_quantifier_of_none_leaves_nothing_to_begin_with(void **state)
{
	(void)state;
	kit k = kit_open(8841);
	char text[2000];
	memset(text, 'a', sizeof text);
	text[1990] = 'b';
	static const char *const none[] = {"[ab]+{0}b(?=a*)", "[ab]*?{0}b(?=a*)",
	                                   "[ab]+(?#x){0}b(?=a*)"};
	for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
		pattern p;
		pattern_work *work = NULL;
		pattern_walk w = {0};
		OK(&k, pattern_compile(none[i], false, &p));
		CHECK(&k, p.lead == NULL, "%s has a lead", none[i]);
		OK(&k, pattern_next(&p, &work, text, 0, sizeof text, &w));
		CHECK(&k, w.found && w.start == 1990, "%s: %d at %zu", none[i], w.found, w.start);
		pattern_work_free(work);
		pattern_free(&p);
	}
	kit_close(&k);
}

static void what_another_engine_would_take_otherwise_is_refused(void **state)
{
	(void)state;
	kit k = kit_open(8842);
	static const char *const refused[][2] = {
		{"a|*b", "a quantifier of nothing is not known here, at byte 2: \"*b\""},
		{"(?=a)*b", "a quantifier of nothing"},
		{"^*a", "a quantifier of nothing"},
		{"{2}", "a quantifier of nothing"},
		{"(?:ab){1}+", "a quantifier behind (?:…){1}"},
		{"(a)?(?(1)b)", "this group is not known here, at byte 4"},
		{"(?~ab)", "this group"},
		{"(?W:\\w)", "this group"},
		{"(?C)a", "this group"},
		{"(?s:.)", "this group"},
		{"(a|b)\\g<1>\\1", "a call beside a reference"},
		{"(a|b\\1)+", "a reference to the group that it is in"},
		{"(?<n>a|b\\k<n>)+", "a reference to the group that it is in"},
		{"\\777", "a byte of more than 255"},
		{"(?i)[\\p{Lu}]", "this set in a class where case is ignored"},
		{"(?i)[\\P{L}]", "this set in a class where case is ignored"},
		{"(?i)[a-z&&[^B]]", "&& where case is ignored"},
		{"(?i)[[^a]]", "[^ in a class where case is ignored"},
	};
	char *out, deep[3 * 251 + 1];
	dialect_facts facts;
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		FAILS(&k, HEC_ERR_UNSUPPORTED, dialect_translate(refused[i][0], &out, &facts),
		      refused[i][1]);
	FAILS(&k, HEC_ERR_FORMAT, dialect_translate("a(?#b\\)", &out, &facts), "(?# without its )");
	FAILS(&k, HEC_ERR_FORMAT, dialect_translate("a(?i)b)", &out, &facts), ") without its (");
	for (int i = 0; i < 251; i++)
		memcpy(deep + 3 * i, "(?:", 4);
	FAILS(&k, HEC_ERR_UNSUPPORTED, dialect_translate(deep, &out, &facts),
	      "a group in more than 250");
	kit_close(&k);
}

static void what_cannot_be_rewritten_is_refused(void **state)
{
	(void)state;
	kit k = kit_open(8830);
	char deep[2 * 70 + 2], *out;
	dialect_facts facts;
	for (int i = 0; i < 70; i++) {
		deep[i] = '[';
		deep[71 + i] = ']';
	}
	deep[70] = 'a';
	deep[141] = '\0';
	FAILS(&k, HEC_ERR_UNSUPPORTED, dialect_translate(deep, &out, &facts), "classes in classes");
	deep[141 - 30] = '\0';
	OK(&k, dialect_translate(deep + 30, &out, &facts)); /* 40 deep */
	free(out);
	FAILS(&k, HEC_ERR_FORMAT, dialect_translate("[a[b]", &out, &facts), "without its ]");
	FAILS(&k, HEC_ERR_FORMAT, dialect_translate("[\\P{L}", &out, &facts), "without its ]");
	FAILS(&k, HEC_ERR_UNSUPPORTED, dialect_translate("\\Ga|b", &out, &facts),
	      "\\G is not known");
	FAILS(&k, HEC_ERR_UNSUPPORTED, dialect_translate("a\\c+", &out, &facts),
	      "\\c without a letter");
	FAILS(&k, HEC_ERR_UNSUPPORTED, dialect_translate("(*CRLF)^x", &out, &facts),
	      "(* is not known");
	FAILS(&k, HEC_ERR_UNSUPPORTED, dialect_translate("a(*COMMIT)b", &out, &facts),
	      "(* is not known");
	FAILS(&k, HEC_ERR_UNSUPPORTED, dialect_translate("[xa-[b]]", &out, &facts),
	      "a range up to a class");
	static const char *const fine[] = {"\\(*[(*]", "[-[b]]", "[a-z-[b]]", "[a-é-[b]]",
	                                   "[a-[:digit:]]"};
	for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
		OK(&k, dialect_translate(fine[i], &out, &facts));
		free(out);
	}
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_give_what_the_whole_text_gives),
		cmocka_unit_test(a_line_begins_behind_any_end),
		cmocka_unit_test(a_pattern_that_would_take_quadratic_time_is_told),
		cmocka_unit_test(sets_have_the_characters_that_oniguruma_gives_them),
		cmocka_unit_test(escaped_letters_without_a_meaning_are_themselves),
		cmocka_unit_test(quantifiers_options_and_comments_mean_what_they_mean_in_oniguruma),
		cmocka_unit_test(a_quantifier_of_none_leaves_nothing_to_begin_with),
		cmocka_unit_test(what_another_engine_would_take_otherwise_is_refused),
		cmocka_unit_test(what_cannot_be_rewritten_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
