#include "app/count/count.h"

#include "app/cli/bridge.h"
#include "app/cli/command.h"
#include "app/cli/file_check.h"
#include "app/cli/misplaced.h"
#include "app/cli/output_name.h"
#include "app/cli/shell.h"
#include "app/cli/signals.h"
#include "app/count/count_internal.h"
#include "app/count/only.h"
#include "app/library/inside.h"
#include "app/store/stores.h"
#include "io/input/input.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A .kc file that is to be exported. */
static enum kc_status advise_export(const char *name, const char *format, struct kc_error *err)
{
        char stem[PATH_MAX], line[SHELL_LINE_NBYTES];
        const char *const words[] = { "kcount", "export", name, "--to", format, "-o", stem };
        snprintf(stem, sizeof stem, "%.*s", (int)output_stem_length(name), name);
        return kc_fail(err, KC_EUSAGE, "%s is already counted; try '%s'", name,
                       shell_line(words, sizeof words / sizeof *words, line));
}

static enum kc_status refuse_missing(const struct invocation *call, struct kc_error *err)
{
        const char *const *names = (const char *const *)call->operands;
        char reads[SHELL_LINE_NBYTES], output[SHELL_LINE_NBYTES];
        return kc_fail(err, KC_EIO, "there is no %s yet; to make it: kcount %s -k 31 -o %s",
                       names[0], shell_line(names + 1, (size_t)call->noperands - 1, reads),
                       shell_word(names[0], output));
}

static enum kc_status refuse_counted(const char *name, struct kc_error *err)
{
        char file[SHELL_LINE_NBYTES];
        shell_word(name, file);
        return kc_fail(err, KC_EUSAGE,
                       "%s is already counted; try 'kcount info %s', 'kcount dump %s' or 'kcount "
                       "hist %s'",
                       name, file, file, file);
}

static enum kc_status suggest_k(const struct invocation *call, struct kc_error *err)
{
        const char *const nothing[] = { NULL };
        char line[SHELL_LINE_NBYTES];
        return kc_fail(err, KC_EUSAGE, "which k? Try '%s -k 31' (21 for GenomeScope, 31 is common)",
                       invocation_line(call, nothing, nothing, line));
}

enum kc_status count_ask_for_k(const struct invocation *call, struct kc_error *err)
{
        const struct count_settings *s = call->settings;
        enum kc_status status;
        KC_TRY(count_check_exist(call, 0, err));
        for (int i = 0; i < call->noperands; i++)
                if (kc_store_recognizes(call->operands[i]))
                        return s->format != NULL ? advise_export(call->operands[i], s->format, err)
                                                 : refuse_counted(call->operands[i], err);
        status = suggest_k(call, err);
out:
        return status;
}

static enum kc_status check_settings(const struct count_settings *s, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(options_check_range(s->min_count, s->max_count, err));
        if (s->canonical && s->stranded)
                return kc_fail(err, KC_EUSAGE,
                               "--canonical and --stranded cannot be used "
                               "together");
        if (s->output)
                KC_TRY(output_check_stdout(s->output, "-o", err));
        if (s->histogram && !s->common.json)
                return kc_fail(err, KC_EUSAGE,
                               "--histogram adds the histogram to the summary in JSON; it needs "
                               "--json");
        KC_TRY(device_check(s->device, s->table, DEVICE_COUNTS, err));
out:
        return status;
}

static enum kc_status resolve(struct count *count, struct kc_error *err)
{
        const struct count_settings *s = count->settings;
        enum kc_status status;
        KC_TRY(count_select(count, err));
        if (!count_adds(count)) {
                count->noutputs = (int)s->ks.n;
                for (int i = 0; i < count->noutputs; i++)
                        count->outputs[i].k = (int)s->ks.values[i];
                count->counter.stranded = s->stranded;
        }
        count_set_up(count);
        if (!count_adds(count) && count->counter.target != KC_COUNTER_HISTOGRAM)
                KC_TRY(count_name_outputs(count, err));
out:
        return status;
}

/* What can be refused before any output is created, and before the reader waits for standard
 * input. */
static enum kc_status prepare(struct count *count, struct kc_error *err)
{
        const struct count_settings *s = count->settings;
        enum kc_status status;
        KC_TRY(resolve(count, err));
        if (s->reader_only)
                return KC_OK;
        KC_TRY(count_check_operands(count, err));
        KC_TRY(only_check(count, err));
        KC_TRY(count_choose_device(count, err));
        if (ranks_waits(count->ranks))
                return KC_OK;
        KC_TRY(count->writing.call == NULL
                       ? count_check_inputs_exist(count, err)
                       : count_check_exist(count->writing.call, count_adds(count), err));
        if (ranks_is_first(count->ranks))
                KC_TRY(count_check_exports(count, err));
out:
        return status;
}

/* ---- through kcount.h ---- */

static enum kc_status take_step(void *ctx, enum kc_count_step step, struct kc_error *err)
{
        struct count *count = ctx;
        enum kc_status status = KC_OK;
        switch (step) {
        case KC_COUNT_CREATES:
                return count_check_outputs(count, err);
        case KC_COUNT_CREATED:
                count_warn_of_lengths(count);
                break;
        case KC_COUNT_OPENED:
                status = count_check_inputs(count, err);
                if (status == KC_OK)
                        count_warn_of_same_inputs(count);
                break;
        }
        return status;
}

