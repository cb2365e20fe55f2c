/* progress.c — a bar on a terminal; lines now and then elsewhere. */
#include "cli/train/progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/command/interrupt.h"
#include "cli/io/say.h"
#include "cli/io/terminal.h"

#define BAR_EVERY 0.2 /* seconds */
#define BAR_WIDTH 20

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void train_progress_open(train_progress *p, bool quiet)
{
	terminal t = terminal_open(stderr, 1);
	*p = (train_progress){
		.quiet = quiet, .bar = !quiet && isatty(STDERR_FILENO), .columns = t.columns};
}

static void clear_bar(train_progress *p)
{
	if (p->open)
		fputs("\r\033[K", stderr);
	p->open = false;
}

void train_progress_phase(train_progress *p, const char *phase, int64_t done, int64_t total)
{
	const bool ended = total > 0 && done >= total;
	if (!p->bar || (!ended && now() - p->shown < BAR_EVERY))
		return;
	fprintf(stderr, "\r\033[K%s: %lld%s", phase, (long long)done, ended ? "\n" : "");
	p->shown = now();
	p->open = !ended;
}

void train_progress_say(train_progress *p, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	clear_bar(p);
	say_as(NULL, format, args);
	va_end(args);
}

const char *train_duration(double seconds, char text[DURATION_ROOM])
{
	long s = (long)seconds;
	if (!isfinite(seconds) || seconds < 0)
		snprintf(text, DURATION_ROOM, "?");
	else if (s >= 3600)
		snprintf(text, DURATION_ROOM, "%ld h %02ld min", s / 3600, s / 60 % 60);
	else if (s >= 60)
		snprintf(text, DURATION_ROOM, "%ld min %02ld s", s / 60, s % 60);
	else
		snprintf(text, DURATION_ROOM, "%ld s", s);
	return text;
}

static void note_loss(train_progress *p, double loss)
{
	if (!isfinite(loss))
		return;
	if (p->points == CURVE_POINTS)
		memmove(p->losses, p->losses + 1, --p->points * sizeof *p->losses);
	p->losses[p->points++] = loss;
}

/* Of the last reports as many as there is room for. */
static void draw_curve(const train_progress *p, int room)
{
	int first = p->points > room ? p->points - room : 0;
	static const char *const levels[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	double low = INFINITY, high = -INFINITY;
	for (int i = first; i < p->points; i++) {
		low = fmin(low, p->losses[i]);
		high = fmax(high, p->losses[i]);
	}
	for (int i = first; i < p->points; i++)
		fputs(levels[(int)(7.99 * (p->losses[i] - low) / fmax(high - low, 1e-9))], stderr);
}

/* Right after a report there is no loss since it yet: its own still holds. */
static double shown_loss(const train_progress *p, const hec_train_event *e)
{
	return isnan(e->loss) && p->points > 0 ? p->losses[p->points - 1] : e->loss;
}

/* What is not known yet is left out. */
static void bar_text(const train_progress *p, const hec_train_event *e, char *text, size_t room)
{
	char left[DURATION_ROOM];
	const double loss = shown_loss(p, e);
	if (e->kind == HEC_TRAIN_VALIDATE) {
		snprintf(text, room, "  step %lld  validating %lld of %lld  ", (long long)e->step,
		         (long long)e->done, (long long)e->total);
		return;
	}
	int n = snprintf(text, room, "  step %lld  ", (long long)e->step);
	if (!isnan(loss))
		n += snprintf(text + n, room - (size_t)n, "loss %.3f  ", loss);
	n += snprintf(text + n, room - (size_t)n, "%.0f tokens/s  ", e->tokens_per_s);
	if (!isnan(e->left_s))
		snprintf(text + n, room - (size_t)n, "%s left  ", train_duration(e->left_s, left));
}

/* On one line, or the next could not be drawn over it: first the curve has no room, then the bar. */
static void draw_bar(train_progress *p, const hec_train_event *e)
{
	char text[160];
	double share = e->steps > 0 ? (double)e->step / (double)e->steps : 0;
	int room = p->columns - 1, bar = BAR_WIDTH;
	bar_text(p, e, text, sizeof text);
	if (room < bar + (int)strlen(text))
		bar = room > (int)strlen(text) ? room - (int)strlen(text) : 0;
	fputs("\r\033[K", stderr);
	for (int i = 0; i < bar; i++)
		fputs(i < (int)(share * bar) ? "█" : "░", stderr);
	fprintf(stderr, "%.*s", room - bar, text);
	room -= bar + (int)strlen(text);
	if (room > 0)
		draw_curve(p, room);
	fflush(stderr);
	p->open = true;
}

static void say_report(train_progress *p, const hec_train_event *e)
{
	char left[DURATION_ROOM];
	note_loss(p, e->loss);
	if (!p->bar)
		train_progress_say(p, "step %lld  loss %.4f  lr %.2e  %.0f tokens/s  %s left",
		                   (long long)e->step, e->loss, e->lr, e->tokens_per_s,
		                   train_duration(e->left_s, left));
}

static void say_scores(train_progress *p, const hec_train_event *e)
{
	char line[256];
	int n = snprintf(line, sizeof line, "step %lld  valid", (long long)e->step);
	for (int i = 0; i < HEC_METRICS; i++) {
		double value = hec_train_scores_get(e->scores, (hec_metric)i);
		if (isfinite(value))
			n += snprintf(line + n, sizeof line - (size_t)n,
			              i == HEC_METRIC_LOSS ? " %s %.4f" : "  %s %.2f",
			              hec_metric_name((hec_metric)i), value);
	}
	if (e->message)
		n += snprintf(line + n, sizeof line - (size_t)n, "  (%s)", e->message);
	train_progress_say(p, "%s%s", line, e->better ? "  best so far, kept" : "");
}

hec_status train_progress_event(train_progress *p, const hec_train_event *e)
{
	bool loud = !p->quiet;
	/* A run that begins behind step 0 was resumed. */
	p->saved = p->saved || e->kind == HEC_TRAIN_SAVED ||
	           (e->kind == HEC_TRAIN_BEGIN && e->step > 0);
	switch (e->kind) {
	case HEC_TRAIN_REPORT:
		if (loud)
			say_report(p, e);
		break;
	case HEC_TRAIN_SCORES:
		if (loud)
			say_scores(p, e);
		break;
	case HEC_TRAIN_SAVE_FAILED:
		train_progress_say(p, "hecate train: warning: step %lld: %s; %s",
		                   (long long)e->step, e->message,
		                   p->saved ? "what was saved before is still there"
		                            : "nothing has been saved yet");
		break;
	case HEC_TRAIN_NOT_MEASURED:
		train_progress_say(p, "hecate train: warning: step %lld: not measured: %s",
		                   (long long)e->step, e->message);
		break;
	case HEC_TRAIN_END:
		clear_bar(p);
		break;
	default:
		if (p->bar && now() - p->shown >= BAR_EVERY) {
			draw_bar(p, e);
			p->shown = now();
		}
	}
	return interrupt_status();
}
