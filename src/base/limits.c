/* limits.c — reading control groups.
 *
 * /proc/self/cgroup says the group for each hierarchy ("0::/a/b" in version 2, "4:cpu,cpuacct:/a/b" in version 1),
 * /proc/self/mountinfo where the hierarchies are mounted. In a container the group may be named as outside of it,
 * where there is no such folder: then the mounted folder is the process's own group. */
#include "base/limits.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/size.h"

#define LINE_MOST (2 * PATH_MOST)
#define NO_LIMIT ((int64_t)1 << 60) /* version 1 writes a number near 2^63 where there is none */

typedef struct group {
	bool is_v2;
	char mount[PATH_MOST], folder[PATH_MOST]; /* folder: of the group; mount, or below it */
} group;

/* ---- where ---- */

static bool has_word(const char *list, const char *word)
{
	const size_t n = strlen(word);
	for (const char *at = list; (at = strstr(at, word)); at++)
		if ((at == list || at[-1] == ',') && (at[n] == ',' || at[n] == '\0'))
			return true;
	return false;
}

/* The group by /proc/self/cgroup: of a controller of version 1, or of version 2 (NULL). */
static bool find_group(const char *root, const char *controller, char path[PATH_MOST])
{
	char name[PATH_MOST], line[LINE_MOST];
	bool found = false;
	snprintf(name, sizeof name, "%s/proc/self/cgroup", root);
	FILE *f = fopen(name, "r");
	while (f && !found && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = '\0';
		char *list = strchr(line, ':'), *at = list ? strchr(list + 1, ':') : NULL;
		if (!at)
			continue;
		*at++ = '\0';
		list++;
		found = controller ? has_word(list, controller) : *list == '\0';
		if (found)
			snprintf(path, PATH_MOST, "%s", at);
	}
	if (f)
		fclose(f);
	return found;
}

/* The fields of a line of mountinfo that count: the group that is mounted, where, and as what. */
static bool read_mount(char *line, char **mounted, char **where, char **type, char **options)
{
	char *end = strstr(line, " - "), *word[6];
	if (!end)
		return false;
	*end = '\0';
	char *rest = NULL, *at = line;
	for (int i = 0; i < 6; i++, at = NULL)
		if (!(word[i] = strtok_r(at, " ", &rest)))
			return false;
	*mounted = word[3];
	*where = word[4];
	*type = strtok_r(end + 3, " \n", &rest);
	(void)strtok_r(NULL, " \n", &rest); /* the source */
	*options = strtok_r(NULL, " \n", &rest);
	return *type && *options;
}

static bool is_folder(const char *path)
{
	struct stat info;
	return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* path below what is mounted, or what is mounted itself. */
static void place_group(const char *root, const char *path, const char *mounted, const char *where,
                        group *g)
{
	const size_t n = strcmp(mounted, "/") == 0 ? 0 : strlen(mounted);
	const char *below = strncmp(path, mounted, n) == 0 ? path + n : "";
	snprintf(g->mount, sizeof g->mount, "%s%s", root, where);
	const int length = snprintf(g->folder, sizeof g->folder, "%s%s", g->mount, below);
	if (length >= (int)sizeof g->folder || !is_folder(g->folder))
		snprintf(g->folder, sizeof g->folder, "%s", g->mount);
	for (size_t end = strlen(g->folder); end > 0 && g->folder[end - 1] == '/';)
		g->folder[--end] = '\0';
}

static bool find_hierarchy(const char *root, const char *controller, bool v2, group *g)
{
	char path[PATH_MOST], name[PATH_MOST], line[LINE_MOST];
	bool found = false;
	if (!find_group(root, v2 ? NULL : controller, path))
		return false;
	snprintf(name, sizeof name, "%s/proc/self/mountinfo", root);
	FILE *f = fopen(name, "r");
	while (f && !found && fgets(line, sizeof line, f)) {
		char *mounted, *where, *type, *options;
		if (!read_mount(line, &mounted, &where, &type, &options))
			continue;
		found = v2 ? strcmp(type, "cgroup2") == 0
		           : strcmp(type, "cgroup") == 0 && has_word(options, controller);
		if (found)
			place_group(root, path, mounted, where, g);
	}
	if (f)
		fclose(f);
	g->is_v2 = v2;
	return found;
}

/* ---- what they say ---- */

/* The first two numbers of a file, -1 for "max" and for what is not there; false: no file. */
static bool read_numbers(const char *folder, const char *file, int64_t number[2])
{
	char path[LINE_MOST], line[128] = "";
	snprintf(path, sizeof path, "%s/%s", folder, file);
	FILE *f = fopen(path, "r");
	const bool good = f && fgets(line, sizeof line, f);
	if (f)
		fclose(f);
	char *at = line;
	for (int i = 0; i < 2; i++) {
		char *end;
		at += strspn(at, " ");
		const long long n = strtoll(at, &end, 10);
		number[i] = end == at ? -1 : n;
		at = end == at ? at + strcspn(at, " ") : end;
	}
	return good;
}

/* A row "name number" of memory.stat; 0: there is none. */
static int64_t read_stat(const char *folder, const char *name)
{
	char path[LINE_MOST], line[128];
	int64_t number = 0;
	snprintf(path, sizeof path, "%s/memory.stat", folder);
	FILE *f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ' ')
			number = strtoll(line + strlen(name), NULL, 10);
	if (f)
		fclose(f);
	return number;
}

