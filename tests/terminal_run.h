/* terminal_run.h — the program on a pseudo-terminal, with words that would steer it; and whether what it wrote
 * does. Needs program_run.h before it, and _XOPEN_SOURCE 700 before all. */
#ifndef TESTS_TERMINAL_RUN_H
#define TESTS_TERMINAL_RUN_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <termios.h>

/* Clears the screen, deletes, opens a control sequence in one character, turns the direction of writing in
 * three ways, rings, hides a letter, ends the line in two ways. */
#define STEERS                                                                                     \
	"\033[2J\x7f\xc2\x9b"                                                                      \
	"31m\xe2\x80\xae\xe2\x81\xa6\xd8\x9c\a\xf3\xa0\x81\x81\xe2\x80\xa8\rX"
/* The word is to be seen. In a name any byte but two may stand, and a line that looks like one of ours. */
#define EVIL "Evil" STEERS
#define EVIL_UTF8 "Name" STEERS "\nFORGED"
#define EVIL_NAME "Name" STEERS "\x9b\nFORGED"

#define WORDS_MOST 48
#define OUTPUT_MOST (4 << 20)

/* %F: the folder of the test, %T: that of the tests, %N, %U and %L: the names and the text from above. */
static inline void filled(const char *pattern, char *out, size_t size)
{
	size_t n = 0;
	for (; *pattern; pattern++) {
		const char *piece = NULL;
		if (*pattern == '%')
			switch (*++pattern) {
			case 'F':
				piece = folder;
				break;
			case 'T':
				piece = TESTS_DIR;
				break;
			case 'N':
				piece = EVIL_NAME;
				break;
			case 'U':
				piece = EVIL_UTF8;
				break;
			case 'L':
				piece = EVIL;
				break;
			case '%':
				piece = "%";
				break;
			default:
				fail_msg("%%%c means nothing", *pattern);
			}
		char one[2] = {*pattern, '\0'};
		piece = piece ? piece : one;
		assert_true(n + strlen(piece) < size);
		memcpy(out + n, piece, strlen(piece));
		n += strlen(piece);
	}
	out[n] = '\0';
}

/* argv of the program: words between spaces, then each filled in. */
static inline void split_words(const char *line, char *words[WORDS_MOST + 2])
{
	size_t n = 0;
	words[n++] = strdup(program());
	while (*(line += strspn(line, " "))) {
		char pattern[512], word[2048];
		const size_t length = strcspn(line, " ");
		assert_true(length < sizeof pattern && n < WORDS_MOST);
		memcpy(pattern, line, length);
		pattern[length] = '\0';
		filled(pattern, word, sizeof word);
		words[n++] = strdup(word);
		line += length;
	}
	words[n] = NULL;
}

/* A terminal that passes on every line as it comes; \004 ends the input. */
static inline int open_terminal(int *master)
{
	struct termios raw;
	*master = posix_openpt(O_RDWR | O_NOCTTY);
	assert_true(*master >= 0 && grantpt(*master) == 0 && unlockpt(*master) == 0);
	int terminal = open(ptsname(*master), O_RDWR | O_NOCTTY);
	assert_true(terminal >= 0 && tcgetattr(terminal, &raw) == 0);
	raw.c_iflag = 0;
	raw.c_oflag &= ~(tcflag_t)OPOST;
	raw.c_lflag &= ~(tcflag_t)(ECHO | ISIG | IEXTEN);
	assert_int_equal(tcsetattr(terminal, TCSANOW, &raw), 0);
	return terminal;
}

typedef enum written_to { ON_TERMINAL, ERRORS_TO_PIPE, TALKING } written_to;

typedef struct run_call {
	const char *line;         /* words as above */
	const char *input;        /* filled in as well; NULL: nothing to read */
	const char *name, *value; /* of the environment; NULL: none more */
	written_to on;
} run_call;

