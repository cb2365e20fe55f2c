/* test_golden.c — against PyTorch: forward, every gradient, ten steps of AdamW of an encoder and a
 * decoder layer, and the smaller operations.
 *
 * The goldens are made in float64. In f64 the library must agree to 1e-12 of the largest element.
 * In f32, at the level of $HECATE_ISA, an element may be off by one unit roundoff of the largest
 * element for every rounding on the longest way to it: the lengths of all sums in a row. */
#include "support/golden.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define TIGHT 1e-12

/* The bound for a result behind this many roundings in a row. */
static double bound(hec_dtype dtype, double roundings)
{
	return dtype == HEC_F64 ? TIGHT : roundings * FLT_EPSILON;
}

static void compare(kit *k, const golden *g, const char *name, const hec_tensor *got,
                    double roundings)
{
	char what[700];
	snprintf(what, sizeof what, "%s in %s: %s", name, hec_dtype_name(got->dtype), g->path);
	check_close(k, what, got, golden_get(g, name), bound(got->dtype, roundings));
}

/* ---- layers ---- */

typedef struct stack {
	kit *k;
	const golden *g;
	hec_dtype dtype;
	bool decoder;
	hec_encoder_layer encoder, encoder_grad;
	hec_decoder_layer dec, dec_grad;
	hec_tensor x, memory, target, y, dy, dx, dmemory;
	hec_mask mask, cross_mask;

	const char *prefix; /* of the names in the file */
	double allowed;     /* for compare_param */
	int count;
	hec_tensor *params[64], *grads[64], m[64], v[64];
	int64_t step;
} stack;

static hec_status take_param(void *user, const hec_param *p)
{
	stack *s = user;
	char name[128];
	snprintf(name, sizeof name, "%s%s", s->prefix, p->name);
	*p->tensor = golden_as(s->g, name, s->dtype);
	CHECK(s->k, p->rank == p->tensor->rank && p->shape[0] == p->tensor->shape[0],
	      "%s has another shape in the file", name);
	s->params[s->count] = p->tensor;
	s->m[s->count] = make_zero(s->k, s->dtype, SHAPE(hec_tensor_count(p->tensor)));
	s->v[s->count] = make_zero(s->k, s->dtype, SHAPE(hec_tensor_count(p->tensor)));
	s->count++;
	return HEC_OK;
}

static hec_status take_grad(void *user, const hec_param *p)
{
	stack *s = user;
	*p->tensor = make_copy(s->k, s->params[s->count]);
	s->grads[s->count++] = p->tensor;
	return HEC_OK;
}

static hec_status compare_param(void *user, const hec_param *p)
{
	stack *s = user;
	char name[128];
	snprintf(name, sizeof name, "%s%s", s->prefix, p->name);
	const hec_tensor *want = golden_get(s->g, name);
	for (int64_t i = 0; i < hec_tensor_count(want); i++) {
		double error = fabs(get(p->tensor, i) - get(want, i));
		CHECK(s->k, error <= s->allowed,
		      "%s: %s in %s: element %lld is off by %g, allowed %g", s->g->path, name,
		      hec_dtype_name(s->dtype), (long long)i, error, s->allowed);
	}
	return HEC_OK;
}

static void walk(stack *s, bool grads, hec_param_fn *fn)
{
	if (s->decoder)
		OK(s->k, hec_decoder_layer_params(grads ? &s->dec_grad : &s->dec, "", fn, s));
	else
		OK(s->k,
		   hec_encoder_layer_params(grads ? &s->encoder_grad : &s->encoder, "", fn, s));
}

