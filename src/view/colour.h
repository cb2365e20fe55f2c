/* colour.h — the colours of weights: what terminals, pictures and pages draw them with. */
#ifndef VIEW_COLOUR_H
#define VIEW_COLOUR_H

#include <hecate/view.h>

typedef struct rgb {
	double r, g, b;
} rgb;

/* Evenly spaced colours from the least weight to the largest. */
typedef struct ramp {
	const rgb *stops;
	int count;
} ramp;

/* On a dark ground and on a light one; greys are for sinks. */
extern const ramp ramp_dark, ramp_light, ramp_dark_grey, ramp_light_grey;

rgb ramp_colour(const ramp *r, double at); /* at: 0 … 1 */

/* The escape sequence for text on hec_view_background of the same arguments: black or white, whichever stands out
 * more, which is at least 4.5:1 on any ground. */
const char *text_on_background(hec_view_scale scale, double at, hec_view_colour colour);

#endif
