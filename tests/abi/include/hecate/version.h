/* version.h — the version of the headers, and of the library that is running. */
#ifndef HECATE_VERSION_H
#define HECATE_VERSION_H

#include <hecate/api.h>

#define HEC_VERSION_MAJOR 0
#define HEC_VERSION_MINOR 2
#define HEC_VERSION_PATCH 0
#define HEC_VERSION "0.2.0"

HEC_BEGIN

/* HEC_VERSION of the library that was loaded, e.g. "0.2.0". */
HEC_API const char *hec_version(void);

/* The compiler that built the library, e.g. "gcc 12.2.0". */
HEC_API const char *hec_version_compiler(void);

/* The libraries that it was built with, e.g. "jansson 2.14, pcre2 10.42, …". */
HEC_API const char *hec_version_libraries(void);

HEC_END

#endif