static void stack_open(stack *s, kit *k, const golden *g, hec_dtype dtype, bool decoder)
{
	*s = (stack){.k = k, .g = g, .dtype = dtype, .decoder = decoder, .prefix = "param."};
	int64_t C = (int64_t)golden_number(g, "config", 0),
		H = (int64_t)golden_number(g, "config", 1),
		F = (int64_t)golden_number(g, "config", 2);
	bool first = golden_number(g, "config", 3) != 0, gelu = golden_number(g, "config", 4) != 0,
	     fused = golden_number(g, "config", 5) != 0;
	hec_multi_head_config attention = {
		.size = sizeof attention, .width = C, .heads = H, .fused = fused};
	hec_feed_forward_config ff = {.size = sizeof ff,
	                              .width = C,
	                              .hidden = F,
	                              .act = gelu ? HEC_ACT_GELU : HEC_ACT_RELU};
	if (decoder) {
		hec_decoder_layer_config c = {.size = sizeof c,
		                              .self = attention,
		                              .cross = attention,
		                              .feed_forward = ff,
		                              .norm_first = first};
		OK(k, hec_decoder_layer_setup(&c, &s->dec));
		OK(k, hec_decoder_layer_setup(&c, &s->dec_grad));
	} else {
		hec_encoder_layer_config c = {.size = sizeof c,
		                              .attention = attention,
		                              .feed_forward = ff,
		                              .norm_first = first};
		OK(k, hec_encoder_layer_setup(&c, &s->encoder));
		OK(k, hec_encoder_layer_setup(&c, &s->encoder_grad));
	}
	walk(s, false, take_param);
	s->count = 0;
	walk(s, true, take_grad);
	s->x = golden_as(g, "x", dtype);
	s->target = golden_as(g, "target", dtype);
	s->y = make_copy(k, &s->x);
	s->dy = make_copy(k, &s->x);
	s->dx = make_copy(k, &s->x);
	s->mask = s->cross_mask = (hec_mask)HEC_MASK_INIT;
	const int32_t *lengths = golden_get(g, "lengths")->data;
	if (decoder) {
		s->memory = golden_as(g, "memory", dtype);
		s->dmemory = make_copy(k, &s->memory);
		s->mask.causal = true;
		s->cross_mask.key_length = lengths;
	} else {
		s->mask.key_length = lengths;
	}
}

/* Forward, loss ½·Σ(y − target)², backward. Returns the loss. */
static double learn(stack *s)
{
	kit *k = s->k;
	hec_arena_rewind(k->arena, 0);
	for (int i = 0; i < s->count; i++)
		fill_with(s->grads[i], 0);
	poison(&s->y);
	fill_with(&s->dx, 0);
	hec_encoder_layer_kept *kept = NULL;
	hec_decoder_layer_kept *dec_kept = NULL;
	if (s->decoder) {
		fill_with(&s->dmemory, 0);
		OK(k, hec_decoder_layer_fwd(k->ctx, k->arena, &s->dec, &s->x, &s->memory, &s->mask,
		                            &s->cross_mask, NULL, &s->y, NULL, NULL, &dec_kept));
	} else {
		OK(k, hec_encoder_layer_fwd(k->ctx, k->arena, &s->encoder, &s->x, &s->mask, NULL,
		                            &s->y, NULL, &kept));
	}
	OK(k, hec_tensor_add(k->ctx, 1, &s->y, -1, &s->target, &s->dy));
	double loss = 0;
	OK(k, hec_sum_squares(k->ctx, &s->dy, &loss));
	if (s->decoder)
		OK(k, hec_decoder_layer_bwd(k->ctx, k->arena, &s->dec, &s->dy, &s->x, &s->memory,
		                            &s->mask, &s->cross_mask, NULL, dec_kept, &s->dx,
		                            &s->dmemory, NULL, NULL, &s->dec_grad));
	else
		OK(k, hec_encoder_layer_bwd(k->ctx, k->arena, &s->encoder, &s->dy, &s->x, &s->mask,
		                            NULL, kept, &s->dx, NULL, &s->encoder_grad));
	return loss / 2;
}

static void update(stack *s, const hec_adamw *adamw)
{
	s->step++;
	for (int i = 0; i < s->count; i++) {
		hec_tensor w = *s->params[i], dw = *s->grads[i], *m = &s->m[i], *v = &s->v[i];
		int64_t n = hec_tensor_count(&w);
		OK(s->k, hec_tensor_reshape(&w, 1, &n, &w));
		OK(s->k, hec_tensor_reshape(&dw, 1, &n, &dw));
		OK(s->k, hec_adamw_step(s->k->ctx, adamw, s->step, &dw, m, v, &w));
	}
}

