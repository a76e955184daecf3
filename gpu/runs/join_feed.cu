#include "gpu/runs/join_feed.cuh"

#include "kmer/block_codec.h"

#include <cstdlib>

enum {
        NSLOTS = 2,  /* one range is read while the other is joined */
        NPIECES = 2, /* of a reader's pinned memory: one is filled while the other is copied */
        PIECE_NWORDS = 128 << 10,
};

namespace
{

template <class Key> struct slot {
        struct kc_join_range range;
        uint64_t *words;                          /* device */
        struct kc_decode_block<Key> *blocks;      /* device */
        struct kc_decode_block<Key> *host_blocks; /* pinned */
};

struct feed_piece {
        uint64_t *words;  /* [PIECE_NWORDS] pinned */
        cudaEvent_t free; /* recorded when it is no longer needed */
};

} // namespace

template <class Key> struct kc_join_feed {
        const struct kc_join_source *source;
        struct kc_gate *gate;
        struct kc_gpu *gpu; /* NULL: not attached */
        int nreaders;
        size_t max_blocks;
        struct slot<Key> slots[NSLOTS];
        struct feed_piece *pieces; /* [nreaders * NPIECES] */
        uint64_t *pinned;          /* memory of the pieces */
        cudaEvent_t uploaded;
        uint64_t nranges; /* ranges requested so far */
        uint64_t nout;    /* of these, ranges that kc_join_feed_next has returned */
        /* guarded by the gate: the range being read */
        struct slot<Key> *reading;
        size_t next, nread; /* blocks claimed by readers; blocks queued for copying to the device */
        bool ended;
};

/* ---- memory ---- */

template <class Key> static size_t most_words(size_t nblocks)
{
        return nblocks * (kc_block_max_words(sizeof(Key) / 8) + 1) + KC_BLOCK_PADDING;
}

template <class Key> size_t kc_join_feed_nbytes(size_t max_blocks)
{
        return NSLOTS * (most_words<Key>(max_blocks) * sizeof(uint64_t) +
                         max_blocks * sizeof(struct kc_decode_block<Key>));
}

template <class Key>
enum kc_status kc_join_feed_new(struct kc_join_feed<Key> **feed,
                                const struct kc_join_source *source, int nreaders,
                                struct kc_gate *gate, struct kc_error *err)
{
        struct kc_join_feed<Key> *f = (struct kc_join_feed<Key> *)calloc(1, sizeof *f);
        *feed = f;
        if (f != NULL)
                f->pieces =
                        (struct feed_piece *)calloc((size_t)nreaders * NPIECES, sizeof *f->pieces);
        if (f == NULL || f->pieces == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        f->source = source;
        f->gate = gate;
        f->nreaders = nreaders;
        return KC_OK;
}

template <class Key>
static enum kc_status make_pieces(struct kc_join_feed<Key> *f, struct kc_error *err)
{
        enum kc_status status;
        const size_t n = (size_t)f->nreaders * NPIECES;
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&f->pinned, n * PIECE_NWORDS * sizeof(uint64_t))));
        for (size_t i = 0; i < n; i++) {
                f->pieces[i].words = f->pinned + i * PIECE_NWORDS;
                KC_TRY(kc_gpu_event_new(&f->pieces[i].free, err));
        }
out:
        return status;
}

template <class Key>
enum kc_status kc_join_feed_attach(struct kc_join_feed<Key> *f, struct kc_gpu *gpu,
                                   size_t max_blocks, struct kc_error *err)
{
        enum kc_status status;
        f->gpu = gpu;
        f->max_blocks = max_blocks;
        for (struct slot<Key> &slot : f->slots) {
                KC_TRY(kc_gpu_new(gpu, &slot.words, most_words<Key>(max_blocks), err));
                KC_TRY(kc_gpu_new(gpu, &slot.blocks, max_blocks, err));
                KC_TRY(KC_CUDA(cudaMallocHost((void **)&slot.host_blocks,
                                              max_blocks * sizeof *slot.host_blocks)));
        }
        KC_TRY(kc_gpu_event_new(&f->uploaded, err));
        KC_TRY(make_pieces(f, err));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(gpu->stream))); /* all streams may use it now */
