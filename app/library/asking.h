/*
 * Asking for the k-mers of more sequences than memory holds: blocks of them go in, and come out in
 * their order, with their answers.
 */
#ifndef APP_LIBRARY_ASKING_H
#define APP_LIBRARY_ASKING_H

#include "io/store.h"
#include "kmer/ask.h"

/* A block of sequences: the first field of a source's own struct. */
struct kc_asking_block {
        uint64_t number; /* 0, 1, ... in the order of the input */
        size_t nsequences;
        size_t npairs; /* 0, or half of them: the mate of sequence i is number npairs + i */
        uint64_t nbases;
        uint64_t nunits; /* of the job, unless counted with an earlier block */
        struct kc_asking_block *next;
};

struct kc_asking_source {
        void *ctx;
        uint64_t nunits; /* of all blocks; 0: unknown */
        /*
         * Get the next block, for a worker. Several may call it at once.
         *   block  out: NULL: there is no room before others are released, or nothing left
         *   ended  out: set, and never cleared, if nothing is left
         */
        enum kc_status (*next)(void *ctx, int worker, struct kc_asking_block **block, bool *ended,
                               struct kc_error *err);
        /* The sequences of the block [nsequences], as they are asked. The array is valid until the
         * worker's next call. KC_ENOMEM. */
        enum kc_status (*sequences)(void *ctx, int worker, const struct kc_asking_block *block,
                                    const struct kc_ask_sequence **sequences, struct kc_error *err);
        /* Add the block to the asker; NULL: its sequences are added. Fails like the asker's add. */
        enum kc_status (*add)(void *ctx, int worker, const struct kc_asking_block *block,
                              const struct kc_asker *asker, bool *full, struct kc_error *err);
        /* The block is no longer used. From any thread. */
        void (*release)(void *ctx, struct kc_asking_block *block);
        /* The memory of a slot, where a block is formatted, has changed. From any thread. */
        void (*resize_slot)(void *ctx, uint64_t from_nbytes, uint64_t to_nbytes);
};

struct kc_asking_options {
        int nthreads;
        uint64_t memory_nbytes;        /* of the asker */
        uint32_t min_count, max_count; /* as in struct kc_ask_setup */
        bool wants_counts;
        /* Open the asker for many k-mers.
         *   nbases  about how many bases are asked; KC_ASKING_UNKNOWN: not known */
        enum kc_status (*open)(void *ctx, struct kc_asker *asker, const struct kc_ask_setup *setup,
                               uint64_t nbases, struct kc_error *err);
        void *ctx;
        /* An asker for several inputs, one after the other, with the same options. The first input
         * with more than a few k-mers opens it, and all later ones use it. Zero-initialise it,
         * and close it with kc_asking_close. NULL: there is only one input. */
        struct kc_asker *shared;
        struct kc_job *job; /* may be NULL */
};

#define KC_ASKING_UNKNOWN UINT64_MAX

/*
 * How many blocks can be formatted and not written yet. The more there are, the less a late worker
 * keeps the others waiting. But the counts of a block are valid only until its worker takes the
 * next ones: if counts are wanted, there is one slot for each worker.
 */
static inline int kc_asking_nslots(int nthreads, bool wants_counts)
{
        enum { EACH = 4 };
        return nthreads * (wants_counts ? 1 : EACH);
}

/* A block with its answers. */
struct kc_asked {
        int slot; /* where it is formatted: 0 .. kc_asking_nslots - 1 */
        const struct kc_asking_block *block;
        const struct kc_ask_answer *answers; /* [block->nsequences] */
};

/* A sequence whose windows have been asked in part. */
struct kc_asked_part {
        struct kc_ask_summary summary; /* of the windows that have been asked */
        uint64_t nleft;                /* windows that have not */
        bool is_settled;               /* those need not be asked */
};

/* What is done with the answers. */
struct kc_asking_consumer {
        void *ctx;
        /* How many windows of sequence i to ask first, of nwindows. NULL: all of all sequences.
         * Otherwise an answer may cover only a part of the windows, if settle has found that to be
         * enough; its nlead then means nothing. Several workers may call both at once. */
        uint64_t (*nfirst)(void *ctx, const struct kc_asking_block *block, size_t i,
                           uint64_t nwindows);
        /* Set is_settled of those parts that are enough, whatever the counts of the windows that
         * are left. second: the mate, in pairs; otherwise NULL. */
        void (*settle)(void *ctx, struct kc_asked_part *first, struct kc_asked_part *second);
        /* Prepare what is to be written, in buffers of the block's slot. Several workers may call
         * it at once, for different blocks. */
        enum kc_status (*format)(void *ctx, int worker, const struct kc_asked *asked,
                                 struct kc_error *err);
        /* Memory that a slot holds, whether or not a block is in it; called after format, by the
         * same worker. NULL: none that the source should know of. */
        uint64_t (*slot_nbytes)(const void *ctx, int slot);
        /* Write it; then the slot is free for another block. Called for one block after the other,
         * in their order, by any of the workers. */
        enum kc_status (*write)(void *ctx, const struct kc_asked *asked, struct kc_error *err);
};

/* About how many bytes an asker takes for a k-mer, its place and its count. */
uint64_t kc_asking_kmer_nbytes(int k);

/* Ask for all sequences of the source, and pass the answers to the consumer. KC_EIO, KC_ECORRUPT,
 * KC_ENOMEM, KC_ECANCELED; or failures of the source, of open and of the consumer. */
enum kc_status kc_asking_run(struct kc_store *store, const struct kc_asking_source *source,
                             const struct kc_asking_options *options,
                             const struct kc_asking_consumer *consumer, struct kc_error *err);

/* Close what several inputs have shared, if it is open. */
void kc_asking_close(struct kc_asker *shared);

#endif
