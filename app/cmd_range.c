/*
 * kcount range: print the k-mers between two bounds.
 */
#include "app/command.h"
#include "app/kmer_text.h"
#include "app/stores.h"
#include "kmer/kmer.h"
#include "kmer/text.h"

#include <inttypes.h>
#include <stdlib.h>

enum { TEXT_NKMERS = 1 << 10 };

struct range_settings {
        bool count;
};

static enum kc_status put_pairs(struct text_out *out, int k, const uint64_t *kmers,
                                const uint32_t *counts, size_t n, char *text, struct kc_error *err)
{
        const struct kc_kmer_text format = { .k = k, .min_count = 0, .max_count = UINT32_MAX };
        size_t nwords = (size_t)kc_kmer_nwords(k);
        for (size_t i = 0; i < n; i += TEXT_NKMERS) {
                size_t m = n - i < TEXT_NKMERS ? n - i : TEXT_NKMERS;
                char *end = kc_kmer_text_lines(&format, kmers + i * nwords, counts + i, m, text);
                text_out_write(out, text, (size_t)(end - text));
        }
        return text_out_status(out, err);
}

static enum kc_status walk(const struct invocation *call, int k, struct kc_cursor *cursor,
                           struct kc_error *err)
{
        const struct range_settings *s = call->settings;
        uint64_t ndistinct = 0, sum = 0;
        enum kc_status status;
        char *text = malloc(TEXT_NKMERS * kc_kmer_text_line_nbytes(k));
        if (text == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        for (;;) {
                const uint64_t *kmers;
                const uint32_t *counts;
                size_t n;
                KC_TRY(kc_cursor_next(cursor, &kmers, &counts, &n, err));
                if (n == 0)
                        break;
                ndistinct += n;
                for (size_t i = 0; i < n; i++)
                        sum += counts[i];
                if (!s->count)
                        KC_TRY(put_pairs(call->out, k, kmers, counts, n, text, err));
        }
        if (s->count)
                text_out_printf(call->out, "%" PRIu64 "\t%" PRIu64 "\n", ndistinct, sum);
out:
        free(text);
        return status;
}

static enum kc_status run_range(const struct invocation *call, struct kc_error *err)
{
        struct kc_store *store = NULL;
        struct kc_cursor *cursor = NULL;
        struct kc_store_info info;
        uint64_t from[KC_MAX_WORDS], to[KC_MAX_WORDS];
        enum kc_status status;
        KC_TRY(stores_open(&store, call->operands[0], err));
        kc_store_get_info(store, &info);
        KC_TRY(kmer_text_range(call->operands[1], call->operands[2], info.k, from, to, err));
        KC_TRY(kc_cursor_open(&cursor, store, from, to, err));
        KC_TRY(walk(call, info.k, cursor, err));
out:
        kc_cursor_close(cursor);
        kc_store_close(store);
        return status;
}

static const struct option_spec range_options[] = {
        { .type = OPTION_FLAG,
          .name = "count",
          .offset = offsetof(struct range_settings, count),
          .help = "Print only the number of k-mers and the sum of counts. Between the two "
                  "numbers is a tab." },
        { 0 },
};

const struct command command_range = {
        .name = "range",
        .run = run_range,
        .operands = "FILE.kc FROM TO",
        .group = COMMAND_LOOKS,
        .summary = "Print the k-mers between two k-mers, or with a prefix",
        .description =
                "The k-mers in alphabetical order from FROM to TO, both included, as dump prints "
                "them. FROM and TO may be shorter than k: FROM is filled with A, TO with T, so "
                "that 'range FILE.kc ACG ACG' gives all k-mers that begin with ACG.\n\n"
                "The range applies to the k-mers as they are stored: unless the file was counted "
                "with --stranded, these are canonical, so a k-mer whose reverse complement comes "
                "first in the alphabet is found under that.",
        .examples = "  kcount range reads.kc ACGT ACGT\n"
                    "  kcount range reads.kc A C --count\n",
        .options = range_options,
        .settings_nbytes = sizeof(struct range_settings),
        .min_operands = 3,
        .max_operands = 3,
};
