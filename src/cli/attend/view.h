/* view.h — weights that were looked at, drawn. */
#ifndef CLI_ATTEND_VIEW_H
#define CLI_ATTEND_VIEW_H

#include "cli/attend/model.h"
#include "cli/command/command.h"

#define ATTEND_TITLE 360 /* bytes */

/* "Cross-attention: text", short. */
void attend_title(const attended *a, const char *text, char title[ATTEND_TITLE]);
/* As lines for a terminal on `out`, or as JSON. */
int attend_draw(const command *self, const attended *a, hec_view_format format,
                const hec_view_options *options, FILE *out);
/* As a picture or a page in a file. */
int attend_save(const command *self, const attended *a, hec_view_format format,
                const hec_view_options *options, const char *path);

#endif
