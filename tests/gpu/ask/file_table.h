/*
 * The table of a .kc file, as devices read it, which can cancel a job once a piece of it is read.
 */
#ifndef TESTS_GPU_ASK_FILE_TABLE_H
#define TESTS_GPU_ASK_FILE_TABLE_H

#include "base/job.h"
#include "gpu/ask.h"
#include "io/store.h"

#include <stdlib.h>

struct file_table {
        struct kc_store *store;
        struct kc_job *job; /* to be canceled; NULL: none */
        size_t npieces;     /* that were read */
};

struct file_reading {
        struct file_table *table;
        const struct kc_gpu_ask_reader *reader;
        const struct kc_join_source *source;
};

static enum kc_status next_range(void *ctx, size_t max_blocks, struct kc_join_range *range,
                                 struct kc_error *err)
{
        const struct kc_join_source *source = ((struct file_reading *)ctx)->source;
        return source->next(source->ctx, max_blocks, range, err);
}

static enum kc_status read_piece(void *ctx, const struct kc_join_range *range, size_t begin,
                                 size_t end, uint64_t *words, struct kc_error *err)
{
        const struct file_reading *r = ctx;
        const enum kc_status status =
                r->source->read(r->source->ctx, range, begin, end, words, err);
        __atomic_add_fetch(&r->table->npieces, 1, __ATOMIC_RELAXED);
        if (r->table->job != NULL)
                atomic_store(&r->table->job->cancel, true);
        return status;
}

static enum kc_status join(void *ctx, const struct kc_join_source *source,
                           const struct kc_run_sink *sink, struct kc_join_totals *totals,
                           struct kc_error *err)
{
        struct file_reading r = *(struct file_reading *)ctx;
        struct kc_join_source same = *source;
        (void)sink;
        r.source = source;
        same.ctx = &r;
        same.next = next_range;
        same.read = read_piece;
        same.refuse = NULL; /* no test has damaged blocks */
        return r.reader->join(r.reader->ctx, &same, totals, err);
}

static enum kc_status read_file_table(void *ctx, const struct kc_gpu_ask_reader *reader,
                                      struct kc_error *err)
{
        struct file_table *table = ctx;
        struct file_reading reading = { table, reader, NULL };
        const struct kc_set set = { &table->store, 1, KC_SET_UNION, KC_RULE_SUM };
        const struct kc_set_joiner joiner = { &reading, join };
        const struct kc_run_sink none = { .ctx = NULL };
        struct kc_store_origin origin;
        const char **names;
        const enum kc_status status = kc_set_run_by(&set, &joiner, &none, &origin, &names, err);
        free(names);
        return status;
}

#endif
