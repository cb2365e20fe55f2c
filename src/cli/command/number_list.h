/* number_list.h — "1,2,3" of the command line. */
#ifndef CLI_COMMAND_NUMBER_LIST_H
#define CLI_COMMAND_NUMBER_LIST_H

#include "cli/command/command.h"

typedef struct number_list {
	int32_t *items; /* for free(); also where it failed */
	int64_t count;
} number_list;

/* Whole numbers from 0 to high. text NULL: none. EXIT_DONE, or what to end with. */
int number_list_take(const command *self, const char *option, const char *text, int64_t high,
                     number_list *out);

#endif
