/* version.c — what this library is and who compiled it. */
#include <hecate/version.h>

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
