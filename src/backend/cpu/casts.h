/* casts.h — the cast that takes every pair of types: a level may hand a case to it. */
#ifndef BACKEND_CPU_CASTS_H
#define BACKEND_CPU_CASTS_H

#include "backend/backend.h"

hec_status cast_any(hec_ctx *ctx, const cast_args *a);

#endif
