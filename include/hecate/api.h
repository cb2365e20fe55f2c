/* api.h — what every public header needs: symbol visibility, C++ linkage, checked results. */
#ifndef HECATE_API_H
#define HECATE_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define HEC_BEGIN extern "C" {
#define HEC_END }
#else
#define HEC_BEGIN
#define HEC_END
#endif

#if defined(__GNUC__)
#define HEC_API __attribute__((visibility("default")))
#define HEC_MUST_USE __attribute__((warn_unused_result))
#else
#define HEC_API
#define HEC_MUST_USE
#endif

#endif
