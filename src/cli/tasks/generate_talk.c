/* generate_talk.c — `hecate generate --chat` on a terminal: a conversation, and the words that steer it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/tasks/generate.h"
#include "cli/command/interrupt.h"
#include "cli/command/nearest.h"
#include "cli/io/lines.h"
#include "cli/io/plural.h"
#include "cli/io/put.h"
#include "cli/io/replace_file.h"
#include "cli/io/say.h"
#include "cli/io/valid_text.h"

#define PATH_MOST 4096

typedef struct conversation {
	hec_chat_message *messages;
	size_t n, capacity;
} conversation;

typedef struct talk {
	generating *g;
	conversation c;
} talk;

/* ---- messages ---- */

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

static void forget_from(conversation *c, size_t first)
{
	while (c->n > first)
		free((char *)(uintptr_t)c->messages[--c->n].content);
}

static bool has_system(const conversation *c)
{
	return c->n > 0 && strcmp(c->messages[0].role, "system") == 0;
}

/* ---- what a line with a slash asks for ---- */

static int no_memory(const talk *t)
{
	return command_failed(t->g->self, "no memory for the conversation");
}

static int do_reset(talk *t, const char *rest)
{
	if (*rest)
		say_line("/reset takes no word");
	else
		forget_from(&t->c, has_system(&t->c));
	return EXIT_DONE;
}

static int do_system(talk *t, const char *words)
{
	conversation *c = &t->c;
	if (has_system(c)) {
		free((char *)(uintptr_t)c->messages[0].content);
		memmove(c->messages, c->messages + 1, --c->n * sizeof *c->messages);
	}
	if (!*words)
		return EXIT_DONE;
	if (!say(c, "system", words, strlen(words)))
		return no_memory(t);
	const hec_chat_message system = c->messages[c->n - 1];
	memmove(c->messages + 1, c->messages, (c->n - 1) * sizeof *c->messages);
	c->messages[0] = system;
	return EXIT_DONE;
}

static bool write_messages(const void *user, FILE *out)
{
	const conversation *c = user;
	json_t *all = json_array();
	errno = ENOMEM; /* unless a write says otherwise */
	bool good = all != NULL;
	for (size_t i = 0; good && i < c->n; i++) {
		const hec_chat_message *m = &c->messages[i];
		size_t length;
		char *words = valid_text(m->content, strlen(m->content), &length);
		json_t *one =
			words ? json_pack("{s:s, s:s%}", "role", m->role, "content", words, length)
			      : NULL;
		free(words);
		good = json_array_append_new(all, one) == 0;
	}
	good = good && json_dumpf(all, out, JSON_INDENT(2)) == 0 && fputc('\n', out) != EOF;
	json_decref(all);
	return good;
}

/* Written beside and renamed: a folder or a device of that name is none of ours to replace. */
static int do_save(talk *t, const char *path)
{
	char folder[PATH_MOST];
	struct stat info;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const size_t before = slash ? (size_t)(slash - path) + 1 : 0;
	if (!*name || before >= sizeof folder) {
		say_line("/save FILE: give the file's name");
		return EXIT_DONE;
	}
	snprintf(folder, sizeof folder, "%.*s", (int)before, path);
	if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
		say_line("%s is not a file", path);
	else if (replace_file(*folder ? folder : ".", name, write_messages, &t->c))
		say_line("%s: %zu message%s", path, t->c.n, plural((int64_t)t->c.n));
	else
		say_line("%s could not be written: %s", path, strerror(errno));
	return EXIT_DONE;
}

static int do_help(talk *t, const char *rest);

static const struct order {
	const char *name, *word, *help;
	int (*run)(talk *t, const char *rest); /* EXIT_DONE, or the code to end with */
} orders[] = {
	{"help", "", "what there is", do_help},
	{"reset", "", "forget all but what the system says", do_reset},
	{"system", " TEXT", "what the system says first; without TEXT: nothing", do_system},
	{"save", " FILE", "write the conversation as JSON, as `hecate tokenize --chat` reads it",
         do_save},
};
#define ORDERS (sizeof orders / sizeof *orders)

static int do_help(talk *t, const char *rest)
{
	(void)t, (void)rest;
	for (size_t i = 0; i < ORDERS; i++)
		fprintf(stderr, "  /%s%-*s  %s\n", orders[i].name,
		        (int)(12 - strlen(orders[i].name)), orders[i].word, orders[i].help);
	fprintf(stderr, "  %-13s  %s\n  %-13s  %s\n  %-13s  %s\n", "//…",
	        "a line that begins with a slash, sent with one slash less", "Ctrl-C",
	        "stops an answer", "Ctrl-D", "ends");
	return EXIT_DONE;
}

static void say_unknown(const char *name)
{
	const char *names[ORDERS];
	for (size_t i = 0; i < ORDERS; i++)
		names[i] = orders[i].name;
	const char *near = nearest_name(name, names, ORDERS);
	say_line("there is no /%.40s%s%s; /help lists what there is, // sends a line with a slash",
	         name, near ? ": did you mean /" : "", near ? near : "");
}