static void limit_processors(const group *g, const char *folder, process_limits *out)
{
	int64_t quota[2], period[2];
	if (g->is_v2) {
		if (!read_numbers(folder, "cpu.max", quota))
			return;
		period[0] = quota[1];
	} else if (!read_numbers(folder, "cpu.cfs_quota_us", quota) ||
	           !read_numbers(folder, "cpu.cfs_period_us", period)) {
		return;
	}
	if (quota[0] <= 0 || period[0] <= 0)
		return;
	const double processors = (double)quota[0] / (double)period[0];
	if (out->processors == 0 || processors < out->processors)
		out->processors = processors;
}

static void limit_memory(const group *g, const char *folder, process_limits *out)
{
	int64_t most[2], used[2];
	if (!read_numbers(folder, g->is_v2 ? "memory.max" : "memory.limit_in_bytes", most) ||
	    !read_numbers(folder, g->is_v2 ? "memory.current" : "memory.usage_in_bytes", used) ||
	    most[0] < 0 || most[0] >= NO_LIMIT)
		return;
	const int64_t cache = read_stat(folder, g->is_v2 ? "inactive_file" : "total_inactive_file");
	const int64_t taken = max_i64(0, max_i64(0, used[0]) - max_i64(0, cache));
	out->memory = min_i64(out->memory, max_i64(0, most[0] - taken));
}

typedef void limit_fn(const group *g, const char *folder, process_limits *out);

/* The group, and those that it lies in. */
static void walk(const char *root, const char *controller, limit_fn *limit, process_limits *out)
{
	group g;
	for (int v2 = 0; v2 < 2; v2++) {
		if (!find_hierarchy(root, controller, v2, &g))
			continue;
		const size_t least = strlen(g.mount);
		for (;;) {
			limit(&g, g.folder, out);
			char *slash = strrchr(g.folder, '/');
			if (!slash || strlen(g.folder) <= least)
				break;
			*slash = '\0';
		}
	}
}

void process_limits_read(const char *root, process_limits *out)
{
	*out = (process_limits){.memory = INT64_MAX};
	walk(root, "cpu", limit_processors, out);
	walk(root, "memory", limit_memory, out);
}

int64_t process_memory_available(void)
{
	char line[128];
	int64_t kilobytes = 4000000; /* where the system does not tell */
	process_limits limits;
	FILE *f = fopen("/proc/meminfo", "r");
	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, "MemAvailable:", 13) == 0)
			kilobytes = strtoll(line + 13, NULL, 10);
	if (f)
		fclose(f);
	process_limits_read("", &limits);
	return min_i64(kilobytes * 1024, limits.memory);
}
