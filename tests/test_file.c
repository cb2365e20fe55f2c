/* test_file.c — a file is read whole or not at all, and replaced whole or not at all. */
#include "base/file.h" /* before cmocka.h, which takes the name `fail` */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "support/scratch.h"

static int make_folder(void **state)
{
	return scratch_make(state, "data");
}

static void expect_contents(const char *path, const char *want, size_t n)
{
	char *data = NULL;
	size_t size = 0;
	assert_int_equal(file_read(path, 1 << 20, &data, &size), HEC_OK);
	assert_int_equal(size, n);
	assert_memory_equal(data, want, n);
	assert_int_equal(data[n], 0);
	free(data);
}

static void expect_message(const char *a, const char *b)
{
	const char *message = hec_error_message();
	if (!strstr(message, a) || !strstr(message, b))
		fail_msg("\"%s\" does not say \"%s\" and \"%s\"", message, a, b);
}

/* Reading fails with status, says the path and why, and leaves the outputs alone. */
static void expect_unread(const char *path, size_t limit, hec_status want, const char *why)
{
	char mark, *data = &mark;
	size_t size = 12345;
	assert_int_equal(file_read(path, limit, &data, &size), want);
	expect_message(path, why);
	assert_ptr_equal(data, &mark);
	assert_int_equal(size, 12345);
}

static void what_is_written_is_read_back(void **state)
{
	scratch *f = *state;
	const char bytes[] = "one\0two\nthree";
	assert_int_equal(file_replace(f->file, bytes, sizeof bytes), HEC_OK);
	expect_contents(f->file, bytes, sizeof bytes);
	assert_int_equal(file_replace(f->file, "", 0), HEC_OK);
	expect_contents(f->file, "", 0);
	assert_int_equal(scratch_entries(f->path), 1);
}

static void a_plain_name_is_replaced_in_the_current_folder(void **state)
{
	scratch *f = *state;
	char *old = getcwd(NULL, 0);
	assert_int_equal(chdir(f->path), 0);
	assert_int_equal(file_replace("data", "here", 4), HEC_OK);
	expect_contents("data", "here", 4);
	assert_int_equal(chdir(old), 0);
	free(old);
	expect_contents(f->file, "here", 4);
}

static void the_limit_is_the_largest_size_that_is_read(void **state)
{
	scratch *f = *state;
	assert_int_equal(file_replace(f->file, "12345678", 8), HEC_OK);
	char *data;
	size_t size;
	assert_int_equal(file_read(f->file, 8, &data, &size), HEC_OK);
	free(data);
	expect_unread(f->file, 7, HEC_ERR_FORMAT, "has 8 bytes; at most 7");
}

static void what_is_not_a_regular_file_is_refused(void **state)
{
	scratch *f = *state;
	expect_unread(f->path, 100, HEC_ERR_IO, "is a folder");
	assert_int_equal(mkfifo(f->file, 0600), 0);
	expect_unread(f->file, 100, HEC_ERR_IO, "is a pipe"); /* and does not hang */
	expect_unread("/dev/null", 100, HEC_ERR_IO, "is a device");
}

static void a_file_that_cannot_be_opened_says_why(void **state)
{
	scratch *f = *state;
	expect_unread(f->file, 100, HEC_ERR_IO, strerror(ENOENT));
	assert_int_equal(file_replace(f->file, "x", 1), HEC_OK);
	if (geteuid() != 0) { /* root may read everything */
		chmod(f->file, 0);
		expect_unread(f->file, 100, HEC_ERR_IO, strerror(EACCES));
	}
	char under[256];
	snprintf(under, sizeof under, "%s/under", f->file);
	expect_unread(under, 100, HEC_ERR_IO, strerror(ENOTDIR));
}

/* A file of the system that says 0 bytes and has more: the same as one that grows. */
static void a_file_that_grows_is_an_error(void **state)
{
	(void)state;
	expect_unread("/proc/self/status", 1 << 20, HEC_ERR_IO, "grew");
}

typedef struct changer {
	const char *path;
	_Atomic bool stop;
} changer;

#define LONG (1 << 20)

static void *change_length(void *arg)
{
	changer *c = arg;
	while (!atomic_load(&c->stop)) {
		if (truncate(c->path, 100) != 0 || truncate(c->path, LONG) != 0)
			break;
	}
	return NULL;
}

/* Whatever the moment, a read gives one of the two lengths or a message. */
static void a_file_that_shrinks_meanwhile_is_an_error_not_a_crash(void **state)
{
	scratch *f = *state;
	assert_int_equal(file_replace(f->file, "x", 1), HEC_OK);
	assert_int_equal(truncate(f->file, LONG), 0);
	changer c = {.path = f->file};
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, change_length, &c), 0);
	int shrank = 0, grew = 0;
	/* On a busy machine the two may take turns for long: what counts is that it happens. */
	const time_t last = time(NULL) + 60;
	for (int i = 0; i < 200 || (shrank == 0 && time(NULL) < last); i++) {
		char *data = NULL;
		size_t size = 0;
		if (file_read(f->file, LONG, &data, &size) == HEC_OK) {
			assert_true(size == 1 || size == 100 || size == LONG);
			free(data);
			continue;
		}
		bool is_shrink = strstr(hec_error_message(), "shrank") != NULL;
		assert_true(is_shrink || strstr(hec_error_message(), "grew"));
		*(is_shrink ? &shrank : &grew) += 1;
	}
	atomic_store(&c.stop, true);
	pthread_join(thread, NULL);
	assert_true(shrank > 0);
}

