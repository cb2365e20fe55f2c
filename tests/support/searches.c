/* searches.c — words and numbers. */
#include "support/searches.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void searches_path(const char *name, char path[512])
{
	const char *folder = getenv("HECATE_GOLDENS");
	snprintf(path, 512, "%s/%s", folder && *folder ? folder : TESTS_DIR "/golden", name);
}

FILE *searches_open(const kit *k, const char *name)
{
	char path[512];
	searches_path(name, path);
	FILE *f = fopen(path, "r");
	CHECK(k, f, "%s is missing", path);
	return f;
}

long long search_number(const kit *k, FILE *f)
{
	long long n;
	CHECK(k, fscanf(f, "%lld", &n) == 1, "%s ends early", "the file of searches");
	return n;
}

double search_real(const kit *k, FILE *f)
{
	double x;
	CHECK(k, fscanf(f, "%lf", &x) == 1, "%s ends early", "the file of searches");
	return x;
}

size_t search_list(const kit *k, FILE *f, int32_t *ids)
{
	size_t n = (size_t)search_number(k, f);
	for (size_t i = 0; i < n; i++)
		ids[i] = (int32_t)search_number(k, f);
	return n;
}

void search_read(const kit *k, FILE *f, search_case *c)
{
	c->o = (hec_decode_options)HEC_DECODE_OPTIONS_INIT;
	c->vocab = search_number(k, f);
	c->o.ends = c->ends;
	c->o.end_count = search_list(k, f, c->ends);
	c->o.beams = search_number(k, f);
	c->o.nbest = search_number(k, f);
	c->o.length_penalty = search_real(k, f);
	c->o.early = (hec_early_stopping)search_number(k, f);
	c->o.min_tokens = search_number(k, f);
	c->o.max_tokens = search_number(k, f);
	c->o.no_repeat_ngram = search_number(k, f);
	c->o.repetition_penalty = search_real(k, f);
	c->o.suppress = c->suppress;
	c->o.suppressed = search_list(k, f, c->suppress);
	c->o.forced_bos = (int32_t)search_number(k, f);
	c->o.forced_eos = (int32_t)search_number(k, f);
	c->o.renormalize = search_number(k, f);
	c->n = (int64_t)search_list(k, f, c->ids);
}

void search_check(const kit *k, FILE *f, int which, const search_case *c, double relative,
                  const hec_hypothesis *h)
{
	char word[16];
	CHECK(k, fscanf(f, "%15s", word) == 1 && strcmp(word, "result") == 0, "no result");
	double score = search_real(k, f);
	int32_t ids[64];
	int64_t n = (int64_t)search_list(k, f, ids);
	/* Where the search found fewer, Transformers returns what it had no score for. */
	if (score * pow((double)n, c->o.length_penalty) < -5e8)
		n = 0;
	CHECK(k, n == h->n, "search %d: %lld tokens, Transformers has %lld", which, (long long)h->n,
	      (long long)n);
	for (int64_t i = 0; i < n; i++)
		CHECK(k, ids[i] == h->ids[i], "search %d: token %lld is %d, Transformers has %d",
		      which, (long long)i, h->ids[i], ids[i]);
	CHECK(k, n == 0 || fabs(score - h->score) <= relative * (1 + fabs(score)),
	      "search %d: score %.9g, Transformers has %.9g", which, h->score, score);
}
