/* sanitized.h — whether this test was built with a sanitizer, which brings a heap and shadow memory of
 * its own: then what the process takes of memory says nothing about the library. */
#ifndef SUPPORT_SANITIZED_H
#define SUPPORT_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED false
#endif

#endif
