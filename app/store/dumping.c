#include "app/store/dumping.h"

#include "app/cli/bridge.h"
#include "app/cli/file_check.h"
#include "app/cli/signals.h"
#include "app/cli/size.h"
#include "app/library/same_file.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

struct dumping {
        const struct dumping_request *request;
        struct writing writing;
        struct kc_kmer_text format;
        const char *path; /* NULL: standard output */
        struct text_out *out;
        uint64_t nbytes;                  /* of text */
        atomic_uint_fast64_t nkmers, sum; /* that the format's filter keeps */
};

const char *dumping_path(const struct dumping_settings *settings)
{
        const char *output = settings->output;
        return output != NULL && strcmp(output, "-") != 0 ? output : NULL;
}

enum kc_status dumping_check(const struct dumping_settings *settings, const char *const *inputs,
                             size_t ninputs, struct kc_error *err)
{
        const char *path = dumping_path(settings);
        enum kc_status status = KC_OK;
        if (path == NULL)
                return KC_OK;
        KC_TRY(kc_output_check_files(&path, 1, inputs, ninputs, err));
        if (text_out_makes_file(path))
                KC_TRY(output_check(path, true, settings->force, err));
out:
        return status;
}

static void add_up(struct dumping *d, const uint32_t *counts, size_t n)
{
        const uint32_t min = d->format.min_count, max = d->format.max_count;
        uint64_t nkmers = 0, sum = 0;
        for (size_t i = 0; i < n; i++) {
                const bool kept = counts[i] >= min && counts[i] <= max;
                nkmers += kept;
                sum += kept ? counts[i] : 0;
        }
        atomic_fetch_add(&d->nkmers, nkmers);
        atomic_fetch_add(&d->sum, sum);
}

/* ctx of these three: a struct dumping. */

static char *convert(void *ctx, const uint64_t *kmers, const uint32_t *counts, size_t n, char *to)
{
        struct dumping *d = ctx;
        add_up(d, counts, n);
        return d->request->totals ? to : kc_kmer_text_lines(&d->format, kmers, counts, n, to);
}

static bool deliver(void *ctx, const char *data, size_t nbytes)
{
        struct dumping *d = ctx;
        text_out_write(d->out, data, nbytes);
        d->nbytes += nbytes;
        return text_out_status(d->out, NULL) == KC_OK;
}

static enum kc_status print(void *ctx, struct kc_error *err)
{
        static const char *const stage = "writing";
        struct dumping *d = ctx;
        struct bridge_progress progress = { d->writing.job, &stage, 1 };
        struct kcount_walk_options options = KCOUNT_WALK_OPTIONS_INIT;
        struct kcount_error *error = NULL;
        struct kc_error own = { 0 };
        enum kc_status status;
        options.from = d->request->from;
        options.to = d->request->to;
        options.nthreads = d->writing.nthreads;
        options.progress = bridge_progress;
        options.progress_ctx = &progress;
        status = bridge_check(kcount_walk(d->request->counts, kc_kmer_text_line_nbytes(d->format.k),
                                          convert, deliver, d, &options, &error),
                              &error, &own);
        if (status == KC_OK && d->request->totals) {
                char totals[64];
                const int n = snprintf(totals, sizeof totals, "%" PRIuFAST64 "\t%" PRIuFAST64 "\n",
                                       d->nkmers, d->sum);
                deliver(d, totals, (size_t)n);
        }
        KC_TRY(text_out_status(d->out, err)); /* why deliver gave up */
        status = kc_fail_as(err, &own);
out:
        return status;
}

static enum kc_status fill_file(void *ctx, struct kc_error *err)
{
        struct dumping *d = ctx;
        enum kc_status status = print(d, err);
        return status == KC_OK ? text_out_finish(d->out, err) : status;
}

static void put_text(const void *ctx, struct text_out *out)
{
        const struct dumping *d = ctx;
        char size[FORMATTED_NBYTES], nkmers[FORMATTED_NBYTES];
        writing_put_names(out, &d->path, 1);
        if (!d->request->totals)
                text_out_printf(out, ", %s k-mers", format_number(d->nkmers, nkmers));
        text_out_printf(out, ", %s\n", format_size(d->nbytes, size));
}

static enum kc_status print_to_file(struct dumping *d, bool force, struct kc_error *err)
{
        static const char *const label = "writing";
        const struct writing_work work = { .ctx = d,
                                           .on_cpu = fill_file,
                                           .progress = { &label, 1, PROGRESS_KMERS } };
        struct text_out file;
        enum kc_status status;
        d->out = &file;
        KC_TRY(writing_run_text(&d->writing, &work, &file, d->path, force, err));
        writing_report(&d->writing, &(struct writing_report){ .ctx = d, .put_text = put_text });
out:
        return status;
}

enum kc_status dumping_run(const struct invocation *call, const struct dumping_settings *settings,
                           const struct dumping_request *request, struct kc_error *err)
{
        struct kcount_info info = { .size = sizeof info };
        struct dumping d = { .request = request,
                             .writing = writing_of(call, &settings->common),
                             .format = request->format,
                             .path = dumping_path(settings),
                             .out = call->out };
        kcount_get_info(request->counts, &info);
        d.format.k = info.k;
        d.format.high_first = true;
        if (d.path != NULL)
                return print_to_file(&d, settings->force, err);
        signals_install(NULL); /* writes of the library's threads fail if nobody reads */
        return print(&d, err);
}
