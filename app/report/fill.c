#include "app/report/fill.h"

#include "app/report/page/page_flags.h"
#include "app/report/page/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum kc_status allocate(void *place, size_t n, size_t nbytes, struct kc_error *err)
{
        void *memory = calloc(n > 0 ? n : 1, nbytes);
        memcpy(place, &memory, sizeof memory);
        return memory != NULL ? KC_OK : kc_fail(err, KC_ENOMEM, "out of memory for a report");
}

/* ---- spectra ---- */

/* Add the columns of a spectrum to rows of the page, to the k-mers beyond these, and to those that
 * no read has. rows: [s->n][ncolumns] */
static void add_rows(const struct numbers_spectrum *from, const struct page_spectrum *s,
                     size_t ncolumns, uint64_t *rows, uint64_t *beyond, uint64_t *only)
{
        for (size_t i = 0; i < from->nrows; i++) {
                const struct numbers_row *row = &from->rows[i];
                const size_t at = row->count > 0 ? (row->count - 1) / s->width : 0;
                uint64_t *to = at < s->n ? rows + at * ncolumns : beyond;
                for (size_t c = 0; c < ncolumns; c++) {
                        if (row->count > 0)
                                to[c] += row->kmers[c];
                        else if (c > 0)
                                only[c - 1] += row->kmers[c];
                }
        }
}

static void fill_copies(struct page_copies *copies, const struct page_spectrum *s,
                        const struct numbers *numbers, uint64_t (*rows)[PAGE_NCOPIES])
{
        copies->kmers = (const uint64_t(*)[PAGE_NCOPIES])rows;
        add_rows(&numbers->copies, s, PAGE_NCOPIES, *rows, copies->beyond, copies->only);
}

static void fill_holders(struct page *page, const struct numbers_spectrum *holders,
                         uint64_t (*rows)[PAGE_NHOLDERS])
{
        page->holders.kmers = (const uint64_t(*)[PAGE_NHOLDERS])rows;
        add_rows(holders, &page->spectrum, PAGE_NHOLDERS, *rows, page->holders.beyond,
                 page->holders.only);
}

/* ---- quality, completeness ---- */

static struct page_qv qv_of(const struct quality *q)
{
        const bool is_bound = !isfinite(q->value);
        return (struct page_qv){
                .nonly = (double)q->counts.nabsent,
                .nkmers = (double)q->counts.nkmers,
                .is_bound = is_bound,
                .qv = { q->value, q->low, q->high },
                .error = is_bound ? pow(10, -q->low / 10) : q->error,
        };
}

static void fill_quality(struct page_quality *to, const struct report *r,
                         const struct report_assembly *assembly,
                         const struct quality_counts *counts)
{
        const struct quality raw = quality_of(*counts, r->info.k);
        *to = (struct page_quality){ .refusal = report_quality_refusal(r, assembly),
                                     .raw = qv_of(&raw) };
        if (r->adjusting.ploidy == 0 || counts->nabsent == 0)
                return;
        const struct quality adjusted = adjusting_quality(&r->adjusting, *counts, r->info.k);
        to->has_adjusted = true;
        to->adjusted = qv_of(&adjusted);
        to->unseen = adjusting_unseen(&r->adjusting, counts->nkmers);
        to->chance = adjusting_chance(&r->adjusting);
}

static double percent_of(uint64_t part, uint64_t whole)
{
        return whole > 0 ? 100 * (double)part / (double)whole : NAN;
}

static double percent_found(const struct numbers *numbers, uint64_t threshold)
{
        const struct numbers_completeness c = numbers_complete(numbers, threshold);
        return percent_of(c.nfound, c.nsolid);
}

/* Percentages at the thresholds from which a tenth, and nine tenths, of the k-mers are the
 * genome's; only a model knows these. */
static void fill_limits(struct page_completeness *to, const struct page *page,
                        const struct numbers *numbers)
{
        to->low_threshold = page_find_threshold(page, 0.1);
        to->high_threshold = page_find_threshold(page, 0.9);
        const double low = percent_found(numbers, to->low_threshold);
        const double high = percent_found(numbers, to->high_threshold);
        to->percent.low = fmin(to->percent.value, fmin(low, high));
        to->percent.high = fmax(to->percent.value, fmax(low, high));
}

