#include "app/hist/landscape.h"

#include <math.h>

/* The first row with this count or a higher one; nrows if there is none. */
static size_t find_row(const struct histogram *h, uint64_t count)
{
        size_t low = 0, high = h->nrows;
        while (low < high) {
                const size_t middle = low + (high - low) / 2;
                if (h->rows[middle].count < count)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

uint64_t landscape_sum(const struct histogram *h, uint64_t from, uint64_t to)
{
        uint64_t sum = 0;
        for (size_t i = find_row(h, from); i < h->nrows && h->rows[i].count <= to; i++)
                sum += h->rows[i].ndistinct;
        return sum;
}

/* The sum of the counts that are `from` or more. */
static double sum_counts(const struct histogram *h, uint64_t from)
{
        double sum = 0;
        for (size_t i = find_row(h, from); i < h->nrows; i++)
                sum += (double)h->rows[i].count * (double)h->rows[i].ndistinct;
        return sum;
}

static uint64_t last_count(const struct histogram *h)
{
        return h->rows[h->nrows - 1].count;
}

/* The next count to look at: steps grow in proportion to the count. */
static uint64_t next_count(uint64_t count)
{
        return count + 1 + count / 128;
}

/* How many k-mers have about this count, and the standard deviation of that number. K-mers that
 * overlap mostly have the same count, so only every k-th one is independent of the others. */
struct density {
        double value, deviation;
};

static struct density density_at(const struct histogram *h, uint64_t count)
{
        const uint64_t radius = count / 32;
        const double ncounts = (double)(2 * radius + 1);
        const double sum = (double)landscape_sum(h, count - radius, count + radius);
        return (struct density){ sum / ncounts, sqrt(h->k * (sum + 1)) / ncounts };
}

/* Find the count with the lowest density before the first rise that cannot be chance, if there is
 * such a rise. */
static bool find_valley(const struct histogram *h, uint64_t *valley)
{
        enum { SURE = 4 }; /* standard deviations */
        const uint64_t last = last_count(h);
        double lowest = INFINITY;
        for (uint64_t count = h->rows[0].count; count <= last; count = next_count(count)) {
                const struct density density = density_at(h, count);
                if (density.value < lowest) {
                        lowest = density.value;
                        *valley = count;
                } else if (density.value > lowest + SURE * density.deviation) {
                        return true;
                }
        }
        return false;
}

/* From the valley on, the count with the highest density of distinct k-mers, or of all k-mers. */
static uint64_t find_highest(const struct histogram *h, uint64_t valley, bool of_all)
{
        const uint64_t last = last_count(h);
        uint64_t peak = valley;
        double highest = 0;
        for (uint64_t count = valley; count <= last; count = next_count(count)) {
                const double value = density_at(h, count).value * (of_all ? (double)count : 1);
                if (value > highest) {
                        highest = value;
                        peak = count;
                }
        }
        return peak;
}

uint64_t landscape_mode(const struct histogram *h, uint64_t valley)
{
        return find_highest(h, valley, true);
}

/* The last count, up to three times the peak's, with a twentieth of the peak's density. */
static uint64_t find_tail(const struct histogram *h, uint64_t peak)
{
        const double least = density_at(h, peak).value / 20;
        uint64_t tail = peak;
        for (uint64_t count = peak; count <= 3 * peak; count = next_count(count))
                if (density_at(h, count).value >= least)
                        tail = count;
        return tail < last_count(h) ? tail : last_count(h);
}

/* A peak with only a small part of the data, such as that of a plasmid or a family of repeats, is
 * not the peak of the genome. */
struct landscape landscape_survey(const struct histogram *h)
{
        const double least_share = 0.1;
        struct landscape land = { 0 };
        if (!find_valley(h, &land.valley))
                return land;
        const double sum = sum_counts(h, land.valley);
        land.has_peak = sum >= least_share * sum_counts(h, 0);
        land.peak = find_highest(h, land.valley, false);
        land.genome_nkmers = sum / (double)land.peak;
        land.tail = find_tail(h, land.peak);
        return land;
}
