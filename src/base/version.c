/* version.c — what this library is and who compiled it. */
#include <hecate/version.h>

#include <jansson.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <utf8proc.h>
#include <zlib.h>

#ifndef HEC_AUDIO_TEXT
#define HEC_AUDIO_TEXT ""
#endif

#define STRING_(x) #x
#define STRING(x) STRING_(x)

const char *hec_version(void)
{
	return HEC_VERSION;
}

const char *hec_version_compiler(void)
{
#if defined(__clang__)
	return "clang " STRING(__clang_major__) "." STRING(__clang_minor__) "." STRING(
		__clang_patchlevel__);
#elif defined(__GNUC__)
	return "gcc " STRING(__GNUC__) "." STRING(__GNUC_MINOR__) "." STRING(__GNUC_PATCHLEVEL__);
#else
	return "unknown";
#endif
}

const char *hec_version_libraries(void)
{
#define PCRE2_TEXT STRING(PCRE2_MAJOR) "." STRING(PCRE2_MINOR)
#define UTF8PROC_TEXT STRING(UTF8PROC_VERSION_MAJOR) "." STRING(UTF8PROC_VERSION_MINOR)
	return "jansson " JANSSON_VERSION ", pcre2 " PCRE2_TEXT ", utf8proc " UTF8PROC_TEXT
	       ", zlib " ZLIB_VERSION HEC_AUDIO_TEXT;
}
