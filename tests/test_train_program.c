/* test_train_program.c — `hecate train` as a person runs it: every task, wrong usage, signals; and
 * killed at random moments, resumed, it ends with the weights of a run that was not.
 *
 * $HECATE_KILLS (10) is how often it is killed. */
#define _XOPEN_SOURCE 700 /* pseudo-terminals */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "explain_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>

#include <hecate/hecate.h>
#include <jansson.h>

#define NARROW                                                                                     \
	"--width 16 --heads 2 --hidden 32 --vocab 280 --batch-tokens 128 --max-length 40 "         \
	"--warmup 10 --threads 1 "
#define SMALL NARROW "--encoder-layers 1 --decoder-layers 1 "
#define PAIRS "--task translate --train %1$s/a.en %1$s/a.de --valid %1$s/v.en %1$s/v.de "

static const char *const digits[10] = {"null", "eins",  "zwei",   "drei", "vier",
                                       "fünf", "sechs", "sieben", "acht", "neun"};
static uint32_t drawn;

static uint32_t draw(void)
{
	uint32_t out[4];
	hec_philox((const uint32_t[4]){drawn++, 0, 0, 0}, (const uint32_t[2]){42, 0}, out);
	return out[0];
}

/* n lines; side 0: digits, 1: words, 2: both with a tab, 3: odd or even, a tab, digits. */
static void write_lines(const char *name, int side, int n)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	drawn = 100000 * (uint32_t)name[0];
	for (int i = 0; i < n; i++) {
		uint32_t digit[6], count = 1 + draw() % 6;
		for (uint32_t j = 0; j < count; j++)
			digit[j] = draw() % 10;
		if (side == 3)
			fprintf(f, "%s\t", count % 2 ? "odd" : "even");
		for (uint32_t j = 0; side != 1 && j < count; j++)
			fprintf(f, "%s%u", j ? " " : "", digit[j]);
		if (side == 2)
			fputc('\t', f);
		for (uint32_t j = 0; (side == 1 || side == 2) && j < count; j++)
			fprintf(f, "%s%s", j ? " " : "", digits[digit[j]]);
		fputc('\n', f);
	}
	assert_int_equal(fclose(f), 0);
}

static int make_texts(void **state)
{
	if (make_folder(state) != 0)
		return -1;
	/* The same first letter of the name: the same digits on both sides. */
	write_lines("a.en", 0, 400);
	write_lines("a.de", 1, 400);
	write_lines("v.en", 0, 40);
	write_lines("v.de", 1, 40);
	write_lines("pairs", 2, 300);
	write_lines("labels", 3, 300);
	return shell("gzip -k '%s/pairs'", folder);
}

/* `hecate train` with the folder put in for %1$s. */
static result train(const char *format)
{
	char arguments[2048] = "train ";
	snprintf(arguments + 6, sizeof arguments - 6, format, folder);
	return run(arguments);
}

static void check_same(const char *one, const char *two)
{
	if (shell("cmp '%s/%s' '%s/%s'", folder, one, folder, two) != 0) {
		print_message("%s and %s differ\n", one, two);
		assert_true(false);
	}
}

/* ---- usage ---- */

static void wrong_usage_is_told(void **state)
{
	(void)state;
	static const struct {
		const char *arguments, *word;
		int code;
	} rows[] = {
		{"", "--task is missing", 2},
		{"--task sing --train x --out %1$s/no", "no task 'sing'", 2},
		{"--task lm --out %1$s/no", "--train is missing", 2},
		{"--task lm --train %1$s/a.en", "--out is missing", 2},
		{"--task translate --train %1$s/a.en --out %1$s/no", "in pairs", 2},
		{"--task lm --train %1$s/a.en --out %1$s/no --schedule up", "no schedule", 2},
		{"--task lm --train %1$s/a.en --out %1$s/no --batch-tokens many", "many", 2},
		{"--task lm --train %1$s/a.en --out %1$s/no --batch-tokens 999999999",
	         "from 1 to 16777216", 2},
		{"--task lm --train %1$s/a.en --out %1$s/no --dropout 2", "from 0 to 1", 2},
		{"--task lm --train %1$s/nothing --out %1$s/no-file", "nothing", 1},
		{"--task translate --train %1$s/a.en %1$s/v.de --out %1$s/unequal", "has 400 lines",
	         1},
		{"--task lm --train %1$s/a.en --out %1$s", "is not empty", 1},
		{"--resume --out %1$s", "holds no run to resume", 1},
		/* [CLS] and [SEP] alone: it once wrote such examples without end. */
		{"--task mlm --train %1$s/a.en --vocab 280 --out %1$s/no-place --max-length 2",
	         "no place", 1},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		result r = train(rows[i].arguments);
		if (r.code != rows[i].code || !strstr(r.err, rows[i].word)) {
			print_message("hecate train %s\ngave %d: %s\n", rows[i].arguments, r.code,
			              r.err);
			assert_true(false);
		}
		done(&r);
	}
}

