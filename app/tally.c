#include "app/tally.h"

static enum kc_status put(void *ctx, uint64_t part, bool last, const uint64_t *kmers,
                          const uint32_t *counts, size_t n, struct kc_error *err)
{
        struct tally *tally = ctx;
        uint64_t nunique = 0;
        for (size_t i = 0; i < n; i++)
                nunique += counts[i] == 1;
        atomic_fetch_add(&tally->nunique, nunique);
        return tally->inner.put(tally->inner.ctx, part, last, kmers, counts, n, err);
}

static enum kc_status put_blocks(void *ctx, const struct kc_run_blocks *blocks,
                                 struct kc_error *err)
{
        struct tally *tally = ctx;
        atomic_fetch_add(&tally->nunique, blocks->nunique);
        return tally->inner.put_blocks(tally->inner.ctx, blocks, err);
}

static void expect(void *ctx, uint64_t npairs)
{
        struct tally *tally = ctx;
        if (tally->inner.expect != NULL)
                tally->inner.expect(tally->inner.ctx, npairs);
}

static void cancel(void *ctx)
{
        struct tally *tally = ctx;
        tally->inner.cancel(tally->inner.ctx);
}

struct kc_run_sink tally_sink(struct tally *tally, struct kc_run_sink inner)
{
        tally->inner = inner;
        atomic_init(&tally->nunique, 0);
        return (struct kc_run_sink){ .ctx = tally,
                                     .put = put,
                                     .put_blocks = inner.put_blocks ? put_blocks : NULL,
                                     .min_count = inner.min_count,
                                     .max_count = inner.max_count,
                                     .expect = expect,
                                     .cancel = cancel };
}
