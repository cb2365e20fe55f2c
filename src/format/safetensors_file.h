/* safetensors_file.h — one open file, for the parts of safetensors that share it. */
#ifndef FORMAT_SAFETENSORS_FILE_H
#define FORMAT_SAFETENSORS_FILE_H

#include "base/file.h"
#include "format/safetensors.h"

struct safetensors {
	file_in **files;
	size_t file_count;
	safetensors_entry *entries; /* sorted by name; they own their names */
	size_t count, room;
	char **metadata; /* key, value, key, value, … */
	size_t metadata_count;
};

int safetensors_dtype_bits(safetensors_dtype dtype);
bool safetensors_dtype_find(const char *name, safetensors_dtype *out);

/* The bytes that a tensor takes: false where they overflow or are no whole number of bytes. */
bool safetensors_size(const safetensors_entry *e, uint64_t *count, uint64_t *bytes);

hec_status safetensors_add(safetensors *s, const safetensors_entry *e); /* takes e->name over */
void safetensors_sort(safetensors *s);

#endif
