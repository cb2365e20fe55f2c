/* whisper_names.c — what Whisper's languages are called in English, also by a second name. */
#include <string.h>
#include <strings.h>

#include "task/whisper.h"

/* clang-format off */
static const struct {
	const char *code, *name;
} names[] = {
	{"af", "afrikaans"}, {"sq", "albanian"}, {"am", "amharic"}, {"ar", "arabic"}, {"hy", "armenian"},
	{"as", "assamese"}, {"az", "azerbaijani"}, {"ba", "bashkir"}, {"eu", "basque"},
	{"be", "belarusian"}, {"bn", "bengali"}, {"bs", "bosnian"}, {"br", "breton"}, {"bg", "bulgarian"},
	{"my", "burmese"}, {"yue", "cantonese"}, {"es", "castilian"}, {"ca", "catalan"},
	{"zh", "chinese"}, {"hr", "croatian"}, {"cs", "czech"}, {"da", "danish"}, {"nl", "dutch"},
	{"en", "english"}, {"et", "estonian"}, {"fo", "faroese"}, {"fi", "finnish"}, {"nl", "flemish"},
	{"fr", "french"}, {"gl", "galician"}, {"ka", "georgian"}, {"de", "german"}, {"el", "greek"},
	{"gu", "gujarati"}, {"ht", "haitian"}, {"ht", "haitian creole"}, {"ha", "hausa"},
	{"haw", "hawaiian"}, {"he", "hebrew"}, {"hi", "hindi"}, {"hu", "hungarian"}, {"is", "icelandic"},
	{"id", "indonesian"}, {"it", "italian"}, {"ja", "japanese"}, {"jw", "javanese"},
	{"kn", "kannada"}, {"kk", "kazakh"}, {"km", "khmer"}, {"ko", "korean"}, {"lo", "lao"},
	{"la", "latin"}, {"lv", "latvian"}, {"lb", "letzeburgesch"}, {"ln", "lingala"},
	{"lt", "lithuanian"}, {"lb", "luxembourgish"}, {"mk", "macedonian"}, {"mg", "malagasy"},
	{"ms", "malay"}, {"ml", "malayalam"}, {"mt", "maltese"}, {"zh", "mandarin"}, {"mi", "maori"},
	{"mr", "marathi"}, {"ro", "moldavian"}, {"ro", "moldovan"}, {"mn", "mongolian"},
	{"my", "myanmar"}, {"ne", "nepali"}, {"no", "norwegian"}, {"nn", "nynorsk"}, {"oc", "occitan"},
	{"pa", "panjabi"}, {"ps", "pashto"}, {"fa", "persian"}, {"pl", "polish"}, {"pt", "portuguese"},
	{"pa", "punjabi"}, {"ps", "pushto"}, {"ro", "romanian"}, {"ru", "russian"}, {"sa", "sanskrit"},
	{"sr", "serbian"}, {"sn", "shona"}, {"sd", "sindhi"}, {"si", "sinhala"}, {"si", "sinhalese"},
	{"sk", "slovak"}, {"sl", "slovenian"}, {"so", "somali"}, {"es", "spanish"}, {"su", "sundanese"},
	{"sw", "swahili"}, {"sv", "swedish"}, {"tl", "tagalog"}, {"tg", "tajik"}, {"ta", "tamil"},
	{"tt", "tatar"}, {"te", "telugu"}, {"th", "thai"}, {"bo", "tibetan"}, {"tr", "turkish"},
	{"tk", "turkmen"}, {"uk", "ukrainian"}, {"ur", "urdu"}, {"uz", "uzbek"}, {"ca", "valencian"},
	{"vi", "vietnamese"}, {"cy", "welsh"}, {"yi", "yiddish"}, {"yo", "yoruba"},
};
/* clang-format on */

const char *whisper_code_of_name(const char *name)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcasecmp(names[i].name, name) == 0)
			return names[i].code;
	return NULL;
}