static void all_settings_are_shown(void **state)
{
	(void)state;
	result help = train("--help"), dump = train(PAIRS "--dump-config");
	assert_int_equal(help.code, 0);
	assert_int_equal(dump.code, 0);
	assert_non_null(strstr(help.out, "\n  --train F…        text to learn"));
	assert_non_null(strstr(help.out, "\n  --out DIR         where"));
	json_t *root = json_loads(dump.out, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	assert_true(json_object_size(root) > 35);
	const char *key;
	json_t *value;
	json_object_foreach(root, key, value)
	{
		char flag[64] = "--";
		for (size_t i = 0; key[i]; i++)
			flag[i + 2] = key[i] == '_' ? '-' : key[i];
		if (!strstr(help.out, flag)) {
			print_message("--help does not name %s\n", flag);
			assert_true(false);
		}
	}
	assert_int_equal(json_integer_value(json_object_get(root, "width")), 128);
	json_decref(root);
	done(&help);
	done(&dump);
}

/* ---- tasks ---- */

static void check_model(const char *name)
{
	char path[256];
	hec_ctx *ctx;
	hec_model *model = NULL;
	hec_tokenizer *tokenizer = NULL;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	assert_int_equal(hec_ctx_create(NULL, &ctx), HEC_OK);
	if (hec_model_load(ctx, path, &model) != HEC_OK ||
	    hec_tokenizer_load(path, &tokenizer) != HEC_OK) {
		print_message("%s\n", hec_error_message());
		assert_true(false);
	}
	assert_int_equal(hec_model_config_of(model)->vocab, hec_tokenizer_vocab(tokenizer));
	hec_tokenizer_destroy(tokenizer);
	hec_model_destroy(model);
	hec_ctx_destroy(ctx);
}

static void every_task_gives_a_model_that_loads(void **state)
{
	(void)state;
	static const struct {
		const char *name, *arguments;
	} rows[] = {
		{"translate", PAIRS "--best chrf --encoder-layers 1 --decoder-layers 1 "},
		{"seq2seq",
	         "--task seq2seq --train %1$s/pairs.gz --valid %1$s/pairs --encoder-layers 1 "},
		{"lm", "--task lm --decoder-layers 1 --train %1$s/a.de --valid %1$s/v.de "},
		{"mlm", "--task mlm --encoder-layers 1 --train %1$s/a.de --valid %1$s/v.de "},
		{"classify", "--task classify --best accuracy --encoder-layers 1 --train "
	                     "%1$s/labels --valid %1$s/labels "},
		{"alone", "--task lm --decoder-layers 1 --train %1$s/a.de %1$s/a.en "},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char arguments[1024];
		snprintf(arguments, sizeof arguments, "%s --out %%1$s/%s --steps 12 --json %s",
		         rows[i].arguments, rows[i].name, NARROW);
		result r = train(arguments);
		if (r.code != 0) {
			print_message("%s: %s\n", rows[i].name, r.err);
			assert_true(false);
		}
		json_t *root = json_loads(r.out, 0, NULL);
		assert_int_equal(json_integer_value(json_object_get(root, "step")), 12);
		json_decref(root);
		check_model(rows[i].name);
		done(&r);
	}
}

static json_t *read_json(const char *name)
{
	char *text = read_all(name);
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	free(text);
	return root;
}

/* Stands on the models of the test before. */
static void labels_have_names_and_a_config_gives_the_architecture(void **state)
{
	(void)state;
	json_t *root = read_json("classify/config.json"),
	       *names = json_object_get(root, "id2label");
	assert_string_equal(json_string_value(json_object_get(names, "0")), "even");
	assert_string_equal(json_string_value(json_object_get(names, "1")), "odd");
	json_decref(root);
	result r = train(PAIRS "--config %1$s/translate/config.json --out %1$s/again --steps 3 "
	                       "--threads 1 --quiet");
	assert_int_equal(r.code, 0);
	done(&r);
	root = read_json("again/config.json");
	assert_int_equal(json_integer_value(json_object_get(root, "d_model")), 16);
	assert_string_equal(json_string_value(json_object_get(root, "model_type")), "marian");
	json_decref(root);
	r = train("--task lm --train %1$s/a.en --config %1$s/translate/config.json "
	          "--out %1$s/wrong");
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "wants a decoder alone"));
	done(&r);
}

