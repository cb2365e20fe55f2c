/* test_transcribe_program.c — `hecate transcribe` as a user runs it, with a tiny model. */
#include <string.h>

#include "support/golden.h"

#include <hecate/audio.h>

#include "program_run.h"
#include "wav.h"

#define MODEL TESTS_DIR "/golden/transcribe_english"
#define MANY TESTS_DIR "/golden/transcribe_many"

/* A sound of the goldens, at 4 kHz. */
static void write_sound(const golden *g, const char *sound, const char *name)
{
	const hec_tensor *x = golden_get(g, sound);
	char path[512];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = wav_open(path, 4000, (uint32_t)x->shape[0]);
	assert_non_null(f);
	for (int64_t i = 0; i < x->shape[0]; i++)
		wav_put(f, get(x, i) * 32767);
	assert_int_equal(fclose(f), 0);
}

static int make_sounds(void **state)
{
	if (make_folder(state) != 0)
		return -1;
	kit k = kit_open(1);
	golden g;
	golden_open(&g, &k, TESTS_DIR "/golden/transcribe_sounds.golden");
	write_sound(&g, "sound0", "a.wav");
	write_sound(&g, "sound3", "b.wav");
	write_file("bad.wav", "RIFFnothing");
	kit_close(&k);
	return 0;
}

static result transcribe(const char *arguments)
{
	char all[2048];
	snprintf(all, sizeof all, "transcribe -m '" MODEL "' %s", arguments);
	return run(all);
}

static const char *in_folder(const char *format)
{
	static char text[1024];
	char *to = text;
	for (; *format; format++)
		if (*format == '@')
			to += snprintf(to, 64, "%s", folder);
		else
			*to++ = *format;
	*to = '\0';
	return text;
}

static void each_file_gives_a_line(void **state)
{
	(void)state;
	char both[2048];
	result all = transcribe(in_folder("@/a.wav @/b.wav")), a = transcribe(in_folder("@/a.wav")),
	       b = transcribe(in_folder("@/b.wav"));
	assert_int_equal(all.code, 0);
	snprintf(both, sizeof both, "%s/a.wav\t%s%s/b.wav\t%s", folder, a.out, folder, b.out);
	assert_string_equal(all.out, both);
	result times = transcribe(in_folder("--timestamps @/a.wav @/b.wav"));
	assert_memory_equal(times.out, both, strlen(folder) + 7);
	assert_non_null(strstr(times.out, "b.wav\t[00:0"));
	done(&all), done(&a), done(&b), done(&times);
}

static void json_says_which_file_it_is_of(void **state)
{
	(void)state;
	assert_int_equal(shell("cp '%s/b.wav' \"$(printf '%s/\\377.wav')\"", folder, folder), 0);
	result json = transcribe(in_folder("--json @/b.wav @/?.wav"));
	char name[256];
	snprintf(name, sizeof name, "{\"input\":1,\"file\":\"%s/b.wav\",\"text\":\"", folder);
	assert_int_equal(json.code, 0);
	assert_memory_equal(json.out, name, strlen(name));
	assert_non_null(strstr(json.out, "\"language\":\"en\",\"segments\":[{\"begin\":"));
	assert_non_null(strstr(json.out, "/\xEF\xBF\xBD.wav\",\"text\""));
	assert_null(strstr(json.out, "tokens"));
	assert_int_equal(shell("rm '%s'/[!a-z]*.wav", folder), 0);
	done(&json);
}

/* Standard input, by its name or where nothing else is named; a pipe by its name. */
static void sound_comes_through_pipes(void **state)
{
	(void)state;
	static const char *const ways[] = {"- <b.wav", "<b.wav", "/dev/stdin <b.wav", "pipe"};
	result file = transcribe(in_folder("@/b.wav"));
	write_file("want", file.out);
	assert_int_equal(shell("mkfifo '%s/pipe'", folder), 0);
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		if (shell("cd '%s' && { [ %zu -lt 3 ] || cat b.wav >pipe & } && "
		          "'%s' transcribe -m '%s' %s >got && cmp got want",
		          folder, i, program(), MODEL, ways[i]) != 0)
			fail_msg("%s", ways[i]);
	result twice = transcribe("- -"), none = transcribe("");
	assert_int_equal(twice.code, 2);
	assert_non_null(strstr(twice.err, "standard input is named 2 times"));
	assert_int_equal(none.code, 1);
	assert_non_null(strstr(none.err, "standard input: the file is empty"));
	done(&file), done(&twice), done(&none);
}