/* The line behind its slash. */
static int obey(talk *t, const char *line, size_t bytes)
{
	char *words = strndup(line, bytes); /* no NUL byte is a part of it */
	if (!words)
		return no_memory(t);
	char *rest = words + strcspn(words, " \t");
	if (*rest)
		*rest++ = '\0';
	rest += strspn(rest, " \t");
	for (size_t n = strlen(rest); n > 0 && strchr(" \t", rest[n - 1]); n--)
		rest[n - 1] = '\0';
	int code = -1;
	for (size_t i = 0; code < 0 && i < ORDERS; i++)
		if (strcmp(words, orders[i].name) == 0)
			code = orders[i].run(t, rest);
	if (code < 0)
		say_unknown(words);
	free(words);
	return code < 0 ? EXIT_DONE : code;
}

/* ---- answers ---- */

/* What was printed of an answer: it stays a part of the conversation where a signal ends it. */
typedef struct answer {
	generating *g;
	char *text;
	size_t length, capacity;
	bool no_memory;
} answer;

static hec_status on_text(void *user, int64_t prompt, const char *text, size_t bytes)
{
	answer *a = user;
	(void)prompt;
	if (a->length + bytes + 1 > a->capacity) {
		size_t capacity = 2 * (a->length + bytes + 1);
		char *grown = realloc(a->text, capacity);
		if (!grown) {
			a->no_memory = true;
			return HEC_ERR_MEMORY;
		}
		a->text = grown;
		a->capacity = capacity;
	}
	for (size_t i = 0; i < bytes; i++) /* a message is a string: it holds no NUL bytes */
		if (text[i] != '\0')
			a->text[a->length++] = text[i];
	return generate_put_text(a->g, text, bytes);
}

/* One answer, to the conversation and to the terminal. Each has a number, as a line of input has. */
static int reply(talk *t)
{
	generating *g = t->g;
	hec_prompt prompt = {0};
	char *text = NULL;
	answer a = {.g = g};
	hec_status status = generate_chat_text(g, t->c.messages, t->c.n, &text, &prompt.bytes);
	prompt.text = text;
	hec_generations *out = NULL;
	g->options.text = on_text;
	g->options.user = &a;
	g->wrap = wrap_open(stdout); /* the window may have another size now */
	if (status == HEC_OK)
		status = generate_call(g, 1, &prompt, &out);
	wrap_end(&g->wrap);
	g->lines.done++;
	fputc('\n', stdout);
	int code = EXIT_DONE;
	if (ferror(stdout))
		code = EXIT_FAILED;
	else if (status != HEC_OK && !(status == HEC_ERR_CANCELLED && interrupt_asked())) {
		/* It may be too long now, or not what the template takes: the rest of the conversation stays. */
		(void)command_failed(g->self, "%s",
		                     a.no_memory ? "no memory for the answer"
		                                 : hec_error_message());
		forget_from(&t->c, t->c.n - 1);
	} else if (!say(&t->c, "assistant", a.text ? a.text : "", a.length))
		code = no_memory(t);
	hec_generations_free(out);
	free(a.text);
	hec_free(text);
	return code;
}

static int take_line(talk *t, const char *text, size_t bytes)
{
	const bool slash = bytes > 0 && text[0] == '/', escaped = bytes > 1 && text[1] == '/';
	if (slash && !escaped)
		return obey(t, text + 1, bytes - 1);
	if (!say(&t->c, "user", text + (slash && escaped), bytes - (slash && escaped)))
		return no_memory(t);
	interrupt_answer_begins();
	const int code = reply(t);
	interrupt_answer_ends();
	return code;
}

int generate_chat_terminal(generating *g)
{
	talk t = {.g = g};
	lines in = {.fd = STDIN_FILENO};
	int code = EXIT_DONE;
	if (g->system && !say(&t.c, "system", g->system, strlen(g->system)))
		code = no_memory(&t);
	fputs("Ctrl-D ends, Ctrl-C stops an answer, /help lists what else there is.\n", stderr);
	interrupt_catch();
	while (code == EXIT_DONE && !ferror(stdout) && !interrupt_asked()) {
		const char *text;
		size_t bytes;
		int64_t n;
		fputs("> ", stderr);
		lines_result r = lines_take(&in, 1, &text, &bytes, &n);
		if (r == LINES_FAILED)
			code = command_failed(g->self, "%s", in.error);
		if (r != LINES_SOME) {
			fputc('\n', stderr);
			break;
		}
		if (bytes > 0)
			code = take_line(&t, text, bytes);
	}
	lines_close(&in);
	forget_from(&t.c, 0);
	free(t.c.messages);
	/* After SIGINT or SIGTERM at the prompt, main() gives the status of a signal. */
	if (code == EXIT_DONE && interrupt_asked())
		code = EXIT_FAILED;
	return code;
}
