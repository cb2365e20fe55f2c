/* test_limits.c — what control groups leave to a process: made-up hierarchies of both versions, and a real one where
 * this machine lets us make it. */
#include "support/scratch.h"
#include "support/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/limits.h"

#define MIB ((int64_t)1 << 20)

/* A file of a hierarchy, with the folders that it lies in. */
static void put_file(const char *root, const char *name, const char *text)
{
	char path[1024];
	snprintf(path, sizeof path, "%s/%s", root, name);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0777);
		*slash = '/';
	}
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

#define V2 "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1                                                                                         \
	"31 23 0:27 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"                               \
	"32 31 0:28 / /sys/fs/cgroup/cpu,cpuacct rw shared:5 - cgroup cgroup rw,cpu,cpuacct\n"     \
	"33 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"                        \
	"34 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"

typedef struct entry {
	const char *name, *text;
} entry;

static process_limits read_limits(const entry *files)
{
	char root[SCRATCH_PATH];
	process_limits l;
	scratch_fresh(root);
	(void)mkdir(root, 0777);
	for (; files->name; files++)
		put_file(root, files->name, files->text);
	process_limits_read(root, &l);
	return l;
}

static void check(const entry *files, double processors, int64_t memory)
{
	const process_limits l = read_limits(files);
	if (l.processors != processors || l.memory != memory)
		fail_msg("%s: %g processors, %lld bytes", files[0].text, l.processors,
		         (long long)l.memory);
}

static void nothing_there_limits_nothing(void **state)
{
	(void)state;
	check((const entry[]){{0}}, 0, INT64_MAX);
	check((const entry[]){{"proc/self/cgroup", "0::/\n"}, {0}}, 0, INT64_MAX);
	check((const entry[]){{"proc/self/cgroup", "0::/a\n"},
	                      {"proc/self/mountinfo", V2},
	                      {"sys/fs/cgroup/a/cpu.max", "max 100000\n"},
	                      {"sys/fs/cgroup/a/memory.max", "max\n"},
	                      {"sys/fs/cgroup/a/memory.current", "1000\n"},
	                      {0}},
	      0, INT64_MAX);
	/* Files that say anything. */
	check((const entry[]){{"proc/self/cgroup", "\n:\n::\n0:\n9:cpu\nx"},
	                      {"proc/self/mountinfo",
	                       "\n-\n - \n1 2 3 - \n1 2 3 4 5 6 - cgroup2\n"},
	                      {0}},
	      0, INT64_MAX);
	check((const entry[]){{"proc/self/cgroup", "0::/\n"},
	                      {"proc/self/mountinfo", V2},
	                      {"sys/fs/cgroup/cpu.max", "-5 abc\n"},
	                      {"sys/fs/cgroup/memory.max", "99999999999999999999999\n"},
	                      {"sys/fs/cgroup/memory.current", "\n"},
	                      {0}},
	      0, INT64_MAX);
}

static void version_2_counts_the_groups_above_as_well(void **state)
{
	(void)state;
	check((const entry[]){{"proc/self/cgroup", "0::/a/b\n"},
	                      {"proc/self/mountinfo", V2},
	                      {"sys/fs/cgroup/a/b/cpu.max", "400000 100000\n"},
	                      {"sys/fs/cgroup/a/cpu.max", "150000 100000\n"},
	                      {"sys/fs/cgroup/a/b/memory.max", "1073741824\n"},
	                      {"sys/fs/cgroup/a/b/memory.current", "734003200\n"},
	                      {"sys/fs/cgroup/a/b/memory.stat",
	                       "anon 5\ninactive_file 314572800\nactive_file 7\n"},
	                      {0}},
	      1.5, 624 * MIB);
	/* Where more is in use than the limit, nothing is left. */
	check((const entry[]){{"proc/self/cgroup", "0::/a\n"},
	                      {"proc/self/mountinfo", V2},
	                      {"sys/fs/cgroup/a/memory.max", "1000\n"},
	                      {"sys/fs/cgroup/a/memory.current", "2000\n"},
	                      {0}},
	      0, 0);
}

