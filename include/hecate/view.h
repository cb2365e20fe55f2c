/* view.h — attention weights as something to look at: text for a terminal, SVG, a page of HTML, JSON.
 *
 * Draws from plain memory, so that weights of any origin can be shown. Tokens may hold anything: no
 * output lets them steer a terminal or become markup. Nothing is allocated while drawing. */
#ifndef HECATE_VIEW_H
#define HECATE_VIEW_H

#include <hecate/status.h>

HEC_BEGIN

typedef enum hec_view_kind {
	HEC_VIEW_SELF = 0, /* a stack looks at itself */
	HEC_VIEW_CROSS,    /* the decoder looks at what the encoder read */
	HEC_VIEW_DECODER,  /* the decoder looks at itself, where there is an encoder too */
	HEC_VIEW_HEADS     /* one token: its queries are the heads of all layers */
} hec_view_kind;
#define HEC_VIEW_KINDS 4

HEC_API const char *hec_view_kind_name(hec_view_kind kind); /* "self", …; "?" for an unknown one */

typedef struct hec_view { /* options */
	size_t size;      /* sizeof(hec_view) */
	hec_view_kind kind;
	const char *const *query; /* [queries] UTF-8; other bytes are shown as U+FFFD */
	int64_t queries;
	const char *const *key; /* [keys] */
	int64_t keys;
	/* [keys] true: many heads rest there when they have nothing to look for (the first token, a
	 * separator). Such keys are left out of the colour scale, and every picture says which. NULL:
	 * none. Where all are, none is. */
	const bool *sink;
	int64_t layers, heads;
	const float *weights; /* [layers][heads][queries][keys], each in 0 … 1 */
} hec_view;

/* clang-format off */
#define HEC_VIEW_INIT {.size = sizeof(hec_view)}
/* clang-format on */

typedef enum hec_view_format {
	HEC_VIEW_TEXT = 0, /* lines for a terminal */
	HEC_VIEW_SVG,
	HEC_VIEW_HTML, /* one file that needs nothing else: pick, point, read */
	/* {"query", "key", "kind", "layers", "heads", "weights"}: weights is [layers][heads][queries][keys]. Of
	 * HEC_VIEW_HEADS the heads are the queries, so layers and heads are 1. */
	HEC_VIEW_JSON
} hec_view_format;
#define HEC_VIEW_FORMATS 4

typedef enum hec_view_colour {
	HEC_VIEW_PLAIN = 0, /* shades */
	HEC_VIEW_256,
	HEC_VIEW_24BIT
} hec_view_colour;

#define HEC_VIEW_MAX_TOP 64

typedef struct hec_view_options { /* options */
	size_t size;              /* sizeof(hec_view_options) */
	int64_t layer, head;      /* counted from 0; −1: all. One of each is drawn large */
	int64_t top; /* for each query also the keys with the most weight, the mean of what is shown */
	hec_view_colour colour; /* of text */
	int64_t columns;        /* of the terminal */
	const char *title;      /* NULL: says the kind */
} hec_view_options;

/* clang-format off */
#define HEC_VIEW_OPTIONS_INIT {.size = sizeof(hec_view_options), .layer = -1, .head = -1, .columns = 80}
/* clang-format on */

/* Takes the next piece of what is drawn; anything but HEC_OK stops, and is what hec_view_draw returns. */
typedef hec_status hec_view_write_fn(void *user, const char *text, size_t length);

HEC_API HEC_MUST_USE hec_status hec_view_draw(const hec_view *view, hec_view_format format,
                                              const hec_view_options *options, /* NULL: as above */
                                              hec_view_write_fn *write, void *user);

/* Into a file, which is replaced only once all of it is written. */
HEC_API HEC_MUST_USE hec_status hec_view_save(const hec_view *view, hec_view_format format,
                                              const hec_view_options *options, const char *path);

/* The colours of pictures in a terminal: for weights, for sinks, and for values on both sides of a middle. */
typedef enum hec_view_scale {
	HEC_VIEW_HEAT = 0, /* dark blue to light yellow */
	HEC_VIEW_GREY,
	HEC_VIEW_WAVE /* blue, dark at 0.5, gold */
} hec_view_scale;
#define HEC_VIEW_BACKGROUND 32 /* bytes */

/* Writes the escape sequence that sets the background to the colour at `at` (0 … 1) of a scale; the empty text for
 * HEC_VIEW_PLAIN. "\x1b[0m" ends it. */
HEC_API void hec_view_background(hec_view_scale scale, double at, hec_view_colour colour,
                                 char out[HEC_VIEW_BACKGROUND]);

HEC_END

#endif
