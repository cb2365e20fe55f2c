/* progress.h — what a person sees while a model learns. */
#ifndef CLI_TRAIN_PROGRESS_H
#define CLI_TRAIN_PROGRESS_H

#include <hecate/train.h>

#define CURVE_POINTS 24

typedef struct train_progress {
	bool quiet, bar; /* bar: standard error is a terminal */
	int columns;
	double shown;                /* when the bar was last drawn */
	double losses[CURVE_POINTS]; /* of the last reports */
	int points;
	bool saved; /* there is a checkpoint */
	bool open;  /* a bar stands there without the end of its line */
} train_progress;

void train_progress_open(train_progress *p, bool quiet);
/* HEC_ERR_CANCELLED once a signal asks to stop. */
hec_status train_progress_event(train_progress *p, const hec_train_event *event);
/* How far a long pass is, before the first step: the bar says so. */
void train_progress_phase(train_progress *p, const char *phase, int64_t done, int64_t total);
/* A line of its own on standard error, in place of the bar. */
void train_progress_say(train_progress *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define DURATION_ROOM 32
/* "3 h 12 min", "45 s"; "?" of what is not known. */
const char *train_duration(double seconds, char text[DURATION_ROOM]);

#endif
