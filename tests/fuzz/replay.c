/* replay.c — runs a fuzz target on the files of folders, once each, without libFuzzer: so that
 * every compiler and sanitizer sees the committed corpus. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	if (!f)
		return fprintf(stderr, "%s: %s\n", path, strerror(errno)), -1;
	/* Exactly as long as the file, so that a sanitizer sees a read beyond it. */
	uint8_t *bytes = NULL;
	long size = -1;
	if (fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0)
		bytes = malloc((size_t)size + (size == 0));
	int result = -1;
	if (bytes && fread(bytes, 1, (size_t)size, f) == (size_t)size)
		result = LLVMFuzzerTestOneInput(bytes, (size_t)size);
	else
		fprintf(stderr, "%s: could not be read\n", path);
	free(bytes);
	fclose(f);
	return result;
}

static int run_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	if (!dir)
		return fprintf(stderr, "%s: %s\n", folder, strerror(errno)), -1;
	int count = 0, result = 0;
	for (struct dirent *e; result == 0 && (e = readdir(dir));) {
		if (e->d_name[0] == '.')
			continue;
		char path[4096];
		snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
		result = run_file(path);
		count++;
	}
	closedir(dir);
	printf("%s: %d inputs\n", folder, count);
	return result != 0 || count == 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
	int failed = argc < 2;
	for (int i = 1; i < argc; i++)
		failed |= run_folder(argv[i]) != 0;
	return failed;
}
