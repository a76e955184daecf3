#include "app/count/count_internal.h"

#include "app/cli/message.h"

void count_report(const struct count *c)
{
        const size_t nobjects = c->settings->reader_only ? 1 : (size_t)c->noutputs;
        writing_report(&c->writing, &(struct writing_report){ .ctx = c,
                                                              .put_text = count_put_text,
                                                              .put_json = count_put_json,
                                                              .nobjects = nobjects });
}

static void print_warning(void *ctx, const char *text)
{
        (void)ctx;
        message_print("kcount: warning: %s\n", text);
}

static void warn_of_k(const struct count *count, const struct count_output *o)
{
        if (o->totals->nkmers == 0)
                message_print(WRITING_EMPTY "no read has %d usable bases in a row\n", o->k);
        else if (!count_adds(count) &&
                 o->counted->written.info.ndropped_distinct == o->totals->ndistinct)
                message_print(WRITING_ALL_DROPPED, o->k);
}

/* For a single input, the warning that it holds no sequence says that nothing was counted. */
static void warn_of_nothing(const struct count *count)
{
        const struct kc_reader_totals *read = &count->counter.read;
        const char *const *names;
        if (read->nbases + read->nleft_out == 0) {
                if (kc_reader_names(count->counter.reader, &names) > 1)
                        message_print(WRITING_EMPTY "no input holds a sequence\n");
                return;
        }
        if (count->settings->min_quality > 0 && !read->any_qualities)
                message_print("kcount: warning: -q has no effect: FASTA has no qualities\n");
        if ((count->counter.selection.required | count->counter.selection.excluded) != 0 &&
            !read->any_flags)
                message_print("kcount: warning: --require-flags and --exclude-flags have no "
                              "effect: no input is SAM, BAM or CRAM\n");
        for (int i = 0; i < count->noutputs; i++)
                warn_of_k(count, &count->outputs[i]);
}

void count_warn(const struct count *count)
{
        kc_counter_warn(&count->counter, count->marks, print_warning, NULL);
        warn_of_nothing(count);
}
