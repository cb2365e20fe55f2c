/* curve.c — loss over steps as a picture: learning as a line, validation as dots on a line. */
#include "train/log.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "format/json.h"

#define WIDTH 720
#define HEIGHT 360
#define LEFT 56
#define RIGHT 16
#define TOP 16
#define BOTTOM 40
#define MOST_POINTS 1000 /* of a line */

typedef struct point {
	double step, loss, valid; /* NaN: not there */
} point;

typedef struct points {
	point *at;
	size_t n, room;
	double steps, low, high;
} points;

typedef struct drawing {
	char *text;
	size_t n, room;
	bool failed;
} drawing;

static void draw(drawing *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void draw(drawing *d, const char *format, ...)
{
	va_list args;
	char piece[512];
	va_start(args, format);
	int n = vsnprintf(piece, sizeof piece, format, args);
	va_end(args);
	if (d->n + (size_t)n + 1 > d->room) {
		size_t room = 2 * d->room + (size_t)n + 4096;
		char *more = mem_resize(d->text, room);
		if (!more) {
			d->failed = true;
			return;
		}
		d->text = more;
		d->room = room;
	}
	memcpy(d->text + d->n, piece, (size_t)n);
	d->n += (size_t)n;
}

static double member(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	return json_is_number(value) ? json_number_value(value) : NAN;
}

static void include(points *p, double value)
{
	if (!isfinite(value))
		return;
	p->low = fmin(p->low, value);
	p->high = fmax(p->high, value);
}

static hec_status add_point(points *p, const json_t *object)
{
	if (p->n == p->room) {
		size_t room = 2 * p->room + 64;
		point *more = mem_resize(p->at, room * sizeof *more);
		if (!more)
			return fail(HEC_ERR_MEMORY, "curve: no memory for %zu points", room);
		p->at = more;
		p->room = room;
	}
	point now = {member(object, "step"), member(object, "loss"), member(object, "valid_loss")};
	if (!isfinite(now.step))
		return HEC_OK;
	include(p, now.loss);
	include(p, now.valid);
	p->steps = fmax(p->steps, now.step);
	p->at[p->n++] = now;
	return HEC_OK;
}

static hec_status add_line(void *user, const char *line, size_t size)
{
	json_t *object = NULL;
	if (!line)
		return HEC_OK;
	HEC_TRY(json_text_read("log.jsonl", line, size - 1, JSON_CONFIG_MOST, &object));
	hec_status status = add_point(user, object);
	json_decref(object);
	return status;
}

static double x_of(const points *p, double step)
{
	return LEFT + (WIDTH - LEFT - RIGHT) * step / fmax(p->steps, 1);
}

static double y_of(const points *p, double loss)
{
	double range = fmax(p->high - p->low, 1e-9);
	return TOP + (HEIGHT - TOP - BOTTOM) * (p->high - loss) / range;
}

static void draw_axes(drawing *d, const points *p, bool dropout)
{
	for (int i = 0; i <= 4; i++) {
		double loss = p->low + (p->high - p->low) * i / 4, step = p->steps * i / 4;
		double y = y_of(p, loss), x = x_of(p, step);
		draw(d,
		     "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#8884\"/>"
		     "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.3g</text>\n",
		     LEFT, WIDTH - RIGHT, y, y, LEFT - 6, y + 4, loss);
		draw(d, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%.0f</text>\n", x,
		     HEIGHT - BOTTOM + 16,
		     i == 4   ? "end"
		     : i == 0 ? "start"
		              : "middle",
		     step);
	}
	draw(d,
	     "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">steps; loss in nats a token: "
	     "<tspan fill=\"#3b7dd8\">learning%s</tspan>, <tspan "
	     "fill=\"#d8743b\">validation</tspan></text>\n",
	     (WIDTH + LEFT) / 2, HEIGHT - 6, dropout ? " (with dropout)" : "");
}

static void draw_line(drawing *d, const points *p, bool valid)
{
	size_t every = valid ? 1 : p->n / MOST_POINTS + 1;
	draw(d, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"",
	     valid ? "#d8743b" : "#3b7dd8");
	for (size_t i = 0; i < p->n; i += every) {
		double loss = valid ? p->at[i].valid : p->at[i].loss;
		if (isfinite(loss))
			draw(d, "%.1f,%.1f ", x_of(p, p->at[i].step), y_of(p, loss));
	}
	draw(d, "\"/>\n");
	for (size_t i = 0; valid && i < p->n; i++)
		if (isfinite(p->at[i].valid))
			draw(d, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"#d8743b\"/>\n",
			     x_of(p, p->at[i].step), y_of(p, p->at[i].valid));
}

hec_status curve_write(const char *log, const char *svg, bool dropout)
{
	points p = {.low = INFINITY, .high = -INFINITY};
	hec_status status = log_each(log, add_line, &p);
	drawing d = {0};
	if (status == HEC_OK && p.high >= p.low) {
		draw(&d,
		     "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
		     "font-family=\"sans-serif\" font-size=\"12\" fill=\"#888\">\n",
		     WIDTH, HEIGHT);
		draw_axes(&d, &p, dropout);
		draw_line(&d, &p, false);
		draw_line(&d, &p, true);
		draw(&d, "</svg>\n");
		status = d.failed ? fail(HEC_ERR_MEMORY, "%s: no memory to draw it", svg)
		                  : file_replace(svg, d.text, d.n);
	}
	mem_free(d.text);
	mem_free(p.at);
	return status;
}
