/* safetensors.h — tensors in files, exactly by the format's rules.
 *
 *   8 bytes   length n of the header, little-endian, at most 100,000,000
 *   n bytes   a JSON object in UTF-8: {"name": {"dtype": "F32", "shape": [2, 3],
 *             "data_offsets": [0, 24]}, …, "__metadata__": {"text": "text"}}, padded with spaces
 *   the rest  the tensors, little-endian, row by row, without holes and without overlaps
 *
 * Opening reads the header alone; tensors are read by pread when asked for, in pieces of any size.
 * Nothing is converted here. Files come from anyone: each rule is checked, each error names the file
 * and the tensor. */
#ifndef FORMAT_SAFETENSORS_H
#define FORMAT_SAFETENSORS_H

#include <hecate/tensor.h>

#include "base/status.h"

typedef enum safetensors_dtype {
	ST_BOOL = 0,
	ST_F4,
	ST_F6_E2M3,
	ST_F6_E3M2,
	ST_U8,
	ST_I8,
	ST_F8_E5M2,
	ST_F8_E4M3,
	ST_F8_E8M0,
	ST_F8_E4M3FNUZ,
	ST_F8_E5M2FNUZ,
	ST_I16,
	ST_U16,
	ST_F16,
	ST_BF16,
	ST_I32,
	ST_U32,
	ST_F32,
	ST_C64,
	ST_F64,
	ST_I64,
	ST_U64
} safetensors_dtype;

const char *safetensors_dtype_name(safetensors_dtype dtype); /* "F32" */
/* Our own name for it: false where a hec_tensor cannot hold such numbers. */
bool safetensors_dtype_known(safetensors_dtype dtype, hec_dtype *out);
safetensors_dtype safetensors_dtype_of(hec_dtype dtype);

#define SAFETENSORS_RANK 8

typedef struct safetensors_entry {
	const char *name;
	safetensors_dtype dtype;
	int rank; /* 0: one number */
	int64_t shape[SAFETENSORS_RANK];
	uint64_t count; /* elements */
	uint64_t begin; /* of its bytes in the file */
	uint64_t bytes;
	int shard; /* the number of its file */
} safetensors_entry;

/* "[2, 3]" into text. */
#define SAFETENSORS_SHAPE_TEXT 176
const char *safetensors_shape_text(const safetensors_entry *e, char text[SAFETENSORS_SHAPE_TEXT]);

/* ---- reading ---- */

/* One file, or the shards that an index names. Entries are sorted by name. */
typedef struct safetensors safetensors;

hec_status safetensors_open(const char *path, safetensors **out);
/* What a folder holds: model.safetensors, else model.safetensors.index.json and its shards. Pickle
 * (pytorch_model.bin) is never read; where only that is there, the error says how to convert it. */
hec_status safetensors_open_folder(const char *folder, safetensors **out);
void safetensors_close(safetensors *s); /* takes NULL */

size_t safetensors_count(const safetensors *s);
const safetensors_entry *safetensors_at(const safetensors *s, size_t i);
const safetensors_entry *safetensors_find(const safetensors *s, const char *name); /* or NULL */
/* The path of the file that holds e. */
const char *safetensors_path(const safetensors *s, const safetensors_entry *e);
/* A text of __metadata__ of a single file; NULL where it is not there. */
const char *safetensors_metadata(const safetensors *s, const char *key);

/* count elements from element first on, as they lie in the file. */
hec_status safetensors_read(const safetensors *s, const safetensors_entry *e, uint64_t first,
                            uint64_t count, void *to);

/* ---- writing ---- */

typedef struct safetensors_item {
	const char *name;
	safetensors_dtype dtype;
	int rank;
	int64_t shape[SAFETENSORS_RANK];
	const void *data; /* its bytes; NULL: asked of the source */
} safetensors_item;

/* Called once for each item without data, in the order of the file: writes exactly its bytes. */
typedef struct safetensors_sink safetensors_sink;
hec_status safetensors_sink_write(safetensors_sink *sink, const void *bytes, size_t size);
typedef hec_status safetensors_source(void *arg, size_t item, safetensors_sink *sink);

/* Replaces path atomically. Larger types first, then by name, as the reference does; the tensors
 * begin at a multiple of 8. metadata: pairs of texts, NULL last; NULL: {"format": "pt"} alone, which
 * Transformers wants. */
hec_status safetensors_write(const char *path, const safetensors_item *items, size_t count,
                             const char *const *metadata, safetensors_source *source, void *arg);

#endif
