#include "app/count/reader_only.h"

#include "base/parallel.h"

#include <stdlib.h>

enum { BATCH_WORDS = 64 << 10, BATCH_SEGMENTS = BATCH_WORDS / 4 };

static enum kc_status drain(void *ctx, int worker, struct kc_error *err)
{
        const struct kc_batch_source *source = ctx;
        struct kc_batch batch = { .words_cap = BATCH_WORDS, .segments_cap = BATCH_SEGMENTS };
        enum kc_status status = KC_OK;
        batch.words = malloc((BATCH_WORDS + KC_BATCH_PADDING) * sizeof *batch.words);
        batch.segments = malloc(BATCH_SEGMENTS * sizeof *batch.segments);
        if (batch.words == NULL || batch.segments == NULL)
                status = kc_fail(err, KC_ENOMEM, "out of memory for a sequence batch");
        do {
                if (status == KC_OK)
                        status = source->next(source->ctx, worker, &batch, err);
        } while (status == KC_OK && batch.nsegments > 0);
        free(batch.words);
        free(batch.segments);
        return status;
}

enum kc_status reader_only(struct kc_reader *reader, int nthreads, struct kc_error *err)
{
        struct kc_batch_source source = kc_reader_source(reader);
        return kc_parallel(nthreads, drain, NULL, &source, err);
}
