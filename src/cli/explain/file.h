/* file.h — a reader's own matrices, from JSON:
 *   {"X": [T×d_model], "memory": [S×d_model], "heads": h, "d_k": …, "d_v": …,
 *    "W_Q": [d_model × h·d_k], "W_K": [d_model × h·d_k], "W_V": [d_model × h·d_v],
 *    "W_O": [h·d_v × d_out], "b_Q", "b_K", "b_V", "b_O", "mask": [T×S of 0/1, 1 = visible],
 *    "causal": bool, "tokens": […]}
 * X, heads, W_Q, W_K and W_V must be there. */
#ifndef CLI_EXPLAIN_FILE_H
#define CLI_EXPLAIN_FILE_H

#include "cli/explain/problem.h"

#define EXPLAIN_FILE_MOST (16u << 20) /* bytes */

/* Whatever the text is: either a problem that passed explain_problem_check, or false, *out all zeros
 * and one line in error that is safe to print on a terminal. */
bool explain_file_parse(const char *text, size_t length, explain_problem *out, char *error,
                        size_t error_size);

/* The same from a file, "-" for standard input. */
bool explain_file_read(const char *path, explain_problem *out, char *error, size_t error_size);

#endif
