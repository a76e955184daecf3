/*
 * Reading: what each worker does from the first batch to the last.
 */
#include "base/clock.h"
#include "gpu/feed/feed_internal.cuh"

#include <cstring>

/* A worker thread may call CUDA only after this. */
static enum kc_status wait_for_device(struct kc_gpu_feed *feed, struct kc_error *err)
{
        return kc_gate_await(
                feed->gate, KC_GATE_WORKERS, [&] { return feed->ready; }, err);
}

static enum kc_status copy(struct kc_gpu_feed *feed, struct feed_slot *slot,
                           const struct feed_place *place, size_t nspans, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_batch *batch = &slot->batch;
        const struct kc_gpu *gpu = feed->outlets[place->device].gpu;
        cudaStream_t stream = gpu->upload;
        KC_TRY(KC_CUDA(cudaSetDevice(gpu->device)));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(place->buffer->words + place->word, batch->words,
                                       batch->nwords * sizeof *batch->words, cudaMemcpyHostToDevice,
                                       stream)));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(place->buffer->spans + place->span, slot->spans,
                                       nspans * sizeof *slot->spans, cudaMemcpyHostToDevice,
                                       stream)));
        KC_TRY(KC_CUDA(cudaEventRecord(slot->copied[place->device], stream)));
        slot->busy = slot->copied[place->device];
        kc_feed_enqueued(feed, place);
out:
        return status;
}

static enum kc_status upload(struct kc_gpu_feed *feed, struct feed_slot *slot, struct kc_error *err)
{
        enum kc_status status;
        struct feed_place place = {};
        const struct kc_batch *batch = &slot->batch;
        const int k = feed->setup.k;
        const struct kc_spans_size size =
                kc_gpu_spans_measure(batch->segments, batch->nsegments, k);
        KC_TRY(kc_feed_claim(feed, batch->nwords, &size, &place, err));
        kc_gpu_spans_cut(batch->segments, batch->nsegments, k, (uint32_t)place.word, slot->spans);
        KC_TRY(copy(feed, slot, &place, size.nspans, err));
out:
        return status;
}

/* Wait for the slot's copy, if one is in progress. */
static enum kc_status wait_for_slot(struct feed_slot *slot, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (slot->busy != NULL)
                KC_TRY(KC_CUDA(cudaEventSynchronize(slot->busy)));
        slot->busy = NULL;
out:
        return status;
}

static bool is_ready(struct kc_gpu_feed *feed)
{
        kc_gate_enter(feed->gate);
        bool ready = feed->ready;
        kc_gate_leave(feed->gate);
        return ready;
}

/* Read until the device is ready: *n batches. *end is set if the input ended. */
static enum kc_status read_ahead(struct kc_gpu_feed *feed, int worker, int *n, bool *end,
                                 struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const struct kc_batch_source *source = feed->setup.source;
        for (; *n < KC_FEED_NAHEAD && !is_ready(feed); ++*n) {
                struct kc_batch *batch = &feed->readers[worker].ahead[*n];
                KC_TRY(kc_gate_check(feed->gate, err));
                KC_TRY(source->next(source->ctx, worker, batch, err));
                *end = batch->nsegments == 0;
                if (*end)
                        break;
        }
out:
        return status;
}

/* Copy the words and swap the segments: only the words must be in the slot's pinned memory. */
static void move_batch(struct feed_slot *slot, struct kc_batch *batch)
{
        struct kc_segment *segments = slot->batch.segments;
        memcpy(slot->batch.words, batch->words, batch->nwords * sizeof *batch->words);
        slot->batch.nwords = batch->nwords;
        slot->batch.nsegments = batch->nsegments;
        slot->batch.segments = batch->segments;
        batch->segments = segments;
}

static enum kc_status read_all(struct kc_gpu_feed *feed, int worker, int nahead, bool end,
                               struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const struct kc_batch_source *source = feed->setup.source;
        struct feed_reader *r = &feed->readers[worker];
        for (int i = 0; i < nahead || !end; i++) {
                struct feed_slot *slot = &r->slots[i % NSLOTS];
                KC_TRY(kc_gate_check(feed->gate, err));
                KC_TRY(wait_for_slot(slot, err));
                if (i < nahead) {
                        move_batch(slot, &r->ahead[i]);
                } else {
                        KC_TRY(source->next(source->ctx, worker, &slot->batch, err));
                        if (slot->batch.nsegments == 0)
                                break;
                }
                KC_TRY(upload(feed, slot, err));
        }
out:
        return status;
}

static void end_reading(struct kc_gpu_feed *feed)
{
        kc_gate_enter(feed->gate);
        if (--feed->nreading == 0) {
                feed->end_seconds = kc_clock_seconds();
                kc_gate_wake_all(feed->gate);
        }
        kc_gate_leave(feed->gate);
}

enum kc_status kc_gpu_feed_read(struct kc_gpu_feed *feed, int worker, struct kc_error *err)
{
        enum kc_status status;
        int nahead = 0;
        bool end = false;
        kc_feed_touch(feed, worker);
        if (feed->setup.read_ahead)
                KC_TRY(read_ahead(feed, worker, &nahead, &end, err));
        if (!end || nahead > 0) {
                KC_TRY(wait_for_device(feed, err));
                KC_TRY(read_all(feed, worker, nahead, end, err));
        }
        end_reading(feed);
out:
        return status;
}

double kc_gpu_feed_end_seconds(struct kc_gpu_feed *feed)
{
        kc_gate_enter(feed->gate);
        double seconds = feed->end_seconds;
        kc_gate_leave(feed->gate);
        return seconds;
}