static enum kc_status agree(void *ctx, enum kc_status prepared, struct kc_error *err)
{
        struct count *count = ctx;
        const enum kc_status status = ranks_agree(count->ranks, prepared, err);
        ranks_set_patience(count->ranks, (double)count->settings->rank_patience);
        count->writing.nthreads = count->counter.nthreads;
        return status;
}

static enum kc_status count_together(struct count *count, struct kc_error *err)
{
        enum kc_status status;
        if (ranks_waits(count->ranks))
                return KC_OK;
        KC_TRY(count_check_same_inputs(count, err));
        KC_TRY(count_on_engine(count, err));
        KC_TRY(count_gather(count, err));
out:
        return status;
}

static enum kc_status count_opened(void *ctx, struct kc_error *err)
{
        struct count *count = ctx;
        if (count->settings->reader_only)
                return count_nothing(count, err);
        ranks_tie(count->ranks, count->writing.job);
        const enum kc_status status = ranks_agree(count->ranks, count_together(count, err), err);
        ranks_untie(count->ranks);
        return status;
}

/* Another rank counts for this one, which agrees to the same. */
static enum kc_status wait_for_leader(struct count *count, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(agree(count, KC_OK, err));
        KC_TRY(count_opened(count, err));
out:
        return status;
}

static struct kcount_count_options options_of(const struct count *count,
                                              const struct kcount_count_inside *inside)
{
        const struct count_settings *s = count->settings;
        struct kcount_count_options options = KCOUNT_COUNT_OPTIONS_INIT;
        options.k = count->outputs[0].k;
        options.stranded = count->counter.stranded;
        options.hpc = count->counter.selection.hpc;
        options.replace = s->force;
        options.accept_empty = s->skip_empty;
        if (s->min_count > 0)
                options.min_count = (uint32_t)s->min_count;
        if (s->max_count > 0)
                options.max_count = (uint32_t)s->max_count;
        options.min_quality = (int)s->min_quality;
        if (s->memory_nbytes > 0) /* as much as this process may use for others, too */
                options.memory_nbytes = count->counter.memory_nbytes;
        options.tmp_folder = s->tmp_dir;
        options.guard = signals_guard;
        options.skip = count->counter.selection.nskip;
        options.require_flags = count->counter.selection.required;
        options.exclude_flags = count->counter.selection.excluded;
        options.only = s->only;
        options.inside = inside;
        return options;
}

/* Ranks other than 0 are left with what they have to report. */
static enum kc_status count_inputs(struct count *count, struct kc_error *err)
{
        const struct kcount_count_inside inside = { .counter = &count->counter,
                                                    .reads_only = count->settings->reader_only,
                                                    .ctx = count,
                                                    .step = take_step,
                                                    .agree = agree,
                                                    .count = count_opened };
        const struct kcount_count_options options = options_of(count, &inside);
        const char *paths[OPTION_NUMBERS_MAX];
        int ks[OPTION_NUMBERS_MAX];
        struct kcount_error *error = NULL;
        struct kcount_row *rows;
        enum kcount_status status;
        size_t nrows;
        for (int i = 0; i < count->noutputs; i++) {
                ks[i] = count->outputs[i].k;
                paths[i] = count->outputs[i].path;
        }
        if (count->counter.target == KC_COUNTER_HISTOGRAM)
                status = kcount_count_histogram(count->inputs, count->ninputs, &options, &rows,
                                                &nrows, &error);
        else
                status = kcount_count_several(
                        count->inputs, count->ninputs, ks, (size_t)count->noutputs, &options,
                        count->counter.target == KC_COUNTER_NAMELESS ? NULL : paths, NULL, &error);
        return bridge_check(status, &error, err);
}

/* ---- all of it ---- */

/* Rank 0, or the only process: report what was committed. */
static enum kc_status finish(struct count *count, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        count_add_first_rank(count);
        count_warn(count);
        if (count->settings->format != NULL)
                KC_TRY(count_export(count, err));
        if (count->writing.call != NULL)
                count_report(count);
out:
        return status;
}

static enum kc_status count_all(struct count *count, struct kc_error *err)
{
        enum kc_status status;
        count_silence(count);
        status = prepare(count, err);
        if (status != KC_OK)
                return ranks_agree(count->ranks, status, err);
        KC_TRY(ranks_waits(count->ranks) ? wait_for_leader(count, err) : count_inputs(count, err));
        if (count->settings->reader_only)
                count_report(count);
        else if (ranks_is_first(count->ranks))
                KC_TRY(finish(count, err));
out:
        return status;
}

static void close_count(struct count *count)
{
        for (int i = 0; i < count->noutputs; i++) {
                free(count->outputs[i].path);
                free(count->outputs[i].export_path);
                exporting_free(&count->outputs[i].exports);
        }
        kc_counter_close(&count->counter);
        free(count->reports);
        free(count->marks);
}