static void fill_completeness(struct page_completeness *to, const struct report *r,
                              const struct page *page, const struct numbers *numbers)
{
        const uint64_t least = r->peaks.first_minimum + 1;
        const struct numbers_completeness c = numbers_complete(numbers, r->threshold);
        const struct numbers_completeness first = numbers_complete(numbers, least);
        const double value = percent_of(c.nfound, c.nsolid);
        *to = (struct page_completeness){
                .threshold = c.threshold,
                .nsolid = c.nsolid,
                .nfound = c.nfound,
                .percent = { value, value, value },
                .weighted_percent = percent_of(c.nfound_instances, c.nsolid_instances),
                .first_minimum = { least, first.nsolid, first.nfound,
                                   percent_of(first.nfound, first.nsolid),
                                   percent_of(first.nfound_instances, first.nsolid_instances) },
        };
        if (page->solid == PAGE_BY_MODEL)
                fill_limits(to, page, numbers);
}

/* assembly: NULL: all of them */
static void fill_comparison(struct page_comparison *to, const struct report *r,
                            const struct report_assembly *assembly, const struct page *page,
                            const struct numbers *numbers, uint64_t (*rows)[PAGE_NCOPIES])
{
        fill_copies(&to->copies, &page->spectrum, numbers, rows);
        fill_quality(&to->quality, r, assembly, &numbers->quality);
        fill_completeness(&to->completeness, r, page, numbers);
}

/* ---- sequences ---- */

static int compare_numbers(const void *a, const void *b)
{
        const double x = *(const double *)a, y = *(const double *)b;
        return (x > y) - (x < y);
}

