/* test_pattern.c — expressions from a file: found through windows as they are in the whole text, and
 * never in quadratic time. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "support/test.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "format/json.h"
#include "text/dialect.h"
#include "text/pattern.h"
#include "text/utf8.h"

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
			memcpy(text + n, part, strlen(part));
			n += strlen(part);
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

static void what_cannot_be_rewritten_is_refused(void **state)
{
	(void)state;
	kit k = kit_open(8830);
	char deep[2 * 70 + 2], *out;
	for (int i = 0; i < 70; i++) {
		deep[i] = '[';
		deep[71 + i] = ']';
	}
	deep[70] = 'a';
	deep[141] = '\0';
	FAILS(&k, HEC_ERR_UNSUPPORTED, dialect_translate(deep, &out), "classes in classes");
	deep[141 - 30] = '\0';
	OK(&k, dialect_translate(deep + 30, &out)); /* 40 deep */
	free(out);
	FAILS(&k, HEC_ERR_FORMAT, dialect_translate("[a[b]", &out), "without its ]");
	FAILS(&k, HEC_ERR_FORMAT, dialect_translate("[\\P{L}", &out), "without its ]");
	FAILS(&k, HEC_ERR_UNSUPPORTED, dialect_translate("\\Ga|b", &out), "\\G is not known");
	FAILS(&k, HEC_ERR_UNSUPPORTED, dialect_translate("a\\c+", &out), "\\c without a letter");
	FAILS(&k, HEC_ERR_UNSUPPORTED, dialect_translate("(*CRLF)^x", &out), "(* is not known");
	FAILS(&k, HEC_ERR_UNSUPPORTED, dialect_translate("a(*COMMIT)b", &out), "(* is not known");
	FAILS(&k, HEC_ERR_UNSUPPORTED, dialect_translate("[xa-[b]]", &out),
	      "a range up to a class");
	static const char *const fine[] = {"\\(*[(*]", "[-[b]]", "[a-z-[b]]", "[a-é-[b]]",
	                                   "[a-[:digit:]]"};
	for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
		OK(&k, dialect_translate(fine[i], &out));
		free(out);
	}
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_give_what_the_whole_text_gives),
		cmocka_unit_test(a_pattern_that_would_take_quadratic_time_is_told),
		cmocka_unit_test(sets_have_the_characters_that_oniguruma_gives_them),
		cmocka_unit_test(escaped_letters_without_a_meaning_are_themselves),
		cmocka_unit_test(what_cannot_be_rewritten_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