static struct count begin(const struct count_settings *settings, const char *const *inputs,
                          size_t ninputs)
{
        return (struct count){ .settings = settings,
                               .writing = writing_of(NULL, &settings->common),
                               .inputs = inputs,
                               .ninputs = ninputs };
}

/* The inputs are the operands from `first` on. */
static struct count begin_call(const struct invocation *call, int first)
{
        const struct count_settings *settings = call->settings;
        struct count count = begin(settings, (const char *const *)call->operands + first,
                                   (size_t)(call->noperands - first));
        count.writing.call = call;
        count.ranks = call->ranks;
        return count;
}

enum kc_status count_create(const struct invocation *call, struct kc_error *err)
{
        struct count count = begin_call(call, 0);
        enum kc_status status;
        KC_TRY(check_settings(count.settings, err));
        signals_install(count.writing.job);
        KC_TRY(count_all(&count, err));
out:
        close_count(&count);
        return status;
}

static enum kc_status warn_of_sums(const char *path, struct kc_error *err)
{
        struct kcount_counts *counts;
        struct kcount_info info = { .size = sizeof info };
        struct kcount_error *error = NULL;
        const enum kc_status status = bridge_check(kcount_open(&counts, path, &error), &error, err);
        if (status != KC_OK)
                return status;
        kcount_get_info(counts, &info);
        stores_warn_filtered(info.lacks_dropped, path);
        kcount_close(counts);
        return KC_OK;
}

enum kc_status count_add(const struct invocation *call, struct kc_error *err)
{
        struct count count = begin_call(call, 1);
        enum kc_status status;
        struct count_output *o = &count.outputs[0];
        count.counter.target = KC_COUNTER_RUN;
        count.noutputs = count.counter.ntasks = 1;
        KC_TRY(check_settings(count.settings, err));
        KC_TRY(misplaced_check_first(call, err));
        if (access(call->operands[0], F_OK) != 0 && errno == ENOENT)
                return refuse_missing(call, err);
        o->path = strdup(call->operands[0]);
        if (o->path == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        signals_install(count.writing.job);
        KC_TRY(stores_append(&count.counter.outputs[0].writer, o->path, false, &o->k,
                             &count.counter.stranded, err));
        KC_TRY(warn_of_sums(o->path, err));
        KC_TRY(count_all(&count, err));
out:
        close_count(&count);
        return status;
}

enum kc_status count_histogram(const struct invocation *call, struct kc_histogram_row **rows,
                               size_t *nrows, struct kc_error *err)
{
        struct count count = begin_call(call, 0);
        enum kc_status status;
        KC_TRY(check_settings(count.settings, err));
        count.counter.target = KC_COUNTER_HISTOGRAM;
        signals_install(count.writing.job);
        KC_TRY(count_all(&count, err));
        struct kc_store_written *written = &count.counter.outputs[0].written;
        *rows = written->rows;
        *nrows = written->nrows;
        written->rows = NULL; /* the caller's */
out:
        close_count(&count);
        return status;
}

static struct count_done describe(const struct count *count)
{
        const struct kc_reader_totals *read = &count->counter.read;
        const char *const *names;
        struct count_done done = { .nfiles = kc_reader_names(count->counter.reader, &names),
                                   .nreads = read->nreads,
                                   .nbases = read->nbases,
                                   .nskipped = read->nskipped,
                                   .spilled_nbytes = count->outputs[0].totals->spilled_nbytes };
        device_name(&count->writing.device, done.device);
        return done;
}

static enum kc_status count_nameless(struct count *count, struct kc_store **store,
                                     struct kc_error *err)
{
        enum kc_status status;
        count->counter.target = KC_COUNTER_NAMELESS;
        KC_TRY(check_settings(count->settings, err));
        KC_TRY(count_all(count, err));
        *store = count->counter.outputs[0].store;
        count->counter.outputs[0].store = NULL; /* the caller's */
out:
        return status;
}

enum kc_status count_temporary(const struct count_settings *settings, const char *const *inputs,
                               size_t ninputs, struct kc_store **store, struct count_done *done,
                               struct kc_error *err)
{
        struct count count = begin(settings, inputs, ninputs);
        kc_job_begin_stage(count.writing.job, KC_STAGE_PARTITION, 0);
        const enum kc_status status = count_nameless(&count, store, err);
        if (status == KC_OK)
                *done = describe(&count);
        close_count(&count);
        return status;
}

enum kc_status count_operands(const struct invocation *call, struct kcount_counts **counts,
                              struct kc_error *err)
{
        struct count count = begin_call(call, 0);
        struct kc_store *store = NULL;
        enum kc_status status;
        struct count_settings settings = *count.settings;
        settings.min_count = 1;
        settings.max_count = UINT32_MAX;
        settings.common.json = false; /* it is about what follows */
        count.settings = &settings;
        count.writing.settings = &settings.common;
        signals_install(count.writing.job);
        KC_TRY(count_nameless(&count, &store, err));
        KC_TRY(kc_library_counts_new(counts, store, err));
        store = NULL; /* the counts' */
out:
        kc_store_close(store);
        close_count(&count);
        return status;
}
