/* fill.c — the reference in every slot but fill and cast, which casts.c has for all dtypes. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/ref/real.h"
#include "backend/cpu/ref/slots.h"

void REF_FILL(backend_ops *ops)
{
	*ops = (backend_ops){
		.gemm = REF(gemm),
		.gemm_pack = REF(gemm_pack),
		.gemm_pack_size = REF(gemm_pack_size),
		.attention_fwd = REF(attention_fwd),
		.attention_bwd = REF(attention_bwd),
		.attention_weights = REF(attention_weights),
		.attention_unfused = REF(attention_unfused),
		.norm_fwd = REF(norm_fwd),
		.norm_bwd = REF(norm_bwd),
		.activation_fwd = REF(activation_fwd),
		.activation_bwd = REF(activation_bwd),
		.cross_entropy_fwd = REF(cross_entropy_fwd),
		.cross_entropy_bwd = REF(cross_entropy_bwd),
		.logsumexp = REF(logsumexp),
		.embedding_gather = REF(embedding_gather),
		.embedding_scatter = REF(embedding_scatter),
		.rotary = REF(rotary),
		.dropout = REF(dropout),
		.add = REF(add),
		.random = REF(random),
		.sum_rows = REF(sum_rows),
		.sum_all = REF(sum_all),
		.sum_squares = REF(sum_squares),
		.pool = REF(pool),
		.normalize = REF(normalize),
		.adamw = REF(adamw),
		.conv1d_fwd = REF(conv1d_fwd),
		.conv1d_bwd = REF(conv1d_bwd),
		.cache_append = REF(cache_append),
		.cache_reorder = REF(cache_reorder),
	};
}
