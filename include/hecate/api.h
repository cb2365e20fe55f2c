/* api.h — what every public header needs: symbol visibility, C++ linkage, checked results.
 *
 * Each public struct is of one of these kinds; the word stands behind its opening brace. A program that was built
 * with the headers of 0.2.0 runs with every later library 0.2.x because each kind keeps its rule:
 *   options  The program makes it with HEC_…_INIT and passes a pointer. `size` comes first, new fields come last.
 *            The library reads `size` bytes and takes the default for the rest. NULL: all defaults.
 *   result   The library makes it. The program reads fields through a pointer; it never makes, copies or
 *            counts through one. New fields come last.
 *   value    Anyone makes it, also in arrays and inside other structs. It never changes.
 *   layer    The same for the parts of models, which lie inside one another. They never change in 0.2.
 * Everything else is an opaque handle. Lists of results are handles, too: they are read through a call (…_at),
 * which returns NULL past the end.
 *
 * NULL: every _destroy and _free takes it, and an _at call of a list of results. Elsewhere it is allowed only where a
 * comment says so: calls that return a status refuse it, others want what they were promised.
 *
 * Names: _create makes a handle from parts, _load from files, _parse from memory; _destroy ends a handle, _free a
 * result or a list. Callbacks are called hec_…_fn and take `void *user` first. Those that can stop
 * a call return hec_status: HEC_OK goes on, HEC_ERR_CANCELLED stops, and the call fails with that status. */
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
