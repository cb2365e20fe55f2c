/* classes.c — the runs of class_table.h unrolled into pages of 256 characters. Pages that are the
 * same all over share one block, so that the whole is small and a look-up is two loads. */
#include "text/unicode/classes.h"

#include <pthread.h>
#include <stddef.h>

#include "text/unicode/class_table.h"

#define RUNS (sizeof class_runs / sizeof class_runs[0])
#define PAGES 0x1100

uint16_t class_pages[PAGES];
uint16_t class_blocks[CLASS_BLOCKS][256];

/* A block of one class all over: one that is there, or a new one. */
static uint16_t uniform_block(uint16_t classes, uint16_t *used, uint16_t *uniform, int *uniforms)
{
	for (int i = 0; i < *uniforms; i++)
		if (class_blocks[uniform[i]][0] == classes)
			return uniform[i];
	uint16_t b = (*used)++;
	for (int i = 0; i < 256; i++)
		class_blocks[b][i] = classes;
	uniform[(*uniforms)++] = b;
	return b;
}

/* At most one block for each page that a run begins in, and one for each set of classes: 512 are
 * enough for 166 such pages and 2^8 sets that occur. */
static void build_pages(void)
{
	uint16_t used = 0, uniform[CLASS_BLOCKS];
	int uniforms = 0;
	size_t run = 0;
	for (uint32_t page = 0; page < PAGES; page++) {
		uint32_t first = page << 8;
		while (run + 1 < RUNS && class_runs[run + 1].first <= first)
			run++;
		if (run + 1 == RUNS || class_runs[run + 1].first >= first + 256) {
			class_pages[page] =
				uniform_block(class_runs[run].classes, &used, uniform, &uniforms);
			continue;
		}
		class_pages[page] = used;
		uint16_t *block = class_blocks[used++];
		for (uint32_t i = 0; i < 256; i++) {
			while (run + 1 < RUNS && class_runs[run + 1].first <= first + i)
				run++;
			block[i] = class_runs[run].classes;
		}
	}
}

void classes_prepare(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, build_pages);
}
