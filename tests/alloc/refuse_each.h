/* refuse_each.h — one call, again and again, each time without another piece of memory. */
#ifndef ALLOC_REFUSE_EACH_H
#define ALLOC_REFUSE_EACH_H

#include "alloc/refuse.h"
#include "support/test.h"

/* work frees what it made. What is refused is HEC_ERR_MEMORY and leaves nothing behind; the last time, nothing
 * is. Before the first, what stays from one call to the next must be there. Returns how often it was called. */
static inline long refuse_each(const kit *k, hec_status (*work)(void *user), void *user)
{
	long n = 1;
	for (bool fired = true; fired; n++) {
		const long before = refuse_live();
		refuse_request(n, false);
		hec_status status = work(user);
		fired = refuse_fired();
		refuse_request(0, false);
		CHECK(k, status == (fired ? HEC_ERR_MEMORY : HEC_OK), "request %ld: %s: %s", n,
		      hec_status_name(status), hec_error_message());
		CHECK(k, refuse_live() == before, "request %ld: %ld blocks are left", n,
		      refuse_live() - before);
	}
	return n - 1;
}

#endif
