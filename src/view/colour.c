/* colour.c — hec_view_background, and the ramps of colour.h: in a terminal in 24 bits and in 256 colours. */
#include "view/colour.h"

#include <stdio.h>

#include <hecate/view.h>

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

void hec_view_background(hec_view_scale scale_kind, double at, hec_view_colour colour,
                         char out[HEC_VIEW_BACKGROUND])
{
	const scale *s = &scales[scale_kind <= HEC_VIEW_WAVE ? scale_kind : HEC_VIEW_HEAT];
	at = at >= 0 ? at <= 1 ? at : 1 : 0; /* NaN becomes 0 */
	if (colour == HEC_VIEW_24BIT) {
		rgb c = ramp_colour(&s->ramp, at);
		snprintf(out, HEC_VIEW_BACKGROUND, "\x1b[48;2;%d;%d;%dm", (int)c.r, (int)c.g,
		         (int)c.b);
	} else if (colour == HEC_VIEW_256) {
		int index = (int)(at * (s->index_count - 1) + 0.5);
		snprintf(out, HEC_VIEW_BACKGROUND, "\x1b[48;5;%dm", s->indices[index]);
	} else {
		out[0] = '\0';
	}
}
