/* config_file.h — what config.json says of a model, while it is open. */
#ifndef MODEL_CONFIG_FILE_H
#define MODEL_CONFIG_FILE_H

#include "model/family.h"

typedef struct config_file {
	char *path;
	json_t *root; /* with what is overridden */
	json_scope scope;
	const family *family;
	hec_model_config config; /* resolved */
} config_file;

/* path: a folder, or the file itself. */
hec_status config_file_open(const char *path, const hec_model_load_options *options,
                            config_file *out);
void config_file_close(config_file *file);

/* The caller's options, checked; NULL: none. */
hec_status load_options_read(const hec_model_load_options *given, hec_model_load_options *out);

#endif
