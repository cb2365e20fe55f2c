/* plan.c — checking the options of hec_decode. */
#include "decode/plan.h"

#include <math.h>

#include "base/options.h"
#include "base/size.h"

static hec_status check_ids(const char *name, const int32_t *ids, size_t n, int64_t vocab)
{
	if (n && !ids)
		return fail(HEC_ERR_ARGUMENT, "decode: %s is NULL, with a count of %zu", name, n);
	for (size_t i = 0; i < n; i++) {
		if (ids[i] < 0 || ids[i] >= vocab)
			return fail(HEC_ERR_ARGUMENT,
			            "decode: %s[%zu] is %d; the vocabulary has %lld", name, i,
			            ids[i], (long long)vocab);
	}
	return HEC_OK;
}

static hec_status check_forced(const char *name, int32_t id, int64_t vocab)
{
	if (id < -1 || id >= vocab)
		return fail(HEC_ERR_ARGUMENT, "decode: %s is %d; the vocabulary has %lld", name, id,
		            (long long)vocab);
	return HEC_OK;
}

static hec_status check_range(const char *name, double x, double low, double high)
{
	if (!(x >= low && x <= high))
		return fail(HEC_ERR_ARGUMENT, "decode: %s is %g; it is from %g to %g", name, x, low,
		            high);
	return HEC_OK;
}

static hec_status check_count(const char *name, int64_t n)
{
	if (n < 0)
		return fail(HEC_ERR_ARGUMENT, "decode: %s is %lld; it is 0 or more", name,
		            (long long)n);
	return HEC_OK;
}

static hec_status check_beams(const hec_decode_options *o, const engine *e)
{
	if (o->beams != e->beams)
		return fail(HEC_ERR_ARGUMENT,
		            "decode: beams is %lld, and the session was made with %lld",
		            (long long)o->beams, (long long)e->beams);
	if (o->nbest < 1 || o->nbest > o->beams)
		return fail(HEC_ERR_ARGUMENT, "decode: nbest is %lld; it is from 1 to beams, %lld",
		            (long long)o->nbest, (long long)o->beams);
	if (o->sample && o->beams > 1)
		return fail(HEC_ERR_UNSUPPORTED, "decode: sampling has one beam, not %lld",
		            (long long)o->beams);
	if (o->token && o->beams > 1)
		return fail(HEC_ERR_UNSUPPORTED,
		            "decode: tokens can be streamed with one beam, not %lld",
		            (long long)o->beams);
	if (o->early < HEC_EARLY_FALSE || o->early > HEC_EARLY_NEVER)
		return fail(HEC_ERR_ARGUMENT, "decode: early is %d, which is no hec_early_stopping",
		            (int)o->early);
	return HEC_OK;
}

/* A count in which −1 stands for as many as there are. */
static hec_status check_limit(const char *name, int64_t n)
{
	if (n < 1 && n != -1)
		return fail(HEC_ERR_ARGUMENT,
		            "decode: %s is %lld; it is 1 or more, or -1 for no limit", name,
		            (long long)n);
	return HEC_OK;
}

static hec_status check_numbers(const hec_decode_options *o)
{
	HEC_TRY(check_count("min_tokens", o->min_tokens));
	HEC_TRY(check_limit("max_tokens", o->max_tokens));
	HEC_TRY(check_count("no_repeat_ngram", o->no_repeat_ngram));
	HEC_TRY(check_limit("top_k", o->top_k));
	/* Beyond these, length^penalty leaves what a float can hold. */
	HEC_TRY(check_range("length_penalty", o->length_penalty, -8, 8));
	HEC_TRY(check_range("repetition_penalty", o->repetition_penalty, 1e-3, 1e3));
	HEC_TRY(check_range("temperature", o->temperature, 1e-6, 1e6));
	HEC_TRY(check_range("top_p", o->top_p, 0, 1));
	HEC_TRY(check_range("min_p", o->min_p, 0, 1));
	return HEC_OK;
}

hec_status plan_make(plan *p, const engine *e, const hec_decode_options *options)
{
	*p = (plan){.o = HEC_DECODE_OPTIONS_INIT, .vocab = e->vocab, .eos_id = e->eos_id};
	hec_decode_options *o = &p->o;
	HEC_TRY(options_take("hec_decode_options", o, sizeof *o, options));
	HEC_TRY(check_beams(o, e));
	HEC_TRY(check_numbers(o));
	if (o->top_k == -1)
		o->top_k = p->vocab;
	HEC_TRY(check_ids("suppress", o->suppress, o->suppressed, p->vocab));
	HEC_TRY(check_ids("begin_suppress", o->begin_suppress, o->begin_suppressed, p->vocab));
	HEC_TRY(check_ids("ends", o->ends, o->end_count, p->vocab));
	HEC_TRY(check_forced("forced_bos", o->forced_bos, p->vocab));
	HEC_TRY(check_forced("forced_eos", o->forced_eos, p->vocab));
	p->ends = o->ends;
	p->end_count = (int64_t)o->end_count;
	if (!o->ends && p->eos_id >= 0) {
		p->ends = &p->eos_id;
		p->end_count = 1;
	}
	p->candidates = 1;
	if (o->beams > 1) {
		/* 2·beams even where nothing ends: as Transformers. */
		size_t n;
		if (!size_mul((size_t)max_i64(2, 1 + p->end_count), (size_t)o->beams, &n) ||
		    n > INT32_MAX || (int64_t)n > p->vocab * o->beams)
			return fail(HEC_ERR_ARGUMENT,
			            "decode: %lld beams and %lld ends ask for more continuations "
			            "than a vocabulary of %lld has",
			            (long long)o->beams, (long long)p->end_count,
			            (long long)p->vocab);
		p->candidates = (int64_t)n;
	}
	return HEC_OK;
}
