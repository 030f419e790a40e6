/* SPDX-License-Identifier: ISC */
/*
 * Pictures of pingpong.  Each has a data file, with a block for each via, and
 * all are drawn by one script.
 */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <string.h>

#include "plot.h"

#define SCRIPT "pingpong.gp"
#define NAME 128
#define NO_LIMIT UINT64_MAX

/* What a picture shows: the figures that are same() as one, for each via a
 * curve of what points() writes of each of them. */
struct picture {
	const char *kind; /* what the file's name begins with */
	bool (*same)(const struct figures *a, const struct figures *b);
	void (*points)(FILE *out, const struct figures *f, uint64_t zero_x);
	/* Writes what the axes are. */
	void (*axes)(FILE *out, const struct figures *f);
	/* The time along x, where it is one of these; else NULL. */
	uint64_t (*along)(const struct figures *f);
	const char *with;
};

/* All figures, and where pictures of them go. */
struct album {
	const char *directory;
	const struct figures *figures;
	size_t count;
	FILE *script;
};

/* ---- files ------------------------------------------------------------- */

/* ---- axes -------------------------------------------------------------- */

/* A round time in the fewest digits. */
static const char *tick(char text[REPORT_TIME_MAX], double ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	size_t unit = 0;

	for (; ns >= 1000 && unit < 3; unit++)
		ns /= 1000;
	snprintf(text, REPORT_TIME_MAX, "%.4g%s", ns, units[unit]);
	return text;
}

/* Times along an axis: those by name that begin with 1 or 3. */
static void axis_of_time(FILE *out, char axis)
{
	char text[REPORT_TIME_MAX];
	double decade;
	int part;

	fprintf(out, "set logscale %c\nset autoscale %cfix\nset offsets %s\n",
	    axis, axis,
	    axis == 'x' ? "graph 0.04, graph 0.04, 0, 0" :
	                  "0, 0, graph 0.04, graph 0.04");
	fprintf(out, "set %ctics (", axis);
	for (decade = 1; decade < 1e12; decade *= 10)
		for (part = 1; part < 10; part++)
			fprintf(out, "\"%s\" %g %d, ",
			    part == 1 || part == 3 ? tick(text, part * decade) :
			                             "",
			    part * decade, part != 1 && part != 3);
	fprintf(out, "\"\" %g)\n", decade);
}

static const char *timed(const struct figures *f)
{
	return f->gap_ns > 0 ? "from call to turn" : "round trip";
}

static const struct quantiles *quantiles(const struct figures *f)
{
	return f->gap_ns > 0 ? &f->wake : &f->rtt;
}

static void title(FILE *out, const char *what, const struct figures *f,
    bool work, bool gap)
{
	char text[REPORT_TIME_MAX];

	fprintf(out, "set title \"%s; %s", what, place_name(f->place));
	if (f->cpu[0] == PLACE_ANY_CPU)
		fprintf(out, ", not pinned");
	else if (f->cpu[0] == f->cpu[1])
		fprintf(out, ", both on CPU %d", f->cpu[0]);
	else
		fprintf(out, ", CPUs %d and %d", f->cpu[0], f->cpu[1]);
	if (work && f->work_ns > 0)
		fprintf(out, "; work %s", tick(text, (double)f->work_ns));
	if (gap && f->gap_ns > 0)
		fprintf(out, "; gap %s", tick(text, (double)f->gap_ns));
	fprintf(out, "\"\n");
}

/* ---- pictures ---------------------------------------------------------- */

static bool same_all(const struct figures *a, const struct figures *b)
{
	return a->place == b->place && a->work_ns == b->work_ns &&
	    a->gap_ns == b->gap_ns;
}

static bool same_but_work(const struct figures *a, const struct figures *b)
{
	return a->place == b->place && a->gap_ns == b->gap_ns;
}

static bool same_but_gap(const struct figures *a, const struct figures *b)
{
	return a->place == b->place && a->work_ns == b->work_ns;
}

static void latency_axes(FILE *out, const struct figures *f)
{
	title(out, "How times are distributed", f, true, true);
	fprintf(out,
	    "set xlabel \"quantile\"\nset ylabel \"%s, time\"\n"
	    "set xtics (\"min\" 0, \"p50\" 1, \"p90\" 2, \"p99\" 3, "
	    "\"p99.9\" 4, \"max\" 5)\nset xrange [-0.1:5.1]\n",
	    timed(f));
	axis_of_time(out, 'y');
}

static void latency_points(FILE *out, const struct figures *f, uint64_t zero_x)
{
	const struct quantiles *q = quantiles(f);
	const uint64_t values[] = { q->min, q->p50, q->p90, q->p99, q->p999,
		q->max };
	size_t i;

	(void)zero_x;
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		fprintf(out, "%zu %llu\n", i, (unsigned long long)values[i]);
}

static void cpu_axes(FILE *out, const struct figures *f)
{
	title(out, "CPU time against latency", f, true, true);
	fprintf(out,
	    "set xlabel \"%s, median time\"\n"
	    "set ylabel \"CPU seconds in a second, both processes\"\n"
	    "set yrange [0:*]\n",
	    timed(f));
	axis_of_time(out, 'x');
}