/* Σ|x|, and the largest |x|. */
static double magnitude(const hec_tensor *x, double *largest)
{
	double sum = 0;
	for (int64_t i = 0; i < hec_tensor_count(x); i++) {
		sum += fabs(get(x, i));
		*largest = fmax(*largest, fabs(get(x, i)));
	}
	return sum;
}

static void check_steps(kit *k, const golden *g, hec_dtype dtype, bool decoder)
{
	static stack s;
	stack_open(&s, k, g, dtype, decoder);
	const double C = golden_number(g, "config", 0), F = golden_number(g, "config", 2);
	const double T = (double)s.x.shape[1], S = decoder ? (double)s.memory.shape[1] : 0;
	const double rows = (double)(s.x.shape[0] * s.x.shape[1]);
	const double unit = dtype == HEC_F64 ? DBL_EPSILON : FLT_EPSILON;
	/* Forward: four products over C, attention over K ≤ C and the keys, twice where there is
	 * cross-attention, two over C and F, and norms over C. Backward goes the same way again. */
	const double forward = (decoder ? 2 : 1) * (5 * C + T + S + 16) + C + F + 6 * C + 32;
	const double backward = 2 * forward + rows;
	hec_adamw adamw = HEC_ADAMW_INIT;
	adamw.lr = golden_number(g, "adamw", 0);
	adamw.beta1 = golden_number(g, "adamw", 1);
	adamw.beta2 = golden_number(g, "adamw", 2);
	adamw.eps = golden_number(g, "adamw", 3);
	adamw.weight_decay = golden_number(g, "adamw", 4);
	double drift = 0; /* how far a parameter may be off by now */
	for (int step = 0; step < 10; step++) {
		double loss = learn(&s), want = golden_number(g, "losses", step);
		double steepest = 0, top = 0, unused = 0, slope = 0;
		for (int i = 0; i < s.count; i++)
			slope += magnitude(s.grads[i], &steepest);
		magnitude(&s.y, &top);
		/* The loss follows y, and y the parameters. */
		double allowed = magnitude(&s.dy, &unused) * top * forward * unit + slope * drift;
		CHECK(k, fabs(loss - want) <= allowed,
		      "%s: loss %.15g at step %d in %s, expected %.15g, allowed ±%g", g->path, loss,
		      step, hec_dtype_name(dtype), want, allowed);
		if (step == 0) {
			compare(k, g, "y", &s.y, forward);
			compare(k, g, "dx", &s.dx, backward);
			if (decoder)
				compare(k, g, "dmemory", &s.dmemory, backward);
			/* Some gradients are zero but for rounding (a bias of k moves all scores of
			 * a row alike): the largest gradient of the layer is the measure for all. */
			s.prefix = "grad.";
			s.allowed = steepest * bound(dtype, backward);
			walk(&s, true, compare_param);
		}
		update(&s, &adamw);
		/* A gradient that is off by δ moves a step by lr·δ/eps at most, and never more than
		 * twice the learning rate. */
		drift += adamw.lr * fmin(2, steepest * backward * unit / adamw.eps);
	}
	s.prefix = "after.";
	s.allowed = drift;
	walk(&s, false, compare_param);
}

static void check_layer(kit *k, const golden *g, bool decoder)
{
	check_steps(k, g, HEC_F64, decoder);
	check_steps(k, g, HEC_F32, decoder);
}

static void encoder_case(kit *k, const golden *g)
{
	check_layer(k, g, false);
}

static void decoder_case(kit *k, const golden *g)
{
	check_layer(k, g, true);
}

static void the_encoder_layer_is_that_of_pytorch(void **state)
{
	(void)state;
	golden_each("encoder", encoder_case);
}

