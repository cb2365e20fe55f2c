/* param.h — walking the parameters of a layer. */
#ifndef NN_PARAM_H
#define NN_PARAM_H

#include <hecate/linear.h>
#include <hecate/norm.h>
#include <hecate/param.h>

/* Where a walk is: the names of the layers around, joined by dots, and what to call. */
typedef struct param_walk {
	const char *prefix; /* "" or "encoder.0" */
	hec_param_fn *fn;
	void *user;
} param_walk;

hec_status walk_linear(const param_walk *walk, const char *name, hec_linear *linear, int64_t out,
                       int64_t in, bool bias);
hec_status walk_norm(const param_walk *walk, const char *name, hec_norm *norm, int64_t C);

/* "prefix.name", or name alone without a prefix. */
#define PARAM_NAME 160
hec_status param_join(const char *prefix, const char *name, char out[PARAM_NAME]);

#endif
