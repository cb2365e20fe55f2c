/* decoded.c — the list of results that hec_decode makes. */
#include "decode/decoded.h"

#include "base/memory.h"
#include "base/size.h"
#include "base/status.h"

hec_status decoded_create(int64_t sources, int64_t nbest, hec_decoded **out)
{
	size_t results;
	hec_decoded *d = mem_zeros(1, sizeof *d);
	if (d && size_mul((size_t)sources, (size_t)nbest, &results))
		d->hypotheses = mem_zeros(results > 0 ? results : 1, sizeof *d->hypotheses);
	if (!d || !d->hypotheses) {
		mem_free(d);
		return fail(HEC_ERR_MEMORY, "decode: no memory for %lld results of %lld sources",
		            (long long)nbest, (long long)sources);
	}
	d->sources = sources;
	d->nbest = nbest;
	*out = d;
	return HEC_OK;
}

const hec_hypothesis *hec_decoded_at(const hec_decoded *decoded, int64_t source, int64_t rank)
{
	if (!decoded || source < 0 || source >= decoded->sources || rank < 0 ||
	    rank >= decoded->nbest)
		return NULL;
	return &decoded->hypotheses[source * decoded->nbest + rank];
}

void hec_decoded_free(hec_decoded *decoded)
{
	if (!decoded)
		return;
	for (int64_t i = 0; i < decoded->sources * decoded->nbest; i++)
		mem_free(mem_own(decoded->hypotheses[i].ids));
	mem_free(decoded->hypotheses);
	mem_free(decoded);
}
