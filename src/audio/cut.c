/* cut.c — three kinds of files say how long they are in ways of their own:
 *
 *   WAV   the chunk "data" has a length; one that nobody knew while writing is 0 or as good as endless
 *   OGG   a file is pages; the last one says that it is the last
 *   MP3   a first frame "Xing" or "Info" may count the bytes; without it nothing says
 *
 * FLAC says how many frames it has, which read.c compares. */
#include "audio/cut.h"

#include <string.h>

#define CHUNKS_MOST 4096    /* of a WAV before its data */
#define ENDLESS 0x7FFF0000u /* lengths from here on are those of streams */
#define PAGE_HEAD 27        /* bytes of an OGG page before its table of segments */
#define PAGE_LAST 4         /* the flag */
#define MP3_FRAME_MOST 2881 /* bytes: counters are off by as much */
#define ID3_HEAD 10
#define TAGS_MOST 16

typedef struct input {
	cut_read *read;
	void *user;
	uint64_t size;
} input;

static bool read_bytes(const input *in, uint64_t at, unsigned char *to, size_t bytes)
{
	return at <= in->size && bytes <= in->size - at &&
	       in->read(in->user, at, to, bytes) == bytes;
}

static uint32_t read_number(const unsigned char *p, bool big)
{
	return big ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]
	           : (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

/* ---- WAV ---- */

typedef struct wav {
	bool big, wide;   /* RIFX, RF64 */
	uint64_t whole;   /* bytes of the file behind the first 8, as it says */
	uint64_t begin;   /* of the sound */
	uint64_t length;  /* of the sound, as the file says */
	uint64_t said_at; /* where it says so, in that many bytes */
	size_t said_bytes;
} wav;

static bool is_wav(const input *in, wav *w)
{
	unsigned char begin[12];
	if (!read_bytes(in, 0, begin, sizeof begin) || memcmp(begin + 8, "WAVE", 4) != 0)
		return false;
	*w = (wav){.big = memcmp(begin, "RIFX", 4) == 0, .wide = memcmp(begin, "RF64", 4) == 0};
	w->whole = read_number(begin + 4, w->big);
	return w->big || w->wide || memcmp(begin, "RIFF", 4) == 0;
}

static uint64_t read_wide_number(const unsigned char *p)
{
	return read_number(p, false) | (uint64_t)read_number(p + 4, false) << 32;
}

/* false: it ends before its data. */
static bool wav_find_data(const input *in, wav *w)
{
	uint64_t at = 12, known = 0, known_at = 0; /* what RF64 says of its data */
	unsigned char chunk[8], sizes[16];
	int chunks = 0;
	for (; chunks < CHUNKS_MOST && read_bytes(in, at, chunk, sizeof chunk); chunks++) {
		const uint64_t length = read_number(chunk + 4, w->big), begin = at + sizeof chunk;
		if (w->wide && memcmp(chunk, "ds64", 4) == 0 &&
		    read_bytes(in, begin, sizes, sizeof sizes)) {
			w->whole = read_wide_number(sizes);
			known = read_wide_number(sizes + 8);
			known_at = begin + 8;
		}
		if (memcmp(chunk, "data", 4) == 0) {
			const bool elsewhere =
				known_at > 0 && (length == UINT32_MAX || length == 0);
			w->begin = begin;
			w->length = elsewhere ? known : length;
			w->said_at = elsewhere ? known_at : at + 4;
			w->said_bytes = elsewhere ? 8 : 4;
			return true;
		}
		at = begin + length + (length & 1);
	}
	return chunks == CHUNKS_MOST;
}

static bool wav_is_endless(const wav *w)
{
	return w->length >= (w->said_bytes == 8 ? UINT64_MAX / 2 : ENDLESS);
}

static bool wav_is_cut(const input *in, wav *w)
{
	if (!wav_find_data(in, w))
		return true;
	return !wav_is_endless(w) && w->length > in->size - w->begin;
}

/* Nobody knew how long it is. Endless lengths of 4 bytes libsndfile knows itself; where the file is said to be
 * longer than up to 0 bytes of sound, other chunks follow on sound that is really none. */
static bool wav_is_unknown(const wav *w)
{
	if (w->length > 0)
		return w->said_bytes == 8 && wav_is_endless(w);
	return w->whole >= ENDLESS || w->whole + 8 <= w->begin;
}

size_t sound_unknown_length(cut_read *read, void *user, uint64_t size, uint64_t *at,
                            unsigned char right[8])
{
	const input in = {read, user, size};
	wav w;
	if (!is_wav(&in, &w) || !wav_find_data(&in, &w) || w.said_bytes == 0 || size <= w.begin ||
	    !wav_is_unknown(&w))
		return 0;
	const uint64_t rest = size - w.begin;
	for (size_t i = 0; i < w.said_bytes; i++)
		right[w.big ? w.said_bytes - 1 - i : i] = (unsigned char)(rest >> 8 * i);
	if (w.said_bytes == 4 && rest > UINT32_MAX)
		memset(right, 0xFF, 4);
	*at = w.said_at;
	return w.said_bytes;
}

/* ---- OGG ---- */

static bool ogg_is_cut(const input *in)
{
	unsigned char page[PAGE_HEAD + 255];
	uint64_t at = 0;
	bool last = false;
	while (at < in->size) {
		uint64_t length = PAGE_HEAD;
		if (!read_bytes(in, at, page, PAGE_HEAD))
			return !last;
		if (memcmp(page, "OggS", 4) != 0)
			break; /* something of another kind behind the pages */
		const size_t segments = page[26];
		if (!read_bytes(in, at + PAGE_HEAD, page + PAGE_HEAD, segments))
			return true;
		length += segments;
		for (size_t i = 0; i < segments; i++)
			length += page[PAGE_HEAD + i];
		if (length > in->size - at)
			return true;
		last = page[5] & PAGE_LAST;
		at += length;
	}
	return !last;
}

/* ---- MP3 ---- */

/* Behind tags, whose length has 7 bits a byte. */
static uint64_t mp3_begin(const input *in)
{
	unsigned char tag[ID3_HEAD];
	uint64_t at = 0;
	for (int i = 0;
	     i < TAGS_MOST && read_bytes(in, at, tag, sizeof tag) && !memcmp(tag, "ID3", 3); i++)
		at += ID3_HEAD + ((uint64_t)(tag[6] & 0x7F) << 21 |
		                  (uint64_t)(tag[7] & 0x7F) << 14 | (uint64_t)(tag[8] & 0x7F) << 7 |
		                  (tag[9] & 0x7F));
	return at;
}

static bool mp3_is_cut(const input *in)
{
	const uint64_t begin = mp3_begin(in);
	unsigned char head[4], counts[16];
	if (!read_bytes(in, begin, head, sizeof head) || head[0] != 0xFF ||
	    (head[1] & 0xE0) != 0xE0)
		return false;
	/* Side information of MPEG 1 or 2, in stereo or mono, stands before it. */
	const bool first = (head[1] >> 3 & 3) == 3, mono = head[3] >> 6 == 3;
	const uint64_t at = begin + 4 + (first ? (mono ? 17 : 32) : (mono ? 9 : 17));
	if (!read_bytes(in, at, counts, sizeof counts) ||
	    (memcmp(counts, "Xing", 4) != 0 && memcmp(counts, "Info", 4) != 0))
		return false;
	const uint32_t flags = read_number(counts + 4, true);
	if (!(flags & 2))
		return false;
	const uint64_t bytes = read_number(counts + (flags & 1 ? 12 : 8), true);
	return bytes > in->size - begin + MP3_FRAME_MOST;
}

bool sound_is_cut(cut_read *read, void *user, uint64_t size)
{
	const input in = {read, user, size};
	unsigned char begin[4];
	wav w;
	if (is_wav(&in, &w))
		return wav_is_cut(&in, &w);
	if (!read_bytes(&in, 0, begin, sizeof begin))
		return false;
	return memcmp(begin, "OggS", 4) == 0 ? ogg_is_cut(&in) : mp3_is_cut(&in);
}
