/* fuzz_config.c — any bytes as a config.json: either a reason, or a configuration that some family can
 * write so that it reads back as the same. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/family.h"
#include "stop.h"

static void write_again(const hec_model_config *c)
{
	const family *f;
	json_t *root;
	json_scope s;
	hec_model_config back;
	bool same;
	if (family_for(c, NULL, &f) != HEC_OK || family_write(f, c, &root) != HEC_OK)
		stop("no family can say it");
	if (json_scope_root("written", root, &s) != HEC_OK || family_read(f, &s, &back) != HEC_OK)
		stop("what was written is not read");
	if (f->look) { /* tensors say it, not config.json */
		back.output_bias = back.output_bias || c->output_bias;
		back.pooler = back.pooler || c->pooler;
		back.separate_output = back.separate_output || c->separate_output;
	}
	if (hec_model_config_resolve(&back) != HEC_OK || family_same(c, &back, &same) != HEC_OK)
		stop("what was written does not resolve");
	if (!same)
		stop("written again it means something else");
	json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *root;
	json_scope s;
	const family *f;
	hec_model_config c;
	if (json_text_read("fuzz", (const char *)data, size, JSON_CONFIG_MOST, &root) != HEC_OK)
		return 0;
	if (json_scope_root("fuzz", root, &s) == HEC_OK && family_find(&s, &f) == HEC_OK &&
	    family_read(f, &s, &c) == HEC_OK && hec_model_config_resolve(&c) == HEC_OK)
		write_again(&c);
	else if (!*hec_error_message())
		stop("refused without a reason");
	json_decref(root);
	return 0;
}
