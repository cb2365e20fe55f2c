/* context.c — making a context: options, then the environment, then what the machine has. */
#include "backend/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "backend/dry.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/size.h"
#include "base/threads.h"
#include "tensor/check.h"

#define SCRATCH_PAGE 4096

struct hec_ctx {
	backend table;
	pool *pool;
	char *scratch;
	size_t scratch_stride; /* bytes per worker */
	char *copies;
	size_t copies_bytes;
};

static hec_status choose_level(const char *asked, const cpu_level **level)
{
	const char *name = asked;
	if (!name) {
		name = getenv("HECATE_ISA");
		if (name && !*name)
			name = NULL;
	}
	*level = NULL;
	char known[128] = "";
	for (const cpu_level *l = cpu_levels; l->name; l++) {
		bool available = l->available();
		if (available && (!name || strcmp(name, l->name) == 0))
			*level = l;
		size_t n = strlen(known);
		snprintf(known + n, sizeof known - n, "%s%s%s", n ? ", " : "", l->name,
		         available ? "" : " (not on this CPU)");
	}
	if (!*level)
		return fail(HEC_ERR_UNSUPPORTED,
		            "instruction level \"%s\" cannot be used here; there are: %s", name,
		            known);
	return HEC_OK;
}

hec_status hec_ctx_create(const hec_ctx_options *options, hec_ctx **out)
{
	hec_ctx_options o = HEC_CTX_OPTIONS_INIT;
	HEC_TRY(CHECK_GIVEN("context", out));
	*out = NULL;
	HEC_TRY(options_take("hec_ctx_options", &o, sizeof o, options));
	int threads;
	const cpu_level *level;
	HEC_TRY(threads_choose(o.threads, &threads));
	HEC_TRY(choose_level(o.isa, &level));
	hec_ctx *ctx = mem_zeros(1, sizeof *ctx);
	if (!ctx)
		return fail(HEC_ERR_MEMORY, "no memory for a context");
	hec_status status = pool_create(threads, o.bind, &ctx->pool);
	if (status != HEC_OK) {
		hec_ctx_destroy(ctx);
		return status;
	}
	for (const cpu_level *l = cpu_levels; l <= level; l++) {
		if (l->available())
			l->fill(&ctx->table);
	}
	ctx->table.name = level->name;
	log_line(HEC_LOG_INFO, "context: level %s, %d thread%s", level->name, threads,
	         threads == 1 ? "" : "s");
	*out = ctx;
	return HEC_OK;
}

hec_status hec_ctx_create_dry(const hec_ctx_options *options, hec_ctx **out)
{
	hec_ctx *ctx;
	HEC_TRY(CHECK_GIVEN("context", out));
	*out = NULL;
	HEC_TRY(hec_ctx_create(options, &ctx));
	dry_fill(&ctx->table);
	*out = ctx;
	return HEC_OK;
}

void hec_ctx_destroy(hec_ctx *ctx)
{
	if (!ctx)
		return;
	pool_destroy(ctx->pool);
	mem_free(ctx->scratch);
	mem_free(ctx->copies);
	mem_free(ctx);
}

int hec_ctx_threads(const hec_ctx *ctx)
{
	return pool_threads(ctx->pool);
}

const char *hec_ctx_isa(const hec_ctx *ctx)
{
	return ctx->table.name;
}

const char *hec_isa_name(int i)
{
	for (const cpu_level *l = cpu_levels; l->name; l++) {
		if (i-- == 0)
			return l->name;
	}
	return NULL;
}

bool hec_isa_available(int i)
{
	for (const cpu_level *l = cpu_levels; l->name; l++) {
		if (i-- == 0)
			return l->available();
	}
	return false;
}

const backend *ctx_backend(const hec_ctx *ctx)
{
	return &ctx->table;
}

pool *ctx_pool(hec_ctx *ctx)
{
	return ctx->pool;
}

static hec_status grow_scratch(char **memory, size_t bytes)
{
	char *larger = mem_aligned(SCRATCH_PAGE, bytes);
	if (!larger)
		return fail(HEC_ERR_MEMORY, "no memory for %zu bytes of scratch", bytes);
	mem_free(*memory);
	*memory = larger;
	return HEC_OK;
}

hec_status ctx_scratch(hec_ctx *ctx, size_t bytes_per_worker, char **base, size_t *stride)
{
	if (bytes_per_worker > ctx->scratch_stride) {
		size_t rounded, total;
		if (!size_align(bytes_per_worker, SCRATCH_PAGE, &rounded) ||
		    !size_mul(rounded, (size_t)pool_threads(ctx->pool), &total))
			return fail(HEC_ERR_MEMORY, "scratch of %zu bytes a thread is too much",
			            bytes_per_worker);
		HEC_TRY(grow_scratch(&ctx->scratch, total));
		ctx->scratch_stride = rounded;
	}
	*base = ctx->scratch;
	*stride = ctx->scratch_stride;
	return HEC_OK;
}

hec_status ctx_copies(hec_ctx *ctx, size_t bytes, char **base)
{
	if (bytes > ctx->copies_bytes) {
		size_t rounded;
		if (!size_align(bytes, SCRATCH_PAGE, &rounded))
			return fail(HEC_ERR_MEMORY, "copies of %zu bytes are too much", bytes);
		HEC_TRY(grow_scratch(&ctx->copies, rounded));
		ctx->copies_bytes = rounded;
	}
	*base = ctx->copies;
	return HEC_OK;
}

hec_status backend_missing(const hec_ctx *ctx, hec_dtype dtype, const char *op)
{
	return fail(HEC_ERR_UNSUPPORTED, "%s: there is no %s version at level %s", op,
	            hec_dtype_name(dtype), hec_ctx_isa(ctx));
}
