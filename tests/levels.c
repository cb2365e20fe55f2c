/* levels.c — prints the instruction levels that this CPU can run, one a line, the plainest first. */
#include <hecate/context.h>

#include <stdio.h>

int main(void)
{
	for (int i = 0; hec_isa_name(i); i++) {
		if (hec_isa_available(i))
			puts(hec_isa_name(i));
	}
	return 0;
}
