/* generate_chat.c — `hecate generate --chat`: prompts as a model's chat template writes them, and a
 * conversation on a terminal. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/tasks/generate.h"
#include "cli/command/interrupt.h"
#include "cli/io/lines.h"
#include "cli/io/put.h"

hec_status generate_chat_text(const generating *g, const hec_chat_message *messages, size_t n,
                              char **text, size_t *bytes)
{
	hec_chat_options o = HEC_CHAT_OPTIONS_INIT;
	o.generation_prompt = true;
	return hec_chat_apply(g->chat, messages, n, &o, text, bytes);
}

/* ---- each line a conversation ---- */

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
		status = chat_prompt(g, texts[made], bytes ? bytes[made] : strlen(texts[made]),
		                     &prompts[made]);
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
	while (i < n && (!bytes || !memchr(texts[i], '\0', bytes[i])))
		i++;
	return i;
}

int generate_chat_lines(void *user, int64_t n, const char *const *texts, const size_t *bytes,
                        int64_t *failed)
{
	generating *g = user;
	const int64_t good = strings_before(n, texts, bytes);
	int code = good > 0 ? answer_lines(g, good, texts, bytes, failed) : EXIT_DONE;
	if (code == EXIT_DONE && good < n)
		code = command_failed(g->self,
		                      "line %" PRId64 ": it has a NUL byte, which no message of a "
		                      "chat can have",
		                      g->lines.done + good + 1);
	return code;
}

/* ---- a conversation ---- */

typedef struct conversation {
	hec_chat_message *messages;
	size_t n, capacity;
} conversation;

/* Takes a copy of the words. */
static bool say(conversation *c, const char *role, const char *words, size_t length)
{
	if (c->n == c->capacity) {
		size_t capacity = c->capacity ? 2 * c->capacity : 16;
		hec_chat_message *messages = realloc(c->messages, capacity * sizeof *messages);
		if (!messages)
			return false;
		c->messages = messages;
		c->capacity = capacity;
	}
	char *copy = malloc(length + 1);
	if (!copy)
		return false;
	memcpy(copy, words, length);
	copy[length] = '\0';
	c->messages[c->n++] = (hec_chat_message){role, copy};
	return true;
}

static void conversation_free(conversation *c)
{
	for (size_t i = 0; i < c->n; i++)
		free((char *)(uintptr_t)c->messages[i].content);
	free(c->messages);
}

/* What was printed of an answer: it stays a part of the conversation where a signal ends it. */
typedef struct answer {
	char *text;
	size_t length, capacity;
} answer;

static hec_status on_text(void *user, int64_t prompt, const char *text, size_t bytes)
{
	answer *a = user;
	(void)prompt;
	if (a->length + bytes + 1 > a->capacity) {
		size_t capacity = 2 * (a->length + bytes + 1);
		char *grown = realloc(a->text, capacity);
		if (!grown)
			return HEC_ERR_MEMORY;
		a->text = grown;
		a->capacity = capacity;
	}
	for (size_t i = 0; i < bytes; i++) /* a message is a string: it holds no NUL bytes */
		if (text[i] != '\0')
			a->text[a->length++] = text[i];
	return generate_put_text(text, bytes);
}

/* One answer, to the conversation and to the terminal. Each has a number, as a line of input has. */
static int reply(generating *g, conversation *c)
{
	hec_prompt prompt = {0};
	char *text = NULL;
	answer a = {0};
	hec_status status = generate_chat_text(g, c->messages, c->n, &text, &prompt.bytes);
	prompt.text = text;
	hec_generations *out = NULL;
	g->options.text = on_text;
	g->options.user = &a;
	if (status == HEC_OK)
		status = generate_call(g, 1, &prompt, &out);
	g->lines.done++;
	fputc('\n', stdout);
	int code = EXIT_DONE;
	if (ferror(stdout))
		code = EXIT_FAILED;
	else if (status != HEC_OK && !(status == HEC_ERR_CANCELLED && interrupt_asked()))
		code = command_failed(g->self, "%s", hec_error_message());
	else if (!say(c, "assistant", a.text ? a.text : "", a.length))
		code = command_failed(g->self, "no memory for the conversation");
	hec_generations_free(out);
	free(a.text);
	hec_free(text);
	return code;
}

int generate_chat_terminal(generating *g)
{
	conversation c = {0};
	lines in = {.fd = STDIN_FILENO};
	int code = EXIT_DONE;
	if (g->system && !say(&c, "system", g->system, strlen(g->system)))
		code = command_failed(g->self, "no memory for the conversation");
	fputs("An empty line or Ctrl-D ends, Ctrl-C stops an answer.\n", stderr);
	interrupt_catch();
	while (code == EXIT_DONE && !ferror(stdout) && !interrupt_asked()) {
		const char *text;
		size_t bytes;
		int64_t n;
		fputs("> ", stderr);
		lines_result r = lines_take(&in, 1, &text, &bytes, &n);
		if (r == LINES_FAILED)
			code = command_failed(g->self, "%s", in.error);
		if (r != LINES_SOME || bytes == 0)
			break;
		interrupt_answer_begins();
		if (!say(&c, "user", text, bytes))
			code = command_failed(g->self, "no memory for the conversation");
		else
			code = reply(g, &c);
		interrupt_answer_ends();
	}
	lines_close(&in);
	conversation_free(&c);
	return code;
}
