/* json.c — the steps for machines. Nine digits bring every float back exactly, 17 every double. JSON has no
 * infinities: a score that is not seen (−∞ in "masked") is null. */
#include "cli/explain/show.h"

#include <inttypes.h>
#include <math.h>

#include <jansson.h>

#include "cli/io/put.h"

static void write_row(const hec_tensor *t, int64_t row, FILE *out)
{
	int64_t columns = t->shape[t->rank - 1];
	fputc('[', out);
	for (int64_t c = 0; c < columns; c++) {
		double value = value_at(t, row, c);
		if (c > 0)
			fputs(", ", out);
		if (isfinite(value))
			fprintf(out, "%.*g", t->dtype == HEC_F64 ? 17 : 9, value);
		else
			fputs("null", out);
	}
	fputc(']', out);
}

static void write_values(const hec_tensor *t, FILE *out)
{
	if (t->rank == 1) {
		write_row(t, 0, out);
		return;
	}
	fputc('[', out);
	for (int64_t row = 0; row < t->shape[0] && !ferror(out); row++) {
		if (row > 0)
			fputs(", ", out);
		write_row(t, row, out);
	}
	fputc(']', out);
}

void json_step(const char *name, int64_t head, const hec_tensor *values, bool first, FILE *out)
{
	fprintf(out, "%s\n  {\"name\": \"%s\", ", first ? "" : ",", name);
	if (head >= 0)
		fprintf(out, "\"head\": %" PRId64 ", ", head);
	fprintf(out, "\"shape\": [%" PRId64, values->shape[0]);
	if (values->rank > 1)
		fprintf(out, ", %" PRId64, values->shape[1]);
	fputs("], \"values\": ", out);
	write_values(values, out);
	fputc('}', out);
}

void json_begin(const char *name, FILE *out)
{
	/* A path need not be UTF-8, a JSON text must. */
	json_t *text = json_string(name);
	fputs("{\"example\": ", out);
	if (!put_json_value(text, JSON_ENCODE_ANY, out))
		fputs("\"file\"", out);
	fputs(", \"steps\": [", out);
	json_decref(text);
}

static void write_difference(const difference *d, const char *other, FILE *out)
{
	fprintf(out,
	        "{\"name\": \"%s\", \"row\": %" PRId64 ", \"column\": %" PRId64
	        ", \"analytic\": %.17g, \"%s\": %.17g, \"allowed\": %.3g}",
	        d->name, d->row, d->column, d->analytic, other, d->other, d->allowed);
}

static void write_gradient(const explain_gradient *g, FILE *out)
{
	static const char *const types[] = {"f64", "f32"};
	fprintf(out, ",\n \"loss\": %.17g,\n \"library\": {", g->loss);
	for (int i = 0; i < 2; i++) {
		fprintf(out, "%s\"%s\": ", i == 0 ? "" : ", ", types[i]);
		if (g->library[i].done)
			write_difference(&g->library[i].worst, "library", out);
		else
			fputs("null", out);
	}
	fputc('}', out);
	fputs(",\n \"differences\": [", out);
	for (size_t i = 0; i < g->count && !ferror(out); i++) {
		fputs(i == 0 ? "\n  " : ",\n  ", out);
		write_difference(&g->differences[i], "numeric", out);
	}
	fputc(']', out);
}

void json_end(const hec_tensor *output, const explain_gradient *g, FILE *out)
{
	fputs("],\n \"output\": ", out);
	write_values(output, out);
	if (g)
		write_gradient(g, out);
	fputs("}\n", out);
}

void explain_show_json(const char *name, const explain_steps *s, const explain_gradient *g,
                       FILE *out)
{
	const explain_steps *const lists[] = {s, g ? &g->steps : NULL};
	json_begin(name, out);
	for (int l = 0; l < 2 && lists[l]; l++)
		for (size_t i = 0; i < lists[l]->count && !ferror(out);
		     i++) /* nobody reads on after an error */
			json_step(lists[l]->steps[i].name, lists[l]->steps[i].head,
			          &lists[l]->steps[i].values, l == 0 && i == 0, out);
	json_end(&s->output, g, out);
}
