/* generate_chat.c — `hecate generate --chat`: prompts as a model's chat template writes them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tasks/generate.h"

hec_status generate_chat_text(const generating *g, const hec_chat_message *messages, size_t n,
                              char **text, size_t *bytes)
{
	hec_chat_options o = HEC_CHAT_OPTIONS_INIT;
	o.generation_prompt = true;
	return hec_chat_apply(g->chat, messages, n, &o, text, bytes);
}

static hec_status chat_prompt(const generating *g, const char *words, size_t length,
                              hec_prompt *out)
{
	char *content = malloc(length + 1), *text = NULL;
	if (!content)
		return HEC_ERR_MEMORY;
	memcpy(content, words, length);
	content[length] = '\0';
	hec_chat_message messages[2];
	size_t n = 0;
	if (g->system)
		messages[n++] = (hec_chat_message){"system", g->system};
	messages[n++] = (hec_chat_message){"user", content};
	hec_status status = generate_chat_text(g, messages, n, &text, &out->bytes);
	if (status == HEC_OK)
		out->text = text;
	free(content);
	return status;
}

static int answer_lines(generating *g, int64_t n, const char *const *texts, const size_t *bytes,
                        int64_t *failed)
{
	hec_prompt *prompts = calloc((size_t)n, sizeof *prompts);
	if (!prompts)
		return command_failed(g->self, "no memory for prompts");
	hec_status status = HEC_OK;
	int64_t made = 0;
	for (; status == HEC_OK && made < n; made++)
		status = chat_prompt(g, texts[made], bytes[made], &prompts[made]);
	int code = LINE_WORK_REFUSED;
	if (status == HEC_OK)
		code = generate_some(g, n, prompts, failed);
	else
		*failed = made - 1;
	for (int64_t i = 0; i < n; i++)
		hec_free((char *)(uintptr_t)prompts[i].text);
	free(prompts);
	return code;
}

/* How many of the texts come before the first with a NUL byte in it. */
static int64_t strings_before(int64_t n, const char *const *texts, const size_t *bytes)
{
	int64_t i = 0;
	while (i < n && !memchr(texts[i], '\0', bytes[i]))
		i++;
	return i;
}

int generate_chat_lines(void *user, int64_t n, const char *const *texts, const size_t *bytes,
                        int64_t *failed)
{
	generating *g = user;
	const int64_t good = strings_before(n, texts, bytes);
	if (good == n)
		return answer_lines(g, n, texts, bytes, failed);
	g->lines.reason = "it has a NUL byte, which no message of a chat can have";
	*failed = good;
	return LINE_WORK_REFUSED;
}
