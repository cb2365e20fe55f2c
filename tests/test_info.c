/* test_info.c — what a folder's files say: family, types, sizes, tokenizer; and what is wrong with them. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <hecate/info.h>

#include "format/safetensors.h"
#include "support/scratch.h"

static char folder[64];

static void put_file(const char *name, const char *text)
{
	char path[128];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void put_weights(kit *k)
{
	static const float numbers[6] = {1, 2, 3, 4, 5, 6};
	static const uint16_t halves[8] = {0};
	const safetensors_item items[] = {
		{"a", ST_F32, 2, {2, 3}, numbers},
		{"b", ST_BF16, 1, {8}, halves},
		{"c", ST_F32, 1, {1}, numbers},
	};
	char path[128];
	snprintf(path, sizeof path, "%s/model.safetensors", folder);
	OK(k, safetensors_write(path, items, 3, NULL, NULL, NULL));
}

static void a_folder_says_what_it_holds(void **state)
{
	(void)state;
	kit k = {0};
	hec_info *info;
	put_file("config.json",
	         "{\"model_type\": \"marian\", \"architectures\": [\"MarianMTModel\"]}");
	FAILS(&k, HEC_ERR_IO, hec_info_read(folder, &info), "model.safetensors");
	assert_null(info);
	hec_info_free(info);
	put_weights(&k);
	OK(&k, hec_info_read(folder, &info));
	assert_string_equal(info->family, "marian");
	assert_string_equal(info->architecture, "MarianMTModel");
	assert_string_equal(info->dtype, "F32, BF16");
	assert_int_equal(info->tensors, 3);
	assert_int_equal(info->numbers, 15);
	assert_int_equal(info->files, 1);
	assert_int_equal(info->file_bytes, 6 * 4 + 8 * 2 + 4);
	assert_string_equal(info->tokenizer, "");
	hec_info_free(info);
	put_file("tokenizer.json",
	         "{\"model\": {\"type\": \"BPE\"}, \"pre_tokenizer\": {\"type\": \"Sequence\","
	         " \"pretokenizers\": [{\"type\": \"Split\"}, {\"type\": \"ByteLevel\"}]}}");
	OK(&k, hec_info_read(folder, &info));
	assert_string_equal(info->tokenizer, "BPE");
	assert_string_equal(info->pre_tokenizer, "ByteLevel");
	hec_info_free(info);
}

static void foreign_words_are_cut_and_cannot_steer(void **state)
{
	(void)state;
	kit k = {0};
	hec_info *info;
	put_weights(&k);
	put_file("config.json",
	         "{\"model_type\": \"\\u001b[2Jx\", \"architectures\": "
	         "[\"猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫猫\"]}");
	put_file("tokenizer.json", "{\"model\": 7, \"pre_tokenizer\": {\"pretokenizers\": []}}");
	OK(&k, hec_info_read(folder, &info));
	assert_string_equal(info->family, "\xEF\xBF\xBD[2Jx");
	assert_true(strlen(info->architecture) < HEC_INFO_TEXT);
	assert_non_null(strstr(info->architecture, "猫…"));
	assert_string_equal(info->tokenizer, "");
	hec_info_free(info);
}

static void what_is_wrong_is_said_with_the_file(void **state)
{
	(void)state;
	kit k = {0};
	hec_info *info;
	put_weights(&k);
	put_file("tokenizer.json", "{}");
	put_file("config.json", "{\"model_type\": 3}");
	FAILS(&k, HEC_ERR_FORMAT, hec_info_read(folder, &info), "config.json", "model_type");
	put_file("config.json", "{}");
	FAILS(&k, HEC_ERR_FORMAT, hec_info_read(folder, &info), "model_type");
	put_file("config.json", "{\"model_type\": \"x\", \"architectures\": 1}");
	FAILS(&k, HEC_ERR_FORMAT, hec_info_read(folder, &info), "architectures");
	put_file("config.json", "{\"model_type\": \"x\"}");
	put_file("tokenizer.json", "{");
	FAILS(&k, HEC_ERR_FORMAT, hec_info_read(folder, &info), "tokenizer.json");
	FAILS(&k, HEC_ERR_IO, hec_info_read("/nowhere", &info), "/nowhere");
	FAILS(&k, HEC_ERR_ARGUMENT, hec_info_read(NULL, &info), "folder");
	assert_null(info);
	FAILS(&k, HEC_ERR_ARGUMENT, hec_info_read(folder, NULL), "out");
}

static int make_folder(void **state)
{
	(void)state;
	return scratch_folder(folder, sizeof folder);
}

static int remove_folder(void **state)
{
	(void)state;
	return scratch_folder_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_folder_says_what_it_holds),
		cmocka_unit_test(foreign_words_are_cut_and_cannot_steer),
		cmocka_unit_test(what_is_wrong_is_said_with_the_file),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
