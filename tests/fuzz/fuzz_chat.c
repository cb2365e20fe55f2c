/* fuzz_chat.c — any bytes as a chat template. What is read runs on a short conversation within little
 * work, or says why not; the variables `long` and `many` are long enough that a look at them which is not
 * charged, again and again, takes time that shows. */
#define _POSIX_C_SOURCE 200809L

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/chat.h>

#include "stop.h"
#include "support/clock.h"

#define LONG 65536
#define MANY 1000
#define WORK (1 << 18)
#define SECONDS 2 /* some hundred times as long as this work takes */

static char variables[LONG + 2 * MANY + 512];

static size_t make_variables(void)
{
	static size_t n;
	if (n > 0)
		return n;
	n = (size_t)sprintf(variables,
	                    "{\"bos_token\": \"<s>\", \"eos_token\": \"</s>\", \"tools\": "
	                    "[{\"function\": {\"name\": \"f\", \"x\": [1, 2.5, null]}}], "
	                    "\"many\": [1");
	for (int i = 1; i < MANY; i++)
		n += (size_t)sprintf(variables + n, ",1");
	n += (size_t)sprintf(variables + n, "], \"long\": \"");
	memset(variables + n, 'a', LONG);
	n += LONG;
	n += (size_t)sprintf(variables + n, "\"}");
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const hec_chat_message messages[] = {
		{"system", " be kind "}, {"user", "größer?"}, {"assistant", "a\nb"}, {"user", ""}};
	hec_chat_template *t = NULL;
	hec_chat_options o = HEC_CHAT_OPTIONS_INIT;
	char *text = NULL;
	size_t bytes = 0;
	o.variables_bytes = make_variables();
	o.variables = variables;
	o.generation_prompt = true;
	o.work = WORK;
	const double begun = seconds_of_processor();
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
	if (seconds_of_processor() - begun > SECONDS)
		stop("far more time than its work allows");
	free(text);
	hec_chat_template_destroy(t);
	return 0;
}