static void version_1_has_a_hierarchy_for_each(void **state)
{
	(void)state;
	check((const entry[]){{"proc/self/cgroup", "12:cpuset:/x\n5:cpu,cpuacct:/a\n4:memory:/m\n"},
	                      {"proc/self/mountinfo", V1},
	                      {"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "50000\n"},
	                      {"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n"},
	                      {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"},
	                      {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"},
	                      {"sys/fs/cgroup/memory/m/memory.limit_in_bytes", "104857600\n"},
	                      {"sys/fs/cgroup/memory/m/memory.usage_in_bytes", "20971520\n"},
	                      {"sys/fs/cgroup/memory/m/memory.stat",
	                       "inactive_file 1\ntotal_inactive_file 10485760\n"},
	                      {"sys/fs/cgroup/memory/memory.limit_in_bytes",
	                       "9223372036854771712\n"},
	                      {"sys/fs/cgroup/memory/memory.usage_in_bytes", "30000000\n"},
	                      {0}},
	      0.5, 90 * MIB);
}

/* As a container has it: the group's name is that of the host, and what is mounted is the group itself. */
static void a_group_that_cannot_be_seen_is_the_one_that_is_mounted(void **state)
{
	(void)state;
	check((const entry[]){{"proc/self/cgroup", "0::/docker/0123\n"},
	                      {"proc/self/mountinfo",
	                       "9 8 0:26 /docker/0123 /sys/fs/cgroup ro - cgroup2 cgroup rw\n"},
	                      {"sys/fs/cgroup/cpu.max", "300000 100000\n"},
	                      {0}},
	      3, INT64_MAX);
	check((const entry[]){{"proc/self/cgroup", "0::/../other\n"},
	                      {"proc/self/mountinfo", V2},
	                      {"sys/fs/cgroup/cpu.max", "70000 100000\n"},
	                      {0}},
	      0.7, INT64_MAX);
	/* Both versions side by side: the controllers may be in either. */
	check((const entry[]){{"proc/self/cgroup", "4:memory:/\n0::/u\n"},
	                      {"proc/self/mountinfo",
	                       V1 "40 31 0:40 / /sys/fs/cgroup/unified rw - cgroup2 c rw\n"},
	                      {"sys/fs/cgroup/unified/u/cpu.max", "200000 100000\n"},
	                      {"sys/fs/cgroup/memory/memory.limit_in_bytes", "1048576\n"},
	                      {"sys/fs/cgroup/memory/memory.usage_in_bytes", "0\n"},
	                      {0}},
	      2, MIB);
}

static void cores_are_those_that_may_be_used(void **state)
{
	(void)state;
	assert_int_equal(cpu_cores_within(8, 0), 8);
	assert_int_equal(cpu_cores_within(8, 64), 8);
	assert_int_equal(cpu_cores_within(8, 2), 2);
	assert_int_equal(cpu_cores_within(8, 2.4), 2);
	assert_int_equal(cpu_cores_within(8, 1.5), 2);
	assert_int_equal(cpu_cores_within(8, 0.1), 1);
	assert_int_equal(cpu_cores_within(1, 0.5), 1);
	assert_true(cpu_cores_available() >= 1);
	assert_true(process_memory_available() > 0);
}

/* ---- a real one ---- */

static bool write_to(const char *folder, const char *file, const char *text)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s", folder, file);
	FILE *f = fopen(path, "w");
	const bool good = f && fputs(text, f) >= 0;
	return (f ? fclose(f) == 0 : false) && good;
}

/* The limits of a process in a group of its own; false: this machine does not let us. */
static bool limits_in(const char *parent, const char *const settings[][2], process_limits *l)
{
	char group[256], pid[32];
	int fd[2];
	snprintf(group, sizeof group, "%s/hecate-test-%ld", parent, (long)getpid());
	if (mkdir(group, 0755) != 0)
		return false;
	char members[512];
	snprintf(members, sizeof members, "%s/cgroup.procs", group);
	bool good = access(members, W_OK) == 0; /* else it is a plain folder */
	for (; good && (*settings)[0]; settings++)
		good = write_to(group, (*settings)[0], (*settings)[1]);
	assert_int_equal(pipe(fd), 0);
	const pid_t child = good ? fork() : -1;
	if (child == 0) {
		snprintf(pid, sizeof pid, "%ld", (long)getpid());
		if (!write_to(group, "cgroup.procs", pid))
			_exit(1);
		process_limits_read("", l);
		_exit(write(fd[1], l, sizeof *l) == sizeof *l ? 0 : 1);
	}
	int status = -1;
	if (child > 0)
		assert_int_equal(waitpid(child, &status, 0), child);
	good = status == 0 && read(fd[0], l, sizeof *l) == sizeof *l;
	close(fd[0]);
	close(fd[1]);
	(void)rmdir(group);
	return good;
}

static void a_real_group_limits(void **state)
{
	(void)state;
	process_limits l;
	const char *const v1[][2] = {
		{"cpu.cfs_period_us", "100000"}, {"cpu.cfs_quota_us", "50000"}, {NULL, NULL}};
	const char *const m1[][2] = {{"memory.limit_in_bytes", "67108864"}, {NULL, NULL}};
	const char *const v2[][2] = {
		{"cpu.max", "50000 100000"}, {"memory.max", "67108864"}, {NULL, NULL}};
	bool tried = false;
	if (limits_in("/sys/fs/cgroup", v2, &l)) {
		tried = true;
		assert_true(l.processors == 0.5 && l.memory <= 64 * MIB);
	}
	if (limits_in("/sys/fs/cgroup/cpu", v1, &l)) {
		tried = true;
		assert_true(l.processors == 0.5);
	}
	if (limits_in("/sys/fs/cgroup/memory", m1, &l)) {
		tried = true;
		assert_true(l.memory <= 64 * MIB);
	}
	if (!tried) {
		print_message("this machine lets nobody make a control group here\n");
		skip();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_there_limits_nothing),
		cmocka_unit_test(version_2_counts_the_groups_above_as_well),
		cmocka_unit_test(version_1_has_a_hierarchy_for_each),
		cmocka_unit_test(a_group_that_cannot_be_seen_is_the_one_that_is_mounted),
		cmocka_unit_test(cores_are_those_that_may_be_used),
		cmocka_unit_test(a_real_group_limits),
	};
	return cmocka_run_group_tests(tests, scratch_group_make, scratch_group_remove);
}
