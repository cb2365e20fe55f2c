/* hash.h — hashing of keys that come from outside. The seed differs from run to run, so that nobody
 * can write a file whose keys all collide; nothing may depend on the order in a table. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

uint64_t hash_seed(void); /* one value a process */

static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
	__extension__ unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_word(uint64_t seed, uint64_t key)
{
	return hash_mix(key ^ seed, 0x9e3779b97f4a7c15u ^ (seed << 1));
}

static inline uint64_t hash_bytes(uint64_t seed, const char *p, size_t n)
{
	uint64_t h = seed ^ n * 0xff51afd7ed558ccdu, a, b;
	for (; n > 16; n -= 16, p += 16) {
		memcpy(&a, p, 8);
		memcpy(&b, p + 8, 8);
		h = hash_mix(a ^ h, b ^ 0xa0761d6478bd642fu ^ seed);
	}
	a = b = 0;
	if (n >= 8) {
		memcpy(&a, p, 8);
		memcpy(&b, p + n - 8, 8);
	} else if (n >= 4) {
		uint32_t low, high;
		memcpy(&low, p, 4);
		memcpy(&high, p + n - 4, 4);
		a = low;
		b = high;
	} else if (n > 0) {
		a = (uint64_t)(unsigned char)p[0] << 16 | (uint64_t)(unsigned char)p[n / 2] << 8 |
		    (unsigned char)p[n - 1];
	}
	return hash_mix(hash_mix(a ^ h, b ^ 0xe7037ed1a0b428dbu ^ seed), 0x8ebc6af09c88c6e3u ^ h);
}

#endif
