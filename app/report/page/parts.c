#include "app/report/page/parts.h"

#include <math.h>
#include <string.h>

enum { MISSING, ONCE, TWICE, MORE, NFATES };

/* ---- parts ---- */

/* Least squares: the sums over all rows. */
struct sums {
        double parts[PAGE_NPARTS][PAGE_NPARTS]; /* of two parts' products */
        double fates[PAGE_NPARTS][NFATES];      /* of a part's and a fate's */
};

/* k-mers of each part in a row. Beyond the model's peaks, all that is left over is repeated. */
static void split_row(const struct page *page, size_t i, double n[PAGE_NPARTS])
{
        const struct page_model *m = &page->model;
        const double y = (double)page->spectrum.kmers[i];
        const double f = m->heterozygous[i] + m->homozygous[i] + m->repeated[i];
        n[PAGE_HETEROZYGOUS] = m->heterozygous[i];
        n[PAGE_HOMOZYGOUS] = m->homozygous[i];
        n[PAGE_REPEATED] = m->repeated[i];
        if ((double)(i * page->spectrum.width) > (m->ploidy + 1) * m->coverage)
                n[PAGE_REPEATED] += fmax(0, y - f);
}

static double fate_of(const uint64_t copies[PAGE_NCOPIES], int fate)
{
        if (fate != MORE)
                return (double)copies[fate];
        return (double)copies[3] + (double)copies[4] + (double)copies[5];
}

static struct sums add_up(const struct page *page, const struct page_copies *c)
{
        struct sums sums = { 0 };
        for (size_t i = (page->model.threshold - 1) / page->spectrum.width; i < page->spectrum.n;
             i++) {
                const double weight = 1 / fmax(1, (double)page->spectrum.kmers[i]);
                double n[PAGE_NPARTS];
                split_row(page, i, n);
                for (int a = 0; a < PAGE_NPARTS; a++) {
                        for (int b = 0; b < PAGE_NPARTS; b++)
                                sums.parts[a][b] += weight * n[a] * n[b];
                        for (int fate = 0; fate < NFATES; fate++)
                                sums.fates[a][fate] += weight * n[a] * fate_of(c->kmers[i], fate);
                }
        }
        return sums;
}

/* Solve for the parts in the set, by Gauss's elimination; the others are 0. False if the parts
 * depend on each other. */
static bool solve(const struct sums *sums, int fate, unsigned set, double share[PAGE_NPARTS])
{
        double a[PAGE_NPARTS][PAGE_NPARTS], b[PAGE_NPARTS];
        for (int i = 0; i < PAGE_NPARTS; i++) {
                const bool is_in = set & (1u << i);
                for (int j = 0; j < PAGE_NPARTS; j++)
                        a[i][j] = is_in && (set & (1u << j)) ? sums->parts[i][j] : i == j;
                b[i] = is_in ? sums->fates[i][fate] : 0;
        }
        for (int i = 0; i < PAGE_NPARTS; i++) {
                const bool is_in = set & (1u << i);
                if (is_in && !(a[i][i] > 1e-12 * sums->parts[i][i]))
                        return false;
                for (int row = i + 1; row < PAGE_NPARTS; row++) {
                        const double factor = a[row][i] / a[i][i];
                        for (int j = i; j < PAGE_NPARTS; j++)
                                a[row][j] -= factor * a[i][j];
                        b[row] -= factor * b[i];
                }
        }
        for (int i = PAGE_NPARTS - 1; i >= 0; i--) {
                share[i] = b[i];
                for (int j = i + 1; j < PAGE_NPARTS; j++)
                        share[i] -= a[i][j] * share[j];
                share[i] /= a[i][i];
        }
        return true;
}

/* The sum of squares for these shares, without what does not depend on them. */
static double find_squares(const struct sums *sums, int fate, const double share[PAGE_NPARTS])
{
        double squares = 0;
        for (int i = 0; i < PAGE_NPARTS; i++) {
                squares -= 2 * share[i] * sums->fates[i][fate];
                for (int j = 0; j < PAGE_NPARTS; j++)
                        squares += share[i] * share[j] * sums->parts[i][j];
        }
        return squares;
}

/* The best shares that are not negative: those of one of the sets of parts. */
static void find_shares(const struct sums *sums, int fate, double best[PAGE_NPARTS])
{
        double least = 0; /* that of no part */
        memset(best, 0, PAGE_NPARTS * sizeof *best);
        for (unsigned set = 1; set < 1u << PAGE_NPARTS; set++) {
                double share[PAGE_NPARTS];
                if (!solve(sums, fate, set, share) || share[0] < 0 || share[1] < 0 || share[2] < 0)
                        continue;
                const double squares = find_squares(sums, fate, share);
                if (squares < least) {
                        least = squares;
                        memcpy(best, share, sizeof share);
                }
        }
}

static void set_percents(struct page_part *part, const double kmers[NFATES])
{
        const double sum = kmers[MISSING] + kmers[ONCE] + kmers[TWICE] + kmers[MORE];
        if (!(sum > 0))
                return;
        part->missing_percent = 100 * kmers[MISSING] / sum;
        part->once_percent = 100 * kmers[ONCE] / sum;
        part->twice_percent = 100 * kmers[TWICE] / sum;
        part->more_percent = 100 * kmers[MORE] / sum;
}

static void find_parts(const struct page *page, struct page_copies *c)
{
        double shares[NFATES][PAGE_NPARTS], total[PAGE_NPARTS] = { 0 }, beyond = 0;
        memset(c->parts, 0, sizeof c->parts);
        c->has_parts = page_has_verdict(page);
        if (!c->has_parts)
                return;
        const struct sums sums = add_up(page, c);
        for (int fate = 0; fate < NFATES; fate++) {
                find_shares(&sums, fate, shares[fate]);
                beyond += fate_of(c->beyond, fate);
        }
        for (size_t i = 0; i < page->spectrum.n; i++) {
                double n[PAGE_NPARTS];
                split_row(page, i, n);
                for (int part = 0; part < PAGE_NPARTS; part++)
                        total[part] += n[part];
        }
        for (int part = 0; part < PAGE_NPARTS; part++) {
                double kmers[NFATES];
                for (int fate = 0; fate < NFATES; fate++)
                        kmers[fate] = shares[fate][part] * total[part] +
                                      (part == PAGE_REPEATED ? fate_of(c->beyond, fate) : 0);
                set_percents(&c->parts[part], kmers);
                c->parts[part].nkmers = total[part] + (part == PAGE_REPEATED ? beyond : 0);
        }
}

void page_find_parts(struct page *page)
{
        find_parts(page, &page->all.copies);
        for (int i = 0; page->nassemblies > 1 && i < page->nassemblies; i++)
                find_parts(page, &page->assemblies[i].comparison.copies);
}

/* ---- thresholds ---- */

uint64_t page_find_threshold(const struct page *page, double share)
{
        const struct page_model *m = &page->model;
        size_t i = 0;
        for (; i + 1 < page->spectrum.n; i++) {
                const double f = m->heterozygous[i] + m->homozygous[i] + m->repeated[i];
                if (f > 0 && f >= share * fmax((double)page->spectrum.kmers[i], f))
                        break;
        }
        return i * page->spectrum.width + 1;
}
