#include "app/ask/asking.h"

#include "app/ask/blocks.h"
#include "app/ask/choice.h"
#include "app/ask/sequences.h"
#include "app/cli/fall_back.h"
#include "app/library/device_asker.h"
#include "cpu/ask/ask.h"

#include <stdlib.h>

enum { RECORD_NBYTES = 4 }; /* estimate for each base of a record, with name and qualities */

struct file_worker {
        struct asking_sequences sequences;
        uint64_t nrecords;
};

/* The ctx of all that kc_asking_run calls. */
struct file_asking {
        struct kc_store *store;
        struct kc_store_info info;
        bool hpc;
        const struct asking_options *options;
        const struct asking_consumer *consumer;
        struct asking_blocks blocks;
        struct file_worker *workers; /* [options->nthreads] */
};

/* ---- blocks ---- */

static const struct asking_block *block_of(const struct kc_asking_block *base)
{
        return (const struct asking_block *)base;
}

static uint64_t count_records(const struct asking_block *block)
{
        uint64_t nbegin = 0;
        for (size_t i = 0; i < block->base.nsequences; i++) {
                const char *bytes;
                nbegin += (asking_block_record(block, i, &bytes)->flags & KC_RECORD_BEGINS) != 0;
        }
        return nbegin;
}

static enum kc_status next(void *ctx, int worker, struct kc_asking_block **base, bool *ended,
                           struct kc_error *err)
{
        struct file_asking *a = ctx;
        struct asking_block *block = NULL;
        const enum kc_status status = asking_blocks_next(&a->blocks, &block, ended, err);
        *base = block != NULL ? &block->base : NULL;
        if (status == KC_OK && block != NULL)
                a->workers[worker].nrecords += count_records(block);
        return status;
}

static enum kc_status sequences(void *ctx, int worker, const struct kc_asking_block *base,
                                const struct kc_ask_sequence **items, struct kc_error *err)
{
        struct file_asking *a = ctx;
        struct asking_sequences *s = &a->workers[worker].sequences;
        const enum kc_status status =
                asking_sequences_set(s, block_of(base), a->hpc, a->info.k, err);
        *items = s->items;
        return status;
}

static void release(void *ctx, struct kc_asking_block *base)
{
        asking_blocks_release(&((struct file_asking *)ctx)->blocks, (struct asking_block *)base);
}

static void resize_slot(void *ctx, uint64_t from_nbytes, uint64_t to_nbytes)
{
        asking_blocks_resize_slot(&((struct file_asking *)ctx)->blocks, from_nbytes, to_nbytes);
}

/* ---- the consumer ---- */

static uint64_t nfirst(void *ctx, const struct kc_asking_block *base, size_t i, uint64_t nwindows)
{
        const struct asking_consumer *consumer = ((struct file_asking *)ctx)->consumer;
        const char *bytes;
        return consumer->nfirst(consumer->ctx, asking_block_record(block_of(base), i, &bytes),
                                nwindows);
}

static void settle(void *ctx, struct kc_asked_part *first, struct kc_asked_part *second)
{
        const struct asking_consumer *consumer = ((struct file_asking *)ctx)->consumer;
        consumer->settle(consumer->ctx, first, second);
}

static struct asked asked_of(const struct kc_asked *asked)
{
        const struct asking_block *block = block_of(asked->block);
        const size_t npairs = block->base.npairs;
        return (struct asked){ .number = block->base.number,
                               .slot = asked->slot,
                               .batch = npairs > 0 ? NULL : &block->batch,
                               .pairs = npairs > 0 ? &block->pairs : NULL,
                               .answers = { asked->answers,
                                            npairs > 0 ? asked->answers + npairs : NULL } };
}

static enum kc_status format(void *ctx, int worker, const struct kc_asked *asked,
                             struct kc_error *err)
{
        const struct asking_consumer *consumer = ((struct file_asking *)ctx)->consumer;
        const struct asked block = asked_of(asked);
        return consumer->format(consumer->ctx, worker, &block, err);
}

static enum kc_status write_block(void *ctx, const struct kc_asked *asked, struct kc_error *err)
{
        const struct asking_consumer *consumer = ((struct file_asking *)ctx)->consumer;
        const struct asked block = asked_of(asked);
        return consumer->write(consumer->ctx, &block, err);
}

static uint64_t slot_nbytes(const void *ctx, int slot)
{
        const struct asking_consumer *consumer = ((const struct file_asking *)ctx)->consumer;
        return consumer->slot_nbytes != NULL ? consumer->slot_nbytes(consumer->ctx, slot) : 0;
}

/* ---- the engine ---- */

