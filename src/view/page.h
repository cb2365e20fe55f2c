/* page.h — what is drawn goes out through here, in pieces, escaped for where it stands. */
#ifndef VIEW_PAGE_H
#define VIEW_PAGE_H

#include <hecate/view.h>

#define PAGE_BUFFER 8192

typedef struct page {
	hec_view_write_fn *write;
	void *user;
	hec_status status; /* after a failure nothing more is written */
	size_t written, used;
	int64_t spaces; /* held back, so that no line ends with any */
	char data[PAGE_BUFFER];
} page;

void page_put(page *p, const char *text, size_t length);
void page_text(page *p, const char *text);
/* At most PAGE_ADD bytes: for numbers and words of our own, not for tokens. */
#define PAGE_ADD 512
void page_add(page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A number of at most 17 digits with a point, whatever the locale. */
#define NUMBER_BYTES 64
void number_text(double value, int digits, char out[NUMBER_BYTES]);
void page_number(page *p, double value, int digits);
/* Those at the end of a line are left away. */
void page_spaces(page *p, int64_t count);

/* As text or attribute of SVG and HTML. */
void page_markup(page *p, const char *text);
/* As a string of JSON, with its quotes; in_script: it stands inside a script element. */
void page_json(page *p, const char *text, bool in_script);

hec_status page_end(page *p);

#endif