/* The median of values, which it sorts; 0 without any. */
static double median_of(double *values, size_t n)
{
        if (n == 0)
                return 0;
        qsort(values, n, sizeof *values, compare_numbers);
        return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

/* One bin of several: the median is that of their medians. */
static void join_bins(const struct strip_result *from, size_t n, uint32_t to[PAGE_NBIN_VALUES])
{
        double medians[STRIP_NBINS];
        uint64_t nwindows = 0, nabsent = 0, nextra = 0;
        size_t nmedians = 0;
        for (size_t i = 0; i < n; i++) {
                nwindows += from[i].nwindows;
                nabsent += from[i].nabsent;
                nextra += from[i].nextra;
                if (from[i].quarters > 0)
                        medians[nmedians++] = (double)from[i].quarters / 4;
        }
        to[0] = (uint32_t)nabsent;
        to[1] = nwindows > 0 ? (uint32_t)(percent_of(nextra, nwindows) + 0.5) : 0;
        to[2] = (uint32_t)fmin(median_of(medians, nmedians) + 0.5, UINT32_MAX);
}

/* Returns how many bins there are. */
static size_t fill_bins(const struct contig *s, uint64_t step, uint32_t (*bins)[PAGE_NBIN_VALUES])
{
        size_t n = 0;
        if (s->nbins == 0)
                return 0;
        const size_t width = (size_t)(step / s->step);
        for (size_t i = 0; i < s->nbins; i += width)
                join_bins(s->bins + i, s->nbins - i < width ? s->nbins - i : width, bins[n++]);
        return n;
}

static void fill_sequence(struct page_sequence *to, const struct page *page, const struct report *r,
                          int assembly, size_t place)
{
        const struct contig *s = &r->assemblies[assembly].contigs.all[place];
        const struct quality q = quality_of(s->quality, r->info.k);
        *to = (struct page_sequence){
                .name = s->name,
                .assembly = assembly,
                .place = place,
                .length = s->length,
                .gc_percent = s->nbases > 0 ? percent_of(s->ngc, s->nbases) : -1,
                .median = (double)s->depth_quarters / 4,
                .extra_percent = percent_of(s->nextra, s->quality.nkmers),
                .qv = qv_of(&q),
        };
        to->flags = page_find_flags(page, to);
}

/* Those with flags first, then the longest; equal ones in the order of the files. */
static int compare_sequences(const void *a, const void *b)
{
        const struct page_sequence *x = a, *y = b;
        if ((x->flags != 0) != (y->flags != 0))
                return x->flags != 0 ? -1 : 1;
        if (x->length != y->length)
                return x->length > y->length ? -1 : 1;
        if (x->assembly != y->assembly)
                return x->assembly - y->assembly;
        return (x->place > y->place) - (x->place < y->place);
}

static const struct contig *contig_of(const struct report *r, const struct page_sequence *s)
{
        return &r->assemblies[s->assembly].contigs.all[s->place];
}

/* The number of bins of this width, or of its own, if that is more. */
static uint64_t count_bins(const struct contig *s, uint64_t step)
{
        const uint64_t width = step > s->step ? step / s->step : 1;
        return (s->nbins + width - 1) / width;
}

/* All sequences are drawn with bins of the same width, so that those of a page have at most
 * PAGE_MAX_BINS each, and at most PAGE_MAX_ALL_BINS together. */
static uint64_t common_step(const struct report *r, const struct page *page)
{
        uint64_t step = STRIP_FIRST_STEP, longest, all;
        bool is_finer;
        do {
                longest = all = 0;
                is_finer = false;
                for (size_t i = 0; i < page->nsequences; i++) {
                        const struct contig *s = contig_of(r, &page->sequences[i]);
                        const uint64_t n = count_bins(s, step);
                        is_finer |= s->nbins > 0 && step < s->step;
                        longest = n > longest ? n : longest;
                        all += i < PAGE_MAX_SEQUENCES ? n : 0;
                }
        } while ((is_finer || longest > PAGE_MAX_BINS || all > PAGE_MAX_ALL_BINS) && (step *= 2));
        return all > 0 ? step : 0;
}

static enum kc_status fill_strips(struct filled_page *filled, const struct report *r,
                                  struct kc_error *err)
{
        struct page *page = &filled->page;
        uint32_t(*bins)[PAGE_NBIN_VALUES];
        size_t nbins = 0;
        page->step = common_step(r, page);
        for (size_t i = 0; i < page->nsequences; i++)
                nbins += count_bins(contig_of(r, &page->sequences[i]), page->step);
        const enum kc_status status = allocate(&filled->bins, nbins, sizeof *filled->bins, err);
        if (status != KC_OK)
                return status;
        bins = filled->bins;
        for (size_t i = 0; i < page->nsequences; i++) {
                struct page_sequence *s = &filled->sequences[i];
                s->bins = (const uint32_t(*)[PAGE_NBIN_VALUES])bins;
                s->nbins = fill_bins(contig_of(r, s), page->step, bins);
                bins += s->nbins;
        }
        return KC_OK;
}

/* qsort takes two pointers for each sequence. */
uint64_t fill_sequences_nbytes(uint64_t n, uint64_t nbases)
{
        return n * (sizeof(struct page_sequence) + 2 * sizeof(void *)) +
               strip_most_bins(n, nbases) * sizeof(uint32_t[PAGE_NBIN_VALUES]);
}

static enum kc_status fill_sequences(struct filled_page *filled, const struct report *r,
                                     struct kc_error *err)
{
        struct page *page = &filled->page;
        size_t n = 0;
        enum kc_status status;
        for (size_t i = 0; i < r->setup->nassemblies; i++)
                n += r->assemblies[i].contigs.n;
        KC_TRY(allocate(&filled->sequences, n, sizeof *filled->sequences, err));
        page->sequences = filled->sequences;
        for (size_t i = 0; i < r->setup->nassemblies; i++)
                for (size_t j = 0; j < r->assemblies[i].contigs.n; j++)
                        fill_sequence(&filled->sequences[page->nsequences++], page, r, (int)i, j);
        qsort(filled->sequences, n, sizeof *filled->sequences, compare_sequences);
        KC_TRY(fill_strips(filled, r, err));
out:
        return status;
}

/* ---- all of it ---- */

/* NULL: not known */
static const char *checksum_of(const struct report *r, const char *path)
{
        for (size_t i = 0; i < r->nchecksums; i++)
                if (strcmp(r->checksums[i].path, path) == 0 && r->checksums[i].hex[0] != '\0')
                        return r->checksums[i].hex;
        return NULL;
}

void fill_reads(struct page *page, const struct report *r)
{
        page->sample = report_sample(r);
        page->k = r->info.k;
        page->program = "kcount " KCOUNT_VERSION;
        page->reads = (struct page_reads){
                .file = r->reads_name,
                .nreads = r->info.nreads,
                .nbases = r->info.nbases,
                .nlow_quality = r->info.nlow_quality,
                .min_count = r->info.min_count,
                .max_count = r->info.max_count_kept < UINT32_MAX ? r->info.max_count_kept : 0,
                .removed = r->info.ntombstone_runs > 0,
                .stranded = r->info.stranded,
                .compressed = r->info.hpc,
        };
}

static void fill_assembly(struct page_assembly *to, const struct report *r,
                          const struct report_assembly *a)
{
        to->name = a->name;
        to->file = a->path;
        to->sha256 = checksum_of(r, a->path);
        to->is_counted = a->is_counted;
        to->nsequences = a->contigs.n;
        for (size_t i = 0; i < a->contigs.n; i++)
                to->nbases += a->contigs.all[i].length;
        to->nkmers = a->info.sum;
        to->ndistinct = a->info.ndistinct;
}

static enum kc_status fill_assemblies(struct filled_page *filled, const struct report *r,
                                      struct kc_error *err)
{
        struct page *page = &filled->page;
        const size_t n = r->setup->nassemblies, nrows = page->spectrum.n;
        enum kc_status status;
        KC_TRY(allocate(&filled->copies, (n + 1) * nrows, sizeof *filled->copies, err));
        KC_TRY(allocate(&filled->holders, nrows, sizeof *filled->holders, err));
        page->nassemblies = (int)n;
        page->solid = r->solid;
        for (size_t i = 0; i < n; i++) {
                fill_assembly(&page->assemblies[i], r, &r->assemblies[i]);
                if (n > 1)
                        fill_comparison(&page->assemblies[i].comparison, r, &r->assemblies[i], page,
                                        &r->numbers.each[i], filled->copies + i * nrows);
        }
        fill_comparison(&page->all, r, NULL, page, numbers_whole(&r->numbers),
                        filled->copies + n * nrows);
        if (n > 1)
                fill_holders(page, &r->numbers.holders, filled->holders);
        page_find_parts(page);
        KC_TRY(fill_sequences(filled, r, err));
out:
        return status;
}

enum kc_status fill_page(struct filled_page *filled, const struct report *r, const char *command,
                         struct kc_error *err)
{
        const struct histogram histogram = { r->rows, r->nrows, r->info.k };
        const struct page_genome_input genome = {
                .histogram = &histogram,
                .model = r->model_refusal == PAGE_GIVEN ? &r->model : NULL,
                .refusal = r->model_refusal,
                .gc = r->gc,
                .ngc = r->ngc,
        };
        enum kc_status status;
        *filled = (struct filled_page){ 0 };
        filled->page.command = command;
        fill_reads(&filled->page, r);
        filled->page.reads.sha256 = checksum_of(r, r->reads_name);
        KC_TRY(page_fill_genome(&filled->page, &filled->genome, &genome, err));
        filled->page.depth = (double)r->depth;
        filled->page.genome_size = (double)r->genome_size;
        filled->page.least_k = r->least_k;
        filled->page.small_k = r->least_k > r->info.k;
        if (r->setup->nassemblies > 0)
                KC_TRY(fill_assemblies(filled, r, err));
out:
        return status;
}

void fill_free(struct filled_page *filled)
{
        page_genome_free(&filled->genome);
        free(filled->copies);
        free(filled->holders);
        free(filled->sequences);
        free(filled->bins);
}
