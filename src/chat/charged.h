/* charged.h — makes sure that all work of a running chat template is charged. Files that include it, last, do not
 * compile with functions that read texts, lists or dicts without a charge; work.h has the functions to call
 * instead. work.c itself, the parser and apply.c do not include it. */
#ifndef CHAT_CHARGED_H
#define CHAT_CHARGED_H

/* Only names that are no macros can be poisoned. */
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
