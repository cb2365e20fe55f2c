/* writer.h — ids in, ids out: what translation and generation have in common. Keeps the session of the last
 * call for the next one, where it is large enough. */
#ifndef TASK_WRITER_H
#define TASK_WRITER_H

#include <hecate/decode.h>

#define WRITER_BATCH_MOST 4096

typedef struct writer {
	hec_ctx *ctx;
	const hec_model *model;
	hec_session *session;
	hec_session_options made; /* how it was made */
} writer;

/* Tokens of a sequence: of what a model with an encoder reads, and of what a decoder holds (what it begins
 * with and writes), INT64_MAX: any number. */
int64_t writer_max_source(const hec_model *model);
int64_t writer_max_target(const hec_model *model);

/* Whether the options of a call are in range. task: for messages. */
hec_status writer_check_batch(const char *task, int64_t batch);
hec_status writer_check_decode(const char *task, const hec_decode_options *o);

/* max_tokens and max_tokens_each of the options are not looked at: source i writes at most most[i] tokens, which
 * the model must have room for. Each gives the same bits alone or among others. */
hec_status writer_run(writer *w, int64_t n, const int32_t *const *ids, const int64_t *lengths,
                      const int64_t *most, int64_t batch, const hec_decode_options *options,
                      hec_decoded **out);
void writer_close(writer *w); /* takes a zeroed one */

#endif
