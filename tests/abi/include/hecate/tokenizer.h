/* tokenizer.h — text to token ids and back, by a Hugging Face tokenizer.json or the vocabulary files that
 * came before it; and learning one.
 *
 * A tokenizer is immutable once made and may be shared by threads. It needs no model and no context.
 * Text is UTF-8; invalid UTF-8 is HEC_ERR_FORMAT with the position of its first bad byte, unless the
 * caller asks for U+FFFD in its place. Offsets count bytes of the text that was given; a token that is
 * a part of a character spans the character. */
#ifndef HECATE_TOKENIZER_H
#define HECATE_TOKENIZER_H

#include <hecate/memory.h>

HEC_BEGIN

typedef struct hec_tokenizer hec_tokenizer;

/* Reads tokenizer.json, and tokenizer_config.json beside it where there is one (it says which token
 * is the padding, the end and so on). The path is that of the folder or of tokenizer.json itself. A
 * folder without it, or another file: vocab.txt; vocab.json and merges.txt; a SentencePiece model
 * (*.model, *.spm), also Marian's; with the conventions of the family (docs/formats.md). A part of a
 * kind that is not known is HEC_ERR_UNSUPPORTED with its name. "truncation" and "padding" of
 * the file are left to the caller (hec_tokenizer_truncation, hec_tokenizer_padding): encoding gives
 * every token of the text, and no more. */
HEC_API HEC_MUST_USE hec_status hec_tokenizer_load(const char *path, hec_tokenizer **out);
/* That of targets, where a Marian folder of SentencePiece models has one of its own; *out NULL: one tokenizer is for
 * both. */
HEC_API HEC_MUST_USE hec_status hec_tokenizer_load_target(const char *folder, hec_tokenizer **out);
/* A tokenizer from memory. config is the text of a tokenizer_config.json; NULL: none. */
HEC_API HEC_MUST_USE hec_status hec_tokenizer_parse(const char *json, size_t bytes,
                                                    const char *config, size_t config_bytes,
                                                    hec_tokenizer **out);
HEC_API void hec_tokenizer_destroy(hec_tokenizer *tokenizer); /* takes NULL */

/* Writes tokenizer.json (or the vocabulary files) and tokenizer_config.json into the folder, which is
 * made where it is missing. What was loaded is written back byte for byte. */
HEC_API HEC_MUST_USE hec_status hec_tokenizer_save(const hec_tokenizer *tokenizer,
                                                   const char *folder);

/* The number of ids: one more than the largest. */
HEC_API int64_t hec_tokenizer_vocab(const hec_tokenizer *tokenizer);
HEC_API const char *hec_tokenizer_kind(const hec_tokenizer *tokenizer); /* "BPE", "Unigram", … */
/* The token as the vocabulary writes it, e.g. "Ġthe", a string; NULL where there is no such id. A token that is added in
 * normalized text, and not special, as it stands there: "[user]" for "[USER]" in a model of small letters. */
HEC_API const char *hec_tokenizer_token(const hec_tokenizer *tokenizer, int32_t id);
/* The id of a token as the vocabulary writes it; −1 where there is none. */
HEC_API int32_t hec_tokenizer_id(const hec_tokenizer *tokenizer, const char *token);
/* The id of the token with a role: "pad", "eos", "bos", "unk", "cls", "sep", "mask", as
 * tokenizer_config.json says; −1 where there is none. */
HEC_API int32_t hec_tokenizer_role(const hec_tokenizer *tokenizer, const char *role);
/* Whether the id is a special token, which decoding can skip. */
HEC_API bool hec_tokenizer_is_special(const hec_tokenizer *tokenizer, int32_t id);

/* ---- encoding ---- */

typedef struct hec_span {  /* value */
	size_t begin, end; /* bytes begin … end − 1 of the text */
} hec_span;

#define HEC_PADDING (-2)

/* What a text became. Starts as HEC_ENCODING_INIT and ends with hec_encoding_free; its arrays are the library's, so it
 * is not copied. Belongs to one thread; used again and again it allocates nothing once it is large enough, which for
 * long texts makes it several times cheaper than a fresh one. */
typedef struct hec_encoding { /* value */
	size_t n;             /* tokens */
	int32_t *ids;         /* [n] */
	hec_span *
		offsets; /* [n] into the text of the token's sequence; 0, 0 for those that were added */
	int32_t *type_ids; /* [n] as the post-processor says; 0 for a single text */
	int8_t *sequence;  /* [n] 0: of the text, 1: of the pair, −1: added, HEC_PADDING */
	size_t capacity;
	struct hec_encoding_work *work;
} hec_encoding;

/* clang-format off */
#define HEC_ENCODING_INIT {.n = 0}
/* clang-format on */

HEC_API void hec_encoding_free(hec_encoding *encoding); /* leaves it as HEC_ENCODING_INIT */

/* Of a text and its pair: which one gives tokens where there are too many. */
typedef enum hec_truncate {
	HEC_TRUNCATE_LONGEST, /* the longer one, then both */
	HEC_TRUNCATE_FIRST,
	HEC_TRUNCATE_SECOND
} hec_truncate;

typedef struct hec_encode_options { /* options */
	size_t size;                /* sizeof(hec_encode_options) */
	bool no_special;            /* leave out what the post-processor adds ([CLS], </s>, …) */
	bool lossy;       /* invalid UTF-8 counts as U+FFFD, one for each ill-formed sequence */
	const char *pair; /* a second text; NULL: none */
	size_t pair_bytes;
	int64_t max_length;    /* tokens, those that are added counted in; 0: no limit */
	int64_t stride;        /* tokens of the text that a window shares with the one before */
	hec_truncate truncate; /* what gives way to max_length */
	bool truncate_left;    /* the start of the text goes first, not its end */
} hec_encode_options;

