/* fuzz_chat.c — any bytes as a chat template. What is read runs on a short conversation within little
 * work, or says why not. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/chat.h>

#include "stop.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char more[] = "{\"bos_token\": \"<s>\", \"eos_token\": \"</s>\", \"tools\": "
				   "[{\"function\": {\"name\": \"f\", \"x\": [1, 2.5, null]}}]}";
	static const hec_chat_message messages[] = {
		{"system", " be kind "}, {"user", "größer?"}, {"assistant", "a\nb"}, {"user", ""}};
	hec_chat_template *t = NULL;
	hec_chat_options o = HEC_CHAT_OPTIONS_INIT;
	char *text = NULL;
	size_t bytes = 0;
	o.variables = more;
	o.variables_bytes = sizeof more - 1;
	o.generation_prompt = true;
	o.work = 1 << 18;
	if (hec_chat_template_parse((const char *)data, size, &t) != HEC_OK) {
		if (t || !*hec_error_message())
			stop("a failure that says nothing");
		return 0;
	}
	if (hec_chat_apply(t, messages, 4, &o, &text, &bytes) == HEC_OK) {
		if (bytes > (size_t)o.work || text[bytes] != '\0')
			stop("a text beyond its limits");
	} else if (text || !*hec_error_message()) {
		stop("a failure that says nothing");
	}
	free(text);
	hec_chat_template_destroy(t);
	return 0;
}
