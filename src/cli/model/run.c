/* run.c — context, folder, model, work; and back again. */
#include "cli/model/run.h"

static int load_and_work(const command *self, const model_args *m, const model_work *w, void *job,
                         int operands, char **argv)
{
	char path[MODEL_PATH_MOST];
	int code = model_folder(self, m->named, path);
	if (code != EXIT_DONE)
		return code;
	const hec_model_load_options options = model_load_options(&m->overrides);
	const hec_model *model = w->load(job, m->attend.ctx, path, &options);
	if (!model)
		return command_failed(self, "%s", hec_error_message());
	model_load_tell(self, &m->overrides, model);
	return w->work(job, operands, argv);
}

int model_run(const command *self, model_args *m, const model_work *w, void *job, int operands,
              char **argv)
{
	int code = input_check(self, &m->input, operands);
	if (code != PARSED)
		return code;
	if (!m->any_writer && !model_named(m->named))
		return command_usage(self, "give the model: -m DIR");
	hec_ctx_options wanted = HEC_CTX_OPTIONS_INIT;
	wanted.threads = (int)m->threads;
	if (hec_ctx_create(&wanted, &m->attend.ctx) != HEC_OK)
		return command_failed(self, "%s", hec_error_message());
	code = load_and_work(self, m, w, job, operands, argv);
	w->end(job);
	hec_ctx_destroy(m->attend.ctx);
	m->attend.ctx = NULL;
	return code;
}
