/* fine_tune.c — a pretrained model learns to tell the labels of texts apart: what
 * `hecate train --from MODEL --task classify --train LABELS.tsv --out DIR` does.
 *   fine_tune MODEL LABELS.tsv DIR     lines of label, tab, text; DIR gets the model that has learned */
#include <hecate/hecate.h>
#include <stdio.h>

static hec_status tell(void *user, const hec_train_event *event)
{
	(void)user;
	if (event->kind == HEC_TRAIN_REPORT)
		printf("step %lld of %lld: loss %.3f\n", (long long)event->step,
		       (long long)event->steps, event->loss);
	return HEC_OK; /* HEC_ERR_CANCELLED would save, and stop */
}

int main(int argc, char **argv)
{
	hec_training_options options = HEC_TRAINING_OPTIONS_INIT;
	hec_training *training;
	hec_train_result *result = NULL;
	if (argc != 4) {
		fprintf(stderr, "usage: fine_tune MODEL LABELS.tsv DIR\n");
		return 2;
	}
	options.task = HEC_TASK_CLASSIFY;
	options.from = argv[1];
	options.train = (const char *const *)&argv[2];
	options.train_count = 1;
	options.dir = argv[3];
	options.report_every = 10;
	options.event = tell;
	hec_status status = hec_training_create(&options, &training);
	if (status == HEC_OK)
		status = hec_training_learn(training, &result);
	if (status == HEC_OK)
		printf("%s: %lld steps, %.0f s\n", argv[3], (long long)result->step,
		       result->seconds);
	else
		fprintf(stderr, "%s\n", hec_error_message());
	hec_train_result_free(result);
	hec_training_destroy(training);
	return status == HEC_OK ? 0 : 1;
}
