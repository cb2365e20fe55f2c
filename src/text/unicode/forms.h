/* forms.h — normal forms and case, for the normalizers that are made of them. */
#ifndef TEXT_UNICODE_FORMS_H
#define TEXT_UNICODE_FORMS_H

#include "text/tokenizer/stage.h"

/* Writes bytes begin … end − 1 in a normal form: NFD, or with compat NFKD, composed again or not. */
hec_status unicode_form(flow *f, size_t begin, size_t end, bool compat, bool compose);

/* Each a flow_write_fn. */
hec_status unicode_lowercase(const void *state, flow *f, piece p);
hec_status unicode_strip(const void *classes, flow *f, piece p); /* unsigned: those to leave out */

#endif
