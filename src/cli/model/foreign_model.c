/* foreign_model.c — files and folders of other programs, known by how they begin and what lies in them. */
#include "cli/model/foreign_model.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/io/ends_with.h"

#define READS "Hecate reads a folder with config.json, model.safetensors and a tokenizer"

static bool has(const char *folder, const char *name)
{
	char path[4096 + 4096];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return access(path, F_OK) == 0;
}

static const char *of_file(const char *path)
{
	char first[9] = "";
	FILE *f = fopen(path, "rb");
	const size_t n = f ? fread(first, 1, 8, f) : 0;
	if (f)
		fclose(f);
	if (n >= 4 && memcmp(first, "GGUF", 4) == 0)
		return "is a GGUF file, for llama.cpp; " READS ": take the model that it was made "
		       "from";
	if (ends_with(path, ".safetensors"))
		return "holds weights alone; name the folder in which it lies, with config.json "
		       "and the tokenizer";
	if (ends_with(path, ".onnx"))
		return "is an ONNX file; " READS ": take the model that it was exported from";
	if (ends_with(path, ".bin") || ends_with(path, ".pt") || ends_with(path, ".pth"))
		return "is a file of PyTorch; name the folder in which it lies, with config.json "
		       "and "
		       "the tokenizer";
	return "is a file; " READS;
}

/* Whether a name in the folder ends so; at most two levels, as exporters make them. */
static bool holds(const char *folder, const char *end, int deeper)
{
	DIR *dir = opendir(folder);
	bool found = false;
	for (struct dirent *e; dir && !found && (e = readdir(dir));) {
		char inside[4096 + 300];
		found = ends_with(e->d_name, end);
		if (found || deeper == 0 || e->d_name[0] == '.')
			continue;
		snprintf(inside, sizeof inside, "%s/%s", folder, e->d_name);
		found = holds(inside, end, deeper - 1);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* The one folder in it that looks like a model. */
static bool find_inside(const char *folder, char *name, size_t room)
{
	DIR *dir = opendir(folder);
	int found = 0;
	for (struct dirent *e; dir && (e = readdir(dir));) {
		char config[4096 + 300];
		if (e->d_name[0] == '.')
			continue;
		snprintf(config, sizeof config, "%s/config.json", e->d_name);
		if (has(folder, config) && ++found == 1)
			snprintf(name, room, "%s", e->d_name);
	}
	if (dir)
		closedir(dir);
	return found == 1;
}

static bool has_vocabulary_of_ctranslate2(const char *folder)
{
	static const char *const names[] = {"shared_vocabulary.json", "shared_vocabulary.txt",
	                                    "source_vocabulary.json", "source_vocabulary.txt",
	                                    "vocabulary.json",        "vocabulary.txt"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (has(folder, names[i]))
			return true;
	return false;
}

void foreign_model(const char *path, char sentence[FOREIGN_MODEL_ROOM])
{
	struct stat info;
	char inside[256];
	sentence[0] = '\0';
	if (stat(path, &info) != 0)
		return;
	if (!S_ISDIR(info.st_mode)) {
		snprintf(sentence, FOREIGN_MODEL_ROOM, "%s", of_file(path));
		return;
	}
	const bool weights = holds(path, ".safetensors", 0) || has(path, "pytorch_model.bin") ||
	                     has(path, "pytorch_model.bin.index.json");
	if (!weights && holds(path, ".gguf", 0))
		snprintf(sentence, FOREIGN_MODEL_ROOM,
		         "holds a GGUF file, for llama.cpp; " READS ": take the model that it was "
		         "made from");
	else if (!weights && has(path, "model.bin") && has_vocabulary_of_ctranslate2(path))
		snprintf(sentence, FOREIGN_MODEL_ROOM,
		         "is a folder of CTranslate2; " READS ": take the model that it was "
		         "converted from");
	else if (!weights && (holds(path, ".onnx", 1) || has(path, "openvino_model.xml")))
		snprintf(sentence, FOREIGN_MODEL_ROOM,
		         "is an export for %s; " READS ": take the model that it was exported from",
		         has(path, "openvino_model.xml") ? "OpenVINO" : "ONNX");
	else if (has(path, "config.json") || has(path, "modules.json"))
		return;
	else if (find_inside(path, inside, sizeof inside))
		snprintf(sentence, FOREIGN_MODEL_ROOM,
		         "has no config.json; a model lies in the folder '%.200s' in it", inside);
	else
		snprintf(sentence, FOREIGN_MODEL_ROOM, "has no config.json; " READS);
}
