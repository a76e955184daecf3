#include "app/report/report.h"

#include "app/model/least_squares.h"
#include "app/model/origin.h"
#include "app/report/chance.h"
#include "app/report/fill.h"
#include "app/report/merqury.h"
#include "app/report/page/caveats.h"
#include "app/report/reads.h"
#include "app/report/temporary.h"
#include "app/store/stores.h"
#include "base/parallel.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening ---- */

static const char *file_of(const char *path)
{
        const char *slash = strrchr(path, '/');
        return slash != NULL ? slash + 1 : path;
}

static char *name_of(const char *path)
{
        const char *file = file_of(path);
        return strndup(file, merqury_name_length(file));
}

const char *report_sample(const struct report *report)
{
        return report->setup->sample != NULL ? report->setup->sample : report->sample;
}

/* Whether the assembly is far larger than all haplotypes of the genome together; without a model,
 * their number is not known. A size below k is no estimate. */
static bool are_reads(const struct report *r, const struct report_assembly *a)
{
        enum { MOST_TIMES = 5 };
        const uint64_t ploidy = r->adjusting.ploidy > 0 ? (uint64_t)r->adjusting.ploidy : 1;
        return r->genome_size >= (uint64_t)r->info.k &&
               a->info.sum / MOST_TIMES > ploidy * r->genome_size;
}

enum page_refusal report_quality_refusal(const struct report *r, const struct report_assembly *a)
{
        const struct kc_store_info *info = &r->info;
        if (info->min_count > 1 || info->mixed & KC_MIXED_MIN)
                return PAGE_FILTERED;
        if (info->max_count_kept < UINT32_MAX || info->mixed & KC_MIXED_MAX)
                return PAGE_CAPPED;
        if (info->ntombstone_runs > 0)
                return PAGE_REMOVED;
        if (info->hpc)
                return PAGE_COMPRESSED;
        for (size_t i = 0; i < r->setup->nassemblies; i++)
                if ((a == NULL || a == &r->assemblies[i]) && are_reads(r, &r->assemblies[i]))
                        return PAGE_ARE_READS;
        return PAGE_GIVEN;
}

/* Refuse files of counts from which nothing about an assembly follows. */
static enum kc_status check_reads(const struct report *r, struct kc_error *err)
{
        const char *path = r->reads_name;
        if (r->setup->nassemblies == 0)
                return KC_OK;
        if (r->info.stranded)
                return kc_fail(err, KC_EUSAGE,
                               "%s was counted with --stranded, but an assembly has each place on "
                               "one strand only: count the reads without it",
                               path);
        if (r->info.only_checksum != 0)
                return kc_fail(err, KC_EUSAGE,
                               "%s was counted with --only, so it does not say which other k-mers "
                               "the reads have: count the reads without it",
                               path);
        return KC_OK;
}

static enum kc_status check_counted(const struct report_assembly *a, struct kc_error *err)
{
        const struct kc_store_info *info = &a->info;
        if (info->min_count > 1 || info->max_count_kept < UINT32_MAX || info->mixed != 0 ||
            info->ntombstone_runs > 0)
                return kc_fail(err, KC_EUSAGE,
                               "%s lacks k-mers of the assembly, because --min, --max or 'kcount "
                               "remove' dropped them: count the assembly again",
                               a->path);
        return KC_OK;
}

/* An assembly that is counted already must have been counted as the reads were. */
static enum kc_status check_alike(const struct report *r, const struct report_assembly *a,
                                  struct kc_error *err)
{
        const struct kc_set both = { .stores = (struct kc_store *const[]){ r->store, a->store },
                                     .nstores = 2 };
        if (r->store != NULL)
                return kc_set_check(&both, err);
        if (a->info.k != r->info.k)
                return kc_fail(err, KC_EUSAGE,
                               "%s has k = %d: to count the reads likewise, add -k %d", a->path,
                               a->info.k, a->info.k);
        if (a->info.stranded || a->info.hpc || a->info.only_checksum != 0)
                return kc_fail(err, KC_EUSAGE,
                               "%s was counted with --stranded, --hpc or --only, and the reads "
                               "will be without: count the assembly again",
                               a->path);
        return KC_OK;
}

