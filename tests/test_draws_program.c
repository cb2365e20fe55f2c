/* test_draws_program.c — `hecate generate` draws for each line by the seed and the line's number alone. */
#define _XOPEN_SOURCE 700 /* pseudo-terminals */
#include "support/models.h"

#include "look_models.h"

#include <fcntl.h>
#include <termios.h>

#include "support/draws.h"

#define LINES 200
#define DRAWN "--seed 12 --temperature 2 --top-k 0 --max-tokens 8 "
#define LINE "the cat"

/* ---- a model that writes plain letters ---- */

static bool is_plain(const char *token)
{
	if (token && strncmp(token, "Ġ", strlen("Ġ")) == 0)
		token += strlen("Ġ");
	return token && *token && strspn(token, "abcdefghijklmnopqrstuvwxyz") == strlen(token);
}

/* What is written is one line then, however it is printed. */
static void write_rules(void)
{
	kit k = kit_open(1);
	char dir[128];
	hec_tokenizer *t;
	snprintf(dir, sizeof dir, "%s/decoder", folder);
	OK(&k, hec_tokenizer_load(dir, &t));
	json_t *none = json_array();
	for (int32_t id = 0; id < hec_tokenizer_vocab(t); id++)
		if (!is_plain(hec_tokenizer_token(t, id)))
			json_array_append_new(none, json_integer(id));
	json_t *object = json_pack("{s:o}", "suppress_tokens", none);
	char *rules = json_dumps(object, 0);
	json_decref(object);
	assert_non_null(rules);
	write_file("decoder/generation_config.json", rules);
	write_file("decoder/chat_template.jinja", "{{ messages[-1].content }}");
	free(rules);
	hec_tokenizer_destroy(t);
	kit_close(&k);
}

static int make_inputs(void **state)
{
	if (make_models(state) != 0)
		return -1;
	write_rules();
	char path[128];
	snprintf(path, sizeof path, "%s/in", folder);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	for (int i = 0; i < LINES; i++)
		assert_true(fputs(LINE "\n", f) >= 0);
	return fclose(f);
}

/* Of the lines in `in`. */
static char *written(const char *arguments)
{
	char line[1024];
	snprintf(line, sizeof line, "'%s' generate -m %s/decoder " DRAWN "%s <%s/in >%s/out",
	         program(), folder, arguments, folder, folder);
	int code = shell("%s", line);
	char *out = read_all("out");
	assert_int_equal(code, 0);
	return out;
}

static int count_same_neighbours(const char *text)
{
	int same = 0;
	for (const char *next; (next = strchr(text, '\n')) && next[1]; text = next + 1) {
		const size_t n = (size_t)(next + 1 - text);
		same += strncmp(text, next + 1, n) == 0;
	}
	return same;
}

/* ---- lines ---- */

static void check_line(kit *k, hec_generator *g, int64_t number, json_t *line)
{
	hec_decode_options decode = HEC_DECODE_OPTIONS_INIT;
	hec_generator_defaults(g, &decode, sizeof decode);
	decode.sample = true;
	decode.seed = 12;
	decode.temperature = 2;
	decode.top_k = -1; /* the program's 0 */
	decode.max_tokens = 8;
	decode.first_stream = (uint64_t)number;
	hec_generate_options o = HEC_GENERATE_OPTIONS_INIT;
	hec_prompt prompt = {.text = LINE, .bytes = strlen(LINE)};
	hec_generations *out;
	o.decode = &decode;
	OK(k, hec_generate(g, 1, &prompt, &o, &out));
	const hec_generation *want = hec_generations_at(out, 0, 0);
	json_t *ids = json_object_get(line, "ids");
	CHECK(k, (int64_t)json_array_size(ids) == want->n, "line %lld has other tokens",
	      (long long)number);
	for (int64_t i = 0; i < want->n; i++)
		CHECK(k, json_integer_value(json_array_get(ids, (size_t)i)) == want->ids[i],
		      "line %lld, token %lld", (long long)number, (long long)i);
	hec_generations_free(out);
}

