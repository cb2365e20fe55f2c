/* foreign.c — the formats of telephones, cameras and web sites, which libsndfile does not read. */
#include "audio/foreign.h"

#include <string.h>
#include <strings.h>

typedef struct mark {
	const char *begin;
	size_t length;
	const char *kind;
} mark;

#define MARK(text, kind)                                                                           \
	{                                                                                          \
		text, sizeof(text) - 1, kind                                                       \
	}

/* At the beginning of the file. */
static const mark first_bytes[] = {
	MARK("ADIF", "AAC"),
	MARK("#!AMR", "AMR"),
	MARK("FORM", "AIFF"),
	MARK("caff", "CAF"),
	MARK("FLV\x01", "FLV"),
	MARK("wvpk", "WavPack"),
	MARK("MAC ", "Monkey's Audio"),
	MARK("\x30\x26\xB2\x75\x8E\x66\xCF\x11", "WMA or WMV"),
};

/* Behind the length of the first box of a QuickTime or MP4 file. Old ones begin without ftyp. */
static const mark boxes[] = {
	MARK("ftypM4A", "M4A"),
	MARK("ftypM4B", "M4A"),
	MARK("ftypqt", "MOV (QuickTime)"),
	MARK("ftyp", "MP4"),
	MARK("moov", "MOV (QuickTime)"),
	MARK("mdat", "MOV (QuickTime)"),
	MARK("wide", "MOV (QuickTime)"),
};

static const char *find(const mark *marks, size_t count, const unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < count; i++)
		if (n >= marks[i].length && memcmp(bytes, marks[i].begin, marks[i].length) == 0)
			return marks[i].kind;
	return NULL;
}

/* The name of the kind of document stands a few bytes behind the beginning. */
static const char *matroska(const unsigned char *begin, size_t n)
{
	for (size_t i = 4; i + 4 <= n; i++)
		if (memcmp(begin + i, "webm", 4) == 0)
			return "WebM";
	return "Matroska (MKV)";
}

const char *foreign_kind(const unsigned char *begin, size_t n)
{
	if (n >= 4 && memcmp(begin, "\x1A\x45\xDF\xA3", 4) == 0)
		return matroska(begin, n);
	if (n >= 12 && memcmp(begin, "RIFF", 4) == 0 && memcmp(begin + 8, "AVI ", 4) == 0)
		return "AVI";
	/* Twelve bits of ones and no layer: frames of AAC. Those of MPEG audio name one of three layers. */
	if (n >= 2 && begin[0] == 0xFF && (begin[1] & 0xF6) == 0xF0)
		return "AAC";
	if (n > 4) {
		const char *kind = find(boxes, sizeof boxes / sizeof *boxes, begin + 4, n - 4);
		if (kind)
			return kind;
	}
	return find(first_bytes, sizeof first_bytes / sizeof *first_bytes, begin, n);
}

/* ---- the line to run ---- */

static const char plain[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+=:@,-";

typedef struct line {
	char text[STATUS_MESSAGE];
	size_t used;
} line;

static void add(line *l, const char *text, size_t n)
{
	if (n >= sizeof l->text - l->used)
		n = sizeof l->text - l->used - 1;
	memcpy(l->text + l->used, text, n);
	l->used += n;
	l->text[l->used] = '\0';
}

static void add_text(line *l, const char *text)
{
	add(l, text, strlen(text));
}

/* As a shell takes the name for one word, whatever stands in it. */
static void add_word(line *l, const char *name, size_t n, const char *end)
{
	const bool quoted = strspn(name, plain) < n;
	if (quoted)
		add_text(l, "'");
	if (*name == '-')
		add_text(l, "./");
	for (size_t i = 0; i < n; i++)
		if (name[i] == '\'')
			add_text(l, "'\\''");
		else
			add(l, name + i, 1);
	add_text(l, end);
	if (quoted)
		add_text(l, "'");
}

/* The name without what stands behind its last dot. */
static size_t stem_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path,
		   *dot = strrchr(base, '.');
	return dot && dot > base ? (size_t)(dot - path) : strlen(path);
}

/* A name that a message cannot show as it is stands in no line that somebody may run. */
hec_status foreign_refuse(const char *shown, const char *path, const char *kind)
{
	line l = {.text = "ffmpeg -i "};
	l.used = strlen(l.text);
	if (!path) {
		add_text(&l, "- -ar 16000 -ac 1 -f wav -");
	} else if (strcmp(path, shown) != 0) {
		add_text(&l, "IN -ar 16000 -ac 1 OUT.wav");
	} else {
		add_word(&l, path, strlen(path), "");
		add_text(&l, " -ar 16000 -ac 1 ");
		const size_t stem = stem_of(path); /* a file is not converted into itself */
		add_word(&l, path, stem,
		         strcasecmp(path + stem, ".wav") == 0 ? "-16k.wav" : ".wav");
	}
	return fail(HEC_ERR_FORMAT, "%s: %s files are not read; convert it to WAV first: %s", shown,
	            kind, l.text);
}
