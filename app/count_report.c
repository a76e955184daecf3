#include "app/count.h"

#include "app/machine.h"
#include "app/message.h"
#include "app/summary.h"
#include "base/clock.h"

/* What is the same for each k. */
static struct summary summary_of(const struct count *count)
{
        const struct writing *w = &count->writing;
        struct summary summary = { .adds = count->adds,
                                   .nthreads = w->nthreads,
                                   .min_quality = (int)count->settings->min_quality,
                                   .memory_nbytes = count->memory_nbytes,
                                   .reader_only = count->settings->reader_only,
                                   .wall_seconds = kc_clock_seconds() - w->call->start_seconds,
                                   .user_seconds = machine_user_seconds(),
                                   .system_seconds = machine_system_seconds(),
                                   .peak_nbytes = machine_peak_nbytes() };
        summary.read = count_read_totals(count);
        summary.ranks = count->reports;
        summary.nranks = count->reports != NULL ? ranks_count(count->ranks) : 0;
        summary.ninputs = kc_reader_names(count->reader, &summary.inputs);
        return summary;
}

void count_report(const struct count *count)
{
        const struct summary common = summary_of(count);
        struct summary each[OPTION_NUMBERS_MAX];
        for (int i = 0; i < count->noutputs; i++) {
                const struct count_output *o = &count->outputs[i];
                each[i] = common;
                each[i].output = o->path;
                each[i].exports = &o->exports;
                each[i].number = i;
                each[i].device = o->device;
                each[i].gpu = o->gpu;
                each[i].counted = o->totals;
                each[i].stored = o->written.info;
                each[i].nunique = o->written.nunique;
                each[i].rows = o->rows;
                each[i].nrows = o->nrows;
                if (count->adds) /* nothing is dropped from an added run */
                        each[i].stored.ndropped_distinct = each[i].stored.ndropped_kmers = 0;
        }
        const struct summaries all = { each, common.reader_only ? 1 : (size_t)count->noutputs };
        writing_report(&count->writing, &(struct writing_report){ .ctx = &all,
                                                                  .put_text = summary_put_text,
                                                                  .put_json = summary_put_json,
                                                                  .nobjects = all.n });
}

void count_warn_of_nothing(const struct count *count)
{
        if (count->settings->min_quality > 0 && !count_read_totals(count).any_qualities)
                message_print("kcount: warning: -q has no effect: FASTA has no qualities\n");
        for (int i = 0; i < count->noutputs; i++) {
                const struct count_output *o = &count->outputs[i];
                if (o->totals.nkmers == 0)
                        message_print(WRITING_EMPTY "no read has %d usable bases in a row\n", o->k);
                else if (!count->adds && o->written.info.ndropped_distinct == o->totals.ndistinct)
                        message_print(WRITING_ALL_DROPPED, o->k);
        }
}
