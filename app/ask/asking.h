/*
 * Looking up the k-mers of whole files: records go in, and answers come out in the order of the
 * file. For query, profile and filter, which differ in what they do with the answers.
 */
#ifndef APP_ASK_ASKING_H
#define APP_ASK_ASKING_H

#include "app/cli/device.h"
#include "app/library/asking.h"
#include "io/records.h"

struct asking_input {
        const char *paths[2]; /* the second: mates, otherwise NULL */
        bool interleaved;     /* mates follow each other in the only file */
        unsigned accepted;    /* enum kc_records_accepted */
        bool hpc; /* homopolymers are compressed before k-mers are looked up: answers are
                                 those to kc_record_compress; the records stay as they are */
};

struct asking_options {
        int nthreads;
        uint64_t memory_nbytes;        /* for everything that is held */
        uint32_t min_count, max_count; /* as in struct kc_ask_setup */
        bool wants_counts;
        struct device_answers *device; /* what answers, unless k-mers are few; then says what did */
        struct kc_asker *shared;       /* as in struct kc_asking_options */
        struct kc_job *job;            /* may be NULL; its units are bytes of the inputs */
};

/* As kc_asking_nslots. */
static inline int asking_nslots(const struct asking_options *options)
{
        return kc_asking_nslots(options->nthreads, options->wants_counts);
}

/* A block of records, or of pairs, with their answers: each mate has its own. */
struct asked {
        uint64_t number;                     /* 0, 1, ... in the order of the file */
        int slot;                            /* where it is formatted: 0 .. asking_nslots - 1 */
        const struct kc_record_batch *batch; /* NULL with pairs */
        const struct kc_mate_batch *pairs;   /* otherwise NULL */
        /* [batch->n], or [pairs->n] of each mate. A secondary or supplementary alignment, whose
         * read another record has, too, is not looked up: it has no windows. */
        const struct kc_ask_answer *answers[2];
};

/*
 * What is done with the answers. Of the records in a block, only the first and the last can be
 * pieces (io/records.h); those are left to write, which has seen the pieces before them; format
 * does all others.
 */
struct asking_consumer {
        void *ctx;
        /* Look at the inputs, which are open, before any of their k-mers are asked. May be NULL.
         *   streams  the second: mates in a file of their own, otherwise NULL */
        enum kc_status (*begin)(void *ctx, const struct kc_records *const streams[2],
                                struct kc_error *err);
        /* As those of struct kc_asking_consumer. */
        uint64_t (*nfirst)(void *ctx, const struct kc_seq_record *record, uint64_t nwindows);
        void (*settle)(void *ctx, struct kc_asked_part *first, struct kc_asked_part *second);
        /* Prepare what is to be written, in buffers of the block's slot. Several workers may call
         * it at once, for different blocks. */
        enum kc_status (*format)(void *ctx, int worker, const struct asked *block,
                                 struct kc_error *err);
        /* Memory that a slot holds, whether or not a block is in it; called after format, by the
         * same worker. NULL: the caller has left it out of memory_nbytes. */
        uint64_t (*slot_nbytes)(const void *ctx, int slot);
        /* Write it; then the slot is free for another block. Called for one block after the other,
         * in their order, by any of the workers. */
        enum kc_status (*write)(void *ctx, const struct asked *block, struct kc_error *err);
};

/*
 * Ask for all records of the input, and pass the answers to the consumer. KC_EINPUT, KC_EIO,
 * KC_ECORRUPT, KC_ENOMEM, KC_ECANCELED; or the consumer's failure.
 *   nrecords  out: how many there were; of pairs, both mates. May be NULL.
 */
enum kc_status asking_run(struct kc_store *store, const struct asking_input *input,
                          const struct asking_options *options,
                          const struct asking_consumer *consumer, uint64_t *nrecords,
                          struct kc_error *err);

#endif
