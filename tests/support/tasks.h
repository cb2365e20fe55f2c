/* tasks.h — folders of tiny models with a tokenizer, and what Transformers says of some texts with them:
 * tests/golden/classify_embed, or that of $HECATE_GOLDENS. */
#ifndef TESTS_SUPPORT_TASKS_H
#define TESTS_SUPPORT_TASKS_H

#include <jansson.h>

#include "support/scratch.h"
#include "support/test.h"

#define TASK_TEXTS 16

/* A new folder in the group's scratch: a model of tests/golden/models with that tokenizer. */
const char *task_folder(const kit *k, const char *model, char path[SCRATCH_PATH]);
/* Writes a file into a folder. */
void task_file(const char *path, const char *name, const char *text);
/* Sets a member of its config.json. */
void task_config(const char *path, const char *key, json_t *value /* taken */);
/* Makes every weight of its model.safetensors NaN. */
void task_spoil(const kit *k, const char *path);

json_t *task_cases(const kit *k); /* to json_decref */
/* Strings of a JSON array; returns how many. */
int64_t task_texts(const json_t *list, const char *out[TASK_TEXTS]);

#endif
