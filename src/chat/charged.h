/* charged.h — included last by what runs while a chat template runs: what looks at texts, lists and dicts
 * without a charge does not compile there. work.h has what to call instead; there and where a template
 * is read, and where its caller's values are taken, this is not included. */
#ifndef CHAT_CHARGED_H
#define CHAT_CHARGED_H

/* Macros may be poisoned only once they are none. */
#undef json_array_foreach
#undef json_object_foreach
#undef json_object_keylen_foreach

#pragma GCC poison strlen strcmp strncmp strcoll memcmp strcpy strncpy strdup strndup memcpy memmove
#pragma GCC poison strchr strrchr strstr strpbrk strspn strcspn strtok memchr memmem qsort
#pragma GCC poison json_string json_stringn json_pack json_copy json_deep_copy json_equal
#pragma GCC poison json_array_get json_array_append json_array_append_new json_array_extend
#pragma GCC poison json_array_foreach json_object_foreach json_object_keylen_foreach
#pragma GCC poison json_object_get json_object_set json_object_set_new json_object_update
#pragma GCC poison json_object_iter json_object_iter_at json_object_iter_next json_object_del
#pragma GCC poison utf8_count utf8_valid

#endif
