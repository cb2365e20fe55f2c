/* corpus.h — text to learn from: files of lines, plain or gzip, as examples of token ids; also texts of
 * sounds, whose files the lines name.
 *
 * The text is read once and its ids are kept in a file on disk, from which batches are read in
 * pieces: data may be larger than memory (8 bytes an example are held). Lines that are no UTF-8, empty
 * or too long are left out and counted. */
#ifndef HECATE_CORPUS_H
#define HECATE_CORPUS_H

#include <hecate/speech.h>
#include <hecate/tokenizer.h>

HEC_BEGIN

typedef enum hec_task {
	HEC_TASK_TRANSLATE = 0, /* two files: line i of the second translates line i of the first */
	HEC_TASK_SEQ2SEQ,       /* source, tab, target on a line */
	HEC_TASK_LM,            /* running text */
	HEC_TASK_MLM,           /* a text a line; some tokens are hidden and asked for */
	HEC_TASK_CLASSIFY,      /* label, tab, text on a line */
	HEC_TASK_ANSWER         /* questions on texts: SQuAD's JSON, squad.h */
} hec_task;
#define HEC_TASKS 6

HEC_API const char *hec_task_name(hec_task task); /* "translate"; "?" for an unknown one */

/* What a pass over files came to. */
typedef struct hec_corpus_counts { /* result */
	int64_t lines;             /* read (pairs for translate) */
	int64_t examples;          /* kept */
	int64_t source_tokens, target_tokens;
	int64_t bad_utf8, empty, too_long, no_tab, unknown_label; /* lines left out, and why */
	int64_t cut;                                              /* kept, but not to their end */
	int64_t no_sound,
		long_sound; /* lines left out: their sound cannot be read, or is longer than a
	                                 window */
	double seconds;     /* of the sounds that are kept */
} hec_corpus_counts;

/* ---- reading the texts of files, line by line ---- */

typedef struct hec_lines hec_lines;

/* Files of a task; translate takes an even number: source, target, source, target, … */
HEC_API HEC_MUST_USE hec_status hec_lines_create(hec_task task, const char *const *files, size_t n,
                                                 hec_lines **out);
HEC_API void hec_lines_destroy(hec_lines *lines); /* takes NULL */
/* A hec_line_fn: every text, both sides one after the other, those that are left out passed over. */
HEC_API HEC_MUST_USE hec_status hec_lines_next(void *lines, const char **line, size_t *bytes);
/* The next example as it stands: text and bytes of each side (a label is side 0 of classify; one
 * side only for lm and mlm: side 0 is then empty). *more false: there is none. */
HEC_API HEC_MUST_USE hec_status hec_lines_next_pair(hec_lines *lines, const char *text[2],
                                                    size_t bytes[2], bool *more);
HEC_API const hec_corpus_counts *hec_lines_counts(const hec_lines *lines); /* so far */
/* Where the sound lies that the last example names: as it stands where it begins with '/', else from the
 * folder of the file that it was read from. */
HEC_API HEC_MUST_USE hec_status hec_lines_sound(const hec_lines *lines, const char *name,
                                                size_t bytes, char *path, size_t room);

/* ---- a corpus ---- */

typedef struct hec_corpus hec_corpus;

#define HEC_MAX_EPOCHS 1000000 /* as many as are counted */

/* Told of an example that is left out, with what is wrong with it. */
typedef void hec_left_out_fn(void *user, const char *why);

typedef struct hec_corpus_options { /* options */
	size_t size;                /* sizeof(hec_corpus_options) */
	hec_task task;
	const char *const *files;
	size_t n;
	const hec_tokenizer *tokenizer;
	int64_t max_source, max_target; /* tokens, special ones counted; lm: max_target a piece */
	const char *cache;              /* where the ids go: PATH.tokens and PATH.index */
	const char *const *labels; /* classify: names, sorted by strcmp; their index is the id */
	size_t n_labels;
	hec_progress_fn *progress; /* or NULL */
	void *user;
	const int32_t *label_ids;  /* [n_labels] ids that are not the index; NULL: they are */
	const char *source_prefix; /* translate, seq2seq: before every source; NULL: nothing */
	bool truncate;             /* texts that are too long are cut, not left out */
	int64_t stride;            /* answer: tokens that a window shares with the one before */
	const hec_tokenizer *target_tokenizer; /* of targets; NULL: one for both sides */
	/* translate, seq2seq with a tokenizer that marks texts with their language: of sources (NULL: the one
	 * that it puts there) and of targets, without which it is an error. */
	const char *source_language, *target_language;
	/* The checksum that ids made anew must have: others are refused, and what lies at `cache` stays.
	 * NULL: any. */
	const uint32_t *wanted;
	/* seq2seq: sources are names of sound files (hec_lines_sound), targets what is spoken there. Memory
	 * holds one sound at a time. NULL: sources are texts. */
	const hec_speech *speech;
	/* Of sounds that cannot be read or are too long, each as ids are made anew; NULL: they are counted. */
	hec_left_out_fn *left_out;
} hec_corpus_options;

/* clang-format off */
#define HEC_CORPUS_OPTIONS_INIT {.size = sizeof(hec_corpus_options)}
/* clang-format on */

/* Takes the ids that lie at `cache` where they were made from these files and sounds (by size and time), this
 * tokenizer and these options; else makes them anew. */
HEC_API HEC_MUST_USE hec_status hec_corpus_create(const hec_corpus_options *options,
                                                  hec_corpus **out);
HEC_API void hec_corpus_destroy(hec_corpus *corpus); /* takes NULL */
HEC_API const hec_corpus_counts *hec_corpus_counts_of(const hec_corpus *corpus);
/* Batches of so many epochs, as hec_train cuts them: rows · longest side ≤ max_tokens, at most max_rows
 * (0: any number). */
HEC_API HEC_MUST_USE hec_status hec_corpus_batches(const hec_corpus *corpus, int64_t max_tokens,
                                                   int64_t max_rows, uint64_t seed, int64_t epochs,
                                                   int64_t *batches);
/* The same number for the same ids in the same order, and the same samples of sounds. */
HEC_API uint32_t hec_corpus_checksum(const hec_corpus *corpus);

HEC_END

#endif
