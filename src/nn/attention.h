/* attention.h — attention inside another layer. */
#ifndef NN_ATTENTION_H
#define NN_ATTENTION_H

#include <hecate/attention.h>

/* What hec_attention_fwd and hec_attention_bwd will say of a mask and its gradient (or NULL), asked
 * before anything is written. */
hec_status attention_check_mask(const hec_mask *mask, const hec_tensor *dbias, hec_dtype dtype,
                                int64_t B, int64_t H, int64_t T, int64_t S);
/* Whether this type has the scale: as a finite number, and not as 0. */
bool attention_has_scale(hec_dtype dtype, double scale);

#endif
