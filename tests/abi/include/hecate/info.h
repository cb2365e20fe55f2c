/* info.h — what the files of a model's folder say of themselves, without loading the weights. */
#ifndef HECATE_INFO_H
#define HECATE_INFO_H

#include <hecate/status.h>

HEC_BEGIN

#define HEC_INFO_TEXT 64 /* bytes; what is longer is cut, at the end of a character */

typedef struct hec_info {                 /* result */
	char family[HEC_INFO_TEXT];       /* "model_type" of config.json */
	char architecture[HEC_INFO_TEXT]; /* its first one; "" where there is none */
	char dtype[HEC_INFO_TEXT];        /* of the weights: "F32", or several: "BF16, F32" */
	int64_t tensors;                  /* in the files */
	int64_t numbers;                  /* in all of them */
	int64_t files, file_bytes;        /* of the weights, the headers left out */
	char tokenizer
		[HEC_INFO_TEXT]; /* "BPE", "Unigram", …; "" where there is no tokenizer.json */
	char pre_tokenizer[HEC_INFO_TEXT]; /* "ByteLevel", "Metaspace", …; "" where there is none */
} hec_info;

/* Reads config.json, the headers of the weights, and tokenizer.json where there is one. */
HEC_API HEC_MUST_USE hec_status hec_info_read(const char *folder, hec_info **out);
HEC_API void hec_info_free(hec_info *info);

HEC_END

#endif
