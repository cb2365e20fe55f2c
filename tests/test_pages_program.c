/* test_pages_program.c — the pages of the project as text: links lead somewhere, the Chinese pages have the blocks
 * and the numbers of the English ones, families that are named can be loaded, and a result that several pages tell
 * is the same in all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <ctype.h>
#include <dirent.h>

#include "program_run.h"

#define PAGE_MOST (1 << 18)
#define NAME 512
#define WORDS_MOST 4096 /* numbers of a section */

static char page_of[NAME]; /* of the last read_page, for messages */

/* The text of a page, by its path from the top of the project; freed by the caller. NULL: there is none. */
static char *read_page(const char *path)
{
	char full[2 * NAME];
	snprintf(page_of, sizeof page_of, "%s", path);
	snprintf(full, sizeof full, TESTS_DIR "/../%s", path);
	FILE *f = fopen(full, "rb");
	if (!f)
		return NULL;
	char *text = malloc(PAGE_MOST);
	assert_non_null(text);
	size_t length = fread(text, 1, PAGE_MOST - 1, f);
	fclose(f);
	assert_true(length < PAGE_MOST - 1);
	text[length] = '\0';
	return text;
}

static char *need_page(const char *path)
{
	char *text = read_page(path);
	if (!text)
		fail_msg("there is no %s", path);
	return text;
}

/* Overwrites blocks of code with spaces, so that what stands around them stays where it is. */
static void blank_blocks(char *text)
{
	bool inside = false;
	for (char *line = text; *line;) {
		char *end = strchr(line, '\n');
		size_t n = end ? (size_t)(end - line) : strlen(line);
		bool fence = strncmp(line, "```", 3) == 0;
		if (inside || fence)
			memset(line, ' ', n);
		inside = inside != fence;
		line += n + (end != NULL);
	}
}

/* ---- links ---- */

/* One character of UTF-8: its length, its number in *code. */
static size_t decode(const char *at, uint32_t *code)
{
	const unsigned char *c = (const unsigned char *)at;
	size_t n = c[0] < 0x80 ? 1 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
	*code = n == 1 ? c[0] : c[0] & (0xffu >> (n + 1));
	for (size_t i = 1; i < n && c[i]; i++)
		*code = *code << 6 | (c[i] & 0x3f);
	return n;
}

static bool is_punctuation(uint32_t c)
{
	static const uint32_t ranges[][2] = {{0xa0, 0xbf},     {0xd7, 0xd7},     {0x2000, 0x2bff},
	                                     {0x3000, 0x303f}, {0xff00, 0xff0f}, {0xff1a, 0xff20},
	                                     {0xff3b, 0xff40}, {0xff5b, 0xff65}};
	if (c < 0x80)
		return !isalnum((int)c) && c != '-' && c != '_' && c != ' ';
	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
		if (c >= ranges[i][0] && c <= ranges[i][1])
			return true;
	return false;
}

/* The anchor that GitHub makes of a heading: small letters, hyphens for spaces, no punctuation. */
static void make_anchor(const char *heading, char out[NAME])
{
	size_t used = 0;
	for (uint32_t c; *heading && *heading != '\n' && used + 5 < NAME;) {
		size_t n = decode(heading, &c);
		if (c == ' ')
			out[used++] = '-';
		else if (c < 0x80 && !is_punctuation(c))
			out[used++] = (char)tolower((int)c);
		else if (!is_punctuation(c))
			memcpy(out + used, heading, n), used += n;
		heading += n;
	}
	out[used] = '\0';
}

static bool has_anchor(const char *path, const char *anchor)
{
	char *text = need_page(path), made[NAME];
	bool found = false;
	blank_blocks(text);
	for (char *line = text; line && !found; line = strchr(line, '\n')) {
		line += *line == '\n';
		size_t level = strspn(line, "#");
		if (level == 0 || line[level] != ' ')
			continue;
		make_anchor(line + level + 1, made);
		found = strcmp(made, anchor) == 0;
	}
	free(text);
	return found;
}

