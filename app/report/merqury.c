#include "app/report/merqury.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

size_t merqury_name_length(const char *file)
{
        static const char *const endings[] = { ".fa", ".fasta", ".fa.gz", ".fasta.gz", ".kc" };
        const size_t n = strlen(file);
        for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
                const size_t nending = strlen(endings[i]);
                if (n > nending && strcmp(file + n - nending, endings[i]) == 0)
                        return n - nending;
        }
        return n;
}

/* The smallest count of a solid k-mer. */
static uint64_t threshold_of(const struct report *r)
{
        return r->peaks.first_minimum + 1;
}

/* ---- names ---- */

/* The length of the prefix's folder, with its slash. Some files do not have the prefix. */
static int folder_length(const char *prefix)
{
        const char *slash = strrchr(prefix, '/');
        return slash != NULL ? (int)(slash + 1 - prefix) : 0;
}

static enum kc_status add_of_assembly(struct report *r, size_t i, struct kc_error *err)
{
        struct report_assembly *a = &r->assemblies[i];
        struct merqury_of_assembly *m = &r->merqury.each[i];
        const char *prefix = r->setup->merqury;
        const int nfolder = folder_length(prefix);
        enum kc_status status;
        KC_TRY(files_add(&r->files, &m->copies, err, "%s.%s.spectra-cn.hist", prefix, a->name));
        KC_TRY(files_add(&r->files, &m->only, err, "%s.%s.only.hist", prefix, a->name));
        if (a->is_counted)
                return KC_OK;
        KC_TRY(files_add(&r->files, &m->qv, err, "%s.%s.qv", prefix, a->name));
        KC_TRY(files_add(&r->files, &a->tracks.absent_windows, err, "%.*s%s_only.bed", nfolder,
                         prefix, a->name));
        KC_TRY(files_add(&r->files, &a->tracks.absent_depth, err, "%.*s%s_only.wig", nfolder,
                         prefix, a->name));
out:
        return status;
}

enum kc_status merqury_add_files(struct report *r, struct kc_error *err)
{
        struct merqury_files *m = &r->merqury;
        const char *prefix = r->setup->merqury, *sample = report_sample(r);
        const int nfolder = folder_length(prefix);
        enum kc_status status;
        KC_TRY(files_add(&r->files, &m->qv, err, "%s.qv", prefix));
        KC_TRY(files_add(&r->files, &m->completeness, err, "%s.completeness.stats", prefix));
        KC_TRY(files_add(&r->files, &m->holders, err, "%s.spectra-asm.hist", prefix));
        KC_TRY(files_add(&r->files, &m->absent_holders, err, "%s.dist_only.hist", prefix));
        if (r->setup->nassemblies > 1) {
                KC_TRY(files_add(&r->files, &m->both.copies, err, "%s.spectra-cn.hist", prefix));
                KC_TRY(files_add(&r->files, &m->both.only, err, "%s.only.hist", prefix));
        }
        for (size_t i = 0; i < r->setup->nassemblies; i++)
                KC_TRY(add_of_assembly(r, i, err));
        KC_TRY(files_add(&r->files, &m->hist, err, "%.*s%s.hist", nfolder, prefix, sample));
        KC_TRY(files_add(&r->files, &m->ploidy, err, "%.*s%s.hist.ploidy", nfolder, prefix,
                         sample));
        KC_TRY(files_add(&r->files, &m->filter, err, "%.*s%s.filt", nfolder, prefix, sample));
out:
        return status;
}

/* ---- numbers ---- */

/* As awk prints a number. */
static void put_number(struct text_out *out, double number)
{
        if (isinf(number))
                text_out_puts(out, "inf");
        else
                text_out_printf(out, "%.6g", number + 0.0); /* no -0 */
}

static void put_quality(struct text_out *out, const char *name, struct quality_counts counts, int k)
{
        double error, value;
        text_out_printf(out, "%s\t%" PRIu64 "\t%" PRIu64 "\t", name, counts.nabsent, counts.nkmers);
        if (counts.nkmers == 0) {
                text_out_puts(out, "na\tna\n");
                return;
        }
        quality_as_merqury(counts, k, &error, &value);
        put_number(out, value);
        text_out_puts(out, "\t");
        put_number(out, error);
        text_out_puts(out, "\n");
}

static void put_completeness(struct text_out *out, const char *name, const struct numbers *numbers,
                             uint64_t threshold)
{
        const struct numbers_completeness c = numbers_complete(numbers, threshold);
        text_out_printf(out, "%s\tall\t%" PRIu64 "\t%" PRIu64 "\t", name, c.nfound, c.nsolid);
        put_number(out, c.nsolid > 0 ? 100 * (double)c.nfound / (double)c.nsolid : 0);
        text_out_puts(out, "\n");
}