static inline void child_begins(const run_call *c, char **words, int out)
{
	const int nothing = open("/dev/null", O_RDWR);
	char in[512];
	snprintf(in, sizeof in, "%s/input", folder);
	const int from = c->on == TALKING ? out : c->input ? open(in, O_RDONLY) : nothing;
	dup2(from, STDIN_FILENO);
	dup2(c->on == ERRORS_TO_PIPE ? nothing : out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	setenv("NO_COLOR", "1", 1);
	if (c->name)
		setenv(c->name, c->value, 1);
	(void)chdir(folder);
	alarm(300); /* nothing here may wait for ever */
	execv(words[0], words);
	_exit(97);
}

#define SHOWN_BYTES (4 * 160 + 1)

/* The beginning of a text, for a message of the test, which shall not steer either. */
static inline const char *visible(const char *text, char out[SHOWN_BYTES])
{
	size_t n = 0;
	for (int i = 0; i < 160 && text[i]; i++)
		n += (size_t)snprintf(out + n, 5,
		                      text[i] >= ' ' && text[i] < 0x7F ? "%c" : "\\x%02x",
		                      (unsigned char)text[i]);
	out[n] = '\0';
	return out;
}

/* All that it writes to the terminal, or to standard error; for free(). */
static inline char *run_program(const run_call *c, size_t *length, int *code)
{
	char *words[WORDS_MOST + 2], input[2048] = "", *text = malloc(OUTPUT_MOST);
	char shown[SHOWN_BYTES];
	int fd[2]; /* read here, written there */
	split_words(c->line, words);
	filled(c->input ? c->input : "", input, sizeof input);
	if (c->input)
		write_file("input", input);
	if (c->on == ERRORS_TO_PIPE)
		assert_int_equal(pipe(fd), 0);
	else
		fd[1] = open_terminal(&fd[0]);
	const pid_t child = fork();
	assert_true(child >= 0 && text);
	if (child == 0)
		child_begins(c, words, fd[1]);
	close(fd[1]);
	if (c->on == TALKING)
		assert_int_equal(write(fd[0], input, strlen(input)), strlen(input));
	*length = 0;
	/* A terminal ends with an error (EIO) when nobody has it any more. */
	for (ssize_t n; *length < OUTPUT_MOST - 1 &&
	                (n = read(fd[0], text + *length, OUTPUT_MOST - 1 - *length)) > 0;)
		*length += (size_t)n;
	text[*length] = '\0';
	close(fd[0]);
	int status = 0;
	assert_int_equal(waitpid(child, &status, 0), child);
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 2)
		fail_msg("hecate %s: ended with status %d: %s", c->line, status,
		         visible(text, shown));
	*code = WEXITSTATUS(status);
	for (size_t i = 0; words[i]; i++)
		free(words[i]);
	return text;
}

/* ---- what steers ---- */

/* Bytes of the character at text; 0 where it is not UTF-8. Written for this test: the library's own may be
 * wrong. */
static inline size_t character(const unsigned char *text, uint32_t *rune)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = text[0] < 0x80   ? 1
	           : text[0] < 0xC0 ? 0
	           : text[0] < 0xE0 ? 2
	           : text[0] < 0xF0 ? 3
	                            : 4;
	*rune = n == 1 ? text[0] : text[0] & (0xFFu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if (text[i] >> 6 != 2)
			return 0;
		*rune = *rune << 6 | (text[i] & 63u);
	}
	return n && *rune >= least[n] && *rune <= 0x10FFFF && *rune >> 11 != 0x1B ? n : 0;
}

static inline bool obeyed(uint32_t c)
{
	return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c < 0xA0) || c == 0x61C ||
	       c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) ||
	       (c >= 0x2066 && c <= 0x206F) || (c >= 0xFFF9 && c <= 0xFFFB) ||
	       c >> 7 == 0xE0000 >> 7;
}

/* Where something stands that a terminal obeys; NULL: nowhere. A bar of ours goes back to the start of its
 * line and clears it: nothing else. */
static inline const char *steering(const char *text, size_t length)
{
	for (size_t i = 0; i < length;) {
		uint32_t rune;
		if (strncmp(text + i, "\033[K", 3) == 0) {
			i += 3;
			continue;
		}
		if (text[i] == '\r' && text[i + 1] != 'X') {
			i++;
			continue;
		}
		const size_t n = character((const unsigned char *)text + i, &rune);
		if (n == 0 || obeyed(rune))
			return text + i;
		i += n;
	}
	return NULL;
}

/* Calls whose output was found to steer: each is told, the test fails at its end. */
static int steered;

static inline void check_clean(const run_call *c, const char *text, size_t length)
{
	const char *bad = steering(text, length), *on = c->on == ERRORS_TO_PIPE ? "errors" : "all";
	char shown[SHOWN_BYTES];
	if (bad)
		print_error("hecate %s: byte %zu steers the terminal (%s): %s\n", c->line,
		            (size_t)(bad - text), on,
		            visible(bad - text > 60 ? bad - 60 : text, shown));
	const bool forged = c->on == ERRORS_TO_PIPE && strstr(text, "\nFORGED");
	if (forged)
		print_error("hecate %s: a name makes a line of its own: %s\n", c->line,
		            visible(text, shown));
	steered += bad || forged;
}

/* Runs it and looks at all that it writes; false: it ends with another code, or does not show the word. */
static inline bool run_is_clean(const run_call *c, int wanted, const char *word)
{
	size_t length;
	int code;
	char *text = run_program(c, &length, &code), shown[SHOWN_BYTES];
	check_clean(c, text, length);
	const bool right = (wanted < 0 || code == wanted) && strstr(text, word);
	if (!right)
		print_error("hecate %s: ended with %d, not %d and '%s': %s\n", c->line, code,
		            wanted, word, visible(text, shown));
	free(text);
	return right;
}

#endif