/* target is written on the page at path: "look.md#one-head", "#speed", "../README.md". */
static void check_link(const char *path, const char *target)
{
	char file[NAME], full[3 * NAME];
	const char *anchor = strchr(target, '#');
	size_t length = anchor ? (size_t)(anchor - target) : strlen(target);
	if (strncmp(target, "http", 4) == 0 || strncmp(target, "mailto:", 7) == 0)
		return;
	const char *slash = strrchr(path, '/');
	if (length == 0)
		snprintf(file, sizeof file, "%s", path);
	else
		snprintf(file, sizeof file, "%.*s%.*s", slash ? (int)(slash - path + 1) : 0, path,
		         (int)length, target);
	snprintf(full, sizeof full, TESTS_DIR "/../%s", file);
	if (access(full, R_OK) != 0)
		fail_msg("%s: the link (%s) leads to nothing", path, target);
	if (anchor && !has_anchor(file, anchor + 1))
		fail_msg("%s: the link (%s): there is no such heading", path, target);
}

/* Calls check_link for each ](target); inline code has none. Returns how many. */
static int check_links(const char *path)
{
	char *text = need_page(path);
	int count = 0;
	blank_blocks(text);
	bool code = false;
	for (char *c = text; *c; c++) {
		code = *c == '`' ? !code : *c == '\n' && c[1] == '\n' ? false : code;
		if (code || strncmp(c, "](", 2) != 0)
			continue;
		char target[NAME];
		snprintf(target, sizeof target, "%.*s", (int)strcspn(c + 2, ")"), c + 2);
		check_link(path, target);
		count++;
	}
	free(text);
	return count;
}

/* Every page at the top and in docs. */
static int each_page(int (*visit)(const char *path))
{
	static const char *const folders[] = {"", "docs/"};
	int sum = 0;
	for (size_t i = 0; i < 2; i++) {
		char full[NAME];
		snprintf(full, sizeof full, TESTS_DIR "/../%s", folders[i]);
		DIR *d = opendir(full);
		assert_non_null(d);
		for (struct dirent *e; (e = readdir(d));) {
			char path[NAME];
			size_t n = strlen(e->d_name);
			if (n < 4 || strcmp(e->d_name + n - 3, ".md") != 0)
				continue;
			snprintf(path, sizeof path, "%s%s", folders[i], e->d_name);
			sum += visit(path);
		}
		closedir(d);
	}
	return sum;
}

static void every_link_of_a_page_leads_somewhere(void **state)
{
	(void)state;
	char anchor[NAME];
	make_anchor("3. Why the scores are divided by √d_k\n", anchor);
	assert_string_equal(anchor, "3-why-the-scores-are-divided-by-d_k");
	make_anchor("13. 键/值缓存，一步一步", anchor);
	assert_string_equal(anchor, "13-键值缓存一步一步");
	assert_true(each_page(check_links) > 100);
}

/* ---- translations ---- */

static const struct translation {
	const char *english, *chinese;
} translations[] = {{"README.md", "README.zh.md"}, {"docs/attention.md", "docs/attention.zh.md"}};
#define TRANSLATIONS (sizeof translations / sizeof *translations)

/* The next block of code from *at on, without its fences; *at goes behind it. */
static char *next_block(char **at, size_t *length)
{
	char *begin = strncmp(*at, "```", 3) == 0 ? *at : strstr(*at, "\n```");
	if (!begin)
		return NULL;
	begin += *begin == '\n';
	char *end = strstr(begin + 3, "\n```");
	assert_non_null(end);
	*length = (size_t)(end - begin);
	*at = end + strlen("\n```");
	return begin;
}

static void a_translation_has_the_blocks_of_its_original(void **state)
{
	(void)state;
	for (size_t i = 0; i < TRANSLATIONS; i++) {
		const struct translation *t = &translations[i];
		char *one = need_page(t->english), *other = need_page(t->chinese);
		char *at = one, *beside = other;
		for (int block = 1;; block++) {
			size_t n = 0, m = 0;
			char *a = next_block(&at, &n), *b = next_block(&beside, &m);
			if (!a && !b)
				break;
			if (!a || !b || n != m || memcmp(a, b, n) != 0)
				fail_msg("block %d of %s and of %s differ:\n%.*s\n-- and --\n%.*s",
				         block, t->english, t->chinese, a ? (int)n : 4,
				         a ? a : "none", b ? (int)m : 4, b ? b : "none");
		}
		free(one);
		free(other);
	}
}

