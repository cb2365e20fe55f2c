/* colour.c — hec_view_background, and the ramps of colour.h: in a terminal in 24 bits and in 256 colours. */
#include "view/colour.h"

#include <math.h>
#include <stdio.h>

/* The 256 colours have few dark ones, so theirs are chosen by hand; they grow lighter at each step, as the others
 * do. */
typedef struct scale {
	ramp ramp;
	const unsigned char *indices;
	int index_count;
} scale;

#define RAMP(stops)                                                                                \
	{                                                                                          \
		stops, sizeof stops / sizeof stops[0]                                              \
	}

static const rgb heat_stops[] = {{28, 30, 46},    {52, 60, 108},   {62, 116, 140},
                                 {108, 170, 128}, {226, 196, 104}, {250, 236, 180}};
static const unsigned char heat_indices[] = {234, 235, 236, 237, 238, 239, 240, 60,
                                             66,  72,  108, 144, 180, 186, 222, 229};
static const rgb grey_stops[] = {{34, 34, 36}, {190, 190, 194}};
static const unsigned char grey_indices[] = {234, 235, 236, 237, 238, 239, 240, 241, 242,
                                             243, 244, 245, 246, 247, 248, 249, 250};
static const rgb wave_stops[] = {
	{86, 140, 196}, {44, 64, 104}, {24, 26, 34}, {110, 84, 40}, {240, 206, 120}};
static const unsigned char wave_indices[] = {110, 67, 60, 237, 234, 237, 95, 137, 222};
/* From white through blue to nearly black. */
static const rgb light_stops[] = {
	{255, 255, 255}, {190, 216, 236}, {84, 158, 205}, {18, 87, 160}, {6, 30, 82}};
static const rgb light_grey_stops[] = {{255, 255, 255}, {90, 90, 90}};

const ramp ramp_dark = RAMP(heat_stops), ramp_dark_grey = RAMP(grey_stops),
	   ramp_light = RAMP(light_stops), ramp_light_grey = RAMP(light_grey_stops);

#define SCALE(name)                                                                                \
	{                                                                                          \
		RAMP(name##_stops), name##_indices, sizeof name##_indices                          \
	}
static const scale scales[] = {[HEC_VIEW_HEAT] = SCALE(heat),
                               [HEC_VIEW_GREY] = SCALE(grey),
                               [HEC_VIEW_WAVE] = SCALE(wave)};

rgb ramp_colour(const ramp *r, double at)
{
	const double place = at * (r->count - 1);
	const int i = place >= r->count - 1 ? r->count - 2 : (int)place;
	const double f = place - i;
	const rgb *a = &r->stops[i], *b = a + 1;
	return (rgb){a->r + f * (b->r - a->r), a->g + f * (b->g - a->g), a->b + f * (b->b - a->b)};
}

typedef struct ground {
	int index; /* of 256; −1: the colour itself */
	int r, g, b;
} ground;

static ground ground_at(hec_view_scale scale_kind, double at, hec_view_colour colour)
{
	const scale *s = &scales[scale_kind <= HEC_VIEW_WAVE ? scale_kind : HEC_VIEW_HEAT];
	at = at >= 0 ? at <= 1 ? at : 1 : 0; /* NaN becomes 0 */
	if (colour == HEC_VIEW_24BIT) {
		const rgb c = ramp_colour(&s->ramp, at);
		return (ground){-1, (int)c.r, (int)c.g, (int)c.b};
	}
	/* 16 colours of the terminal's own, a cube of 6 × 6 × 6, and 24 greys. */
	static const int steps[] = {0, 95, 135, 175, 215, 255};
	const int index = s->indices[(int)(at * (s->index_count - 1) + 0.5)], cube = index - 16,
		  grey = 8 + 10 * (index - 232);
	return index >= 232
	               ? (ground){index, grey, grey, grey}
	               : (ground){index, steps[cube / 36], steps[cube / 6 % 6], steps[cube % 6]};
}

void hec_view_background(hec_view_scale scale_kind, double at, hec_view_colour colour,
                         char out[HEC_VIEW_BACKGROUND])
{
	const ground c = ground_at(scale_kind, at, colour);
	if (colour == HEC_VIEW_24BIT)
		snprintf(out, HEC_VIEW_BACKGROUND, "\x1b[48;2;%d;%d;%dm", c.r, c.g, c.b);
	else if (colour == HEC_VIEW_256)
		snprintf(out, HEC_VIEW_BACKGROUND, "\x1b[48;5;%dm", c.index);
	else
		out[0] = '\0';
}

/* Of sRGB, as WCAG 2 defines it. */
static double luminance(const ground *c)
{
	static const double weights[] = {0.2126, 0.7152, 0.0722};
	const int parts[] = {c->r, c->g, c->b};
	double sum = 0;
	for (int i = 0; i < 3; i++) {
		const double v = parts[i] / 255.0;
		sum += weights[i] * (v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4));
	}
	return sum;
}

const char *text_on_background(hec_view_scale scale_kind, double at, hec_view_colour colour)
{
	const ground c = ground_at(scale_kind, at, colour);
	const double y = luminance(&c) + 0.05;
	if (colour == HEC_VIEW_PLAIN)
		return "";
	return y / 0.05 > 1.05 / y ? "\x1b[38;5;16m" : "\x1b[38;5;231m";
}
