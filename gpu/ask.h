/*
 * The asker that answers on a CUDA device: the counts are loaded into a map in its memory, and
 * k-mers of sequences are looked up there. Like gpu/gpu.h, it exposes no CUDA types and no C++, and
 * the engine may be a plug-in (gpu/plugin.c).
 */
#ifndef KC_GPU_ASK_H
#define KC_GPU_ASK_H

#include "gpu/device/limits.h"
#include "kmer/ask.h"
#include "kmer/batch.h"
#include "kmer/join.h"
#include "kmer/stored.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The maps of the papers that hold k-mers with counts (docs/dev/papers.md). Answers do not depend
 * on the map. */
enum kc_gpu_map {
        KC_GPU_MAP_WARPDRIVE,
        KC_GPU_MAP_SLAB,
        KC_GPU_MAP_LINEAR,
        KC_GPU_MAP_LSM,
        KC_GPU_NMAPS,
};

static inline const char *kc_gpu_map_name(enum kc_gpu_map map)
{
        static const char *const names[KC_GPU_NMAPS] = { "warpdrive", "slab", "linear", "lsm" };
        return names[map];
}

/* The largest k that a map's keys hold. */
static inline int kc_gpu_map_max_k(enum kc_gpu_map map)
{
        return map == KC_GPU_MAP_SLAB || map == KC_GPU_MAP_LINEAR ? 32 : 64;
}

struct kc_gpu_ask_options {
        int devices[KC_GPU_MAX_DEVICES]; /* [ndevices] indices, as kc_gpu_devices lists them */
        int ndevices;                    /* at least 1 */
        bool spread; /* each device holds a part of the k-mers; only with WarpDrive. If it is false,
                        each holds all of them and answers some of the threads; but WarpDrive
                        spreads them if they do not fit on each device */
        enum kc_gpu_map map;
        bool stranded;          /* the table's k-mers are as read, not canonical */
        uint64_t memory_nbytes; /* bound on the memory of the device; 0 or too large: nine tenths of
                                   what is free */
        uint32_t batch_nbases;  /* the most bases that a thread looks up at a time; 0: chosen from
                                  the memory */
};

/* Takes the runs of a table, and joins all of its ranges. */
struct kc_gpu_ask_reader {
        void *ctx;
        enum kc_status (*join)(void *ctx, const struct kc_join_source *source,
                               struct kc_join_totals *totals, struct kc_error *err);
};

/* The table. Whether it fits on the device, or has to be read again and again, shows only when it
 * is read. */
struct kc_gpu_ask_table {
        void *ctx;
        int k;
        uint64_t npairs; /* of all runs */
        /* Pass the runs to the reader once; fails also if its totals do not fit the table. */
        enum kc_status (*read)(void *ctx, const struct kc_gpu_ask_reader *reader,
                               struct kc_error *err);
};

/* How devices hold a table. */
enum kc_gpu_ask_way {
        KC_GPU_ASK_WHOLE,  /* each of them all k-mers */
        KC_GPU_ASK_SPREAD, /* each of them a part */
        KC_GPU_ASK_TURNS,  /* the first one a part, then the next part, and so on */
};

/*
 * Open a device, load the k-mers of a table, and make an asker for them. The threads that call
 * the asker do the work: each packs bases into pinned memory, and when a batch is full, looks it up
 * while other threads pack. If the table does not fit on the devices, it is not loaded now:
 * once the asker is full, the table passes through the first device in turns, each with ranges of
 * k-mers that do fit.
 *   asker   out: to be closed, unless this fails
 *   table   copied; it is read by setup->nthreads threads and the calling one
 *   way     out: how the devices hold it
 * KC_EUSAGE if the map does not hold k-mers of this length; KC_ENOMEM, also if not even a range of
 * the table fits on the device; KC_ENODEVICE; KC_EDEVICE; KC_ECANCELED; or what reading the table
 * returns.
 */
enum kc_status kc_gpu_ask_open(struct kc_asker *asker, const struct kc_gpu_ask_table *table,
                               const struct kc_gpu_ask_options *options,
                               const struct kc_ask_setup *setup, enum kc_gpu_ask_way *way,
                               struct kc_error *err);

/* ---- all windows of many files, without their order ---- */

struct kc_job;

/* Reads, in either of the two forms in which they are counted (kmer/engine.h). */
struct kc_gpu_ask_reads {
        const struct kc_batch_source *batches; /* of nthreads workers, and cut for the table's k */
        /* The files that the batches come from, for the device to inflate and parse, or NULL. If it
         * cannot, it starts again with batches. */
        const struct kc_stored_source *stored;
        int nthreads;
        uint64_t memory_nbytes; /* bound on the memory of the host, beside what the source takes */
        bool read_ahead;    /* read batches while the devices are opened and the table is loaded; if
                            either fails, what was read is lost */
        struct kc_job *job; /* may be NULL; the sources advance it */
};

/* Takes counts, by one thread at a time. */
struct kc_ask_tally {
        void *ctx;
        /* n more windows have this count. Several calls may have the same one. KC_ENOMEM. */
        enum kc_status (*put)(void *ctx, uint32_t count, uint64_t n, struct kc_error *err);
        void (*clear)(void *ctx); /* forget all counts: all reads come again */
};

/*
 * Open a device, load the k-mers of a table, and find how many valid windows of the reads have
 * which count: everything that can be said about all of them together.
 *   options  batch_nbases: the most bases that come to the device at a time; 0: chosen from the
 *            memory
 *   began    out: false: it failed before the table was loaded; then no batch was read, unless
 *            reads->read_ahead
 * KC_ECANCELED, or what the sources return; otherwise as kc_gpu_ask_open.
 */
enum kc_status kc_gpu_ask_tally(const struct kc_gpu_ask_table *table,
                                const struct kc_gpu_ask_options *options,
                                const struct kc_gpu_ask_reads *reads,
                                const struct kc_ask_tally *tally, bool *began,
                                struct kc_error *err);

#ifdef __cplusplus
}
#endif
#endif