static void the_decoder_layer_is_that_of_pytorch(void **state)
{
	(void)state;
	golden_each("decoder", decoder_case);
}

/* ---- attention ---- */

static void attention_case(kit *k, const golden *g)
{
	for (int d = 0; d < 2; d++) {
		hec_dtype dtype = d ? HEC_F32 : HEC_F64;
		hec_tensor q = golden_as(g, "q", dtype), key = golden_as(g, "k", dtype),
			   v = golden_as(g, "v", dtype), dout = golden_as(g, "dout", dtype);
		hec_mask mask = HEC_MASK_INIT;
		mask.causal = golden_number(g, "config", 0) != 0;
		mask.visible = golden_as(g, "visible", HEC_I8);
		mask.bias = golden_as(g, "bias", dtype);
		hec_tensor out = golden_as(g, "out", dtype), lse = golden_as(g, "lse", dtype),
			   weights = golden_as(g, "weights", dtype), dq = make_copy(k, &q),
			   dk = make_copy(k, &key), dv = make_copy(k, &v),
			   dbias = make_copy(k, &mask.bias);
		const hec_tensor *written[] = {&out, &lse, &weights, &dq, &dk, &dv};
		for (size_t i = 0; i < 6; i++)
			poison(written[i]);
		fill_with(&dbias, 0);
		OK(k, hec_attention_fwd(k->ctx, NULL, &q, &key, &v, &mask, &out, &lse));
		OK(k, hec_attention_weights(k->ctx, NULL, NULL, &q, &key, &mask, &lse, &weights));
		OK(k, hec_attention_bwd(k->ctx, NULL, &q, &key, &v, &mask, &out, &lse, &dout, &dq,
		                        &dk, &dv, &dbias));
		double K = (double)q.shape[3], D = (double)v.shape[3], S = (double)key.shape[1],
		       T = (double)(q.shape[0] * q.shape[1] * q.shape[2]);
		double forward = K + S + 32, backward = 2 * (K + S) + 2 * D + T + 64;
		compare(k, g, "out", &out, forward);
		compare(k, g, "lse", &lse, forward);
		compare(k, g, "weights", &weights, forward);
		compare(k, g, "dq", &dq, backward);
		compare(k, g, "dk", &dk, backward);
		compare(k, g, "dv", &dv, backward);
		compare(k, g, "dbias", &dbias, backward);
	}
}

static void attention_is_that_of_pytorch(void **state)
{
	(void)state;
	golden_each("attention", attention_case);
}

/* ---- the smaller ones ---- */

static void cross_entropy_case(kit *k, const golden *g)
{
	for (int d = 0; d < 2; d++) {
		hec_dtype dtype = d ? HEC_F32 : HEC_F64;
		hec_tensor logits = golden_as(g, "logits", dtype),
			   losses = golden_as(g, "losses", dtype), lse = make_copy(k, &losses),
			   dlogits = make_copy(k, &logits);
		poison(&losses);
		poison(&lse);
		poison(&dlogits);
		const hec_tensor *targets = golden_get(g, "targets");
		hec_cross_entropy ce = HEC_CROSS_ENTROPY_INIT;
		ce.smoothing = golden_number(g, "config", 0);
		double sum;
		int64_t count;
		OK(k, hec_cross_entropy_fwd(k->ctx, &ce, &logits, targets, &losses, &lse));
		OK(k, hec_cross_entropy_sum(k->ctx, &ce, &losses, targets, &sum, &count));
		OK(k, hec_cross_entropy_bwd(k->ctx, &ce, &logits, targets, &lse, 1 / (double)count,
		                            &dlogits));
		double V = (double)logits.shape[1];
		compare(k, g, "losses", &losses, V + 32);
		compare(k, g, "dlogits", &dlogits, V + 32);
	}
}

static void cross_entropy_is_that_of_pytorch(void **state)
{
	(void)state;
	golden_each("cross_entropy", cross_entropy_case);
}

