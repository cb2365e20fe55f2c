/* byte_level.h — GPT-2's alphabet: each byte as a character that can be seen. */
#ifndef TEXT_SPLIT_BYTE_LEVEL_H
#define TEXT_SPLIT_BYTE_LEVEL_H

#include "text/tokenizer/stage.h"

typedef struct byte_level_state {
	bool add_prefix_space, trim_offsets, use_regex;
	bool plain; /* leave bytes as they are: the model looks them up itself */
} byte_level_state;

/* The character of a byte: itself where it can be seen, else one from U+0100 on. */
uint32_t byte_level_char(unsigned char byte);
/* The byte of a character, −1: it stands for none. */
int byte_level_byte(uint32_t c);

/* The fields of the object, as pre-tokenizer, post-processor or decoder. */
hec_status byte_level_load(const json_scope *s, void **state);

#endif
