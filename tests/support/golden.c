/* golden.c — golden files: a line, then tensors with a line each. */
#include "support/golden.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hec_dtype type_of(kit *k, const char *name)
{
	for (int i = 0; i < HEC_DTYPES; i++)
		if (strcmp(hec_dtype_name((hec_dtype)i), name) == 0)
			return (hec_dtype)i;
	kit_fail(k, __FILE__, __LINE__, "golden: type %s", name);
}

static void read_tensor(golden *g, FILE *f, char *line)
{
	kit *k = g->k;
	CHECK(k, g->count < GOLDEN_TENSORS, "%s: more than %d tensors", g->path, GOLDEN_TENSORS);
	char *save, *name = strtok_r(line, " \n", &save), *type = strtok_r(NULL, " \n", &save);
	CHECK(k, name && type && strlen(name) < sizeof g->names[0], "%s: a bad line", g->path);
	int64_t shape[HEC_MAX_RANK + 1];
	int rank = 0;
	for (char *n; (n = strtok_r(NULL, " \n", &save)) && rank < HEC_MAX_RANK; rank++)
		shape[rank] = strtoll(n, NULL, 10);
	shape[rank] = -1;
	hec_tensor t = make(k, type_of(k, type), shape);
	size_t n = (size_t)hec_tensor_count(&t);
	CHECK(k, fread(t.data, hec_dtype_size(t.dtype), n, f) == n, "%s: %s is cut short", g->path,
	      name);
	strcpy(g->names[g->count], name);
	g->tensors[g->count++] = t;
}

void golden_open(golden *g, kit *k, const char *path)
{
	g->k = k;
	g->count = 0;
	snprintf(g->path, sizeof g->path, "%s", path);
	FILE *f = fopen(path, "rb");
	CHECK(k, f, "%s cannot be opened", path);
	char line[256];
	CHECK(k, fgets(line, sizeof line, f) && strcmp(line, "hecate golden 1\n") == 0,
	      "%s is not a golden file", path);
	while (fgets(line, sizeof line, f))
		read_tensor(g, f, line);
	fclose(f);
}

static int find(const golden *g, const char *name)
{
	for (int i = 0; i < g->count; i++)
		if (strcmp(g->names[i], name) == 0)
			return i;
	return -1;
}

bool golden_has(const golden *g, const char *name)
{
	return find(g, name) >= 0;
}

const hec_tensor *golden_get(const golden *g, const char *name)
{
	int i = find(g, name);
	CHECK(g->k, i >= 0, "%s has no %s", g->path, name);
	return &g->tensors[i];
}

hec_tensor golden_as(const golden *g, const char *name, hec_dtype dtype)
{
	return make_cast(g->k, dtype, golden_get(g, name));
}

double golden_number(const golden *g, const char *name, int64_t index)
{
	return get(golden_get(g, name), index);
}

void golden_each(const char *prefix, void (*fn)(kit *k, const golden *g))
{
	const char *folder = getenv("HECATE_GOLDENS");
	if (!folder || !*folder)
		folder = TESTS_DIR "/golden";
	kit none = {0};
	DIR *d = opendir(folder);
	CHECK(&none, d, "the folder %s cannot be opened", folder);
	int found = 0;
	for (struct dirent *e; (e = readdir(d));) {
		const char *end = strrchr(e->d_name, '.');
		if (strncmp(e->d_name, prefix, strlen(prefix)) != 0 || !end ||
		    strcmp(end, ".golden") != 0)
			continue;
		char path[512];
		snprintf(path, sizeof path, "%s/%.255s", folder, e->d_name);
		kit k = kit_open(1);
		static golden g;
		golden_open(&g, &k, path);
		fn(&k, &g);
		kit_close(&k);
		found++;
	}
	closedir(d);
	CHECK(&none, found > 0, "no file %s/%s*.golden", folder, prefix);
}
