/* language.c — which tokens name languages, by how they are written. */
#include "text/vocab/language.h"

#include <stdio.h>
#include <string.h>

#include "base/quote.h"
#include "base/status.h"

static size_t count_letters(const char *text, char first, char last)
{
	size_t n = 0;
	while (text[n] >= first && text[n] <= last)
		n++;
	return n;
}

bool is_language(const char *token)
{
	if (strncmp(token, "__", 2) == 0) {
		size_t n = count_letters(token + 2, 'a', 'z');
		return n >= 2 && n <= 3 && strcmp(token + 2 + n, "__") == 0;
	}
	size_t n = count_letters(token, 'a', 'z');
	if (n < 2 || n > 3 || token[n] != '_')
		return false;
	const char *script = token + n + 1;
	size_t upper = count_letters(script, 'A', 'Z'),
	       lower = count_letters(script + upper, 'a', 'z');
	return script[upper + lower] == '\0' &&
	       ((upper == 2 && lower == 0) || (upper == 1 && lower == 3));
}

hec_status language_id(const hec_tokenizer *tokenizer, const char *name, int32_t *out)
{
	char marked[64], shown[QUOTE_TEXT];
	*out = hec_tokenizer_id(tokenizer, name);
	if (*out >= 0 && is_language(name))
		return HEC_OK;
	int n = snprintf(marked, sizeof marked, "__%s__", name);
	*out = n > 0 && n < (int)sizeof marked ? hec_tokenizer_id(tokenizer, marked) : -1;
	return *out >= 0 ? HEC_OK
	                 : fail(HEC_ERR_ARGUMENT, "the tokenizer has no language '%s'",
	                        quote(name, shown));
}

size_t language_at(const hec_tokenizer *tokenizer, const hec_encoding *e)
{
	for (size_t i = 0; i < e->n; i++) {
		const char *token =
			e->sequence[i] < 0 ? hec_tokenizer_token(tokenizer, e->ids[i]) : NULL;
		if (token && is_language(token))
			return i;
	}
	return e->n;
}

hec_status language_place(const hec_tokenizer *tokenizer, const hec_encoding *e, size_t *at)
{
	*at = language_at(tokenizer, e);
	return *at < e->n ? HEC_OK
	                  : fail(HEC_ERR_UNSUPPORTED,
	                         "this tokenizer marks no text with its language");
}

hec_status hec_encoding_set_language(const hec_tokenizer *tokenizer, const char *language,
                                     hec_encoding *encoding, size_t *place)
{
	if (!tokenizer || !language || !encoding)
		return fail(HEC_ERR_ARGUMENT, "hec_encoding_set_language: %s is NULL",
		            !tokenizer  ? "tokenizer"
		            : !language ? "language"
		                        : "encoding");
	int32_t id;
	size_t at;
	HEC_TRY(language_place(tokenizer, encoding, &at));
	HEC_TRY(language_id(tokenizer, language, &id));
	encoding->ids[at] = id;
	if (place)
		*place = at;
	return HEC_OK;
}