/* The rows of k-mers that the reads have, for one column of a spectrum. */
static void put_rows(struct text_out *out, const struct numbers_spectrum *spectrum, size_t column,
                     const char *name, const char *ending)
{
        for (size_t i = 0; i < spectrum->nrows; i++) {
                const struct numbers_row *row = &spectrum->rows[i];
                if (row->count > 0 && row->kmers[column] > 0)
                        text_out_printf(out, "%s%s\t%" PRIu32 "\t%" PRIu64 "\n", name, ending,
                                        row->count, row->kmers[column]);
        }
}

static void put_copies(const struct merqury_of_assembly *files, const struct numbers *numbers)
{
        static const char *const names[NUMBERS_NCOPIES] = { "read-only", "1", "2", "3", "4", ">4" };
        text_out_puts(files->copies, "Copies\tkmer_multiplicity\tCount\n");
        for (size_t copies = 0; copies < NUMBERS_NCOPIES; copies++)
                put_rows(files->copies, &numbers->copies, copies, names[copies], "");
        text_out_printf(files->only, "1\t0\t%" PRIu64 "\n2\t0\t%" PRIu64 "\n",
                        numbers->ndistinct_absent,
                        numbers->quality.nabsent - numbers->ndistinct_absent);
}

static uint64_t count_absent(const struct numbers_spectrum *holders, enum numbers_holder holder)
{
        const struct numbers_row *first = holders->rows;
        return holders->nrows > 0 && first->count == 0 ? first->kmers[holder] : 0;
}

static void put_holder(const struct report *r, enum numbers_holder holder, const char *name,
                       const char *ending)
{
        put_rows(r->merqury.holders, &r->numbers.holders, holder, name, ending);
        if (holder != NUMBERS_NEITHER)
                text_out_printf(r->merqury.absent_holders, "%s%s\t0\t%" PRIu64 "\n", name, ending,
                                count_absent(&r->numbers.holders, holder));
}

static void put_holders(const struct report *r)
{
        const bool are_two = r->setup->nassemblies > 1;
        const char *ending = are_two ? "-only" : "";
        text_out_puts(r->merqury.holders, "Assembly\tkmer_multiplicity\tCount\n");
        put_holder(r, NUMBERS_NEITHER, "read-only", "");
        put_holder(r, NUMBERS_FIRST_ONLY, r->assemblies[0].name, ending);
        if (!are_two)
                return;
        put_holder(r, NUMBERS_SECOND_ONLY, r->assemblies[1].name, ending);
        put_holder(r, NUMBERS_BOTH, "shared", "");
}

static void put_reads(const struct report *r)
{
        const struct merqury_files *m = &r->merqury;
        for (size_t i = 0; i < r->nrows; i++)
                text_out_printf(m->hist, "%" PRIu64 "\t%" PRIu64 "\n", r->rows[i].count,
                                r->rows[i].ndistinct);
        text_out_printf(m->ploidy, "ploidy\tdepth\tboundary\n0\t0\t%" PRIu64 "\n",
                        r->peaks.first_minimum);
        for (size_t i = 0; i < r->peaks.npeaks && i < r->peaks.nbounds; i++)
                text_out_printf(m->ploidy, "%zu\t%" PRIu64 "\t%" PRIu64 "\n", i + 1,
                                r->peaks.peaks[i].count, r->peaks.bounds[i]);
        text_out_printf(m->filter, "%" PRIu64 "\n", threshold_of(r) - 1);
}

static void put_assembly(const struct report *r, size_t i)
{
        const struct report_assembly *a = &r->assemblies[i];
        const struct merqury_of_assembly *m = &r->merqury.each[i];
        const struct numbers *numbers = &r->numbers.each[i];
        put_copies(m, numbers);
        put_quality(r->merqury.qv, a->name, numbers->quality, r->info.k);
        put_completeness(r->merqury.completeness, a->name, numbers, threshold_of(r));
        for (size_t j = 0; j < a->contigs.n; j++)
                put_quality(m->qv, a->contigs.all[j].name, a->contigs.all[j].quality, r->info.k);
}

void merqury_write(const struct report *r)
{
        for (size_t i = 0; i < r->setup->nassemblies; i++)
                put_assembly(r, i);
        if (r->setup->nassemblies > 1) {
                put_copies(&r->merqury.both, &r->numbers.both);
                put_quality(r->merqury.qv, "Both", r->numbers.both.quality, r->info.k);
                put_completeness(r->merqury.completeness, "both", &r->numbers.both,
                                 threshold_of(r));
        }
        put_holders(r);
        put_reads(r);
}
