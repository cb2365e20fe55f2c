/* dropout.h — dropout inside the layers. */
#ifndef NN_DROPOUT_H
#define NN_DROPOUT_H

#include <hecate/dropout.h>

/* A dropout at a site: none where key is NULL or p is 0. */
static inline hec_dropout dropout_at(double p, unsigned site, const hec_dropout_key *key)
{
	hec_dropout none = {0};
	return key && p > 0 ? (hec_dropout){.p = p, .site = (uint16_t)site, .key = *key} : none;
}

/* 0 ≤ p < 1. name says whose it is. */
hec_status dropout_check_p(const char *name, double p);

/* The same, and a row number for each of `rows` rows. */
hec_status dropout_check(const char *name, const hec_dropout *dropout, int64_t rows);

/* y = dropout(x) + residual, of any rank; residual may be NULL or y, y may be x. */
hec_status dropout_residual(hec_ctx *ctx, const hec_dropout *dropout, const hec_tensor *x,
                            const hec_tensor *residual, hec_tensor *y);

#endif
