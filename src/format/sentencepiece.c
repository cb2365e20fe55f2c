/* sentencepiece.c — protocol buffers by hand: a message is a list of fields, each a key (number and wire
 * type) and a value. Four messages are known here, each a function that takes the fields it knows. */
#include "format/sentencepiece.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/quote.h"

#define UNK_SURFACE " \xe2\x81\x87 " /* where the model does not say */

typedef enum wire { WIRE_WHOLE = 0, WIRE_8 = 1, WIRE_BYTES = 2, WIRE_4 = 5 } wire;

typedef struct message {
	const char *file;
	const unsigned char *data; /* of the file */
	size_t at, end;            /* of this message in it */
} message;

typedef struct field {
	uint64_t number;
	wire wire;
	uint64_t whole;   /* WIRE_WHOLE, WIRE_4, WIRE_8 */
	size_t at, bytes; /* WIRE_BYTES: where it lies */
} field;

/* ---- fields ---- */

static hec_status fail_message(const message *m, size_t at, const char *what)
{
	return fail(HEC_ERR_FORMAT, "%s: no SentencePiece model: at byte %zu %s", m->file, at,
	            what);
}

static hec_status read_whole(message *m, uint64_t *out)
{
	uint64_t value = 0;
	size_t first = m->at;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		if (m->at == m->end)
			return fail_message(m, first, "a number is cut off");
		unsigned char byte = m->data[m->at++];
		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7fu) << shift;
		if (byte < 0x80) {
			*out = value;
			return HEC_OK;
		}
	}
	return fail_message(m, first, "a number has more than 64 bits");
}

static hec_status read_fixed(message *m, size_t bytes, uint64_t *out)
{
	if (m->end - m->at < bytes)
		return fail_message(m, m->at, "a number is cut off");
	*out = 0;
	for (size_t i = 0; i < bytes; i++)
		*out |= (uint64_t)m->data[m->at + i] << 8 * i;
	m->at += bytes;
	return HEC_OK;
}

static hec_status read_field(message *m, field *f)
{
	uint64_t key;
	size_t first = m->at;
	HEC_TRY(read_whole(m, &key));
	f->number = key >> 3;
	f->wire = (wire)(key & 7);
	if (f->number == 0)
		return fail_message(m, first, "a field has the number 0");
	switch (f->wire) {
	case WIRE_WHOLE:
		return read_whole(m, &f->whole);
	case WIRE_8:
		return read_fixed(m, 8, &f->whole);
	case WIRE_4:
		return read_fixed(m, 4, &f->whole);
	case WIRE_BYTES:
		HEC_TRY(read_whole(m, &f->whole));
		if (f->whole > m->end - m->at)
			return fail_message(m, first, "a field is longer than what holds it");
		f->at = m->at;
		f->bytes = (size_t)f->whole;
		m->at += f->bytes;
		return HEC_OK;
	default:
		return fail_message(m, first, "a field has an unknown wire type");
	}
}

static hec_status expect_wire(const message *m, const field *f, wire needed)
{
	return f->wire == needed ? HEC_OK
	                         : fail_message(m, m->at, "a field ends that has another type");
}

static hec_status read_bool(const message *m, const field *f, bool *out)
{
	*out = f->whole != 0;
	return expect_wire(m, f, WIRE_WHOLE);
}

static message inner_message(const message *m, const field *f)
{
	return (message){m->file, m->data, f->at, f->at + f->bytes};
}

/* ---- the messages ---- */

static hec_status check_piece(const message *m, size_t id, const sp_piece *p)
{
	char name[QUOTE_TEXT];
	quote_bytes(p->text, p->bytes, name);
	if (p->bytes == 0 || p->bytes > SENTENCEPIECE_PIECE_MOST)
		return fail(HEC_ERR_FORMAT, "%s: piece %zu has %u bytes; there can be 1 to %zu",
		            m->file, id, p->bytes, SENTENCEPIECE_PIECE_MOST);
	if (memchr(p->text, 0, p->bytes))
		return fail(HEC_ERR_FORMAT, "%s: piece %zu has a zero byte", m->file, id);
	if (p->kind < SP_NORMAL || p->kind > SP_BYTE)
		return fail(HEC_ERR_FORMAT, "%s: piece %zu, \"%s\", has the unknown type %d",
		            m->file, id, name, (int)p->kind);
	if (!isfinite(p->score))
		return fail(HEC_ERR_FORMAT, "%s: the score of piece %zu, \"%s\", is no number",
		            m->file, id, name);
	return HEC_OK;
}

static hec_status read_piece(message m, size_t id, sp_piece *p)
{
	field f;
	uint32_t bits;
	*p = (sp_piece){"", 0, 0, SP_NORMAL};
	while (m.at < m.end) {
		HEC_TRY(read_field(&m, &f));
		if (f.number == 1) {
			HEC_TRY(expect_wire(&m, &f, WIRE_BYTES));
			p->text = (const char *)m.data + f.at;
			p->bytes = f.bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)f.bytes;
		} else if (f.number == 2) {
			HEC_TRY(expect_wire(&m, &f, WIRE_4));
			bits = (uint32_t)f.whole;
			memcpy(&p->score, &bits, sizeof bits);
		} else if (f.number == 3) {
			HEC_TRY(expect_wire(&m, &f, WIRE_WHOLE));
			p->kind = f.whole > SP_BYTE ? (sp_kind)0 : (sp_kind)f.whole;
		}
	}
	return check_piece(&m, id, p);
}

