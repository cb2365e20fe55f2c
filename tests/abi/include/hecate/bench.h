/* bench.h — this machine's own ceilings: how fast it multiplies and reads when nothing is in the
 * way. What an operation reaches is then a fraction of what was possible in the same run.
 * Experimental: define HECATE_EXPERIMENTAL before including; it may change in any version. */
#ifndef HECATE_BENCH_H
#define HECATE_BENCH_H

#include <hecate/context.h>

#ifdef HECATE_EXPERIMENTAL

HEC_BEGIN

/* f32 multiply-adds from registers alone, on all threads of ctx, with the instructions of level isa
 * (as hec_isa_name counts them): the best rate seen in about that many seconds, an addition and a
 * multiplication each counted. HEC_ERR_UNSUPPORTED where this CPU lacks the level. */
HEC_API HEC_MUST_USE hec_status hec_bench_fma(hec_ctx *ctx, int isa, double seconds,
                                              double *gflops);

/* Reads memory of this many bytes over and over on all threads of ctx, with the best instructions
 * of its level: the best rate seen in 10⁹ bytes a second. Give more bytes than the caches hold to
 * measure memory. The memory is allocated and given back. */
HEC_API HEC_MUST_USE hec_status hec_bench_read(hec_ctx *ctx, size_t bytes, double seconds,
                                               double *gbs);

HEC_END

#endif

#endif
