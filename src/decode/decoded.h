/* decoded.h — the inside of hec_decoded. */
#ifndef DECODE_DECODED_H
#define DECODE_DECODED_H

#include <hecate/decode.h>

struct hec_decoded {
	hec_hypothesis *hypotheses; /* [sources · nbest], best first within each source */
	int64_t sources, nbest;
};

/* Room for the results of each source, all empty. */
hec_status decoded_create(int64_t sources, int64_t nbest, hec_decoded **out);

#endif
