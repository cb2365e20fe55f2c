/* colour.h — the colours of weights: what terminals, pictures and pages draw them with. */
#ifndef VIEW_COLOUR_H
#define VIEW_COLOUR_H

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

#endif