static void norms_case(kit *k, const golden *g)
{
	for (int n = 0; n < 4; n++) {
		hec_dtype dtype = n & 1 ? HEC_F32 : HEC_F64;
		bool rms = n & 2;
		hec_tensor x = golden_as(g, "x", dtype), dy = golden_as(g, "dy", dtype),
			   y = make_copy(k, &x), dx = make_copy(k, &x);
		hec_norm norm = {rms ? HEC_NORM_RMS : HEC_NORM_LAYER, golden_number(g, "config", 0),
		                 golden_as(g, "gamma", dtype), HEC_TENSOR_NONE};
		hec_norm grad = {.gamma = make_copy(k, &norm.gamma)};
		if (!rms) {
			norm.beta = golden_as(g, "beta", dtype);
			grad.beta = make_copy(k, &norm.beta);
			fill_with(&grad.beta, 0);
		}
		poison(&y);
		fill_with(&dx, 0);
		fill_with(&grad.gamma, 0);
		hec_norm_kept kept = {make(k, dtype, SHAPE(x.shape[0])),
		                      make(k, dtype, SHAPE(x.shape[0]))};
		OK(k, hec_norm_fwd(k->ctx, &norm, &x, &y, &kept));
		OK(k, hec_norm_bwd(k->ctx, &norm, &dy, &x, &kept, &dx, &grad));
		double C = (double)x.shape[1], N = (double)x.shape[0];
		compare(k, g, rms ? "rms.y" : "layer.y", &y, 2 * C + 16);
		compare(k, g, rms ? "rms.dx" : "layer.dx", &dx, 4 * C + 32);
		compare(k, g, rms ? "rms.dgamma" : "layer.dgamma", &grad.gamma, 2 * C + N + 16);
		if (!rms)
			compare(k, g, "layer.dbeta", &grad.beta, N);
	}
}

static void norms_are_those_of_pytorch(void **state)
{
	(void)state;
	golden_each("norms", norms_case);
}

static void activations_case(kit *k, const golden *g)
{
	for (int a = HEC_ACT_RELU; a < HEC_ACTIVATIONS; a++) {
		if (a == HEC_ACT_TANH) /* PyTorch's is in the goldens of BERT's pooler */
			continue;
		for (int d = 0; d < 2; d++) {
			hec_dtype dtype = d ? HEC_F32 : HEC_F64;
			hec_tensor x = golden_as(g, "x", dtype), up = golden_as(g, "up", dtype),
				   dy = golden_as(g, "dy", dtype), y = make_copy(k, &x),
				   dx = make_copy(k, &x);
			const char *act = hec_activation_name((hec_activation)a);
			char name[64];
			OK(k, hec_activation_fwd(k->ctx, (hec_activation)a, &x, &y));
			OK(k, hec_activation_bwd(k->ctx, (hec_activation)a, &dy, &x, &dx));
			snprintf(name, sizeof name, "%s.y", act);
			compare(k, g, name, &y, 8);
			snprintf(name, sizeof name, "%s.dx", act);
			compare(k, g, name, &dx, 16);
			OK(k, hec_gated_fwd(k->ctx, (hec_activation)a, &x, &up, &y));
			snprintf(name, sizeof name, "%s.gated", act);
			compare(k, g, name, &y, 8);
			OK(k, hec_gated_bwd(k->ctx, (hec_activation)a, &dy, &x, &up, &dx, &y));
			snprintf(name, sizeof name, "%s.dgate", act);
			compare(k, g, name, &dx, 16);
			snprintf(name, sizeof name, "%s.dup", act);
			compare(k, g, name, &y, 16);
		}
	}
}

static void activations_are_those_of_pytorch(void **state)
{
	(void)state;
	golden_each("activations", activations_case);
}