/* ---- stopped and killed ---- */

#define RUN                                                                                        \
	PAIRS SMALL "--quiet --steps 120 --valid-every 30 --report-every 7 --save-every 10 "       \
		    "--accumulate 2 --valid-sentences 4 "

static pid_t start(const char *dir)
{
	char arguments[2048], out[256];
	snprintf(arguments, sizeof arguments, RUN "--resume --out %1$s/%2$s", folder, dir);
	snprintf(out, sizeof out, "%s/%s.out", folder, dir);
	char *words[128] = {(char *)(uintptr_t)program(), "train"};
	int n = 2;
	for (char *w = strtok(arguments, " "); w; w = strtok(NULL, " "))
		words[n++] = w;
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (!freopen(out, "w", stdout) || !freopen(out, "a", stderr))
			_exit(99);
		execv(words[0], words);
		_exit(98);
	}
	return child;
}

static int finish(pid_t child)
{
	int status;
	while (waitpid(child, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void sleep_for(double seconds)
{
	struct timespec t = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
	nanosleep(&t, NULL);
}

/* Everything of two logs but the times. */
static void check_same_log(const char *one, const char *two)
{
	const char *cut = "sed 's/\"tokens_per_s\".*//'";
	assert_int_equal(shell("%s '%s/%s/log.jsonl' >'%s/log1'; %s '%s/%s/log.jsonl' >'%s/log2'; "
	                       "diff '%s/log1' '%s/log2'",
	                       cut, folder, one, folder, cut, folder, two, folder, folder, folder),
	                 0);
}

static void a_run_killed_again_and_again_ends_with_the_same_weights(void **state)
{
	(void)state;
	const char *wanted = getenv("HECATE_KILLS");
	int kills = wanted && *wanted ? atoi(wanted) : 10, done_kills = 0;
	double begin = now();
	assert_int_equal(finish(start("whole")), 0);
	double whole = now() - begin;
	for (int round = 0; done_kills < kills; round++) {
		/* Between a few moments after its start and half of a run: it always gets on. */
		pid_t child = start("killed");
		sleep_for(whole * (0.02 + 0.5 * draw() / 4294967296.0));
		kill(child, SIGKILL);
		int code = finish(child);
		if (code == -SIGKILL) {
			done_kills++;
			continue;
		}
		if (code != 0) {
			char *text = read_all("killed.out");
			print_message("after %d kills it ended with %d: %s\n", done_kills, code,
			              text);
			free(text);
			assert_true(false);
		}
		check_same("whole/model.safetensors", "killed/model.safetensors");
		assert_int_equal(shell("rm -r '%s/killed'", folder), 0);
	}
	assert_int_equal(finish(start("killed")), 0);
	check_same("whole/model.safetensors", "killed/model.safetensors");
	check_same("whole/checkpoint/step-00000120/model.safetensors",
	           "killed/checkpoint/step-00000120/model.safetensors");
	check_same("whole/checkpoint/step-00000120/optimizer.safetensors",
	           "killed/checkpoint/step-00000120/optimizer.safetensors");
	check_same_log("whole", "killed");
}

static long log_size(const char *dir)
{
	char path[256];
	struct stat info;
	snprintf(path, sizeof path, "%s/%s/log.jsonl", folder, dir);
	return stat(path, &info) == 0 ? (long)info.st_size : 0;
}

static void mlm_needs_a_token_to_hide_words_with(void **state)
{
	(void)state;
	result r = train("--task mlm --train %1$s/a.de --tokenizer %1$s/translate "
	                 "--out %1$s/maskless --quiet --threads 1");
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "mask"));
	done(&r);
}

static void a_run_that_is_asked_to_stop_saves_and_says_so(void **state)
{
	(void)state;
	static const int signals[] = {SIGTERM, SIGINT};
	for (int i = 0; i < 2; i++) {
		long before = log_size("asked");
		pid_t child = start("asked");
		/* Until it has written something, so that it is learning. */
		for (int wait = 0; wait < 2000 && log_size("asked") <= before; wait++)
			sleep_for(0.01);
		kill(child, signals[i]);
		int code = finish(child);
		char *text = read_all("asked.out");
		bool ended = strstr(text, "done at") != NULL; /* before it was asked */
		assert_int_equal(code, ended ? 0 : 128 + signals[i]);
		if (!ended) {
			assert_non_null(strstr(text, "stopped at step"));
			assert_non_null(strstr(text, "--resume"));
		}
		free(text);
		assert_int_equal(shell("test -s '%s/asked/checkpoint/latest'", folder), 0);
	}
	assert_int_equal(finish(start("asked")), 0);
	check_same("whole/model.safetensors", "asked/model.safetensors");
	check_same_log("whole", "asked");
}

/* Stands on the run "whole" of a test before. */
static void settings_that_are_refused_do_not_stay(void **state)
{
	(void)state;
	assert_int_equal(shell("cp -r '%s/whole' '%s/refused'", folder, folder), 0);
	static const struct {
		const char *arguments, *word;
	} rows[] = {{"--seed 5", "seed"}, {"--width 32", "shape"}, {"--max-length 6", "checksum"}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char arguments[256];
		snprintf(arguments, sizeof arguments, "--resume --out %%1$s/refused --quiet %s",
		         rows[i].arguments);
		result r = train(arguments);
		if (r.code != 1 || !strstr(r.err, rows[i].word)) {
			print_message("%s gave %d: %s\n", rows[i].arguments, r.code, r.err);
			assert_true(false);
		}
		done(&r);
		check_same("whole/train.json", "refused/train.json");
	}
	result r = train("--resume --out %1$s/refused --quiet --vocab 300");
	assert_int_equal(r.code, 2);
	assert_non_null(strstr(r.err, "--vocab"));
	done(&r);
	r = train("--resume --out %1$s/refused --quiet --tokenizer %1$s/lm");
	assert_int_equal(r.code, 2);
	assert_non_null(strstr(r.err, "--tokenizer"));
	done(&r);
	check_same("whole/train.json", "refused/train.json");
	r = train("--resume --out %1$s/refused --quiet --steps 121");
	assert_int_equal(r.code, 0);
	done(&r);
	json_t *root = read_json("refused/train.json");
	assert_int_equal(json_integer_value(json_object_get(root, "steps")), 121);
	json_decref(root);
}

static void write_text(const char *name, const char *format, ...)
{
	char path[256];
	va_list args;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	va_start(args, format);
	vfprintf(f, format, args);
	va_end(args);
	assert_int_equal(fclose(f), 0);
}

/* Killed while it counted, a run has a width that somebody gave and no vocabulary. */
static void a_run_killed_before_its_sizes_were_known_finds_the_same(void **state)
{
	(void)state;
	assert_int_equal(shell("mkdir '%s/early' && for i in 1 2 3 4 5 6; do seq 1 40000; done "
	                       ">'%s/large'",
	                       folder, folder),
	                 0);
	write_text("early/train.json",
	           "{\"task\": \"lm\", \"train\": [\"%s/large\"], \"width\": 16, \"heads\": 2, "
	           "\"max_length\": 40, \"batch_tokens\": \"80\", \"steps\": 1}",
	           folder);
	result r = train("--resume --out %1$s/early --quiet --threads 1");
	if (r.code != 0)
		print_message("%s\n", r.err);
	assert_int_equal(r.code, 0);
	done(&r);
	json_t *root = read_json("early/train.json");
	assert_int_equal(json_integer_value(json_object_get(root, "vocab")), 4096);
	assert_int_equal(json_integer_value(json_object_get(root, "decoder_layers")), 4);
	json_decref(root);
}

static void a_train_json_that_was_changed_is_refused(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"\"batch_tokens\": null", "\"schedule\": null",
		"\"best\": null",         "\"dtype\": 3",
		"\"steps\": -1",          "\"seed\": \"99999999999999999999\""};
	assert_int_equal(shell("mkdir '%s/changed'", folder), 0);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		write_text("changed/train.json", "{\"task\": \"lm\", \"train\": [\"%s/a.en\"], %s}",
		           folder, texts[i]);
		result r = train("--resume --out %1$s/changed");
		if (r.code != 1 || !strstr(r.err, "is not what it must be")) {
			print_message("%s gave %d: %s\n", texts[i], r.code, r.err);
			assert_true(false);
		}
		done(&r);
	}
}