out:
        return status;
}

template <class Key> void kc_join_feed_free(struct kc_join_feed<Key> *f)
{
        if (f == NULL)
                return;
        for (struct slot<Key> &slot : f->slots) {
                kc_gpu_delete(f->gpu, slot.words, most_words<Key>(f->max_blocks));
                kc_gpu_delete(f->gpu, slot.blocks, f->max_blocks);
                (void)cudaFreeHost(slot.host_blocks);
        }
        for (int i = 0; f->pieces != NULL && i < f->nreaders * NPIECES; i++)
                if (f->pieces[i].free != NULL)
                        (void)cudaEventDestroy(f->pieces[i].free);
        if (f->uploaded != NULL)
                (void)cudaEventDestroy(f->uploaded);
        (void)cudaFreeHost(f->pinned);
        free(f->pieces);
        free(f);
        (void)cudaGetLastError();
}

/* ---- the driver ---- */

/* Fill in the descriptions of the blocks for the device. */
template <class Key> static void describe(struct slot<Key> *slot)
{
        const struct kc_join_range *range = &slot->range;
        uint64_t at = 0;
        for (size_t i = 0; i < range->nblocks; i++) {
                struct kc_decode_block<Key> *to = &slot->host_blocks[i];
                kc_key_set(&to->first, range->firsts + i * (sizeof(Key) / 8));
                to->at = at;
                to->nwords = range->blocks[i].nwords - 1;
                to->n = range->blocks[i].n;
                to->run = range->blocks[i].run;
                at += range->blocks[i].nwords;
        }
}

template <class Key>
enum kc_status kc_join_feed_ahead(struct kc_join_feed<Key> *f, struct kc_error *err)
{
        enum kc_status status;
        struct slot<Key> *slot = &f->slots[f->nranges++ % NSLOTS];
        KC_TRY(f->source->next(f->source->ctx, f->max_blocks, &slot->range, err));
        describe(slot);
        kc_gate_tell(f->gate, KC_GATE_WORKERS, [&] {
                f->reading = slot;
                f->next = f->nread = 0;
                f->ended = slot->range.nblocks == 0;
        });
out:
        return status;
}

/* Wait until the copies of all its blocks are queued. */
template <class Key>
static enum kc_status wait_for_readers(struct kc_join_feed<Key> *f, struct kc_error *err)
{
        return kc_gate_await(
                f->gate, KC_GATE_DRIVER, [&] { return f->nread == f->reading->range.nblocks; },
                err);
}

template <class Key>
enum kc_status kc_join_feed_next(struct kc_join_feed<Key> *f, struct kc_join_range *in,
                                 struct kc_decode_range<Key> *decode, struct kc_error *err)
{
        enum kc_status status;
        struct slot<Key> *slot;
        struct kc_gpu *gpu = f->gpu;
        if (f->nranges == f->nout)
                KC_TRY(kc_join_feed_ahead(f, err));
        slot = f->reading;
        *in = slot->range;
        if (in->nblocks == 0)
                return KC_OK;
        KC_TRY(wait_for_readers(f, err));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(slot->blocks, slot->host_blocks,
                                       in->nblocks * sizeof *slot->blocks, cudaMemcpyHostToDevice,
                                       gpu->upload)));
        KC_TRY(KC_CUDA(cudaEventRecord(f->uploaded, gpu->upload)));
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(gpu->stream, f->uploaded, 0)));
        f->nout++;
        *decode = {};
        decode->words = slot->words;
        decode->blocks = slot->blocks;
        decode->nblocks = in->nblocks;
        decode->has_end = in->end != NULL;
        if (in->from != NULL)
                kc_key_set(&decode->from, in->from);
        if (in->end != NULL)
                kc_key_set(&decode->end, in->end);
