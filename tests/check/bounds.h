/* bounds.h — how far a kernel may be from the truth: the table of docs/numerics.md, as the check
 * tool reads it. `check --numerics docs/numerics.md` fails where the two differ.
 *
 * For each element of an output
 *     |kernel − definition| ≤ factor · plain · scale + ulps · eps · scale
 * with definition = the f64 reference on the same inputs, plain = the largest |f32 reference −
 * definition| / scale of that output, eps = 2⁻²³ and scale = the sum of the magnitudes of the terms
 * of that element, as the last column says. Where scale is 0 the result must be equal.
 * The plain algorithm itself is held to (PLAIN + its number of terms) · eps · scale. */
#ifndef CHECK_BOUNDS_H
#define CHECK_BOUNDS_H

#define BOUND_PLAIN 16

/* What is lost below the smallest normal number is lost by everyone: no value that went through
 * exp counts for less than this in a scale. FLT_MIN / FLT_EPSILON. */
#define BOUND_TINY 0x1p-103

/* clang-format off */
/* One row per slot: name, factor, ulps, the scale in words. 0, 0: the same bits. */
#define BOUNDS(ROW) \
	ROW(gemm, 2, 4, "act: \\|y\\| + L·(Σ\\|a\\|\\|b\\| + \\|bias\\|), + \\|residual\\| or + \\|c\\|; L = the steepest slope of act") \
	ROW(gemm_pack, 2, 4, "checked through gemm") \
	ROW(attention_fwd, 2, 4, "out: Σ w\\|v\\|·(1 + c); lse: 1 + \\|lse\\| + Σ p·m; m = scale·Σ\\|q\\|\\|k\\| + \\|bias\\|, c = m + \\|lse\\| + Σ p·m") \
	ROW(attention_bwd, 2, 4, "dv: Σ w\\|dout\\|·(1 + c); dq, dk: scale·Σ e\\|k\\|, scale·Σ e\\|q\\|; dbias: Σ e; e = p·(Σ\\|dout\\|\\|v\\| + Σ\\|dout\\|\\|out\\|)·(1 + c), c = m + \\|lse\\|; of its own forward pass: c and \\|out\\| as attention_fwd") \
	ROW(attention_weights, 2, 4, "p·(1 + c), as attention_fwd: from the maximum and sum of the row itself") \
	ROW(attention_unfused, 2, 4, "scores: Σ\\|q\\|\\|k\\|; scaled, masked: m; weights and out: as attention_fwd") \
	ROW(norm_fwd, 2, 4, "the sums of mean, variance, rstd and y, each with the error of the one before it") \
	ROW(norm_bwd, 2, 4, "dx: \\|dx\\| + rstd·(\\|g\\| + mean\\|g\\| + h·mean\\|g·x̂\\| + \\|x̂\\|·mean(\\|g\\|h)), g = dy·gamma, h = rstd·(\\|x\\| + \\|mean\\|); dgamma: Σ\\|dy\\|h; dbeta: Σ\\|dy\\|") \
	ROW(activation_fwd, 2, 4, "gelu: \\|x\\|; silu: \\|y\\|·(1 + \\|x\\|); tanh: \\|y\\|; relu: equal; gated: · \\|up\\|") \
	ROW(activation_bwd, 2, 4, "gelu: \\|dy\\|·(1 + \\|x\\|·φ(x)·(1 + x²)); silu: \\|dy\\|·σ·(1 + \\|x\\|)²; tanh: \\|dy\\|; relu: equal; gated: · \\|up\\|, dup: as forward · \\|dy\\|") \
	ROW(cross_entropy_fwd, 2, 4, "lse: 1 + \\|lse\\| + Σ p·(\\|x\\| + max\\|x\\|); loss: that + (1 − ε)\\|x_t\\| + ε/V·Σ\\|x\\|") \
	ROW(cross_entropy_bwd, 2, 4, "\\|scale\\|·(p·(1 + \\|x\\| + \\|lse\\|) + its share of the target)") \
	ROW(logsumexp, 2, 4, "as cross_entropy_fwd's lse") \
	ROW(embedding_gather, 2, 4, "\\|y\\|; equal where scale is 1") \
	ROW(embedding_scatter, 2, 4, "\\|table\\| + Σ\\|scale·dy\\|; other rows equal") \
	ROW(rotary, 2, 4, "\\|x cos\\| + \\|x' sin\\|; equal beyond the turned part") \
	ROW(dropout, 2, 4, "\\|x\\|/(1 − p) + \\|residual\\|; equal where dropped") \
	ROW(add, 2, 4, "\\|alpha·a\\| + \\|beta·b\\|") \
	ROW(fill, 0, 0, "the same bits") \
	ROW(cast, 0, 0, "the same bits, for every pair of types") \
	ROW(random, 2, 4, "uniform: \\|a\\| + \\|b\\|; normal: \\|mean\\| + 2π·stddev·(1 + \\|z\\|)") \
	ROW(sum_rows, 2, 4, "\\|sum\\| + Σ\\|x\\|") \
	ROW(sum_all, 2, 4, "\\|sum\\| + Σ\\|x\\|") \
	ROW(sum_squares, 2, 4, "\\|sum\\| + Σ x²") \
	ROW(pool, 2, 4, "scale·Σ w\\|x\\|; of a maximum: equal") \
	ROW(normalize, 2, 4, "\\|y\\|") \
	ROW(adamw, 2, 4, "m: \\|β₁m\\| + \\|(1 − β₁)g\\|; v: v; w: \\|w\\|·(1 + lr·decay) + 2·lr·(scale of m)/(√v + eps)") \
	ROW(conv1d_fwd, 2, 4, "Σ\\|x\\|\\|w\\| + \\|bias\\|") \
	ROW(conv1d_bwd, 2, 4, "dx: \\|dx\\| + Σ\\|dy\\|\\|w\\|; dw: \\|dw\\| + Σ\\|dy\\|\\|x\\|; dbias: \\|dbias\\| + Σ\\|dy\\|") \
	ROW(cache_append, 0, 0, "the same bits") \
	ROW(cache_reorder, 0, 0, "the same bits")

/* Vector functions: name, where, units in the last place of the result (Φ: eps, it ends at 1). */
#define FUNCTION_BOUNDS(ROW) \
	ROW(exp, 1, "activations, losses") \
	ROW(exp2, 1, "2^x") \
	ROW(log, 1, "logsumexp") \
	ROW(tanh, 2, "poolers") \
	ROW(exp2_weights, 3, "2^x of attention's scores, whose own error is larger") \
	ROW(normal_cdf, 1, "Φ(x) = (1 + erf(x/√2))/2 of GELU")
/* clang-format on */

#endif
