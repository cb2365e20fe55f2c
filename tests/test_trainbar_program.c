/* test_trainbar_program.c — how far `hecate train` is, on a terminal. */
#define _XOPEN_SOURCE 700 /* pseudo-terminals */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "program_run.h"
#include "train_texts.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>

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
	static const unsigned short columns[] = {12, 40, 80, 101, 160};
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
		assert_true(columns[i] < 60 || strstr(text, "tokens/s"));
		assert_null(strstr(text, "nan"));
		assert_null(strstr(text, "? left"));
		assert_true(columns[i] < 60 || strstr(text, "░"));
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_bar_fits_on_its_line),
	};
	return cmocka_run_group_tests(tests, make_texts, remove_folder);
}
