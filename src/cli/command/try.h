/* try.h — passing a failure of the library up; HEC_TRY of base/status.h is not for programs. */
#ifndef CLI_COMMAND_TRY_H
#define CLI_COMMAND_TRY_H

#include <hecate/status.h>

#define TRY(call)                                                                                  \
	do {                                                                                       \
		hec_status try_status_ = (call);                                                   \
		if (try_status_ != HEC_OK)                                                         \
			return try_status_;                                                        \
	} while (0)

#endif
