/* decode.c — ids back to text: the tokens as the vocabulary writes them, through the decoders. */
#include <stdlib.h>
#include <string.h>

#include "text/tokenizer/tokenizer.h"

/* Decoders may make a text longer by so much: a file of many that each double it would fill any
 * memory. */
#define DECODE_TIMES 64
#define DECODE_PLUS ((size_t)128 << 10)

static hec_status put_tokens(const hec_tokenizer *t, const int32_t *ids, size_t n,
                             bool skip_special, strings *s)
{
	for (size_t i = 0; i < n; i++) {
		const char *token = hec_tokenizer_token(t, ids[i]);
		if (!token)
			return fail(HEC_ERR_ARGUMENT,
			            "id %d (%zu of %zu) is not in the vocabulary of %lld", ids[i],
			            i, n, (long long)hec_tokenizer_vocab(t));
		if (skip_special && hec_tokenizer_is_special(t, ids[i]))
			continue;
		HEC_TRY(string_put(&s->now, token, strlen(token)));
		HEC_TRY(string_close(&s->now));
	}
	return HEC_OK;
}

/* Without a decoder tokens are words: spaces go between them. */
static hec_status join_with_spaces(strings *s)
{
	strings_start(s);
	for (size_t i = 0; i < s->now.n; i++) {
		size_t begin = string_begin(&s->now, i);
		if (i > 0)
			HEC_TRY(string_put(&s->next, " ", 1));
		HEC_TRY(string_put(&s->next, s->now.bytes + begin, s->now.end[i] - begin));
	}
	strings_swap(s);
	return HEC_OK;
}

static hec_status decode_tokens(const hec_tokenizer *t, const int32_t *ids, size_t n,
                                bool skip_special, strings *s)
{
	s->now.most = s->next.most = SIZE_MAX / 2; /* of what is asked for */
	/* Both lists have memory from the start: no decoder meets a text that is nowhere. */
	HEC_TRY(string_put(&s->now, "", 0));
	HEC_TRY(string_put(&s->next, "", 0));
	HEC_TRY(put_tokens(t, ids, n, skip_special, s));
	s->now.most = s->next.most = DECODE_TIMES * s->now.used + DECODE_PLUS;
	if (t->decoders.n == 0 && !t->decoders.given)
		HEC_TRY(join_with_spaces(s));
	HEC_TRY(stages_decode(&t->decoders, s));
	return string_put(&s->now, "", 0); /* room for the zero byte */
}

hec_status hec_tokenizer_decode(const hec_tokenizer *t, const int32_t *ids, size_t n,
                                bool skip_special, char **text, size_t *bytes)
{
	if (!t || !text || (!ids && n))
		return fail(HEC_ERR_ARGUMENT, "hec_tokenizer_decode: %s is NULL",
		            !t     ? "tokenizer"
		            : text ? "ids"
		                   : "text");
	strings s = {0};
	hec_status status = decode_tokens(t, ids, n, skip_special, &s);
	if (status == HEC_OK) {
		*text = s.now.bytes;
		(*text)[s.now.used] = '\0';
		if (bytes)
			*bytes = s.now.used;
		s.now.bytes = NULL;
	}
	strings_free(&s);
	return status;
}
