#include "app/model/groups.h"
#include "kmer/kmer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
        PER_OCTAVE = 12,
        MOST_COLUMNS = 32 * PER_OCTAVE + 1,
        MOST_CLASSES = KC_MAX_K + 1, /* of GC content */
        LEAST_KMERS = 50,            /* in a column that gets a mark */
        GAP = 1,                     /* columns without a mark between two with marks */
};
static const double main_low = 0.85, main_high = 1.15, beyond = 1.3, deep = 4;
static const double least_reference = 0.02, least_excess = 0.04, least_shift = 0.07,
                    least_peak = 0.4, least_share = 0.001, least_group = 1000;

/* K-mers by GC content and by column. Each small count has its own column; after these, there are
 * 12 columns from a count to twice that count. */
struct landscape_of_gc {
        int k;
        size_t ncolumns;
        double first[MOST_COLUMNS + 1]; /* the first count of each column; then infinity */
        double (*kmers)[MOST_CLASSES], (*sums)[MOST_CLASSES]; /* [ncolumns] */
        double reference[MOST_CLASSES], mean;                 /* of the genome, as shares */
        /* What a column has beyond the genome's profile: k-mers, the sum of their GC classes, the
         * sum of their counts, and their share of the column. */
        struct excess {
                double kmers, gc, sum, share;
                int side; /* of the genome's GC: -1, 1; 0: the column has no mark */
        } excess[MOST_COLUMNS];
};

static void set_columns(struct landscape_of_gc *g)
{
        g->ncolumns = 0;
        for (int i = 0; i < MOST_COLUMNS; i++) {
                const double first = round(pow(2, (double)i / PER_OCTAVE));
                if (g->ncolumns == 0 || first > g->first[g->ncolumns - 1])
                        g->first[g->ncolumns++] = first;
        }
        g->first[g->ncolumns] = INFINITY;
}

static size_t find_column(const struct landscape_of_gc *g, uint32_t count)
{
        size_t low = 0, high = g->ncolumns;
        while (high - low > 1) {
                const size_t middle = (low + high) / 2;
                if (g->first[middle] <= count)
                        low = middle;
                else
                        high = middle;
        }
        return low;
}

/* Find the genome's GC distribution from the k-mers with about its depth. Returns false if there
 * are none. */
static bool set_reference(struct landscape_of_gc *g, double depth)
{
        double total = 0;
        for (size_t c = 0; c < g->ncolumns; c++)
                for (int i = 0; i <= g->k; i++)
                        if (g->first[c] >= main_low * depth && g->first[c] <= main_high * depth) {
                                g->reference[i] += g->kmers[c][i];
                                total += g->kmers[c][i];
                        }
        for (int i = 0; total > 0 && i <= g->k; i++) {
                g->reference[i] /= total;
                g->mean += i * g->reference[i];
        }
        return total > 0;
}

/* The sum over three neighbouring classes. */
static double pool(const double *values, const int *classes, int at)
{
        return values[classes[at]] + values[classes[at + 1]] + values[classes[at + 2]];
}

/* The largest multiple of the genome's profile that the column can hold. */
static double find_scale(const struct landscape_of_gc *g, const double *column)
{
        int classes[MOST_CLASSES], n = 0;
        double scale = INFINITY;
        for (int i = 0; i <= g->k; i++)
                if (g->reference[i] > least_reference)
                        classes[n++] = i;
        for (int i = 0; i + 2 < n; i++)
                scale = fmin(scale, pool(column, classes, i) / pool(g->reference, classes, i));
        return isinf(scale) ? 0 : scale;
}

static void find_excess(struct landscape_of_gc *g, size_t c)
{
        const double *column = g->kmers[c];
        const double scale = find_scale(g, column);
        struct excess *e = &g->excess[c];
        double total = 0;
        for (int i = 0; i <= g->k; i++) {
                const double over = fmax(0, column[i] - scale * g->reference[i]);
                total += column[i];
                e->kmers += over;
                e->gc += i * over;
                e->sum += column[i] > 0 ? over * g->sums[c][i] / column[i] : 0;
        }
        if (total < LEAST_KMERS || e->kmers <= least_excess * total)
                return;
        const double shift = (e->gc / e->kmers - g->mean) / g->k;
        e->share = e->kmers / total;
        if (fabs(shift) > least_shift)
                e->side = shift > 0 ? 1 : -1;
}

/* ---- groups ---- */

/* The last column of the run that begins with column `from`, which has a mark. */
static size_t find_end(const struct landscape_of_gc *g, size_t from)
{
        size_t last = from;
        for (size_t c = from + 1; c < g->ncolumns && c - last <= GAP + 1; c++)
                if (g->excess[c].side == -g->excess[from].side)
                        break;
                else if (g->excess[c].side != 0)
                        last = c;
        return last;
}

static struct group describe(const struct landscape_of_gc *g, size_t from, size_t to, double depth,
                             double *largest_share)
{
        struct group group = { .from_count = (uint64_t)g->first[from] };
        *largest_share = 0;
        for (size_t c = from; c <= to; c++) {
                const struct excess *e = &g->excess[c];
                if (e->side == 0)
                        continue;
                group.nkmers += e->kmers;
                group.instances += e->sum;
                group.gc += e->gc;
                *largest_share = fmax(*largest_share, e->share);
        }
        group.gc /= group.nkmers * g->k;
        group.depth = group.instances / group.nkmers;
        group.times = group.depth / depth;
        group.is_deep = group.times > deep;
        group.to_count = isinf(g->first[to + 1]) ? UINT32_MAX : (uint64_t)g->first[to + 1] - 1;
        return group;
}

static void collect(struct landscape_of_gc *g, double depth, double nsolid, struct groups *out)
{
        const double least = fmax(least_group, least_share * nsolid);
        for (size_t c = 0; c < g->ncolumns; c++) {
                if (g->excess[c].side == 0)
                        continue;
                double largest;
                const size_t to = find_end(g, c);
                const struct group group = describe(g, c, to, depth, &largest);
                if (group.nkmers > least && largest > least_peak) {
                        out->instances += group.instances;
                        if (out->n < GROUPS_MAX)
                                out->groups[out->n++] = group;
                }
                c = to;
        }
}

enum kc_status groups_find(const struct kc_gc_cell *cells, size_t ncells, int k, double depth,
                           uint64_t threshold, struct groups *out, struct kc_error *err)
{
        struct landscape_of_gc *g = calloc(1, sizeof *g);
        double nsolid = 0;
        *out = (struct groups){ .n = 0 };
        if (g != NULL)
                g->kmers = calloc(2 * MOST_COLUMNS, sizeof *g->kmers);
        if (g == NULL || g->kmers == NULL) {
                free(g);
                return kc_fail(err, KC_ENOMEM, "out of memory while a model is fitted");
        }
        g->k = k;
        g->sums = g->kmers + MOST_COLUMNS;
        set_columns(g);
        for (size_t i = 0; i < ncells; i++) {
                const size_t c = find_column(g, cells[i].count);
                g->kmers[c][cells[i].gc] += (double)cells[i].ndistinct;
                g->sums[c][cells[i].gc] += (double)cells[i].sum;
                nsolid += cells[i].count >= threshold ? (double)cells[i].ndistinct : 0;
        }
        if (set_reference(g, depth)) {
                for (size_t c = 0; c < g->ncolumns; c++)
                        if (g->first[c] >= beyond * depth)
                                find_excess(g, c);
                collect(g, depth, nsolid, out);
                out->main_gc = g->mean / k;
        }
        free(g->kmers);
        free(g);
        return KC_OK;
}