static void a_folder_takes_a_file_for_each_sound(void **state)
{
	(void)state;
	result r = transcribe(in_folder("--srt --out-dir @/new/deep @/a.wav @/b.wav")),
	       one = transcribe(in_folder("--srt @/b.wav"));
	assert_int_equal(r.code, 0);
	assert_string_equal(r.out, "");
	assert_int_equal(
		shell("cd '%s/new/deep' && [ \"$(ls -A | tr '\\n' ' ')\" = 'a.srt b.srt ' ]",
	              folder),
		0);
	char *subtitles = read_all("new/deep/b.srt");
	assert_string_equal(subtitles, one.out);
	free(subtitles);
	done(&r), done(&one);
	static const char *const forms[][2] = {
		{"", "a.txt"}, {"--timestamps", "a.txt"}, {"--vtt", "a.vtt"}, {"--json", "a.json"}};
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		char line[256], name[64];
		snprintf(line, sizeof line, "%s @/a.wav", forms[i][0]);
		one = transcribe(in_folder(line));
		snprintf(line, sizeof line, "%s --out-dir @/new @/a.wav", forms[i][0]);
		r = transcribe(in_folder(line));
		snprintf(name, sizeof name, "new/%s", forms[i][1]);
		char *text = read_all(name);
		assert_string_equal(text, one.out);
		free(text);
		done(&r), done(&one);
	}
}

/* Before the model is loaded, and before anything is written. */
static void a_folder_that_cannot_take_them_is_told(void **state)
{
	(void)state;
	static const struct {
		const char *arguments, *words[3];
		int code;
	} cases[] = {
		{"--out-dir @/same @/a.wav @/sub/a.mp3",
	         {"/a.wav and ", "/sub/a.mp3", "/same/a.txt"},
	         2},
		{"--out-dir @/same @/a.wav @/a.wav", {"/a.wav and ", "both", "a.txt"}, 2},
		{"--out-dir @/a.wav @/b.wav", {"/a.wav could not be made", "", ""}, 1},
		{"--out-dir @/a.wav/x @/b.wav", {"/a.wav/x could not be made", "", ""}, 1},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		result r = transcribe(in_folder(cases[i].arguments));
		assert_int_equal(r.code, cases[i].code);
		for (int k = 0; k < 3; k++)
			if (!strstr(r.err, cases[i].words[k]))
				fail_msg("%s: %s", cases[i].arguments, r.err);
		done(&r);
	}
	assert_int_not_equal(shell("ls -d '%s/same' 2>/dev/null", folder), 0);
	/* What failed has no file; the others have theirs. */
	result r =
		transcribe(in_folder("--out-dir @/kept --keep-going @/bad.wav @/a.wav @/none.wav"));
	assert_int_equal(r.code, 1);
	assert_string_equal(r.out, "");
	assert_int_equal(shell("[ \"$(ls -A '%s/kept')\" = a.txt ]", folder), 0);
	done(&r);
	/* A folder in the file's place stays, and nothing is left beside it. */
	assert_int_equal(shell("mkdir -p '%s/taken/a.txt'", folder), 0);
	r = transcribe(in_folder("--out-dir @/taken @/a.wav"));
	assert_int_equal(r.code, 1);
	assert_non_null(strstr(r.err, "taken/a.txt could not be written: "));
	assert_int_equal(shell("[ \"$(ls -A '%s/taken')\" = a.txt ]", folder), 0);
	done(&r);
}

static void subtitles_are_numbered_and_timed(void **state)
{
	(void)state;
	result srt = transcribe(in_folder("-m " MANY " --no-speech 2 --srt @/b.wav")),
	       vtt = transcribe(in_folder("--vtt @/b.wav"));
	assert_int_equal(srt.code, 0);
	assert_memory_equal(srt.out, "1\n00:00:0", 9);
	assert_non_null(strstr(srt.out, " --> 00:00:0"));
	if (!strstr(srt.out, "\n\n2\n00:00:0"))
		fail_msg("%s", srt.out);
	assert_memory_equal(vtt.out, "WEBVTT\n\n00:00:0", 15);
	done(&srt), done(&vtt);
}

