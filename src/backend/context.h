/* context.h — the inside of hec_ctx: a backend, a pool, and scratch memory for running operations. */
#ifndef BACKEND_CONTEXT_H
#define BACKEND_CONTEXT_H

#include "backend/backend.h"
#include "base/pool.h"

/* Scratch of at least bytes_per_worker for each thread of the pool, 64-byte aligned; worker w's
 * part is at base + w * bytes_per_worker rounded up to 4096 (*stride). It grows when first needed
 * and is kept, so that a repeated call allocates nothing. Contents are undefined, and valid until
 * the next call of ctx_scratch: it belongs to one operation at a time. */
hec_status ctx_scratch(hec_ctx *ctx, size_t bytes_per_worker, char **base, size_t *stride);

/* Memory beside the scratch, for an operation that copies operands and then runs another one. The
 * same rules: it grows when first needed, is kept, and belongs to one operation at a time. */
hec_status ctx_copies(hec_ctx *ctx, size_t bytes, char **base);

pool *ctx_pool(hec_ctx *ctx);

#endif