/* clang-format off */
#define HEC_ENCODE_OPTIONS_INIT {.size = sizeof(hec_encode_options)}
/* clang-format on */

/* On failure the encoding holds no tokens and can be used again. */
HEC_API HEC_MUST_USE hec_status
hec_tokenizer_encode(const hec_tokenizer *tokenizer, const char *text, size_t bytes,
                     const hec_encode_options *options, /* or NULL */
                     hec_encoding *out);

/* Where max_length left tokens out: the next window of the same text, without encoding it again, until
 * *more is false (the encoding then keeps the last window). Offsets are into the whole text. Where both
 * texts were cut there is one window only. */
HEC_API HEC_MUST_USE hec_status hec_tokenizer_next_window(const hec_tokenizer *tokenizer,
                                                          hec_encoding *out, bool *more);

/* Of a model of many languages (mBART: "de_DE"): puts this one in the place of the one that the tokenizer put
 * before the text or behind it. HEC_ERR_UNSUPPORTED: it puts none. */
HEC_API HEC_MUST_USE hec_status hec_encoding_set_language(const hec_tokenizer *tokenizer,
                                                          const char *language,
                                                          hec_encoding *encoding,
                                                          size_t *place /* its index; or NULL */);

typedef struct hec_pad_options { /* options */
	size_t size;             /* sizeof(hec_pad_options) */
	int64_t length;          /* tokens; 0: as many as the longest has */
	int64_t multiple;        /* up to the next multiple; 0: any length */
	bool left;               /* before the text, not behind it */
	int32_t id, type_id;
} hec_pad_options;

/* clang-format off */
#define HEC_PAD_OPTIONS_INIT {.size = sizeof(hec_pad_options)}
/* clang-format on */

/* Fills the shorter ones of n encodings up with tokens of sequence HEC_PADDING; a longer one stays. On
 * failure none has changed. */
HEC_API HEC_MUST_USE hec_status hec_encoding_pad(hec_encoding *encodings, size_t n,
                                                 const hec_pad_options *options /* or NULL */);

/* Sets what "truncation", or "padding", of tokenizer.json says, in options of the size that they say;
 * false: it says nothing, and the options stay as they are. */
HEC_API bool hec_tokenizer_truncation(const hec_tokenizer *tokenizer, hec_encode_options *options);
HEC_API bool hec_tokenizer_padding(const hec_tokenizer *tokenizer, hec_pad_options *options);

/* The text of ids, for the caller to hec_free(); a zero byte that is not counted in *bytes follows it.
 * An id that is not in the vocabulary is HEC_ERR_ARGUMENT. Bytes that are no UTF-8 come as U+FFFD. */
HEC_API HEC_MUST_USE hec_status hec_tokenizer_decode(const hec_tokenizer *tokenizer,
                                                     const int32_t *ids, size_t n,
                                                     bool skip_special, char **text,
                                                     size_t *bytes /* or NULL */);

/* ---- learning a vocabulary ---- */

/* Gives the next line of text (without its line end), *bytes 0 for an empty one; the memory stays
 * the callback's and valid until its next call. *line NULL: no more lines. */
typedef hec_status hec_line_fn(void *user, const char **line, size_t *bytes);

/* A token that is never split or learned. */
typedef struct hec_special { /* value */
	const char *text;    /* "</s>" */
	const char *role;    /* "eos" and so on, for tokenizer_config.json; NULL: none */
	bool last;           /* among the last ids, not the first (Marian's <pad>) */
} hec_special;

typedef struct hec_bpe_train_options { /* options */
	size_t size;                   /* sizeof(hec_bpe_train_options) */
	int64_t vocab;                 /* ids altogether, special tokens counted in */
	/* false: the alphabet is the 256 bytes; every text has ids and comes back from them as it was.
	 * true: the alphabet is the characters of the text and "▁" marks the spaces, as SentencePiece
	 * does; a rare character becomes its bytes, <0x41>. */
	bool unicode;
	int64_t min_frequency;      /* a pair seen less often is not joined */
	int64_t limit_alphabet;     /* unicode: the most frequent characters kept */
	int64_t max_token_length;   /* characters (bytes where not unicode); 0: no limit */
	const hec_special *special; /* NULL: </s> (eos), <unk> (unk) first, <pad> (pad) last */
	size_t specials;
	const char *begin, *end; /* special tokens put around each text; special NULL: none, </s> */
	int threads;             /* 0: $HECATE_THREADS, else the cores available */
	hec_progress_fn *progress; /* or NULL */
	void *user;                /* of progress */
} hec_bpe_train_options;

/* clang-format off */
#define HEC_BPE_TRAIN_OPTIONS_INIT \
	{.size = sizeof(hec_bpe_train_options), .vocab = 8000, .min_frequency = 2, .limit_alphabet = 1000}
/* clang-format on */

/* Learns byte-pair encoding from lines. Only the counts of distinct words are kept in memory, not the
 * text. The result is a function of the lines and the options alone: of pairs that are equally
 * frequent the one with the smaller left id is joined first, then the one with the smaller right id.
 * Fewer ids than asked for come out where the text has no more pairs to join. */
HEC_API HEC_MUST_USE hec_status hec_bpe_train(const hec_bpe_train_options *options, /* or NULL */
                                              hec_line_fn *next_line, void *line_user,
                                              hec_tokenizer **out);

HEC_END

#endif
