/* tokenize_chat.c — `hecate tokenize --chat FILE`: a conversation as the model's chat template writes it. */
#include <stdlib.h>
#include <string.h>

#include <hecate/chat.h>
#include <jansson.h>

#include "cli/inspect/tokenize.h"

/* The file's messages as variables: a list of them, or an object with all variables. */
static json_t *variables_of(const char *file, json_error_t *error)
{
	json_t *root = strcmp(file, "-") == 0 ? json_loadf(stdin, 0, error)
	                                      : json_load_file(file, 0, error);
	return json_is_array(root) ? json_pack("{s:o}", "messages", root) : root;
}

int tokenize_chat(const command *self, const char *model, const char *file, bool prompt,
                  char **text, size_t *bytes)
{
	json_error_t error;
	hec_chat_template *chat = NULL;
	hec_chat_options o = HEC_CHAT_OPTIONS_INIT;
	json_t *variables = variables_of(file, &error);
	if (!variables)
		return command_failed(self, "%s: line %d: %s", file, error.line, error.text);
	char *json = json_dumps(variables, JSON_COMPACT);
	json_decref(variables);
	o.variables = json;
	o.variables_bytes = json ? strlen(json) : 0;
	o.generation_prompt = prompt;
	hec_status status = hec_chat_template_load(model, &chat);
	if (status == HEC_OK)
		status = hec_chat_apply(chat, NULL, 0, &o, text, bytes);
	hec_chat_template_destroy(chat);
	free(json);
	return status == HEC_OK ? EXIT_DONE : command_failed(self, "%s", hec_error_message());
}
