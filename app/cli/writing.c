#include "app/cli/writing.h"

#include "app/cli/signals.h"
#include "app/cli/size.h"
#include "app/library/machine.h"
#include "base/clock.h"

#include <string.h>

struct writing writing_of(const struct invocation *call, const struct writing_settings *settings)
{
        /* static, because the signal thread uses it until the process ends */
        static struct kc_job job;
        return (struct writing){ .call = call,
                                 .settings = settings,
                                 .nthreads = kc_machine_nthreads(settings->nthreads),
                                 .job = &job };
}

static enum kc_status run_once(const struct writing *w, const struct writing_work *work,
                               struct kc_error *err)
{
        return w->device.cuda ? work->on_device(work->ctx, err) : work->on_cpu(work->ctx, err);
}

/* One progress line for both engines: reading may have begun before the device turns out to be
 * missing, and what is shown never decreases. */
enum kc_status writing_run_part(struct writing *w, const struct writing_work *work,
                                struct kc_error *err)
{
        const bool wanted = !w->settings->quiet && !w->settings->no_progress && !work->hidden;
        struct progress *progress = progress_start(w->job, &work->progress, wanted);
        struct kc_error own = { 0 };
        enum kc_status status = run_once(w, work, &own);
        if (device_fall_back(&w->device, &w->gpu, &own, w->settings->quiet)) {
                own = (struct kc_error){ 0 };
                status = run_once(w, work, &own);
        }
        progress_stop(progress);
        return status == KC_OK ? KC_OK : kc_fail_as(err, &own);
}

enum kc_status writing_run(struct writing *w, const struct writing_work *work, struct kc_error *err)
{
        const enum kc_status status = writing_run_part(w, work, err);
        if (status == KC_OK && !signals_allow_commit())
                return kc_fail(err, KC_ECANCELED, "interrupted");
        return status;
}

enum kc_status writing_run_text(struct writing *w, const struct writing_work *work,
                                struct text_out *file, const char *path, bool replace,
                                struct kc_error *err)
{
        /* text that went to a device or pipe stays there: do not say that nothing was written */
        const bool makes_file = text_out_makes_file(path);
        struct writing_work own = *work;
        own.hidden |= !makes_file;
        signals_install(makes_file ? w->job : NULL);
        enum kc_status status = text_out_open(file, path, replace, err);
        if (status != KC_OK)
                return status;
        status = writing_run(w, &own, err);
        if (status == KC_OK)
                status = text_out_close(file, err);
        else
                text_out_abort(file);
        if (text_out_pipe_closed(file))
                signals_die_by_pipe();
        return status;
}

enum kc_status writing_commit(struct writing *w, const struct kc_store_origin *origin,
                              struct kc_error *err)
{
        struct kc_store_writer *writer = w->writer;
        w->writer = NULL; /* commit frees it, even on failure */
        return kc_store_commit(writer, origin, &w->written, err);
}

void writing_json_begin(struct json *json, const struct writing *w)
{
        json_begin(json, NULL, '{');
        json_string(json, "version", KCOUNT_VERSION);
        json_string(json, "command", w->call->line);
        json_number(json, "threads", (uint64_t)w->nthreads);
}

static void put_object(const struct writing *w, const struct writing_report *report, size_t i,
                       struct json *json)
{
        writing_json_begin(json, w);
        report->put_json(report->ctx, i, json);
        json_end(json, '}');
}

static void put_objects(const struct writing *w, const struct writing_report *report,
                        struct json *json)
{
        json_begin(json, NULL, '[');
        for (size_t i = 0; i < report->nobjects; i++)
                put_object(w, report, i, json);
        json_end(json, ']');
}

void writing_report(const struct writing *w, const struct writing_report *report)
{
        if (!w->settings->quiet) {
                struct text_out messages;
                text_out_stderr(&messages);
                report->put_text(report->ctx, &messages);
                text_out_flush(&messages);
        }
        if (w->settings->json) {
                struct json json = { .out = w->call->out };
                if (report->nobjects > 1)
                        put_objects(w, report, &json);
                else
                        put_object(w, report, 0, &json);
        }
}

void writing_put_names(struct text_out *out, const char *const *names, size_t n)
{
        text_out_puts(out, "wrote ");
        for (size_t i = 0; i < n; i++) {
                const char *separator = i == 0 ? "" : i + 1 < n ? ", " : " and ";
                text_out_printf(out, "%s%s", separator, names[i]);
        }
}