static void line_n_is_what_the_library_draws_from_stream_n(void **state)
{
	(void)state;
	kit k = kit_open(2);
	char dir[128];
	hec_generator *g;
	snprintf(dir, sizeof dir, "%s/decoder", folder);
	OK(&k, hec_generator_load(k.ctx, dir, NULL, &g));
	char *all = written("--json");
	const char *at = all;
	for (int i = 0; i < LINES; i++) {
		json_t *line = json_loads(at, JSON_DISABLE_EOF_CHECK, NULL);
		assert_non_null(line);
		check_line(&k, g, i, line);
		json_decref(line);
		at = strchr(at, '\n') + 1;
	}
	free(all);
	hec_generator_destroy(g);
	kit_close(&k);
}

static void lines_are_drawn_the_same_however_many_go_together(void **state)
{
	(void)state;
	static const char *const ways[] = {"--batch 1",      "--batch 7", "--batch 64",
	                                   "--batch 100",    "--stream",  "--chat",
	                                   "--chat --stream"};
	char *want = written("--threads 1");
	assert_int_equal(lines_of(want), LINES);
	assert_true(count_same_neighbours(want) < LINES / 10);
	char *chat = written("--chat --batch 1"); /* nothing is added to its prompts */
	assert_int_equal(lines_of(chat), LINES);
	assert_true(count_same_neighbours(chat) < LINES / 10);
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		char *got = written(ways[i]);
		if (strcmp(got, strstr(ways[i], "--chat") ? chat : want) != 0)
			fail_msg("%s draws other words", ways[i]);
		free(got);
	}
	free(want);
	free(chat);
}

/* Each piece waits for the answers to the one before. */
static void lines_are_drawn_the_same_as_they_come_in(void **state)
{
	(void)state;
	static const int pieces[] = {1, 2, 63, 64, 65, 5};
	int to[2], from[2];
	char *want = written(""), *got = calloc(1, strlen(want) + 2);
	assert_non_null(got);
	assert_true(pipe(to) == 0 && pipe(from) == 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		char command[1024];
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		close(to[1]);
		close(from[0]);
		snprintf(command, sizeof command, "exec '%s' generate -m %s/decoder " DRAWN,
		         program(), folder);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(98);
	}
	close(to[0]);
	close(from[1]);
	size_t n = 0;
	int sent = 0;
	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
		char piece[64 * 16] = "";
		for (int line = 0; line < pieces[i]; line++)
			strcat(piece, LINE "\n");
		assert_int_equal(write(to[1], piece, strlen(piece)), (ssize_t)strlen(piece));
		sent += pieces[i];
		while (lines_of(got) < sent) {
			ssize_t more = read(from[0], got + n, strlen(want) + 1 - n);
			assert_true(more > 0);
			n += (size_t)more;
		}
	}
	assert_int_equal(sent, LINES);
	close(to[1]);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	close(from[0]);
	assert_string_equal(got, want);
	free(got);
	free(want);
}

/* What comes before it is written again, by the same numbers. */
static void a_refused_line_changes_no_draw_before_it(void **state)
{
	(void)state;
	static const char *const ways[] = {"--batch 16", "--batch 100", "--stream", "--chat"};
	enum { GOOD = 150 };
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		char *want = written(strstr(ways[i], "--chat") ? "--chat" : "");
		int code = shell("{ head -%d %s/in; printf 'a\\377\\n'; cat %s/in; } | '%s' "
		                 "generate -m %s/decoder " DRAWN "%s >%s/out 2>%s/err",
		                 GOOD, folder, folder, program(), folder, ways[i], folder, folder);
		char *got = read_all("out");
		assert_int_equal(code, 1);
		assert_int_equal(lines_of(got), GOOD);
		assert_memory_equal(got, want, strlen(got));
		free(got);
		free(want);
	}
}

/* ---- a terminal ---- */

/* What a run with this terminal shows, where nothing that is typed is echoed. */
static char *on_terminal(const char *arguments, const char *typed)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY);
	assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
	int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
	struct termios t;
	assert_true(terminal >= 0 && tcgetattr(terminal, &t) == 0);
	t.c_lflag &= ~(tcflag_t)ECHO;
	t.c_oflag &= ~(tcflag_t)OPOST;
	assert_int_equal(tcsetattr(terminal, TCSANOW, &t), 0);
	assert_int_equal(write(master, typed, strlen(typed)), (ssize_t)strlen(typed));
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		char command[1024];
		dup2(terminal, STDIN_FILENO);
		dup2(terminal, STDOUT_FILENO);
		close(master);
		snprintf(command, sizeof command,
		         "exec '%s' generate -m %s/decoder " DRAWN "%s 2>/dev/null", program(),
		         folder, arguments);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(98);
	}
	close(terminal);
	char *text = calloc(1, 1 << 16);
	size_t n = 0;
	assert_non_null(text);
	/* It ends with an error (EIO) when nobody has the terminal any more. */
	for (ssize_t more; (more = read(master, text + n, (1 << 16) - 1 - n)) > 0;)
		n += (size_t)more;
	close(master);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return text;
}

