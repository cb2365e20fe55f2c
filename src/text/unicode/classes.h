/* classes.h — what a character is to the patterns and pre-tokenizers of tokenizer.json.
 *
 * The table behind it was taken from the pinned `tokenizers` by showing it every character, because
 * its parts know different versions of Unicode. */
#ifndef TEXT_UNICODE_CLASSES_H
#define TEXT_UNICODE_CLASSES_H

#include <stdint.h>

#define CLASS_LETTER 0x001u      /* \p{L} of patterns */
#define CLASS_NUMBER 0x002u      /* \p{N} of patterns */
#define CLASS_SPACE 0x004u       /* \s of patterns, and white space everywhere else */
#define CLASS_WORD 0x008u        /* \w of Whitespace, and of added tokens that are single words */
#define CLASS_PUNCTUATION 0x010u /* of the pre-tokenizer Punctuation */
#define CLASS_DIGIT 0x020u       /* of the pre-tokenizer Digits */
#define CLASS_ACCENT 0x040u      /* what StripAccents takes out */
#define CLASS_CONTROL 0x080u     /* what BertNormalizer takes out as control characters */
#define CLASS_MARK 0x100u        /* \p{M} of patterns */
#define CLASS_NONSPACING 0x200u  /* what BertNormalizer takes out as accents */
/* Letters by their kind; \p{Lo} are those of none of these. */
#define CLASS_UPPER 0x0400u    /* \p{Lu} of patterns */
#define CLASS_LOWER 0x0800u    /* \p{Ll} */
#define CLASS_TITLE 0x1000u    /* \p{Lt} */
#define CLASS_MODIFIER 0x2000u /* \p{Lm} */

/* Builds the table of all characters when first called; any thread may. Comes before class_of: a
 * tokenizer calls it when it is made. */
void classes_prepare(void);

#define CLASS_BLOCKS 512
extern uint16_t class_pages[0x1100];
extern uint16_t class_blocks[CLASS_BLOCKS][256];

static inline unsigned class_of(uint32_t c)
{
	return class_blocks[class_pages[c >> 8]][c & 0xff];
}

#endif
