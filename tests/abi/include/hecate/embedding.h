/* embedding.h — a row of a table for each token, times an optional scale (√C in the 2017 paper). */
#ifndef HECATE_EMBEDDING_H
#define HECATE_EMBEDDING_H

#include <hecate/linear.h>

HEC_BEGIN

typedef struct hec_embedding { /* layer */
	hec_tensor table;      /* [V, C] */
	double scale;          /* 0 or 1: none */
	int32_t padding_id;    /* its row takes no gradient; set it to −1 where every row does */
	hec_packed
		packed; /* read where table has no data: w_fwd of a linear whose w is the table */
} hec_embedding;

/* An id outside 0 … V−1 is an error that names its position. */
HEC_API HEC_MUST_USE hec_status hec_embedding_fwd(hec_ctx *ctx, const hec_embedding *embedding,
                                                  const hec_tensor *ids, /* [N] i32 */
                                                  hec_tensor *y /* [N, C] written */);
HEC_API HEC_MUST_USE hec_status hec_embedding_bwd(hec_ctx *ctx, const hec_embedding *embedding,
                                                  const hec_tensor *dy,  /* [N, C] */
                                                  const hec_tensor *ids, /* [N] i32 */
                                                  hec_tensor *dtable /* [V, C] added to */);

HEC_END

#endif