static bool prefers_device(const struct file_asking *a, uint64_t nbases)
{
        const struct device_answers *device = a->options->device;
        return device->cuda &&
               (!device->may_fall_back ||
                asking_device_is_faster(a->info.ndistinct, nbases, a->options->nthreads));
}

static enum kc_status open_engine(void *ctx, struct kc_asker *asker,
                                  const struct kc_ask_setup *setup, uint64_t nbases,
                                  struct kc_error *err)
{
        const struct file_asking *a = ctx;
        struct device_answers *device = a->options->device;
        const struct kc_ask_table table = kc_store_ask_table(a->store);
        if (prefers_device(a, nbases)) {
                struct kc_error reason = { 0 };
                const enum kc_status status = kc_device_asker_open(
                        asker, a->store, &device->options, setup, &device->way, &reason);
                device->used |= status == KC_OK;
                if (status == KC_OK)
                        return KC_OK;
                if (!device->may_fall_back ||
                    !fall_back_to_cpu(&reason, "answering", device->quiet))
                        return kc_fail_as(err, &reason);
        }
        return kc_cpu_ask_open(asker, &table, setup, NULL, err);
}

/* ---- all of it ---- */

/* The blocks' share of the memory: what they need for the k-mers that the asker holds in the
 * rest. */
static uint64_t blocks_nbytes(uint64_t memory_nbytes, int k)
{
        return memory_nbytes / (RECORD_NBYTES + kc_asking_kmer_nbytes(k)) * RECORD_NBYTES;
}

static enum kc_status begin(const struct file_asking *a, struct kc_error *err)
{
        const struct asking_consumer *consumer = a->consumer;
        const struct kc_mates *mates = a->blocks.mates;
        const struct kc_records *streams[2] = { a->blocks.records, NULL };
        if (mates != NULL)
                for (int i = 0; i < 2; i++)
                        streams[i] = kc_mates_stream(mates, i);
        if (streams[1] == streams[0])
                streams[1] = NULL;
        return consumer->begin != NULL ? consumer->begin(consumer->ctx, streams, err) : KC_OK;
}

static enum kc_status open_all(struct file_asking *a, const struct asking_input *input,
                               struct kc_error *err)
{
        const struct asking_options *options = a->options;
        const int k = a->info.k;
        enum kc_status status;
        KC_TRY(asking_blocks_open(&a->blocks, input, k - 1, options->nthreads,
                                  blocks_nbytes(options->memory_nbytes, k), err));
        KC_TRY(begin(a, err));
        a->workers = calloc((size_t)options->nthreads, sizeof *a->workers);
        if (a->workers == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for threads");
out:
        return status;
}

static enum kc_status ask(struct file_asking *a, struct kc_error *err)
{
        const struct asking_options *options = a->options;
        const struct kc_asking_source source = { .ctx = a,
                                                 .nunits = a->blocks.input_nbytes,
                                                 .next = next,
                                                 .sequences = sequences,
                                                 .release = release,
                                                 .resize_slot = resize_slot };
        const struct kc_asking_consumer consumer = {
                .ctx = a,
                .nfirst = a->consumer->nfirst != NULL && !a->hpc ? nfirst : NULL,
                .settle = settle,
                .format = format,
                .slot_nbytes = slot_nbytes,
                .write = write_block,
        };
        const struct kc_asking_options inner = {
                .nthreads = options->nthreads,
                .memory_nbytes = options->memory_nbytes - a->blocks.bound_nbytes,
                .min_count = options->min_count,
                .max_count = options->max_count,
                .wants_counts = options->wants_counts,
                .open = open_engine,
                .ctx = a,
                .shared = options->shared,
                .job = options->job,
        };
        return kc_asking_run(a->store, &source, &inner, &consumer, err);
}

static void close_all(struct file_asking *a)
{
        for (int i = 0; a->workers != NULL && i < a->options->nthreads; i++)
                asking_sequences_free(&a->workers[i].sequences);
        free(a->workers);
        asking_blocks_close(&a->blocks);
}

enum kc_status asking_run(struct kc_store *store, const struct asking_input *input,
                          const struct asking_options *options,
                          const struct asking_consumer *consumer, uint64_t *nrecords,
                          struct kc_error *err)
{
        struct file_asking a = {
                .store = store, .hpc = input->hpc, .options = options, .consumer = consumer
        };
        enum kc_status status;
        kc_store_get_info(store, &a.info);
        KC_TRY(open_all(&a, input, err));
        KC_TRY(ask(&a, err));
        for (int i = 0; nrecords != NULL && i < options->nthreads; i++)
                *nrecords = (i > 0 ? *nrecords : 0) + a.workers[i].nrecords;
out:
        close_all(&a);
        return status;
}