/* A model whose letters are marks of WebVTT's own. */
static void subtitles_cannot_be_taken_for_marks(void **state)
{
	(void)state;
	static const struct {
		const char *letters, *mark, *spelled;
	} marks[] = {{"a-i", "<", "&lt;"}, {"j-r", ">", "&gt;"}, {"s-z", "\\&", "&amp;"}};
	assert_int_equal(
		shell("cp -r '%s' '%s/marks' && chmod -R u+w '%s/marks'", MANY, folder, folder), 0);
	/* Several tokens may be written alike; here only ids become text. */
	for (int i = 0; i < 3; i++)
		assert_int_equal(shell("sed -i -E 's/^( *\"Ġ?)[%s](\": [0-9])/\\1%s@@\\2/' "
		                       "'%s/marks/tokenizer.json'",
		                       marks[i].letters, marks[i].mark, folder),
		                 0);
	assert_int_equal(shell("awk '{ while (sub(/@@/, n++)); print }' '%s/marks/tokenizer.json' "
	                       "> '%s/numbered' && mv '%s/numbered' '%s/marks/tokenizer.json'",
	                       folder, folder, folder, folder),
	                 0);
	result vtt = transcribe(in_folder("-m @/marks --no-speech 2 --vtt @/b.wav"));
	assert_int_equal(vtt.code, 0);
	assert_memory_equal(vtt.out, "WEBVTT\n\n00:00:0", 15);
	int spelled = 0;
	for (int i = 0; i < 3; i++)
		spelled += strstr(vtt.out, marks[i].spelled) != NULL;
	if (spelled == 0)
		fail_msg("%s", vtt.out);
	for (const char *at = vtt.out; (at = strpbrk(at, "<&")); at++)
		if (*at == '<' || (memcmp(at, "&lt;", 4) != 0 && memcmp(at, "&gt;", 4) != 0 &&
		                   memcmp(at, "&amp;", 5) != 0))
			fail_msg("%s", vtt.out);
	done(&vtt);
}

static void wrong_usage_and_bad_files_are_told(void **state)
{
	(void)state;
	static const struct {
		const char *arguments, *word;
		int code;
	} cases[] = {
		{"--srt --vtt @/a.wav", "one of", 2},
		{"--srt @/a.wav @/b.wav", "--out-dir", 2},
		{"--tokens @/a.wav", "--json", 2},
		{"--words @/a.wav", "--words is for --json, --srt and --vtt", 2},
		{"--silence 2 @/a.wav", "--silence needs --words", 2},
		{"--temperatures 0,x @/a.wav", "not 'x'", 2},
		{"--temperatures '' @/a.wav", "up to 32 numbers", 2},
		{"--temperatures 0,,1 @/a.wav", "not ',1'", 2},
		{"--temperatures 0,-1 @/a.wav", "not '-1'", 2},
		{"--temperatures 101 @/a.wav", "not '101'", 2},
		{"--temperatures 0.0000001 @/a.wav", "temperature 1 is 1e-07", 1},
		{"--temperatures "
	         "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1 @/a.wav",
	         "up to 32 numbers", 2},
		{"--best-of 0 @/a.wav", "--best-of", 2},
		{"--best-of 65 @/a.wav", "--best-of", 2},
		{"--compression 0 @/a.wav", "max_compression is 0", 1},
		{"--compression nan @/a.wav", "--compression", 2},
		{"--log-prob 1 @/a.wav", "--log-prob", 2},
		{"--seed -1 @/a.wav", "--seed", 2},
		{"--plain --seed 1 @/a.wav", "--plain writes each window once", 2},
		{"--plain --no-previous @/a.wav", "--plain writes each window once", 2},
		{"--task sing @/a.wav", "sing", 2},
		{"--language de @/a.wav", "English only", 1},
		{"@/bad.wav", "bad.wav: ", 1},
		{"@/none.wav", "none.wav", 1},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		result r = transcribe(in_folder(cases[i].arguments));
		if (r.code != cases[i].code || !strstr(r.err, cases[i].word) || *r.out)
			fail_msg("%s: %d, %s", cases[i].arguments, r.code, r.err);
		done(&r);
	}
	/* What comes before is still written. */
	char hears[512];
	snprintf(hears, sizeof hears, "embed -m %s/golden/transcribe_english hi", TESTS_DIR);
	result embed = run(hears);
	assert_int_equal(embed.code, 1);
	assert_non_null(strstr(embed.err, "this model hears"));
	done(&embed);
	/* What is there of a file that was cut is written down, with a word about it. */
	assert_int_equal(shell("head -c 3000 '%s/a.wav' >'%s/cut.wav'", folder, folder), 0);
	result whole = transcribe(in_folder("@/a.wav")),
	       part = transcribe(in_folder("@/cut.wav @/a.wav"));
	assert_int_equal(part.code, 0);
	assert_int_equal(lines_of(part.out), 2);
	assert_non_null(strstr(part.err, "cut.wav: the file ends before its sound does\n"));
	assert_null(strstr(part.err, "a.wav: "));
	assert_string_equal(whole.err, "");
	done(&whole);
	done(&part);
	result r = transcribe(in_folder("@/a.wav @/bad.wav"));
	assert_int_equal(r.code, 1);
	assert_int_equal(lines_of(r.out), 1);
	done(&r);
}

