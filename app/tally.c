#include "app/tally.h"

static enum kc_status put(void *ctx, const struct kc_run_pairs *pairs, struct kc_error *err)
{
        struct tally *tally = ctx;
        uint64_t nunique = pairs->dropped.nunique;
        for (size_t i = 0; i < pairs->n; i++)
                nunique += pairs->counts[i] == 1;
        atomic_fetch_add(&tally->nunique, nunique);
        return tally->inner.put(tally->inner.ctx, pairs, err);
}

static enum kc_status put_blocks(void *ctx, const struct kc_run_blocks *blocks,
                                 struct kc_error *err)
{
        struct tally *tally = ctx;
        atomic_fetch_add(&tally->nunique, blocks->rows[1] + blocks->dropped.nunique);
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
                                     .filter = inner.filter,
                                     .expect = expect,
                                     .cancel = cancel };
}
