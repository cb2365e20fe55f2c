/* test_messages.c — the message of a failure may quote a name, a file or the environment; it is still one line
 * of UTF-8 that no terminal obeys. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hecate/hecate.h>

#include "base/quote.h"
#include "base/status.h"
#include "base/width.h"

/* A sequence, DEL, C1, no UTF-8, five that turn or hide letters, two line ends. */
#define EVIL                                                                                       \
	"\033[2J\x7f\xc2\x9b\x9b\xe2\x80\xae\xe2\x81\xa6\xd8\x9c\xe2\x81\xaf\xef\xbf\xb9"          \
	"\xf3\xa0\x81\x81\xe2\x80\xa9\n"
#define CLEAN "?[2J???????????"

static void a_message_cannot_steer_a_terminal(void **state)
{
	(void)state;
	assert_int_equal(fail(HEC_ERR_IO, "%s: could not be opened", "x" EVIL "y"), HEC_ERR_IO);
	assert_string_equal(hec_error_message(), "x" CLEAN "y: could not be opened");
	assert_int_equal(fail_in(HEC_ERR_IO, "a" EVIL), HEC_ERR_IO);
	assert_string_equal(hec_error_message(), "a" CLEAN ": x" CLEAN "y: could not be opened");
	/* What scripts and emoji need stays. */
	static const char good[] = "é 思考 \u200c\u200d\u200b 👩\u200d🚀 \u00ad\ufeff";
	assert_int_equal(fail(HEC_ERR_IO, "%s", good), HEC_ERR_IO);
	assert_string_equal(hec_error_message(), good);
}

static void a_message_that_names_its_file_names_it_once(void **state)
{
	(void)state;
	static const char name[] = "dir/a" EVIL;
	assert_int_equal(fail(HEC_ERR_IO, "%s: could not be written", name), HEC_ERR_IO);
	assert_int_equal(fail_in(HEC_ERR_IO, "%s", name), HEC_ERR_IO);
	assert_string_equal(hec_error_message(), "dir/a" CLEAN ": could not be written");
	/* A longer name is another one. */
	assert_int_equal(fail(HEC_ERR_IO, "models: none"), HEC_ERR_IO);
	assert_int_equal(fail_in(HEC_ERR_IO, "model"), HEC_ERR_IO);
	assert_string_equal(hec_error_message(), "model: models: none");
}

static void a_message_is_cut_at_a_whole_character(void **state)
{
	(void)state;
	char words[2 * STATUS_MESSAGE];
	for (size_t shift = 0; shift < 3; shift++) {
		memset(words, 'x', shift);
		for (size_t i = shift; i + 4 <= sizeof words; i += 3)
			memcpy(words + i, "思", 4);
		for (int prefix = 0; prefix < 2; prefix++) {
			assert_int_equal(fail(HEC_ERR_IO, "%s", words), HEC_ERR_IO);
			if (prefix)
				assert_int_equal(fail_in(HEC_ERR_IO, "file"), HEC_ERR_IO);
			const char *message = hec_error_message();
			const size_t length = strlen(message);
			assert_true(length < STATUS_MESSAGE && length > STATUS_MESSAGE - 8);
			assert_string_equal(message + length - 3, "…");
			for (size_t i = 0, bytes; i < length; i += bytes)
				assert_int_not_equal(rune_decode(message + i, length - i, &bytes),
				                     NOT_A_RUNE);
		}
	}
}

static void the_item_to_blame_is_that_of_the_last_failure(void **state)
{
	(void)state;
	assert_int_equal(fail_item(fail(HEC_ERR_SHAPE, "too long"), 7), HEC_ERR_SHAPE);
	assert_int_equal(hec_error_item(), 7);
	assert_int_equal(fail_in(HEC_ERR_SHAPE, "translate"), HEC_ERR_SHAPE);
	assert_int_equal(hec_error_item(), 7);
	assert_int_equal(fail(HEC_ERR_IO, "no file"), HEC_ERR_IO);
	assert_int_equal(hec_error_item(), -1);
}

static hec_status stop_it(void *user, const char *phase, int64_t done, int64_t total)
{
	(void)user, (void)phase, (void)done, (void)total;
	return HEC_ERR_CANCELLED;
}