static void a_bad_file_does_not_end_the_work(void **state)
{
	(void)state;
	/* Drawn by chance, a text would depend on its number. */
	result good = transcribe(in_folder("--plain @/a.wav @/b.wav")),
	       r = transcribe(
		       in_folder("--plain --keep-going @/bad.wav @/a.wav @/none.wav @/b.wav"));
	assert_int_equal(r.code, 1);
	const size_t first = strcspn(good.out, "\n") + 1;
	char want[2048];
	snprintf(want, sizeof want, "%s/bad.wav\t\n%.*s%s/none.wav\t\n%s", folder, (int)first,
	         good.out, folder, good.out + first);
	assert_string_equal(r.out, want);
	assert_non_null(strstr(r.err, "bad.wav: "));
	assert_non_null(strstr(r.err, "none.wav"));
	assert_non_null(strstr(r.err, "2 of 4 files failed"));
	done(&good);
	done(&r);
	r = transcribe(in_folder("--keep-going --json @/none.wav @/b.wav"));
	assert_int_equal(r.code, 1);
	assert_int_equal(strncmp(r.out, "{\"input\":1,\"file\":\"", 19), 0);
	assert_non_null(strstr(r.out, "}\n{\"input\":2,\"file\":\""));
	done(&r);
}

static int count(const char *text, const char *word)
{
	int n = 0;
	for (; (text = strstr(text, word)); text++)
		n++;
	return n;
}

static void words_have_their_times_in_every_form(void **state)
{
	(void)state;
	result json = transcribe(in_folder("-m " MANY " --no-speech 2 --words --json @/b.wav")),
	       srt = transcribe(in_folder("-m " MANY " --no-speech 2 --words --srt @/b.wav")),
	       vtt = transcribe(in_folder("-m " MANY " --no-speech 2 --words --vtt @/b.wav")),
	       plain = transcribe(in_folder("-m " MANY " --no-speech 2 --json @/b.wav"));
	assert_int_equal(json.code + srt.code + vtt.code + plain.code, 0);
	const int words = count(json.out, "\"probability\":"),
		  segments = count(json.out, "\"words\":[{\"begin\":");
	if (segments < 1 || words < segments || words < 2)
		fail_msg("%s", json.out);
	assert_int_equal(count(srt.out, " --> "), words);
	assert_int_equal(count(vtt.out, " --> "), segments);
	assert_int_equal(count(vtt.out, "<00:00:0"), words - segments);
	assert_null(strstr(plain.out, "\"words\""));
	done(&json), done(&srt), done(&vtt), done(&plain);
}

static void what_repeats_itself_is_written_again_but_by_plain(void **state)
{
	(void)state;
	static const char often[] = "--json --compression 0.001 ";
	char line[256];
	result r[4];
	static const char *const more[] = {"--seed 5", "--seed 5 --threads 1 --batch 1", "--seed 6",
	                                   "--temperatures 0"};
	for (int i = 0; i < 4; i++) {
		snprintf(line, sizeof line, "%s%s @/b.wav", often, more[i]);
		r[i] = transcribe(in_folder(line));
		assert_int_equal(r[i].code, 0);
		assert_int_equal(strstr(r[i].out, "\"temperature\":1.0") != NULL, i < 3);
	}
	assert_string_equal(r[0].out, r[1].out);
	assert_string_not_equal(r[0].out, r[2].out);
	result plain = transcribe(in_folder("--plain --json @/b.wav"));
	assert_non_null(strstr(plain.out, "\"temperature\":0.0"));
	assert_null(strstr(plain.out, "\"temperature\":1"));
	for (int i = 0; i < 4; i++)
		done(&r[i]);
	done(&plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_file_gives_a_line),
		cmocka_unit_test(json_says_which_file_it_is_of),
		cmocka_unit_test(sound_comes_through_pipes),
		cmocka_unit_test(a_folder_takes_a_file_for_each_sound),
		cmocka_unit_test(a_folder_that_cannot_take_them_is_told),
		cmocka_unit_test(subtitles_are_numbered_and_timed),
		cmocka_unit_test(subtitles_cannot_be_taken_for_marks),
		cmocka_unit_test(wrong_usage_and_bad_files_are_told),
		cmocka_unit_test(a_bad_file_does_not_end_the_work),
		cmocka_unit_test(words_have_their_times_in_every_form),
		cmocka_unit_test(what_repeats_itself_is_written_again_but_by_plain),
	};
	if (!hec_audio_available())
		return 0;
	return cmocka_run_group_tests(tests, make_sounds, remove_folder);
}
