/* schedule.c — rises in a straight line while warming up, then falls as its kind says. */
#include "train/schedule.h"

#include <math.h>

/* How far from the end of the warm-up to the step after the last: 0 … 1. That one is never taken, so that
 * the last step still learns where lr_end is 0. */
static double way(const hec_trainer_options *o, double s, double w)
{
	double all = (double)o->steps + 1 - w;
	if (all <= 0)
		return 1;
	return fmin(fmax((s - w) / all, 0), 1);
}

double schedule_rate(const hec_trainer_options *o, int64_t width, int64_t step)
{
	const double pi = 3.14159265358979323846;
	double s = (double)step, w = (double)(o->warmup > 0 ? o->warmup : 1);
	if (o->schedule == HEC_SCHEDULE_NOAM)
		return o->lr * pow((double)width, -0.5) * fmin(pow(s, -0.5), s * pow(w, -1.5));
	if (step < o->warmup)
		return o->lr * s / w;
	switch (o->schedule) {
	case HEC_SCHEDULE_INVERSE_SQRT:
		return o->lr * sqrt(w / s);
	case HEC_SCHEDULE_COSINE:
		return o->lr_end + (o->lr - o->lr_end) * 0.5 * (1 + cos(pi * way(o, s, w)));
	case HEC_SCHEDULE_LINEAR:
		return o->lr + (o->lr_end - o->lr) * way(o, s, w);
	default:
		return o->lr;
	}
}
