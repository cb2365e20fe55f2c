/* chat.h — the text of a conversation as a model was trained to see it, by its chat template.
 *
 * Templates are written in Jinja, of which the part is known here that chat templates use: for, if, set,
 * the usual operators, filters and tests. Anything else is HEC_ERR_UNSUPPORTED with its name and line: a tag,
 * filter, test or sign when the template is read, a method, an argument or what Python does with a kind of
 * value where it is met. A template is foreign: it runs under limits of work, depth and output. A unit of work
 * is a byte that is made, or about ten nanoseconds: bytes that are looked at and items that are touched count,
 * too. A template is immutable once made and may be shared by threads. */
#ifndef HECATE_CHAT_H
#define HECATE_CHAT_H

#include <hecate/memory.h>

HEC_BEGIN

typedef struct hec_chat_template hec_chat_template;

/* Reads chat_template.jinja of a folder, or else 'chat_template' of its tokenizer_config.json (of several
 * the one that is called "default"); or a file of either kind. The special tokens that
 * tokenizer_config.json names are variables of the template. */
HEC_API HEC_MUST_USE hec_status hec_chat_template_load(const char *path, hec_chat_template **out);
/* The same from memory; no special tokens. */
HEC_API HEC_MUST_USE hec_status hec_chat_template_parse(const char *text, size_t bytes,
                                                        hec_chat_template **out);
HEC_API void hec_chat_template_destroy(hec_chat_template *chat); /* takes NULL */

typedef struct hec_chat_message { /* value */
	const char *role;         /* "system", "user", "assistant", … */
	const char *content;      /* UTF-8 */
} hec_chat_message;

typedef struct hec_chat_options { /* options */
	size_t size;              /* sizeof(hec_chat_options) */
	bool generation_prompt;   /* end with what comes before an answer */
	const char *variables;  /* an object of JSON whose members are variables of the template, */
	size_t variables_bytes; /* before all others: tools, documents, other messages; NULL: none */
	int64_t work;           /* units it may take; 64 Mi end within a second */
} hec_chat_options;

/* clang-format off */
#define HEC_CHAT_OPTIONS_INIT {.size = sizeof(hec_chat_options), .work = 64 << 20}
/* clang-format on */

/* The text, for the caller to hec_free(); a zero byte that is not counted in *bytes follows it. What the
 * template itself raises is HEC_ERR_ARGUMENT with its words; so are messages that it cannot take (a member
 * that is not there, a text where a number has to be) and more work than it may take. What is not known here
 * is HEC_ERR_UNSUPPORTED, as when it is read. */
HEC_API HEC_MUST_USE hec_status hec_chat_apply(const hec_chat_template *chat,
                                               const hec_chat_message *messages, size_t n,
                                               const hec_chat_options *options, /* or NULL */
                                               char **text, size_t *bytes /* or NULL */);

HEC_END

#endif
