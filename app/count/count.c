#include "app/count/count.h"

#include "app/cli/command.h"
#include "app/cli/file_check.h"
#include "app/cli/misplaced.h"
#include "app/cli/output_name.h"
#include "app/cli/shell.h"
#include "app/cli/signals.h"
#include "app/count/count_internal.h"
#include "app/count/only.h"
#include "app/store/stores.h"
#include "base/temp_file.h"
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
        count->memory_nbytes = s->memory_nbytes
                                       ? s->memory_nbytes
                                       : kc_memory_default_nbytes(ranks_local(count->ranks));
        if (!count->adds) {
                count->noutputs = (int)s->ks.n;
                for (int i = 0; i < count->noutputs; i++)
                        count->outputs[i].k = (int)s->ks.values[i];
                count->stranded = s->stranded;
        }
        if (!count->adds && count->histogram == NULL)
                KC_TRY(count_name_outputs(count, err));
        if (s->tmp_dir != NULL || count->histogram != NULL)
                count->tmp_dir = strdup(s->tmp_dir ? s->tmp_dir : ".");
        else
                count->tmp_dir = kc_path_folder(count->outputs[0].path);
        if (count->tmp_dir == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
out:
        return status;
}

/* Refuse whatever can be refused before any input is read: opening the reader may wait for standard
 * input. */
static enum kc_status open_all(struct count *count, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(count_open_outputs(count, err));
        count_warn_of_lengths(count);
        KC_TRY(kc_temp_file_try(count->tmp_dir, err));
        count_plan_memory(count);
        KC_TRY(count_open_reader(count, err));
        count->rereadable = kc_reader_is_rereadable(count->reader);
        KC_TRY(count_check_inputs(count, err));
        count_warn_of_same_inputs(count);
out:
        return status;
}

/* --reader-only */
static enum kc_status only_read(struct count *count, struct kc_error *err)
{
        enum kc_status status;
        count_plan_memory(count);
        KC_TRY(count_open_reader(count, err));
        KC_TRY(count_nothing(count, err));
        count_report(count);
out:
        return status;
}

/* Everything that can be refused before counting. */
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
                       : count_check_exist(count->writing.call, count->adds, err));
        if (ranks_is_first(count->ranks))
                KC_TRY(count_check_exports(count, err));
        KC_TRY(only_read_sets(count, err));
        KC_TRY(open_all(count, err));
out:
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

/* Rank 0, or the only process: write the outputs, and report. */
static enum kc_status finish(struct count *count, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(count_commit(count, err));
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
        KC_TRY(ranks_agree(count->ranks, prepare(count, err), err));
        ranks_set_patience(count->ranks, (double)count->settings->rank_patience);
        if (count->settings->reader_only)
                return only_read(count, err);
        ranks_tie(count->ranks, count->writing.job);
        status = ranks_agree(count->ranks, count_together(count, err), err);
        ranks_untie(count->ranks);
        if (status == KC_OK && ranks_is_first(count->ranks))
                status = finish(count, err);
out:
        return status;
}

static void close_count(struct count *count)
{
        for (int i = 0; i < count->noutputs; i++) {
                kc_store_abort(count->outputs[i].writer);
                free(count->outputs[i].rows);
                free(count->outputs[i].path);
                free(count->outputs[i].export_path);
                exporting_free(&count->outputs[i].exports);
                kc_kmer_set_free(&count->outputs[i].only);
        }
        kc_reader_close(count->reader);
        kc_histogram_free(count->histogram);
        kc_store_close(count->temporary);
        free(count->reports);
        free(count->marks);
        free(count->tmp_dir);
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
        if (settings->common.nthreads == 0)
                count.writing.nthreads = ranks_share_of_cores(call->ranks, count.writing.nthreads);
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
        struct kc_store *store;
        struct kc_store_info info;
        enum kc_status status = kc_store_open(&store, path, err);
        if (status != KC_OK)
                return status;
        kc_store_get_info(store, &info);
        stores_warn_filtered(&info, path);
        kc_store_close(store);
        return KC_OK;
}

enum kc_status count_add(const struct invocation *call, struct kc_error *err)
{
        struct count count = begin_call(call, 1);
        enum kc_status status;
        struct count_output *o = &count.outputs[0];
        count.adds = true;
        count.noutputs = 1;
        KC_TRY(check_settings(count.settings, err));
        KC_TRY(misplaced_check_first(call, err));
        if (access(call->operands[0], F_OK) != 0 && errno == ENOENT)
                return refuse_missing(call, err);
        o->path = strdup(call->operands[0]);
        if (o->path == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        signals_install(count.writing.job);
        KC_TRY(stores_append(&o->writer, o->path, false, &o->k, &count.stranded, err));
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
        KC_TRY(kc_histogram_new(&count.histogram, err));
        signals_install(count.writing.job);
        KC_TRY(count_all(&count, err));
        *rows = count.outputs[0].rows;
        *nrows = count.outputs[0].nrows;
        count.outputs[0].rows = NULL; /* the caller's */
out:
        close_count(&count);
        return status;
}

static struct count_done describe(const struct count *count)
{
        const struct kc_reader_totals read = count_read_totals(count);
        const char *const *names;
        struct count_done done = { .nfiles = kc_reader_names(count->reader, &names),
                                   .nreads = read.nreads,
                                   .nbases = read.nbases,
                                   .nskipped = read.nskipped,
                                   .spilled_nbytes = count->outputs[0].totals.spilled_nbytes };
        device_name(&count->writing.device, done.device);
        return done;
}

static enum kc_status count_nameless(struct count *count, struct kc_store **store,
                                     struct kc_error *err)
{
        enum kc_status status;
        count->is_temporary = true;
        KC_TRY(check_settings(count->settings, err));
        KC_TRY(count_all(count, err));
        *store = count->temporary;
        count->temporary = NULL; /* the caller's */
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

enum kc_status count_operands(const struct invocation *call, struct kc_store **store,
                              struct kc_error *err)
{
        struct count count = begin_call(call, 0);
        struct count_settings settings = *count.settings;
        settings.min_count = 1;
        settings.max_count = UINT32_MAX;
        settings.common.json = false; /* it is about what follows */
        count.settings = &settings;
        count.writing.settings = &settings.common;
        signals_install(count.writing.job);
        const enum kc_status status = count_nameless(&count, store, err);
        close_count(&count);
        return status;
}