static void the_permissions_of_the_old_file_are_kept(void **state)
{
	scratch *f = *state;
	assert_int_equal(file_replace(f->file, "a", 1), HEC_OK);
	assert_int_equal(chmod(f->file, 0640), 0);
	assert_int_equal(file_replace(f->file, "b", 1), HEC_OK);
	struct stat info;
	assert_int_equal(stat(f->file, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0640);
}

static void a_missing_folder_is_an_error_that_names_the_path(void **state)
{
	scratch *f = *state;
	char path[256];
	snprintf(path, sizeof path, "%s/nowhere/data", f->path);
	assert_int_equal(file_replace(path, "x", 1), HEC_ERR_IO);
	expect_message(path, strerror(ENOENT));
	assert_int_equal(scratch_entries(f->path), 0);
}

static void a_folder_is_not_replaced(void **state)
{
	scratch *f = *state;
	assert_int_equal(mkdir(f->file, 0700), 0);
	assert_int_equal(file_replace(f->file, "x", 1), HEC_ERR_IO);
	expect_message(f->file, "a folder");
	assert_int_equal(scratch_entries(f->path), 1); /* nothing is left beside it */
}

/* The system refuses to write beyond a limit: as on a full disk. */
/* As root a rename over a device succeeds, and the device is gone. */
static void what_is_no_file_is_not_replaced(void **state)
{
	scratch *f = *state;
	char pipe[256], link[256];
	struct stat info;
	snprintf(pipe, sizeof pipe, "%s/pipe", f->path);
	snprintf(link, sizeof link, "%s/link", f->path);
	assert_int_equal(mkfifo(pipe, 0666), 0);
	assert_int_equal(file_replace(pipe, "x", 1), HEC_ERR_IO);
	expect_message(pipe, "a pipe");
	assert_true(stat(pipe, &info) == 0 && S_ISFIFO(info.st_mode));
	assert_int_equal(symlink("/proc/self/fd/1", link), 0);
	assert_int_equal(file_replace(link, "x", 1), HEC_ERR_IO);
	expect_message(link, "link");
	assert_true(lstat(link, &info) == 0 && S_ISLNK(info.st_mode));
	assert_int_equal(scratch_entries(f->path), 2);
}

static void a_failed_write_keeps_the_old_file_and_leaves_nothing_beside(void **state)
{
	scratch *f = *state;
	assert_int_equal(file_replace(f->file, "old", 3), HEC_OK);
	struct rlimit before, small;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	small = before;
	small.rlim_cur = 4096;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	char *much = calloc(1, 10000);
	hec_status status = file_replace(f->file, much, 10000);
	setrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, handler);
	free(much);
	assert_int_equal(status, HEC_ERR_IO);
	expect_message(f->file, strerror(EFBIG));
	expect_contents(f->file, "old", 3);
	assert_int_equal(scratch_entries(f->path), 1);
}

typedef struct writer {
	const char *path;
	char letter;
	hec_status status;
} writer;

#define PIECE 5000

static void *write_often(void *arg)
{
	writer *w = arg;
	char bytes[PIECE];
	memset(bytes, w->letter, sizeof bytes);
	for (int i = 0; i < 50 && w->status == HEC_OK; i++)
		w->status = file_replace(w->path, bytes, sizeof bytes);
	return NULL;
}

static void a_reader_sees_one_whole_file_while_two_writers_replace_it(void **state)
{
	scratch *f = *state;
	writer w[2] = {{f->file, 'a', HEC_OK}, {f->file, 'b', HEC_OK}};
	pthread_t threads[2];
	char first[PIECE];
	memset(first, 'a', sizeof first);
	assert_int_equal(file_replace(f->file, first, sizeof first), HEC_OK);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_often, &w[i]), 0);
	for (int i = 0; i < 200; i++) {
		char *data;
		size_t size;
		assert_int_equal(file_read(f->file, 1 << 20, &data, &size), HEC_OK);
		assert_int_equal(size, PIECE);
		for (int j = 1; j < PIECE; j++)
			assert_int_equal(data[j], data[0]);
		free(data);
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(w[i].status, HEC_OK);
	}
	assert_int_equal(scratch_entries(f->path), 1);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, scratch_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(what_is_written_is_read_back),
		IN_FOLDER(a_plain_name_is_replaced_in_the_current_folder),
		IN_FOLDER(the_limit_is_the_largest_size_that_is_read),
		IN_FOLDER(what_is_not_a_regular_file_is_refused),
		IN_FOLDER(a_file_that_cannot_be_opened_says_why),
		cmocka_unit_test(a_file_that_grows_is_an_error),
		IN_FOLDER(a_file_that_shrinks_meanwhile_is_an_error_not_a_crash),
		IN_FOLDER(the_permissions_of_the_old_file_are_kept),
		IN_FOLDER(a_missing_folder_is_an_error_that_names_the_path),
		IN_FOLDER(a_folder_is_not_replaced),
		IN_FOLDER(what_is_no_file_is_not_replaced),
		IN_FOLDER(a_failed_write_keeps_the_old_file_and_leaves_nothing_beside),
		IN_FOLDER(a_reader_sees_one_whole_file_while_two_writers_replace_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
