/* bert_normalizer.c — BERT's: control characters out, white space to spaces, spaces around Chinese
 * characters, accents off, lower case; each if the file says so. */
#include "text/unicode/classes.h"
#include "text/unicode/forms.h"
#include "text/unicode/utf8.h"

typedef struct bert_state {
	bool clean_text, chinese, strip_accents, lowercase;
} bert_state;

static hec_status load_bert_normalizer(const json_scope *s, void **state)
{
	HEC_TRY(stage_state(sizeof(bert_state), state));
	bert_state *b = *state;
	b->clean_text = b->chinese = b->lowercase = true;
	HEC_TRY(json_want_bool(s, "clean_text", &b->clean_text));
	HEC_TRY(json_want_bool(s, "handle_chinese_chars", &b->chinese));
	HEC_TRY(json_want_bool(s, "lowercase", &b->lowercase));
	b->strip_accents = b->lowercase; /* unless the file says otherwise */
	return json_want_bool(s, "strip_accents", &b->strip_accents);
}

/* As BERT's own code has them, with its gap before U+2B920. */
static bool is_chinese(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {{0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},
	              {0x20000, 0x2a6df}, {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f},
	              {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f}};
	for (size_t i = 0; c >= 0x3400 && i < sizeof ranges / sizeof ranges[0]; i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return false;
}

static hec_status write_clean(const void *state, flow *f, piece p)
{
	const bert_state *b = state;
	for (size_t i = p.begin, length; i < p.end; i += length) {
		uint32_t c = utf8_get(f->text + i, &length);
		unsigned classes = class_of(c);
		origin from = flow_origin(f, i, i + length);
		if (b->clean_text && (classes & CLASS_CONTROL))
			continue;
		if (b->clean_text && (classes & CLASS_SPACE)) {
			HEC_TRY(flow_put(f, " ", 1, from));
		} else if (b->chinese && is_chinese(c)) {
			HEC_TRY(flow_put(f, " ", 1, from));
			HEC_TRY(flow_keep(f, i, i + length));
			HEC_TRY(flow_put(f, " ", 1, from));
		} else {
			HEC_TRY(flow_keep(f, i, i + length));
		}
	}
	return HEC_OK;
}

static hec_status run_bert_normalizer(const void *state, flow *f)
{
	static const unsigned accents = CLASS_NONSPACING;
	const bert_state *b = state;
	if (b->clean_text || b->chinese)
		HEC_TRY(flow_write(f, write_clean, b));
	if (b->strip_accents) {
		HEC_TRY(nfd.run(NULL, f));
		HEC_TRY(flow_write(f, unicode_strip, &accents));
	}
	return b->lowercase ? flow_write(f, unicode_lowercase, NULL) : HEC_OK;
}

const stage_kind bert_normalizer = {"BertNormalizer", load_bert_normalizer, run_bert_normalizer,
                                    NULL, NULL};