static int compare_words(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Numbers in a section of prose, sorted: "997", "1,000", "0.46". What a link leads to is not read. */
static size_t numbers_of(char *text, size_t length, char **out)
{
	size_t count = 0;
	char stop = text[length];
	text[length] = '\0';
	for (char *c = text; *c;) {
		if (strncmp(c, "](", 2) == 0)
			c += strcspn(c, ")");
		if (!isdigit((unsigned char)*c)) {
			c += *c != '\0';
			continue;
		}
		size_t n = strspn(c, "0123456789.,");
		while (!isdigit((unsigned char)c[n - 1]))
			n--;
		assert_true(count < WORDS_MOST);
		out[count++] = strndup(c, n);
		c += n;
	}
	text[length] = stop;
	qsort(out, count, sizeof *out, compare_words);
	return count;
}

static char *next_section(char *text)
{
	char *next = strstr(text, "\n#");
	return next ? next + 1 : text + strlen(text);
}

static void compare_section(const struct translation *t, char *one, size_t n, char *other, size_t m)
{
	static char *a[WORDS_MOST], *b[WORDS_MOST];
	size_t count = numbers_of(one, n, a), beside = numbers_of(other, m, b);
	for (size_t i = 0; i < count || i < beside; i++)
		if (i >= count || i >= beside || strcmp(a[i], b[i]) != 0)
			fail_msg("numbers differ, in order of size: %s in %s, %s in %s, "
			         "below\n%.*s\n%.*s",
			         i < count ? a[i] : "none", t->english, i < beside ? b[i] : "none",
			         t->chinese, (int)strcspn(one, "\n"), one,
			         (int)strcspn(other, "\n"), other);
	for (size_t i = 0; i < count; i++) {
		free(a[i]);
		free(b[i]);
	}
}

/* Section by section, so that the message says where. */
static void a_translation_has_the_numbers_of_its_original(void **state)
{
	(void)state;
	for (size_t i = 0; i < TRANSLATIONS; i++) {
		const struct translation *t = &translations[i];
		char *one = need_page(t->english), *other = need_page(t->chinese);
		blank_blocks(one);
		blank_blocks(other);
		for (char *a = one, *b = other; *a || *b;) {
			char *end_a = next_section(a), *end_b = next_section(b);
			if (strspn(a, "#") != strspn(b, "#"))
				fail_msg("headings of %s and %s differ:\n%.*s\n%.*s", t->english,
				         t->chinese, (int)strcspn(a, "\n"), a,
				         (int)strcspn(b, "\n"), b);
			compare_section(t, a, (size_t)(end_a - a), b, (size_t)(end_b - b));
			a = end_a;
			b = end_b;
		}
		free(one);
		free(other);
	}
}

/* Near their top. */
static void a_page_and_its_translation_link_each_other(void **state)
{
	(void)state;
	for (size_t i = 0; i < TRANSLATIONS; i++) {
		const char *const paths[] = {translations[i].english, translations[i].chinese};
		for (int j = 0; j < 2; j++) {
			char *text = need_page(paths[j]), link[NAME];
			const char *other = strrchr(paths[1 - j], '/');
			snprintf(link, sizeof link, "](%s)", other ? other + 1 : paths[1 - j]);
			const char *at = strstr(text, link);
			if (!at || at - text > 400)
				fail_msg("%s does not link %s at its top", paths[j], paths[1 - j]);
			free(text);
		}
	}
}

/* ---- families ---- */

/* ", marian, bert, …," as the program tells them where it does not know one. */
static char *known_families(void)
{
	static char known[1024];
	write_file("config.json", "{\"model_type\": \"nothing\"}");
	char arguments[256];
	snprintf(arguments, sizeof arguments, "forward -m %s --ids 1 --out %s/none", folder,
	         folder);
	result r = run(arguments);
	const char *list = strstr(r.err, "known are: ");
	assert_non_null(list);
	snprintf(known, sizeof known, ", %.*s,", (int)strcspn(list + 11, "\n"), list + 11);
	done(&r);
	return known;
}

static bool is_known(const char *known, const char *name, size_t length)
{
	char word[NAME];
	snprintf(word, sizeof word, ", %.*s,", (int)length, name);
	return strstr(known, word) != NULL;
}

/* Of the table "family" in docs/models.md, names in the first column, each in backticks. */
static void every_family_of_the_docs_is_known_and_the_other_way_round(void **state)
{
	(void)state;
	char *known = known_families(), *text = need_page("docs/models.md");
	char *table = strstr(text, "| family (`model_type`) | heads |");
	assert_non_null(table);
	char *end = strstr(table, "\n\n");
	assert_non_null(end);
	*end = '\0';
	int listed = 0, there = 0;
	for (char *line = strchr(strchr(table, '\n') + 1, '\n'); line;
	     line = strchr(line + 1, '\n')) {
		char *cell = line + 3, *stop = strstr(cell, " |");
		for (char *name; (name = strchr(cell, '`')) && name < stop; listed++) {
			size_t n = strcspn(name + 1, "`");
			if (!is_known(known, name + 1, n))
				fail_msg("docs/models.md names %.*s; known are%s", (int)n, name + 1,
				         known + 1);
			cell = name + n + 2;
		}
	}
	for (char *c = known + 1; (c = strchr(c, ',')); c++)
		there++;
	assert_int_equal(listed, there - 1); /* all but our own */
	free(text);
}

/* Models that other programs load. A page that names one promises something. */
static int check_names(const char *path)
{
	static const char *const others[] = {
		"NLLB",    "M2M100",   "Gemma",     "Phi-",    "Mixtral",    "Falcon",
		"BLOOM",   "ALBERT",   "ELECTRA",   "DeBERTa", "Longformer", "XLNet",
		"Pegasus", "mT5",      "GPT-Neo",   "GPT-J",   "StableLM",   "OLMo",
		"Qwen3",   "wav2vec2", "ModernBERT"};
	char *text = need_page(path);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strstr(text, others[i]))
			fail_msg("%s names %s, which is not loaded", path, others[i]);
	free(text);
	return 1;
}