/* The template shows the model what was said last, and nothing else: all turns have one prompt. */
static void each_turn_of_a_conversation_is_drawn_as_the_line_of_its_number(void **state)
{
	(void)state;
	enum { TURNS = 5 };
	char *want = written("--chat");
	char *seen = on_terminal("--chat", LINE "\n" LINE "\n" LINE "\n" LINE "\n" LINE "\n\004");
	assert_int_equal(lines_of(seen), TURNS);
	assert_int_equal(count_same_neighbours(seen), 0);
	assert_memory_equal(seen, want, strlen(seen));
	free(seen);
	free(want);
}

/* ---- many lines ---- */

#define MANY 20000

static void take_drawn(int32_t *drawn)
{
	char path[128], line[512];
	snprintf(path, sizeof path, "%s/out", folder);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	for (int i = 0; i < MANY; i++) {
		int id = -1;
		assert_non_null(fgets(line, sizeof line, f));
		assert_int_equal(sscanf(line, "{\"input\":%*d,\"ids\":[%d]", &id), 1);
		drawn[i] = id;
	}
	assert_null(fgets(line, sizeof line, f));
	fclose(f);
}

/* softmax over what may be written. */
static double *chances_of(kit *k, const hec_generator *g)
{
	hec_decode_options o = HEC_DECODE_OPTIONS_INIT;
	hec_generator_defaults(g, &o, sizeof o);
	hec_encoding e = HEC_ENCODING_INIT;
	OK(k, hec_tokenizer_encode(hec_generator_tokenizer(g), LINE, strlen(LINE), NULL, &e));
	double sum = 0, *p = first_token_chances(k, hec_generator_model(g), e.ids, (int64_t)e.n, 2);
	const int64_t vocab = hec_model_config_of(hec_generator_model(g))->vocab;
	for (size_t i = 0; i < o.suppressed; i++)
		p[o.suppress[i]] = 0;
	for (int64_t v = 0; v < vocab; v++)
		sum += p[v];
	for (int64_t v = 0; v < vocab; v++)
		p[v] /= sum;
	hec_encoding_free(&e);
	return p;
}

static void many_lines_follow_the_model_and_no_draw_comes_again(void **state)
{
	(void)state;
	static const char *const ways[] = {"", "--batch 64"};
	static const int64_t lags[] = {1, 2, 7, 15, 16, 17, 63, 64, 65, 128, 1000, 0};
	kit k = kit_open(3);
	char dir[128];
	hec_generator *g;
	int32_t *drawn = malloc(MANY * sizeof *drawn);
	assert_non_null(drawn);
	snprintf(dir, sizeof dir, "%s/decoder", folder);
	OK(&k, hec_generator_load(k.ctx, dir, NULL, &g));
	double *chances = chances_of(&k, g);
	const draws d = {drawn, MANY, chances, hec_model_config_of(hec_generator_model(g))->vocab};
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		int code = shell("yes '" LINE "' | head -%d | '%s' generate -m %s/decoder "
		                 "--seed 5 --temperature 2 --top-k 0 --max-tokens 1 --json %s "
		                 ">%s/out",
		                 MANY, program(), folder, ways[i], folder);
		assert_int_equal(code, 0);
		take_drawn(drawn);
		check_draws(&k, ways[i], &d, lags);
	}
	free(drawn);
	free(chances);
	hec_generator_destroy(g);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_n_is_what_the_library_draws_from_stream_n),
		cmocka_unit_test(lines_are_drawn_the_same_however_many_go_together),
		cmocka_unit_test(lines_are_drawn_the_same_as_they_come_in),
		cmocka_unit_test(a_refused_line_changes_no_draw_before_it),
		cmocka_unit_test(each_turn_of_a_conversation_is_drawn_as_the_line_of_its_number),
		cmocka_unit_test(many_lines_follow_the_model_and_no_draw_comes_again),
	};
	return cmocka_run_group_tests(tests, make_inputs, remove_folder);
}
