/* test_model_saved.c — as which family a configuration is saved, and weights saved in 16 bits. */
#include "support/models.h"
#include "support/scratch.h"

/* The encoder–decoder that `hecate train` makes. */
static hec_model_config translator(void)
{
	hec_model_config c = {.size = sizeof c, .vocab = 23, .width = 12, .head = HEC_HEAD_LM};
	hec_stack_config s = {.layers = 2,
	                      .norm_eps = 1e-5,
	                      .embedding_scale = 3.4641016151377545870548926830117,
	                      .dropout = 0.1};
	s.attention.heads = 3;
	s.attention.fused = true;
	s.attention.dropout_weights = 0.05;
	s.feed_forward.hidden = 20;
	s.feed_forward.act = HEC_ACT_RELU;
	s.position.kind = HEC_POSITION_SINUSOIDAL;
	s.position.sinusoid = HEC_SINUSOID_HALVES;
	s.position.max = 40;
	c.encoder = c.decoder = s;
	c.encoder.layers = 1;
	c.pad_id = c.start_id = 22;
	c.bos_id = -1;
	c.eos_id = 0;
	return c;
}

static void saved_as(kit *k, const hec_model_config *c, const char *type, const char *architecture)
{
	hec_model *m = model_open(k, c, HEC_F32);
	char path[SCRATCH_PATH];
	OK(k, hec_model_save(k->ctx, m, HEC_F32, scratch_fresh(path)));
	check_saved_type(k, path, type, architecture);
	hec_model_destroy(m);
}

static void a_configuration_is_saved_as_the_family_that_can_say_it(void **state)
{
	(void)state;
	kit k = kit_open(7120);
	hec_model_config c = translator(), other;
	saved_as(&k, &c, "marian", "MarianMTModel");
#define AS(type, change)                                                                           \
	do {                                                                                       \
		other = c;                                                                         \
		change;                                                                            \
		saved_as(&k, &other, type, NULL);                                                  \
	} while (0)
	AS("marian",
	   other.encoder.feed_forward.act = other.decoder.feed_forward.act = HEC_ACT_SILU);
	AS("marian", other.output_bias = true);
	AS("marian", other.encoder.attention.fused = false);
	AS("marian", other.encoder.embedding_scale = other.decoder.embedding_scale = 1);
	AS("hecate", other.encoder.norm_first = true);
	AS("hecate", other.decoder.feed_forward.act = HEC_ACT_GELU);
	AS("hecate", other.encoder.position.sinusoid = HEC_SINUSOID_INTERLEAVED);
	AS("hecate", other.decoder.position.max = 41);
	AS("hecate", other.encoder.attention.d_v = 5);
	AS("hecate", other.encoder.attention.no_bias = true);
	AS("hecate", other.encoder.norm_eps = 1e-6);
	AS("hecate", other.encoder.embedding_scale = 2);
	AS("marian", other.start_id = 0);
	AS("marian", other.pad_id = 3);
	AS("hecate", other.encoder.final_norm = true);
	AS("hecate", other.decoder.window = 4);
	AS("hecate", other.decoder.attention.scale = 1);
	c = translator();
	c.encoder.layers = 0;
	c.decoder.norm_first = c.decoder.final_norm = true;
	c.decoder.embedding_scale = 1;
	c.decoder.position.kind = HEC_POSITION_LEARNED;
	saved_as(&k, &c, "gpt2", "GPT2LMHeadModel");
	AS("gpt2", other.decoder.attention.fused = false);
	AS("hecate", other.decoder.final_norm = false);
	AS("hecate", other.decoder.feed_forward.no_bias = true);
	AS("hecate", other.decoder.norm = HEC_NORM_RMS);
	AS("hecate", other.decoder.position.offset = 2);
	c.decoder.position.kind = HEC_POSITION_ROTARY;
	c.decoder.position.scaling = (hec_rotary_scaling){.kind = HEC_ROTARY_LONG,
	                                                  .factor = 1,
	                                                  .original = c.decoder.position.max,
	                                                  .longest = c.decoder.position.max,
	                                                  .attention_factor = 1,
	                                                  .factors = 2};
	for (int i = 0; i < 2; i++)
		c.decoder.position.scaling.short_factor[i] =
			c.decoder.position.scaling.long_factor[i] = 1 + i;
	saved_as(&k, &c, "hecate", NULL);
	c = translator();
	c.decoder.layers = 0;
	c.head = HEC_HEAD_MASKED;
	c.head_act = c.encoder.feed_forward.act;
	c.output_bias = true;
	c.types = 2;
	c.encoder.embedding_norm = true;
	c.encoder.embedding_scale = 1;
	c.encoder.position.kind = HEC_POSITION_LEARNED;
	saved_as(&k, &c, "bert", "BertForMaskedLM");
	AS("hecate", other.types = 0);
	AS("hecate", other.head_act = HEC_ACT_GELU);
	AS("hecate", other.output_bias = false);
	kit_close(&k);
}

static void half_as_many_bits_are_rounded_once(void **state)
{
	(void)state;
	kit k = kit_open(7130);
	hec_model_config c = translator();
	hec_model *m = model_open(&k, &c, HEC_F32);
	hec_tensor block = hec_model_block(m);
	static const hec_dtype types[] = {HEC_BF16, HEC_F16};
	for (int i = 0; i < 2; i++) {
		hec_model *back = NULL;
		char path[SCRATCH_PATH];
		OK(&k, hec_model_save(k.ctx, m, types[i], scratch_fresh(path)));
		OK(&k, hec_model_load(k.ctx, path, NULL, &back));
		OK(&k, hec_model_unpack(k.ctx, back));
		/* Fused or not, every parameter came through 16 bits and back. */
		for (size_t p = 0; p < hec_model_param_count(back); p++) {
			hec_tensor got = hec_model_tensor(back, p);
			hec_tensor half = make(&k, types[i], SHAPE(hec_tensor_count(&got)));
			hec_tensor again = make(&k, HEC_F32, SHAPE(hec_tensor_count(&got)));
			got = hec_tensor_1d(got.data, HEC_F32, again.shape[0]);
			OK(&k, hec_tensor_copy(k.ctx, &got, &half));
			OK(&k, hec_tensor_copy(k.ctx, &half, &again));
			check_same_bits(&k, hec_model_param_at(back, p)->name, &got, &again);
		}
		hec_model_destroy(back);
	}
	((float *)block.data)[5] = 70000;
	char path[SCRATCH_PATH];
	FAILS(&k, HEC_ERR_ARGUMENT, hec_model_save(k.ctx, m, HEC_F16, scratch_fresh(path)),
	      "model.shared.weight", "f16 cannot hold");
	OK(&k, hec_model_save(k.ctx, m, HEC_BF16, path));
	FAILS(&k, HEC_ERR_ARGUMENT, hec_model_save(k.ctx, m, HEC_I8, path), "not in i8");
	FAILS(&k, HEC_ERR_IO, hec_model_save(k.ctx, m, HEC_F32, "/nowhere/at/all"), "/nowhere");
	hec_model_destroy(m);
	kit_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_configuration_is_saved_as_the_family_that_can_say_it),
		cmocka_unit_test(half_as_many_bits_are_rounded_once),
	};
	return cmocka_run_group_tests(tests, scratch_group_make, scratch_group_remove);
}