static hec_status fail_itself(void *user, const char *phase, int64_t done, int64_t total)
{
	(void)user, (void)phase, (void)done, (void)total;
	return fail(HEC_ERR_IO, "the disk is full");
}

static void a_callback_that_stops_has_a_message_of_its_own_or_ours(void **state)
{
	(void)state;
	assert_int_equal(call_progress(NULL, NULL, "texts", 1, 2), HEC_OK);
	assert_int_equal(call_progress(stop_it, NULL, "texts", 1, 2), HEC_ERR_CANCELLED);
	assert_string_equal(hec_error_message(),
	                    "texts: cancelled by the caller's function after 1 of 2");
	assert_int_equal(call_progress(fail_itself, NULL, "texts", 1, 2), HEC_ERR_IO);
	assert_string_equal(hec_error_message(), "the disk is full");
}

/* Calls that name a file or a word in their own ways, each with one that would steer. */
static void calls_that_fail_quote_safely(void **state)
{
	(void)state;
	static const char *const files[] = {"/nowhere/" EVIL};
	hec_ctx_options o = HEC_CTX_OPTIONS_INIT;
	hec_audio_options of_sound = HEC_AUDIO_OPTIONS_INIT;
	hec_tokenizer *tokenizer = NULL;
	hec_ctx *ctx = NULL, *none = NULL;
	hec_model *model = NULL;
	hec_lines *lines = NULL;
	hec_info *info;
	hec_audio *audio;
	assert_int_equal(hec_ctx_create(NULL, &ctx), HEC_OK);
	for (int call = 0; call < 6; call++) {
		hec_status status = HEC_OK;
		(void)fail(HEC_ERR_INTERNAL, "nothing");
		switch (call) {
		case 0:
			o.isa = files[0];
			status = hec_ctx_create(&o, &none);
			break;
		case 1:
			status = hec_tokenizer_load(files[0], &tokenizer);
			break;
		case 2:
			status = hec_info_read(files[0], &info);
			assert_null(info);
			break;
		case 3:
			status = hec_model_load(ctx, files[0], NULL, &model);
			break;
		case 4:
			status = hec_lines_create(HEC_TASK_LM, files, 1, &lines);
			if (status == HEC_OK) {
				const char *text[2];
				size_t bytes[2];
				bool more;
				status = hec_lines_next_pair(lines, text, bytes, &more);
				hec_lines_destroy(lines);
			}
			break;
		default:
			status = hec_audio_read(files[0], &of_sound, &audio);
			assert_null(audio);
		}
		const char *message = hec_error_message();
		const size_t length = strlen(message);
		assert_int_not_equal(status, HEC_OK);
		if (status != HEC_ERR_UNSUPPORTED && !strstr(message, "?[2J")) /* no sound files */
			fail_msg("call %d: %s", call, message);
		for (size_t i = 0, bytes; i < length; i += bytes)
			if (rune_steers_terminal(rune_decode(message + i, length - i, &bytes)))
				fail_msg("call %d: byte %zu of: %s", call, i, message);
	}
	hec_ctx_destroy(ctx);
}

static void words_of_a_file_are_short_and_clean(void **state)
{
	(void)state;
	char out[QUOTE_TEXT], many[1000];
	assert_string_equal(quote("a\nb\x7f\xc2\x9b \xe2\x80\xae \xffé\xed\xa0\x80", out),
	                    "a?b?? ? ?é???");
	for (size_t i = 0; i + 2 < sizeof many; i += 2)
		memcpy(many + i, "é", 3);
	size_t n = strlen(quote(many, out));
	assert_true(n < QUOTE_TEXT && n > QUOTE_TEXT - 8);
	assert_string_equal(out + n - 5, "é…");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_cannot_steer_a_terminal),
		cmocka_unit_test(a_message_that_names_its_file_names_it_once),
		cmocka_unit_test(a_message_is_cut_at_a_whole_character),
		cmocka_unit_test(the_item_to_blame_is_that_of_the_last_failure),
		cmocka_unit_test(a_callback_that_stops_has_a_message_of_its_own_or_ours),
		cmocka_unit_test(calls_that_fail_quote_safely),
		cmocka_unit_test(words_of_a_file_are_short_and_clean),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
