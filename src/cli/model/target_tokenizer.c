/* target_tokenizer.c — target.spm, where no tokenizer.json takes the place of both. */
#include "cli/model/target_tokenizer.h"

#include <stdio.h>
#include <unistd.h>

#define PATH_MOST 4096

hec_status target_tokenizer_load(const char *dir, hec_tokenizer **out)
{
	char path[PATH_MOST + 16];
	*out = NULL;
	snprintf(path, sizeof path, "%s/tokenizer.json", dir);
	if (access(path, F_OK) == 0)
		return HEC_OK;
	snprintf(path, sizeof path, "%s/target.spm", dir);
	return access(path, F_OK) == 0 ? hec_tokenizer_load(path, out) : HEC_OK;
}
