/* compare.c — kernel, f32 reference and f64 definition side by side: |kernel − truth| against the
 * bound that bounds.h gives. A broken reference cannot widen a kernel's bound: it has one itself. */
#include "compare.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bounds.h"

static const bound bounds[] = {
#define ROW(name, factor, ulps, scale) {#name, factor, ulps, scale},
	BOUNDS(ROW)
#undef ROW
};

const bound *bound_of(const char *op)
{
	for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
		if (strcmp(bounds[i].name, op) == 0)
			return &bounds[i];
	}
	return NULL;
}

static char reason[512];

static const char *explain(const operand *o, const int64_t where[4], double got, double want,
                           double scale, double allowed)
{
	snprintf(reason, sizeof reason,
	         "%s[%lld, %lld, %lld, %lld] is %.9g, should be %.9g: off by %.3g, allowed is %.3g "
	         "(scale %.3g)",
	         o->name, (long long)where[0], (long long)where[1], (long long)where[2],
	         (long long)where[3], got, want, fabs(got - want), allowed, scale);
	return reason;
}

static bool same(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

/* The error in units of scale; 0 where equal (which settles infinities), Inf where it must be equal. */
static double error_of(double got, double want, double scale)
{
	if (same(got, want))
		return 0;
	double e = fabs(got - want);
	return scale > 0 && isfinite(e) ? e / scale : INFINITY;
}

static const char *check_operand(const operand *o, int i, const run *truth, const run *got,
                                 double allowed, double *worst)
{
	EACH_ELEMENT(o, a, b, c, d)
	{
		int64_t p = at(o, a, b, c, d);
		double want = run_value(truth, i, p), value = run_value(got, i, p);
		double e = error_of(value, want, o->scale[p]);
		*worst = fmax(*worst, e);
		if (!(e <= allowed))
			return explain(o, (int64_t[]){a, b, c, d}, value, want, o->scale[p],
			               allowed * o->scale[p]);
	}
	return NULL;
}

const char *compare_plain(const run *truth, const run *plain, errors *worst)
{
	const trial *t = truth->t;
	for (int i = 0; i < t->count; i++) {
		const operand *o = &t->operands[i];
		if (o->role == IN || o->bits)
			continue;
		double most = 0;
		const char *why = check_operand(o, i, truth, plain,
		                                (BOUND_PLAIN + t->terms) * FLT_EPSILON, &most);
		if (why)
			return why;
		worst->plain = fmax(worst->plain, most / FLT_EPSILON);
	}
	return NULL;
}

static const char *compare_bits(const operand *o, int i, const run *plain, const run *kernel)
{
	EACH_ELEMENT(o, a, b, c, d)
	{
		int64_t p = at(o, a, b, c, d);
		double want = run_value(plain, i, p), got = run_value(kernel, i, p);
		if (!same(want, got) || signbit(want) != signbit(got))
			return explain(o, (int64_t[]){a, b, c, d}, got, want, 0, 0);
	}
	return NULL;
}

const char *compare_kernel(const bound *b, const run *truth, const run *plain, const run *kernel,
                           errors *worst)
{
	const trial *t = truth->t;
	for (int i = 0; i < t->count; i++) {
		const operand *o = &t->operands[i];
		if (o->role == IN)
			continue;
		const char *why;
		double most = 0, of_plain = 0;
		if (o->bits) {
			why = compare_bits(o, i, plain, kernel);
		} else {
			check_operand(o, i, truth, plain, INFINITY, &of_plain);
			double allowed = b->factor * of_plain + b->ulps * FLT_EPSILON;
			why = check_operand(o, i, truth, kernel, allowed, &most);
		}
		if (why)
			return why;
		worst->kernel = fmax(worst->kernel, most / FLT_EPSILON);
	}
	return NULL;
}

/* The rows that the document must have, in order: first slots, then functions. */
static bool wanted_row(size_t i, char *text, size_t room)
{
	static const struct {
		const char *name;
		double ulps;
		const char *what;
	} functions[] = {
#define ROW(name, ulps, what) {#name, ulps, what},
		FUNCTION_BOUNDS(ROW)
#undef ROW
	};
	size_t slots = sizeof bounds / sizeof *bounds;
	if (i < slots)
		snprintf(text, room, "| `%s` | %g | %g | %s |\n", bounds[i].name, bounds[i].factor,
		         bounds[i].ulps, bounds[i].scale);
	else if (i < slots + sizeof functions / sizeof *functions)
		snprintf(text, room, "| `%s` | %g | %s |\n", functions[i - slots].name,
		         functions[i - slots].ulps, functions[i - slots].what);
	else
		return false;
	return true;
}

int bounds_match(const char *path)
{
	FILE *f = fopen(path, "r");
	if (!f) {
		fprintf(stderr,
		        "check: cannot read %s (run from the top of the source, or give "
		        "--numerics FILE)\n",
		        path);
		return 1;
	}
	char line[2048], want[2048];
	size_t next = 0;
	bool wrong = false;
	while (!wrong && fgets(line, sizeof line, f)) {
		if (strncmp(line, "| `", 3) != 0)
			continue;
		if (!wanted_row(next++, want, sizeof want))
			snprintf(want, sizeof want, "nothing\n");
		wrong = strcmp(line, want) != 0;
		if (wrong)
			fprintf(stderr, "check: %s says\n  %sbounds.h says\n  %s", path, line,
			        want);
	}
	fclose(f);
	if (!wrong && wanted_row(next, want, sizeof want)) {
		fprintf(stderr, "check: %s lacks the row\n  %s", path, want);
		wrong = true;
	}
	return wrong;
}