static hec_status read_trainer(message m, sp_model *out)
{
	field f;
	while (m.at < m.end) {
		HEC_TRY(read_field(&m, &f));
		if (f.number == 3) {
			HEC_TRY(expect_wire(&m, &f, WIRE_WHOLE));
			if (f.whole != SP_UNIGRAM && f.whole != SP_BPE)
				return fail(HEC_ERR_UNSUPPORTED,
				            "%s: a SentencePiece model of type %llu%s; unigram (1) "
				            "and BPE (2) are known",
				            m.file, (unsigned long long)f.whole,
				            f.whole == 3   ? ", whole words"
				            : f.whole == 4 ? ", single characters"
				                           : "");
			out->type = (sp_type)f.whole;
		} else if (f.number == 24) {
			HEC_TRY(read_bool(&m, &f, &out->space_is_suffix));
		} else if (f.number == 35) {
			HEC_TRY(read_bool(&m, &f, &out->byte_fallback));
		} else if (f.number == 44) {
			HEC_TRY(expect_wire(&m, &f, WIRE_BYTES));
			out->unk_surface = (const char *)m.data + f.at;
			out->unk_surface_bytes = f.bytes;
		}
	}
	return HEC_OK;
}

static hec_status read_normalizer(message m, sp_model *out)
{
	field f;
	while (m.at < m.end) {
		HEC_TRY(read_field(&m, &f));
		if (f.number == 2) {
			HEC_TRY(expect_wire(&m, &f, WIRE_BYTES));
			out->charsmap = f.bytes ? (const char *)m.data + f.at : NULL;
			out->charsmap_bytes = f.bytes;
		} else if (f.number == 3) {
			HEC_TRY(read_bool(&m, &f, &out->dummy_prefix));
		} else if (f.number == 4) {
			HEC_TRY(read_bool(&m, &f, &out->remove_extra_spaces));
		} else if (f.number == 5) {
			HEC_TRY(read_bool(&m, &f, &out->escape_spaces));
		}
	}
	return HEC_OK;
}

/* Pieces are counted first, so that they take one block of memory. */
static hec_status count_pieces(message m, size_t *n)
{
	field f;
	*n = 0;
	while (m.at < m.end) {
		HEC_TRY(read_field(&m, &f));
		*n += f.number == 1;
	}
	return HEC_OK;
}

static hec_status read_model(message m, sp_model *out)
{
	field f;
	while (m.at < m.end) {
		HEC_TRY(read_field(&m, &f));
		if (f.number == 0 || f.number > 3)
			continue;
		HEC_TRY(expect_wire(&m, &f, WIRE_BYTES));
		if (f.number == 1) {
			HEC_TRY(read_piece(inner_message(&m, &f), out->n, &out->pieces[out->n]));
			out->n++;
		} else if (f.number == 2) {
			HEC_TRY(read_trainer(inner_message(&m, &f), out));
		} else {
			HEC_TRY(read_normalizer(inner_message(&m, &f), out));
		}
	}
	return HEC_OK;
}

static hec_status find_unknown(const char *file, sp_model *m)
{
	m->unk = -1;
	for (size_t i = 0; i < m->n; i++) {
		if (m->pieces[i].kind != SP_UNKNOWN)
			continue;
		if (m->unk >= 0)
			return fail(HEC_ERR_FORMAT, "%s: pieces %d and %zu are both unknown", file,
			            (int)m->unk, i);
		m->unk = (int32_t)i;
	}
	return m->unk >= 0 ? HEC_OK
	                   : fail(HEC_ERR_FORMAT, "%s: no piece of its %zu stands for the unknown",
	                          file, m->n);
}

hec_status sentencepiece_read(const char *file, const char *data, size_t bytes, sp_model *out)
{
	message m = {file, (const unsigned char *)data, 0, bytes};
	size_t n;
	*out = (sp_model){.type = SP_UNIGRAM,
	                  .unk_surface = UNK_SURFACE,
	                  .unk_surface_bytes = sizeof UNK_SURFACE - 1,
	                  .dummy_prefix = true,
	                  .remove_extra_spaces = true,
	                  .escape_spaces = true};
	HEC_TRY(count_pieces(m, &n));
	if (n == 0 || n > INT32_MAX)
		return fail(HEC_ERR_FORMAT, "%s: no SentencePiece model: it has %zu pieces", file,
		            n);
	out->pieces = mem_zeros(n, sizeof *out->pieces);
	if (!out->pieces)
		return fail(HEC_ERR_MEMORY, "%s: no memory for %zu pieces", file, n);
	hec_status status = read_model(m, out);
	if (status == HEC_OK)
		status = find_unknown(file, out);
	if (status != HEC_OK)
		sentencepiece_free(out);
	return status;
}

void sentencepiece_free(sp_model *m)
{
	mem_free(m->pieces);
	memset(m, 0, sizeof *m);
}