static enum kc_status open_assembly(struct report *r, size_t i, struct kc_error *err)
{
        struct report_assembly *a = &r->assemblies[i];
        enum kc_status status = KC_OK;
        a->path = r->setup->assemblies[i];
        a->name = name_of(a->path);
        if (a->name == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        a->is_counted = kc_store_recognizes(a->path);
        if (!a->is_counted)
                return KC_OK;
        KC_TRY(stores_open(&a->store, a->path, err));
        kc_store_get_info(a->store, &a->info);
        KC_TRY(check_counted(a, err));
        KC_TRY(check_alike(r, a, err));
out:
        return status;
}

static enum kc_status add_tracks(struct report *r, struct report_assembly *a, struct kc_error *err)
{
        static const char *const words[TRACKS_NKINDS] = { "absent", "duplicated", "collapsed" };
        enum kc_status status = KC_OK;
        if (a->is_counted)
                return KC_OK;
        for (size_t kind = 0; kind < TRACKS_NKINDS; kind++)
                KC_TRY(files_add(&r->files, &a->tracks.stretches[kind], err, "%s.%s.%s.bed",
                                 r->setup->tracks, a->name, words[kind]));
out:
        return status;
}

/* Merqury's files and the tracks say what a QV says. */
static enum kc_status check_wishes(const struct report *r, struct kc_error *err)
{
        const enum page_refusal refusal = report_quality_refusal(r, NULL);
        struct page page = { 0 };
        char text[sizeof err->message];
        if (refusal == PAGE_GIVEN || (r->setup->merqury == NULL && r->setup->tracks == NULL))
                return KC_OK;
        fill_reads(&page, r);
        page_say_refusal(&page, refusal, text, sizeof text);
        return kc_fail(err, KC_EUSAGE, "there is no QV for --merqury and --tracks. %s", text);
}

static enum kc_status check_names(const struct report *r, struct kc_error *err)
{
        const struct report_assembly *a = r->assemblies;
        if (r->setup->nassemblies < 2 || strcmp(a[0].name, a[1].name) != 0)
                return KC_OK;
        return kc_fail(err, KC_EUSAGE,
                       "%s and %s have the same name without folder and ending, and files are "
                       "named after it: rename one",
                       a[0].path, a[1].path);
}

static enum kc_status add_files(struct report *r, struct kc_error *err)
{
        const struct report_setup *setup = r->setup;
        const char *inputs[1 + NUMBERS_MAX_ASSEMBLIES];
        bool has_sequences = false;
        size_t ninputs = 0;
        enum kc_status status = KC_OK;
        if (setup->are_counted) /* otherwise reads_count sees to that, after reading @LIST */
                inputs[ninputs++] = setup->reads[0];
        for (size_t i = 0; i < setup->nassemblies; i++) {
                inputs[ninputs++] = setup->assemblies[i];
                has_sequences |= !r->assemblies[i].is_counted;
        }
        if (setup->tracks != NULL && !has_sequences)
                KC_TRY(kc_fail(err, KC_EUSAGE,
                               "there are no sequences for --tracks: name the FASTA of an "
                               "assembly, not only files of counts"));
        r->files.wish = setup->html;
        if (setup->html != NULL)
                KC_TRY(files_add(&r->files, &r->html, err, "%s", setup->html));
        r->files.wish = setup->multiqc;
        if (setup->multiqc != NULL)
                KC_TRY(multiqc_add(&r->multiqc, &r->files, setup->multiqc, err));
        r->files.wish = setup->merqury;
        if (setup->merqury != NULL)
                KC_TRY(merqury_add_files(r, err));
        r->files.wish = setup->tracks;
        for (size_t i = 0; i < setup->nassemblies && setup->tracks != NULL; i++)
                KC_TRY(add_tracks(r, &r->assemblies[i], err));
        r->files.wish = setup->svg;
        if (setup->svg != NULL)
                KC_TRY(pictures_add(&r->pictures, &r->files, setup->svg, setup->nassemblies,
                                    has_sequences, err));
        KC_TRY(files_check(&r->files, inputs, ninputs, setup->force, err));
        KC_TRY(files_open(&r->files, setup->force, err));
out:
        return status;
}

/* Reads that are not counted yet will be, with all that reports need. */
static enum kc_status open_reads(struct report *r, struct kc_error *err)
{
        const struct report_setup *setup = r->setup;
        enum kc_status status = KC_OK;
        r->sample = reads_sample(setup->reads[0], setup->are_counted);
        r->reads_name = reads_title(setup->reads, setup->nreads);
        if (r->sample == NULL || r->reads_name == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        r->info = (struct kc_store_info){ .k = reads_k(setup->counting),
                                          .min_count = 1,
                                          .max_count_kept = UINT32_MAX };
        if (setup->are_counted) {
                KC_TRY(stores_open(&r->store, setup->reads[0], err));
                kc_store_get_info(r->store, &r->info);
        }
        KC_TRY(reads_check_k(&setup->counting->ks, r->reads_name,
                             setup->are_counted ? &r->info : NULL, err));
out:
        return status;
}

enum kc_status report_open(struct report *r, const struct report_setup *setup, struct kc_error *err)
{
        enum kc_status status;
        r->setup = setup;
        KC_TRY(open_reads(r, err));
        KC_TRY(check_reads(r, err));
        KC_TRY(check_wishes(r, err));
        if (setup->are_counted) /* to read others again would take longer than to count them */
                r->checksums[r->nchecksums++].path = setup->reads[0];
        for (size_t i = 0; i < setup->nassemblies; i++) {
                KC_TRY(open_assembly(r, i, err));
                r->checksums[r->nchecksums++].path = setup->assemblies[i];
        }
        KC_TRY(check_names(r, err));
        KC_TRY(add_files(r, err));
out:
        return status;
}

void report_close(struct report *r)
{
        for (size_t i = 0; i < NUMBERS_MAX_ASSEMBLIES; i++) {
                kc_store_close(r->assemblies[i].store);
                kc_store_close(r->assemblies[i].pairs);
                contigs_free(&r->assemblies[i].contigs);
                free(r->assemblies[i].name);
        }
        kc_store_close(r->store);
        files_close(&r->files);
        pictures_close(&r->pictures);
        numbers_free(&r->numbers);
        peaks_free(&r->peaks);
        free(r->rows);
        free(r->gc);
        free(r->sample);
        free(r->reads_name);
}

/* ---- work ---- */

static enum kc_status count_reads(struct report *r, struct kc_error *err)
{
        const char *outputs[FILES_MOST];
        const struct reads_setup setup = { .inputs = r->setup->reads,
                                           .ninputs = r->setup->nreads,
                                           .counting = r->setup->counting,
                                           .outputs = outputs,
                                           .noutputs = r->files.n };
        enum kc_status status;
        for (size_t i = 0; i < r->files.n; i++)
                outputs[i] = r->files.all[i].path;
        KC_TRY(reads_count(&r->store, &r->counted, &setup, err));
        kc_store_get_info(r->store, &r->info);
        for (size_t i = 0; i < r->setup->nassemblies; i++)
                if (r->assemblies[i].is_counted)
                        KC_TRY(check_alike(r, &r->assemblies[i], err));
out:
        return status;
}

static enum kc_status count_assembly(struct report *r, struct report_assembly *a,
                                     struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (!a->is_counted) {
                KC_TRY(temporary_count(&a->store, a->path, &r->info, r->setup->counting, err));
                kc_store_get_info(a->store, &a->info);
        }
        if (a->info.sum == 0)
                return kc_fail(err, KC_EINPUT, "%s has no %d-mers: no sequence is that long",
                               a->path, r->info.k);
out:
        return status;
}

/* Whether windows are looked up, one by one. */
static bool has_windows(const struct report *r, const struct report_assembly *a)
{
        return !a->is_counted && !r->info.hpc;
}

/* The joint histogram, and the pairs of those assemblies whose windows are looked up. */
static enum kc_status join(struct report *r, struct temporary_pairs *files,
                           struct kc_joint_cell **cells, size_t *ncells, struct kc_error *err)
{
        static const uint32_t all[KC_JOINT_MAX_FILES] = { 0 };
        const struct report_setup *setup = r->setup;
        struct kc_store *stores[KC_JOINT_MAX_FILES] = { r->store };
        struct kc_joint_pairs pairs = { 0 };
        enum kc_status status;
        for (size_t i = 0; i < setup->nassemblies; i++) {
                const struct report_assembly *a = &r->assemblies[i];
                stores[i + 1] = a->store;
                if (!has_windows(r, a))
                        continue;
                KC_TRY(temporary_pairs_begin(&files[i], setup->folder, &a->info, err));
                pairs.sinks[i + 1] = &files[i].sink;
        }
        KC_TRY(kc_store_joint(stores, setup->nassemblies + 1, all, &pairs, setup->nthreads,
                              setup->job, cells, ncells, err));
        for (size_t i = 0; i < setup->nassemblies; i++)
                if (files[i].writer != NULL)
                        KC_TRY(temporary_pairs_commit(&files[i], pairs.sums[i + 1],
                                                      &r->assemblies[i].pairs, err));
out:
        return status;
}

static enum kc_status compare(struct report *r, struct kc_error *err)
{
        struct temporary_pairs files[NUMBERS_MAX_ASSEMBLIES] = { 0 };
        struct kc_joint_cell *cells = NULL;
        size_t ncells;
        enum kc_status status;
        KC_TRY(join(r, files, &cells, &ncells, err));
        KC_TRY(numbers_add_up(&r->numbers, cells, ncells, r->setup->nassemblies, err));
out:
        for (size_t i = 0; i < NUMBERS_MAX_ASSEMBLIES; i++)
                temporary_pairs_abort(&files[i]);
        free(cells);
        return status;
}

/* ---- the genome ---- */

/* How many k-mers the reads have by GC content and count, and by count alone. */
static enum kc_status read_counts(struct report *r, struct kc_error *err)
{
        struct kc_histogram *histogram = NULL;
        struct kc_histogram_row *rows = NULL;
        enum kc_status status;
        KC_TRY(kc_store_gc(r->store, 0, r->setup->nthreads, r->setup->job, &r->gc, &r->ngc, err));
        rows = malloc((r->ngc + 1) * sizeof *rows);
        if (rows == NULL)
                KC_TRY(kc_fail(err, KC_ENOMEM, "out of memory"));
        for (size_t i = 0; i < r->ngc; i++)
                rows[i] = (struct kc_histogram_row){ r->gc[i].count, r->gc[i].ndistinct };
        KC_TRY(kc_histogram_new(&histogram, err));
        KC_TRY(kc_histogram_add(histogram, rows, r->ngc, err));
        KC_TRY(kc_histogram_rows(histogram, NULL, &r->rows, &r->nrows, err));
out:
        kc_histogram_free(histogram);
        free(rows);
        return status;
}

/* Without a model: what is above the first minimum is the genome's. */
static void look_at_peaks(struct report *r)
{
        uint64_t nsolid = 0;
        r->threshold = r->peaks.first_minimum + 1;
        r->solid = r->peaks.first_minimum > 0 ? PAGE_BY_MINIMUM : PAGE_ALL_SOLID;
        if (r->setup->threshold > 0) {
                r->threshold = r->setup->threshold;
                r->solid = PAGE_BY_USER;
        }
        r->depth = peaks_depth(r->rows, r->nrows, r->threshold - 1);
        for (size_t i = 0; i < r->nrows; i++)
                if (r->rows[i].count >= r->threshold)
                        nsolid += r->rows[i].count * r->rows[i].ndistinct;
        r->genome_size = r->depth > 0 ? nsolid / r->depth : 0;
}

/* What a model that explains the counts says instead. */
static void apply_model(struct report *r)
{
        const struct model_fit *fit = &r->model.fits[0];
        r->adjusting = adjusting_of(fit);
        r->depth = (uint64_t)(r->adjusting.ploidy * r->adjusting.coverage + 0.5);
        r->genome_size = (uint64_t)(r->model.size.value + 0.5);
        if (r->setup->threshold > 0)
                return;
        r->threshold = fit->threshold;
        r->solid = PAGE_BY_MODEL;
}

static enum kc_status find_model(struct report *r, struct kc_error *err)
{
        const struct histogram histogram = { r->rows, r->nrows, r->info.k };
        const struct model_origin origin = model_origin_of(&r->info);
        const struct model_gc gc = { r->gc, r->ngc };
        struct kc_error failure = { 0 };
        r->model_refusal = PAGE_NO_LIBRARY;
        if (!least_squares_exist())
                return KC_OK;
        const enum kc_status status = model_find(&histogram, &origin, &gc, r->setup->ploidies,
                                                 r->setup->nploidies, &r->model, &failure);
        if (status == KC_EINPUT)
                r->model_refusal = page_find_refusal(&histogram, &origin);
        else if (status != KC_OK)
                return kc_fail_reworded(err, &failure, "%s: %s", r->reads_name, failure.message);
        else
                r->model_refusal = PAGE_GIVEN;
        if (status == KC_OK && !(r->model.caveats & MODEL_BAD_FIT))
                apply_model(r);
        return KC_OK;
}

/* As Merqury's best_k.sh: with this k, one k-mer in 1,000 that is not the genome's is in it by
 * chance. */
static int least_k(uint64_t genome_size)
{
        static const double chance = 0.001;
        if (genome_size == 0)
                return 0;
        return (int)ceil(log((double)genome_size * (1 - chance) / chance) / log(4));
}

static enum kc_status look_at_reads(struct report *r, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(read_counts(r, err));
        KC_TRY(peaks_find(&r->peaks, r->rows, r->nrows, err));
        look_at_peaks(r);
        KC_TRY(find_model(r, err));
        r->least_k = least_k(r->genome_size);
out:
        return status;
}

/* ---- the assemblies ---- */

/* How long a stretch of an assembly may look collapsed by chance. */
static uint64_t find_chance(const struct report *r, const struct report_assembly *a)
{
        const double nreads = (double)r->info.nreads, nbases = (double)r->info.nbases;
        const struct chance chance = {
                .depth = (double)r->depth,
                .bias = r->adjusting.bias, /* 0 without a model */
                .nspan = nreads > 0 ? nbases / nreads - r->info.k + 1 : 0,
                .nwindows = a->info.sum,
        };
        return chance_windows(&chance);
}

/* Plan how to look windows up in the memory that the numbers of all sequences leave. */
static enum kc_status plan_asking(const struct report *r, struct asking_options *how,
                                  struct kc_error *err)
{
        uint64_t n = 0, kept = 0, filled = 0; /* filled: after all look-ups */
        for (size_t i = 0; i < r->setup->nassemblies; i++) {
                const struct report_assembly *a = &r->assemblies[i];
                if (!has_windows(r, a))
                        continue;
                n += a->info.nreads;
                kept += contigs_nbytes(a->info.nreads, a->info.nbases);
                filled += fill_sequences_nbytes(a->info.nreads, a->info.nbases);
        }
        const uint64_t most = r->setup->memory_nbytes - MEMORY_PROCESS_NBYTES;
        const uint64_t needed =
                kept + (filled > MEMORY_THREAD_NBYTES ? filled : MEMORY_THREAD_NBYTES);
        if (needed > most) {
                struct kc_error own = { .needed_nbytes = needed + MEMORY_PROCESS_NBYTES };
                kc_fail_remedy(&own, KC_ENOMEM, KC_REMEDY_MORE_MEMORY,
                               "a bound of %" PRIu64 " MiB is not enough for the numbers of "
                               "%" PRIu64 " sequences",
                               r->setup->memory_nbytes / MEMORY_MIB, n);
                return kc_fail_as(err, &own);
        }
        const int nthreads = (int)((most - kept) / MEMORY_THREAD_NBYTES);
        *how = (struct asking_options){ .nthreads = nthreads < r->setup->nthreads
                                                            ? nthreads
                                                            : r->setup->nthreads,
                                        .memory_nbytes = most - kept,
                                        .max_count = UINT32_MAX,
                                        .wants_counts = true,
                                        .device = r->setup->device,
                                        .job = r->setup->job };
        return KC_OK;
}

static enum kc_status find_sequences(const struct report *r, struct report_assembly *a,
                                     const struct asking_options *how, struct kc_error *err)
{
        if (!has_windows(r, a))
                return KC_OK;
        a->tracks.k = r->info.k;
        a->tracks.depth = r->depth;
        a->tracks.least_collapsed = find_chance(r, a);
        return contigs_find(&a->contigs, a->pairs, a->path, &a->tracks, how, err);
}

static enum kc_status work(struct report *r, struct kc_error *err)
{
        const size_t n = r->setup->nassemblies;
        struct asking_options how;
        enum kc_status status;
        if (!r->setup->are_counted)
                KC_TRY(count_reads(r, err));
        KC_TRY(look_at_reads(r, err));
        if (n == 0)
                return KC_OK;
        for (size_t i = 0; i < n; i++)
                KC_TRY(count_assembly(r, &r->assemblies[i], err));
        KC_TRY(check_wishes(r, err));
        KC_TRY(plan_asking(r, &how, err));
        KC_TRY(compare(r, err));
        for (size_t i = 0; i < n; i++)
                KC_TRY(find_sequences(r, &r->assemblies[i], &how, err));
        if (r->setup->merqury != NULL)
                merqury_write(r);
out:
        return status;
}

/* Checksums take a thread, as long as the other work or longer. */
static enum kc_status work_or_check(void *ctx, int worker, struct kc_error *err)
{
        struct report *r = ctx;
        return worker == 0 ? work(r, err)
                           : checksums_find(r->checksums, r->nchecksums, r->setup->job, err);
}

static void stop_the_other(void *ctx)
{
        const struct report *r = ctx;
        atomic_store(&r->setup->job->cancel, true);
}

enum kc_status report_work(struct report *r, struct kc_error *err)
{
        return kc_parallel(2, work_or_check, stop_the_other, r, err);
}