static void embedding_case(kit *k, const golden *g)
{
	for (int d = 0; d < 2; d++) {
		hec_dtype dtype = d ? HEC_F32 : HEC_F64;
		hec_embedding e = {.table = golden_as(g, "table", dtype), .padding_id = 1};
		e.scale = sqrt((double)e.table.shape[1]);
		hec_tensor dy = golden_as(g, "dy", dtype), y = make_copy(k, &dy),
			   dtable = make_copy(k, &e.table);
		poison(&y);
		fill_with(&dtable, 0);
		const hec_tensor *ids = golden_get(g, "ids");
		OK(k, hec_embedding_fwd(k->ctx, &e, ids, &y));
		OK(k, hec_embedding_bwd(k->ctx, &e, &dy, ids, &dtable));
		compare(k, g, "y", &y, 2);
		compare(k, g, "dtable", &dtable, (double)ids->shape[0] + 2);
	}
}

static void embedding_is_that_of_pytorch(void **state)
{
	(void)state;
	golden_each("embedding", embedding_case);
}

static void positions_case(kit *k, const golden *g)
{
	for (int d = 0; d < 2; d++) {
		hec_dtype dtype = d ? HEC_F32 : HEC_F64;
		hec_tensor table = golden_as(g, "halves", dtype);
		OK(k, hec_position_sinusoidal(k->ctx, HEC_SINUSOID_INTERLEAVED, 10000, 0, &table));
		compare(k, g, "interleaved", &table, 2);
		OK(k, hec_position_sinusoidal(k->ctx, HEC_SINUSOID_HALVES, 10000, 0, &table));
		compare(k, g, "halves", &table, 2);
		hec_tensor x = golden_as(g, "x", dtype), y = make_copy(k, &x);
		hec_rotary r = {HEC_ROTARY_HALVES,
		                make(k, dtype, SHAPE(x.shape[1], x.shape[3] / 2)),
		                make(k, dtype, SHAPE(x.shape[1], x.shape[3] / 2))};
		OK(k, hec_rotary_fill(k->ctx, 10000, &r));
		poison(&y);
		OK(k, hec_rotary_apply(k->ctx, &r, false, &x, NULL, &y));
		compare(k, g, "rotary.halves", &y, 4);
		r.pairs = HEC_ROTARY_INTERLEAVED;
		poison(&y);
		OK(k, hec_rotary_apply(k->ctx, &r, false, &x, NULL, &y));
		compare(k, g, "rotary.interleaved", &y, 4);
	}
}

static void positions_are_those_of_the_papers(void **state)
{
	(void)state;
	golden_each("positions", positions_case);
}

static void buckets_case(kit *k, const golden *g)
{
	const hec_tensor *distance = golden_get(g, "distance"), *config = golden_get(g, "config");
	for (int64_t i = 0; i < config->shape[0] / 3; i++) {
		char name[32];
		snprintf(name, sizeof name, "bucket%d", (int)i);
		const hec_tensor *want = golden_get(g, name);
		hec_relative_bias bias = {
			.table = make_zero(k, HEC_F32, SHAPE((int64_t)get(config, 3 * i), 1)),
			.bidirectional = get(config, 3 * i + 2) != 0,
			.max_distance = (int64_t)get(config, 3 * i + 1)};
		for (int64_t n = 0; n < distance->shape[0]; n++) {
			int64_t at = (int64_t)get(distance, n),
				got = hec_relative_bucket(&bias, at);
			CHECK(k, got == (int64_t)get(want, n),
			      "%s: distance %lld is in bucket %lld, expected %lld", name,
			      (long long)at, (long long)got, (long long)get(want, n));
		}
	}
}

static void relative_buckets_are_those_of_t5(void **state)
{
	(void)state;
	golden_each("t5_buckets", buckets_case);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_encoder_layer_is_that_of_pytorch),
		cmocka_unit_test(the_decoder_layer_is_that_of_pytorch),
		cmocka_unit_test(attention_is_that_of_pytorch),
		cmocka_unit_test(cross_entropy_is_that_of_pytorch),
		cmocka_unit_test(norms_are_those_of_pytorch),
		cmocka_unit_test(activations_are_those_of_pytorch),
		cmocka_unit_test(embedding_is_that_of_pytorch),
		cmocka_unit_test(positions_are_those_of_the_papers),
		cmocka_unit_test(relative_buckets_are_those_of_t5),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