static void no_page_names_a_family_that_is_not_loaded(void **state)
{
	(void)state;
	assert_true(each_page(check_names) > 10);
}

/* The names of README.md: "Marian, BART, mBART, T5". */
static void the_families_of_the_readme_are_known(void **state)
{
	(void)state;
	static const char *const also[][2] = {{"xlmr", "xlm-roberta"}, {"smollm", "llama"}};
	char *known = known_families(), *text = need_page("README.md");
	char *line = strstr(text, "| command | what it does | models |");
	assert_non_null(line);
	int names = 0;
	for (; (line = strchr(line, '\n')) && line[1] == '|';) {
		line++;
		size_t length = strcspn(line, "\n");
		char *cell = line + length - 2; /* the last column */
		while (cell > line && *cell != '|')
			cell--;
		for (char *c = cell; c < line + length; c += !isalnum((unsigned char)*c)) {
			char word[NAME];
			size_t n = 0;
			bool capital = false;
			for (; isalnum((unsigned char)*c) || *c == '-'; c++) {
				capital = capital || isupper((unsigned char)*c);
				if (*c != '-')
					word[n++] = (char)tolower((unsigned char)*c);
			}
			word[n] = '\0';
			const char *name = word;
			for (size_t i = 0; i < 2; i++)
				name = strcmp(word, also[i][0]) == 0 ? also[i][1] : name;
			if (capital && !is_known(known, name, strlen(name)))
				fail_msg("README.md names %s; known are%s", word, known + 1);
			names += capital;
		}
	}
	assert_true(names > 12);
	free(text);
}

/* ---- results that several pages tell ---- */

/* How many of 1,000 numbers examples/numbers/run gets right. */
static void every_page_tells_the_same_result_of_the_example(void **state)
{
	(void)state;
	static const char *const places[][2] = {{"README.md", " of 1,000 right"},
	                                        {"docs/look.md", " of 1,000 numbers"},
	                                        {"docs/train.md", " of the 1,000 are exactly"},
	                                        {"docs/train.md", " right at the level avx512"}};
	char first[8] = "";
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		char *text = need_page(places[i][0]), *at = strstr(text, places[i][1]);
		if (!at || at - text < 3)
			fail_msg("%s does not say '…%s'", places[i][0], places[i][1]);
		char count[8];
		snprintf(count, sizeof count, "%.3s", at - 3);
		if (i == 0)
			snprintf(first, sizeof first, "%s", count);
		if (strcmp(first, count) != 0)
			fail_msg("%s says %s, %s says %s", places[0][0], first, places[i][0],
			         count);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_link_of_a_page_leads_somewhere),
		cmocka_unit_test(a_translation_has_the_blocks_of_its_original),
		cmocka_unit_test(a_translation_has_the_numbers_of_its_original),
		cmocka_unit_test(a_page_and_its_translation_link_each_other),
		cmocka_unit_test(every_family_of_the_docs_is_known_and_the_other_way_round),
		cmocka_unit_test(no_page_names_a_family_that_is_not_loaded),
		cmocka_unit_test(the_families_of_the_readme_are_known),
		cmocka_unit_test(every_page_tells_the_same_result_of_the_example),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