static void cpu_points(FILE *out, const struct figures *f, uint64_t zero_x)
{
	(void)zero_x;
	fprintf(out, "%llu %.4f\n", (unsigned long long)quantiles(f)->p50,
	    f->cpu_seconds);
}

static void work_axes(FILE *out, const struct figures *f)
{
	title(out, "Round trip against work", f, false, true);
	fprintf(out,
	    "set xlabel \"work, time asked for\"\n"
	    "set ylabel \"round trip, median time\"\n");
	axis_of_time(out, 'y');
}

static uint64_t work_along(const struct figures *f)
{
	return f->work_ns;
}

static void work_points(FILE *out, const struct figures *f, uint64_t zero_x)
{
	fprintf(out, "%llu %llu\n",
	    (unsigned long long)(f->work_ns > 0 ? f->work_ns : zero_x),
	    (unsigned long long)f->rtt.p50);
}

static void gap_axes(FILE *out, const struct figures *f)
{
	title(out, "Wake against gap", f, true, false);
	fprintf(out,
	    "set xlabel \"gap, time asked for\"\n"
	    "set ylabel \"from call to turn, median time\"\n");
	axis_of_time(out, 'y');
}

static uint64_t gap_along(const struct figures *f)
{
	return f->gap_ns;
}

/* Without a gap there is no wake. */
static void gap_points(FILE *out, const struct figures *f, uint64_t zero_x)
{
	(void)zero_x;
	if (f->gap_ns > 0)
		fprintf(out, "%llu %llu\n", (unsigned long long)f->gap_ns,
		    (unsigned long long)f->wake.p50);
}

static const struct picture pictures[] = {
	{ "latency", same_all, latency_points, latency_axes, NULL,
	    "linespoints" },
	{ "cpu", same_all, cpu_points, cpu_axes, NULL, "points" },
	{ "work", same_but_work, work_points, work_axes, work_along,
	    "linespoints" },
	{ "gap", same_but_gap, gap_points, gap_axes, gap_along, "linespoints" },
};
#define PICTURES (sizeof(pictures) / sizeof(pictures[0]))

/* ---- curves ------------------------------------------------------------ */

/* In a group they differ in colour, and groups in dashes and points. */
static void style(FILE *out, enum via_group group, size_t index)
{
	static const char *const colours[] = { "#d62728", "#1f77b4", "#2ca02c",
		"#9467bd", "#ff7f0e", "#17becf", "#e377c2", "#8c564b",
		"#bcbd22", "#000080", "#006d5b", "#7f7f7f", "#f4b400",
		"#ff1493", "#5f9ea0", "#a0522d" };
	static const struct {
		const char *look;
	} looks[] = {
		[VIA_OURS] = { "dt 1 lw 2.5 pt 7 ps 0.9" },
		[VIA_FLOORS] = { "dt 2 lw 1.5 pt 8 ps 0.9" },
		[VIA_FIXED] = { "dt 3 lw 1.5 pt 4 ps 0.8" },
		[VIA_PEERS] = { "dt 4 lw 1.2 pt 2 ps 0.8" },
	};

	fprintf(out, "%s lc rgb \"%s\"", looks[group].look,
	    colours[index % (sizeof(colours) / sizeof(colours[0]))]);
}

/* The colour is the place of a via in its group, in all pictures the same. */
static size_t index_in_group(const struct via *via)
{
	const struct via *v;
	size_t i, n = 0;

	for (i = 0; (v = via_at(i)) != NULL && v != via; i++)
		n += v->group == via->group;
	return n;
}

/* The first figures of their via in the picture that shows f[of]. */
static bool first_of_via(const struct album *a, const struct picture *p,
    size_t of, size_t i)
{
	const struct figures *f = a->figures;
	size_t k;

	for (k = 0; k < i; k++)
		if (f[k].via == f[i].via && !f[k].skipped &&
		    p->same(&f[k], &f[of]))
			return false;
	return !f[i].skipped && p->same(&f[i], &f[of]);
}

static void curves(const struct album *a, const struct picture *p, size_t of,
    const char *name, FILE *data, uint64_t zero_x)
{
	const struct figures *f = a->figures;
	size_t i, k, curve = 0;

	for (i = 0; i < a->count; i++) {
		if (!first_of_via(a, p, of, i))
			continue;
		fprintf(data, "%s# %s\n", curve > 0 ? "\n\n" : "",
		    f[i].via->name);
		for (k = i; k < a->count; k++)
			if (f[k].via == f[i].via && !f[k].skipped &&
			    p->same(&f[k], &f[of]))
				p->points(data, &f[k], zero_x);
		fprintf(a->script,
		    "%s'%s.dat' index %zu smooth unique with %s ",
		    curve > 0 ? ", \\\n  " : "plot ", name, curve, p->with);
		style(a->script, f[i].via->group, index_in_group(f[i].via));
		fprintf(a->script, " title \"%s\"", f[i].via->name);
		curve++;
	}
	fprintf(a->script, "\n");
}