out:
        return status;
}

/* ---- readers ---- */

namespace
{

/* Blocks [begin, end) of the range being read, all of one run, at most what a piece holds. */
template <class Key> struct block_group {
        struct slot<Key> *slot;
        size_t begin, end, nwords;
};

} // namespace

/* Claim the next blocks; none if there are no more ranges. False: the next range is yet to come. */
template <class Key> static bool claim(struct kc_join_feed<Key> *f, struct block_group<Key> *group)
{
        *group = { f->reading, f->next, f->next, 0 };
        if (f->ended || f->reading == NULL)
                return f->ended;
        const struct kc_join_range *range = &f->reading->range;
        const struct kc_join_block *blocks = range->blocks;
        while (group->end < range->nblocks && blocks[group->end].run == blocks[group->begin].run &&
               group->nwords + blocks[group->end].nwords <= PIECE_NWORDS)
                group->nwords += blocks[group->end++].nwords;
        f->next = group->end;
        return group->begin < group->end;
}

template <class Key>
static void done(struct kc_join_feed<Key> *f, const struct block_group<Key> *group)
{
        kc_gate_enter(f->gate);
        f->nread += group->end - group->begin;
        if (f->nread == group->slot->range.nblocks)
                kc_gate_wake(f->gate, KC_GATE_DRIVER);
        kc_gate_leave(f->gate);
}

template <class Key>
static enum kc_status read_group(struct kc_join_feed<Key> *f, const struct block_group<Key> *group,
                                 struct feed_piece *piece, struct kc_error *err)
{
        enum kc_status status;
        struct slot<Key> *slot = group->slot;
        KC_TRY(KC_CUDA(cudaEventSynchronize(piece->free)));
        KC_TRY(f->source->read(f->source->ctx, &slot->range, group->begin, group->end, piece->words,
                               err));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(slot->words + slot->host_blocks[group->begin].at,
                                       piece->words, group->nwords * sizeof *piece->words,
                                       cudaMemcpyHostToDevice, f->gpu->upload)));
        KC_TRY(KC_CUDA(cudaEventRecord(piece->free, f->gpu->upload)));
out:
        return status;
}

template <class Key>
enum kc_status kc_join_feed_read(struct kc_join_feed<Key> *f, int reader, struct kc_error *err)
{
        enum kc_status status;
        struct block_group<Key> group;
        for (size_t i = 0;; i++) {
                KC_TRY(kc_gate_await(
                        f->gate, KC_GATE_WORKERS, [&] { return claim(f, &group); }, err));
                if (group.begin == group.end)
                        break;
                if (i == 0)
                        KC_TRY(KC_CUDA(cudaSetDevice(f->gpu->device))); /* it is per thread */
                KC_TRY(read_group(f, &group, &f->pieces[(size_t)reader * NPIECES + i % NPIECES],
                                  err));
                done(f, &group);
        }
out:
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_join_feed_new(struct kc_join_feed<Key> **, \
                                                 const struct kc_join_source *, int, \
                                                 struct kc_gate *, struct kc_error *); \
        template enum kc_status kc_join_feed_attach(struct kc_join_feed<Key> *, struct kc_gpu *, \
                                                    size_t, struct kc_error *); \
        template size_t kc_join_feed_nbytes<Key>(size_t); \
        template enum kc_status kc_join_feed_ahead(struct kc_join_feed<Key> *, struct kc_error *); \
        template enum kc_status kc_join_feed_next( \
                struct kc_join_feed<Key> *, struct kc_join_range *, struct kc_decode_range<Key> *, \
                struct kc_error *); \
        template enum kc_status kc_join_feed_read(struct kc_join_feed<Key> *, int, \
                                                  struct kc_error *); \
        template void kc_join_feed_free(struct kc_join_feed<Key> *);
KC_GPU_KEYS(INSTANTIATE)
