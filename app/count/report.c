#include "app/count/count_internal.h"

#include "app/cli/message.h"
#include "io/input/input.h"

void count_report(const struct count *c)
{
        const size_t nobjects = c->settings->reader_only ? 1 : (size_t)c->noutputs;
        writing_report(&c->writing, &(struct writing_report){ .ctx = c,
                                                              .put_text = count_put_text,
                                                              .put_json = count_put_json,
                                                              .nobjects = nobjects });
}

enum { MOST_WARNINGS = 10 }; /* of each kind, for one input each */

/* Warn about each input whose marks among those in `mask` are `marks`.
 *   what   the message about one input, after its name
 *   other  the message about inputs that are not named, after their number */
static void warn_of_inputs(const struct count *count, unsigned mask, unsigned marks,
                           const char *what, const char *other)
{
        const char *const *names;
        const size_t n = kc_reader_names(count->counter.reader, &names);
        size_t nfound = 0;
        for (size_t i = 0; i < n; i++)
                if ((count->marks[i] & mask) == marks && ++nfound <= MOST_WARNINGS)
                        message_print("kcount: warning: %s %s\n", kc_input_name(names[i]), what);
        if (nfound > MOST_WARNINGS)
                message_print("kcount: warning: %zu more inputs %s\n", nfound - MOST_WARNINGS,
                              other);
}

/* Warn about inputs that may hold proteins. */
static void warn_of_letters(const struct count *count)
{
        const char *const *names;
        const size_t n = kc_reader_names(count->counter.reader, &names);
        size_t nfound = 0;
        for (size_t i = 0; i < n; i++) {
                const unsigned percent = kc_reader_percent_other(count->counter.reader, i);
                if (percent > 0 && ++nfound <= MOST_WARNINGS)
                        message_print("kcount: warning: %u%% of the first letters in %s are not A, "
                                      "C, G, T, U or N; is this protein?\n",
                                      percent, kc_input_name(names[i]));
        }
        if (nfound > MOST_WARNINGS)
                message_print("kcount: warning: %zu more inputs may hold proteins\n",
                              nfound - MOST_WARNINGS);
}

static void warn_of_k(const struct count *count, const struct count_output *o)
{
        if (o->totals->nkmers == 0)
                message_print(WRITING_EMPTY "no read has %d usable bases in a row\n", o->k);
        else if (!count->adds && o->written.info.ndropped_distinct == o->totals->ndistinct)
                message_print(WRITING_ALL_DROPPED, o->k);
}

/* For a single input, the warning that it holds no sequence says that nothing was counted. */
static void warn_of_nothing(const struct count *count)
{
        const struct kc_reader_totals read = count_read_totals(count);
        const char *const *names;
        if (read.nbases + read.nleft_out == 0) {
                if (kc_reader_names(count->counter.reader, &names) > 1)
                        message_print(WRITING_EMPTY "no input holds a sequence\n");
                return;
        }
        if (count->settings->min_quality > 0 && !read.any_qualities)
                message_print("kcount: warning: -q has no effect: FASTA has no qualities\n");
        if ((count->counter.selection.required | count->counter.selection.excluded) != 0 &&
            !read.any_flags)
                message_print("kcount: warning: --require-flags and --exclude-flags have no "
                              "effect: no input is SAM, BAM or CRAM\n");
        for (int i = 0; i < count->noutputs; i++)
                warn_of_k(count, &count->outputs[i]);
}

void count_warn(const struct count *count)
{
        warn_of_inputs(count, KC_INPUT_NO_END_BLOCK, KC_INPUT_NO_END_BLOCK,
                       "ends without BGZF's end-of-file block: it was counted, but whole records "
                       "may be missing at its end",
                       "end without BGZF's end-of-file block");
        warn_of_inputs(count, KC_INPUT_HAS_BASES, 0,
                       "holds no sequence: no k-mer was counted in it", "hold no sequence");
        warn_of_letters(count);
        warn_of_nothing(count);
}