static void a_folder_is_not_taken_by_a_run_that_could_not_begin(void **state)
{
	(void)state;
	result r = train("--task lm --train %1$s/a.enn --out %1$s/typo " NARROW);
	assert_int_equal(r.code, 1);
	done(&r);
	r = train("--task lm --train %1$s/a.en --out %1$s/typo --steps 2 --quiet " NARROW);
	if (r.code != 0)
		print_message("%s\n", r.err);
	assert_int_equal(r.code, 0);
	done(&r);
	r = train("--resume --out %1$s/nowhere");
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "no run to resume"));
	done(&r);
}

static void texts_in_the_place_of_labels_are_told(void **state)
{
	(void)state;
	assert_int_equal(shell("seq 1 80000 | sed 's/$/\tx/' >'%s/many'", folder), 0);
	result r = train("--task classify --train %1$s/many --out %1$s/many-labels");
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "more than 65536 labels"));
	done(&r);
}

/* ---- the bar ---- */

/* What a run of a few steps writes to a terminal of so many columns. */
static char *on_terminal(const char *dir, unsigned short columns)
{
	struct winsize size = {.ws_row = 24, .ws_col = columns};
	int master = posix_openpt(O_RDWR | O_NOCTTY);
	assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
	int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
	assert_true(terminal >= 0 && ioctl(terminal, TIOCSWINSZ, &size) == 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		char command[2048];
		dup2(terminal, STDERR_FILENO);
		snprintf(command, sizeof command,
		         "exec '%3$s' train " PAIRS SMALL
		         "--out %1$s/%2$s --steps 1000000 --time 1 --report-every 2 "
		         "--valid-every 20 --valid-sentences 0 >/dev/null",
		         folder, dir, program());
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(98);
	}
	close(terminal);
	char *text = calloc(1, 1 << 20);
	size_t n = 0;
	/* It ends with an error (EIO) when nobody has the terminal any more. */
	for (ssize_t more;
	     n < (1 << 20) - 1 && (more = read(master, text + n, (1 << 20) - 1 - n)) > 0;)
		n += (size_t)more;
	close(master);
	assert_int_equal(finish(child), 0);
	return text;
}

