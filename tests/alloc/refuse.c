/* refuse.c — the wrapped calls. */
#include "refuse.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

static _Atomic long requests, live, refused;
static _Atomic long refuse_at;
static _Atomic bool refuse_on;

void refuse_request(long n, bool forever)
{
	atomic_store(&requests, 0);
	atomic_store(&refused, 0);
	atomic_store(&refuse_on, forever);
	atomic_store(&refuse_at, n);
}

bool refuse_fired(void)
{
	return atomic_load(&refused) > 0;
}

long refuse_requests(void)
{
	return atomic_load(&requests);
}

long refuse_live(void)
{
	return atomic_load(&live);
}

static bool refused_now(void)
{
	long n = atomic_fetch_add(&requests, 1) + 1, at = atomic_load(&refuse_at);
	bool no = at > 0 && (n == at || (n > at && atomic_load(&refuse_on)));
	if (no) {
		atomic_fetch_add(&refused, 1);
		errno = ENOMEM;
	}
	return no;
}

static void *counted(void *p)
{
	if (p)
		atomic_fetch_add(&live, 1);
	return p;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
int __real_posix_memalign(void **p, size_t align, size_t size);
void __real_free(void *p);
int __real_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
int __wrap_posix_memalign(void **p, size_t align, size_t size);
void __wrap_free(void *p);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);

void *__wrap_malloc(size_t size)
{
	return refused_now() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return refused_now() ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t size)
{
	if (refused_now())
		return NULL;
	void *moved = __real_realloc(p, size);
	return p ? moved : counted(moved);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
	return refused_now() ? NULL : counted(__real_aligned_alloc(align, size));
}

int __wrap_posix_memalign(void **p, size_t align, size_t size)
{
	if (refused_now())
		return ENOMEM;
	int error = __real_posix_memalign(p, align, size);
	if (!error)
		counted(*p);
	return error;
}

void __wrap_free(void *p)
{
	if (p)
		atomic_fetch_sub(&live, 1);
	__real_free(p);
}

int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	return refused_now() ? EAGAIN : __real_pthread_create(t, attr, fn, arg);
}