/* ---- all --------------------------------------------------------------- */

/* Names the times along x.  Zero, which a logarithm does not have, is put a
 * decade below the least.  Returns where that is; 0 if there are not two times
 * to draw between. */
static uint64_t axis_along(const struct album *a, const struct picture *p,
    size_t of, bool draw)
{
	const struct figures *f = a->figures;
	uint64_t least = NO_LIMIT, most = 0, zero_x, x;
	char text[REPORT_TIME_MAX];
	bool zero = false;
	size_t i;

	for (i = 0; i < a->count; i++) {
		x = p->along(&f[i]);
		if (f[i].skipped || !p->same(&f[i], &f[of]))
			continue;
		zero = zero || (x == 0 && p->along == work_along);
		least = x > 0 && x < least ? x : least;
		most = x > most ? x : most;
	}
	if (most == 0 || (least == most && !zero))
		return 0;
	zero_x = least >= 10 ? least / 10 : 1;
	if (!draw)
		return zero_x;
	fprintf(a->script,
	    "set logscale x\nset xrange [%llu*0.8:%llu*1.25]\n"
	    "set xtics (%s",
	    (unsigned long long)(zero ? zero_x : least),
	    (unsigned long long)most, zero ? "\"0\" " : "");
	if (zero)
		fprintf(a->script, "%llu, ", (unsigned long long)zero_x);
	for (i = 0; i < a->count; i++) {
		x = p->along(&f[i]);
		if (x > 0 && p->same(&f[i], &f[of]))
			fprintf(a->script, "\"%s\" %llu, ",
			    tick(text, (double)x), (unsigned long long)x);
	}
	fprintf(a->script, "\"\" %llu 1)\n", (unsigned long long)most);
	return zero_x;
}

/* As "latency-cross-work1000-gap100000", without what varies along x. */
static void name_picture(char name[NAME], const struct picture *p,
    const struct figures *f)
{
	char work[32] = "", gap[32] = "";

	if (f->work_ns > 0 && p->along != work_along)
		snprintf(work, sizeof(work), "-work%llu",
		    (unsigned long long)f->work_ns);
	if (f->gap_ns > 0 && p->along != gap_along)
		snprintf(gap, sizeof(gap), "-gap%llu",
		    (unsigned long long)f->gap_ns);
	snprintf(name, NAME, "%s-%s%s%s", p->kind, place_name(f->place), work,
	    gap);
}

/* Its names of elements must be those of no other picture in a page. */
static void picture_head(FILE *out, const char *name)
{
	char id[NAME];
	size_t i;

	for (i = 0; i == 0 || name[i - 1]; i++)
		id[i] = name[i] == '-' ? '_' : name[i];
	fprintf(out,
	    "reset\nset encoding utf8\n"
	    "set terminal svg size 900,600 fixed noenhanced \\\n"
	    "  font \"sans-serif,13\" background \"white\" name \"%s\"\n"
	    "set output '%s.svg'\n"
	    "set grid lc rgb \"#dddddd\" dt 1\nset border lc rgb \"#444444\"\n"
	    "set tics scale 0.6\n"
	    "set key outside right top Left reverse noenhanced samplen 2.5 "
	    "spacing 0.95 font \",11\"\n",
	    id, name);
}

/* Draws the picture that f[of] is in, if it is the first there. */
static bool draw(const struct album *a, const struct picture *p, size_t of)
{
	const struct figures *f = a->figures;
	char name[NAME], file[NAME + 4];
	uint64_t zero_x = 0;
	FILE *data;
	size_t k;

	for (k = 0; k < of; k++)
		if (!f[k].skipped && p->same(&f[k], &f[of]))
			return true;
	if (f[of].skipped)
		return true;
	if (p->along && axis_along(a, p, of, false) == 0)
		return true;
	name_picture(name, p, &f[of]);
	snprintf(file, sizeof(file), "%s.dat", name);
	data = plot_create(a->directory, file);
	if (!data)
		return false;
	picture_head(a->script, name);
	p->axes(a->script, &f[of]);
	if (p->along)
		zero_x = axis_along(a, p, of, true);
	curves(a, p, of, name, data, zero_x);
	return plot_finish(data, file);
}

bool plot_pingpong(const char *directory, const struct figures *figures,
    size_t count)
{
	struct album a = { directory, figures, count, NULL };
	size_t i, k;
	bool ok = true;
	int status;

	a.script = plot_create(a.directory, SCRIPT);
	if (!a.script)
		return false;
	for (k = 0; k < PICTURES && ok; k++)
		for (i = 0; i < count && ok; i++)
			ok = draw(&a, &pictures[k], i);
	fprintf(a.script, "set output\n");
	if (!plot_finish(a.script, SCRIPT) || !ok)
		return false;
	status = plot_run(directory, SCRIPT);
	if (status != 0)
		fprintf(stderr,
		    BENCH_TOOL ": gnuplot failed at %s/" SCRIPT "\n",
		    directory);
	return status == 0;
}