static int width_of(const char *text, const char *end)
{
	int width = 0;
	for (; text < end; text++)
		width += ((unsigned char)*text & 0xC0) != 0x80;
	return width;
}

static void the_bar_fits_on_its_line(void **state)
{
	(void)state;
	static const unsigned short columns[] = {60, 80, 101, 160};
	static const char clear[] = "\r\033[K";
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
		char dir[16];
		snprintf(dir, sizeof dir, "bar-%u", columns[i]);
		char *text = on_terminal(dir, columns[i]);
		int bars = 0;
		for (char *at = text; (at = strstr(at, clear));) {
			at += strlen(clear);
			char *end = strstr(at, clear), *line = strchr(at, '\n');
			if (!end || (line && line < end))
				continue; /* a line of its own, in place of the bar */
			bars++;
			if (width_of(at, end) >= columns[i]) {
				print_message("%u columns: %.*s\n", columns[i], (int)(end - at),
				              at);
				assert_true(false);
			}
			*end = '\0';
			assert_true(strstr(at, "step ") != NULL);
			*end = '\r';
		}
		if (bars < 2)
			print_message("%u columns: %s\n", columns[i], text);
		assert_true(bars >= 2);
		assert_non_null(strstr(text, "tokens/s"));
		assert_null(strstr(text, "nan"));
		assert_null(strstr(text, "? left"));
		assert_non_null(strstr(text, "░"));
		free(text);
	}
}

static void two_runs_do_not_share_a_folder(void **state)
{
	(void)state;
	pid_t child = start("shared");
	for (int wait = 0; wait < 2000 && log_size("shared") == 0; wait++)
		sleep_for(0.01);
	kill(child, SIGSTOP);
	result r = train("--resume --out %1$s/shared --quiet");
	kill(child, SIGKILL);
	assert_int_equal(finish(child), -SIGKILL);
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "another run is at work"));
	done(&r);
	assert_int_equal(finish(start("shared")), 0);
	check_same("whole/model.safetensors", "shared/model.safetensors");
	check_same_log("whole", "shared");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_usage_is_told),
		cmocka_unit_test(all_settings_are_shown),
		cmocka_unit_test(every_task_gives_a_model_that_loads),
		cmocka_unit_test(labels_have_names_and_a_config_gives_the_architecture),
		cmocka_unit_test(mlm_needs_a_token_to_hide_words_with),
		cmocka_unit_test(a_run_killed_again_and_again_ends_with_the_same_weights),
		cmocka_unit_test(a_run_that_is_asked_to_stop_saves_and_says_so),
		cmocka_unit_test(settings_that_are_refused_do_not_stay),
		cmocka_unit_test(a_run_killed_before_its_sizes_were_known_finds_the_same),
		cmocka_unit_test(a_train_json_that_was_changed_is_refused),
		cmocka_unit_test(a_folder_is_not_taken_by_a_run_that_could_not_begin),
		cmocka_unit_test(two_runs_do_not_share_a_folder),
		cmocka_unit_test(texts_in_the_place_of_labels_are_told),
		cmocka_unit_test(the_bar_fits_on_its_line),
	};
	return cmocka_run_group_tests(tests, make_texts, remove_folder);
}