void writing_put_device(struct text_out *out, const struct writing *w, const char *joined)
{
        char device[DEVICE_NAME_NBYTES], peak[FORMATTED_NBYTES];
        if (w->device.cuda)
                text_out_printf(out, "%s on %s, %s of device memory\n", joined,
                                device_name(&w->device, device),
                                format_size(w->gpu.peak_nbytes, peak));
}

void writing_put_noted(struct text_out *out, const char *label, uint64_t number, const char *note)
{
        enum { WIDTH = 41 };
        char text[FORMATTED_NBYTES];
        const int nlabel = (int)strlen(label), nnumber = (int)strlen(format_number(number, text));
        const int width = WIDTH - nlabel > nnumber ? WIDTH - nlabel : nnumber + 1;
        text_out_printf(out, "  %s%*s%s%s\n", label, width, text, note[0] ? "   " : "", note);
}

void writing_put_number(struct text_out *out, const char *label, uint64_t number)
{
        writing_put_noted(out, label, number, "");
}

void writing_put_share(struct text_out *out, const char *label, uint64_t part, uint64_t whole)
{
        char share[FORMATTED_NBYTES];
        writing_put_noted(out, label, part, format_share(part, whole, share));
}

void writing_json_device(struct json *json, const struct writing *w)
{
        char device[DEVICE_NAME_NBYTES];
        json_string(json, "device", device_name(&w->device, device));
        if (!w->device.cuda)
                return;
        json_number(json, "device_peak_memory_bytes", w->gpu.peak_nbytes);
        json_number(json, "device_ranges", w->gpu.nranges);
}

void writing_json_output(struct json *json, const char *path, const struct kcount_info *info)
{
        json_string(json, "output", path);
        json_number(json, "output_bytes", info->nbytes);
        json_number(json, "k", (uint64_t)info->k);
        json_bool(json, "stranded", info->stranded);
}

void writing_json_counts(struct json *json, const struct kcount_info *info)
{
        json_number(json, "distinct", info->ndistinct);
        json_number(json, "unique", info->nunique);
        json_number(json, "largest_count", info->max_count);
        json_number(json, "sum", info->total);
        json_number(json, "dropped_distinct", info->ndropped_distinct);
        json_number(json, "dropped_kmers", info->ndropped_kmers);
        json_number(json, "saturated_kmers", info->nsaturated);
}

double writing_seconds(const struct writing *w)
{
        return kc_clock_seconds() - w->call->start_seconds;
}

void writing_json_costs(struct json *json, const struct writing *w,
                        const struct writing_stage *stages, size_t nstages)
{
        double user, system;
        kc_machine_cpu_seconds(&user, &system);
        json_begin(json, "seconds", '{');
        for (size_t i = 0; i < nstages; i++)
                json_real(json, stages[i].name, stages[i].seconds);
        json_real(json, "wall", writing_seconds(w));
        json_real(json, "user", user);
        json_real(json, "system", system);
        json_end(json, '}');
        json_number(json, "peak_memory_bytes", kc_machine_peak_nbytes());
}

void writing_put_costs(struct text_out *out, const struct writing *w,
                       const struct writing_costs *costs)
{
        const bool cpu_instead = w->device.may_fall_back && !w->device.cuda;
        char time[FORMATTED_NBYTES], peak[FORMATTED_NBYTES], spilled[FORMATTED_NBYTES];
        const uint64_t own = kc_machine_peak_nbytes(), most = costs->most_nbytes;
        format_seconds(writing_seconds(w), time);
        format_size(most > own ? most : own, peak);
        if (costs->nprocesses > 0)
                text_out_printf(out, "%s on %d processes, up to %s of memory each", time,
                                costs->nprocesses, peak);
        else
                text_out_printf(out, "%s on %s%d thread%s, %s of memory", time,
                                cpu_instead ? "the CPU, " : "", w->nthreads,
                                w->nthreads == 1 ? "" : "s", peak);
        if (costs->spilled_nbytes > 0)
                text_out_printf(out, ", %s spilled to disk",
                                format_size(costs->spilled_nbytes, spilled));
        text_out_puts(out, "\n");
}
