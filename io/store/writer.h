/*
 * Private to the store's writer: put.c takes in parts of a run, put_blocks.c parts that are already
 * encoded, writer.c makes the file.
 */
#ifndef KC_IO_STORE_WRITER_H
#define KC_IO_STORE_WRITER_H

#include "base/turn.h"
#include "io/store/footer.h"
#include "io/store/index.h"
#include "io/store/output.h"
#include "io/store/tally.h"

#include <pthread.h>

/* How a run is given: by put or by put_blocks, never both. */
enum kc_run_form { KC_FORM_NONE, KC_FORM_PAIRS, KC_FORM_BLOCKS };

/* The pairs of one block or of a call. */
struct kc_pairs {
        const uint64_t *kmers;
        const uint32_t *counts;
        size_t n;
};

/* What a call works with; kept for later calls from any thread. */
struct kc_encoder {
        struct kc_encoder *next_idle, *next_made;
        struct kc_tally tally; /* covers the run's pairs so far, as does `dropped` */
        struct kc_run_dropped dropped;
        uint64_t *head_kmers; /* a block that begins with the carry [KC_BLOCK_NKMERS * nwords] */
        uint32_t head_counts[KC_BLOCK_NKMERS];
        struct kc_block_plan *plans;
        uint64_t *checksums; /* of the call's blocks */
        size_t nplans_cap;   /* of both */
        uint64_t *words;     /* [CHUNK_WORDS + a block] */

        /* the call's blocks: the head, if there is one, then whole blocks of rest */
        uint64_t ticket;
        size_t nblocks;
        size_t first_entry; /* of the first of them, in the run's index */
        struct kc_pairs head, rest;
};

struct kc_store_writer {
        struct kc_output output;
        struct kc_store_options options;
        int nwords;              /* of a k-mer */
        bool tombstones;         /* the run holds tombstones */
        int free_ref;            /* for an append: the footer reference that is not in force */
        struct kc_error warning; /* for an append: what was wrong with the file, if anything */

        struct kc_turn parts;    /* whose turn it is to be cut */
        struct kc_turn tickets;  /* of calls with blocks: whose turn it is to claim space */
        pthread_mutex_t lock;    /* of all below */
        struct kc_error failure; /* the first; all calls end with it */
        struct kc_encoder *idle, *made;

        /* the run */
        enum kc_run_form form;
        uint64_t next_ticket; /* for the next call with blocks */
        uint64_t ndistinct;
        uint64_t last[KC_MAX_WORDS]; /* last k-mer of the run so far */
        uint64_t *carry_kmers;
        uint32_t carry_counts[KC_BLOCK_NKMERS];
        size_t ncarry;
        struct kc_index index;
        uint64_t blocks_offset, end; /* of the run; of the file so far */

        struct kc_words records, kinds; /* of the footer; one kind per run */
        uint64_t nunique;               /* of the run that ended last, before its filter */
        struct kc_histogram_row *rows;  /* its histogram, if options.wants_rows */
        size_t nrows;
};

/* Before the first pairs of a run: give it the kind and the bounds of the run `like`, in place of
 * the writer's. Sinks that were made earlier keep the old bounds. */
void kc_writer_set_run(struct kc_store_writer *writer, const struct kc_run *like);

/* The filter of sinks for the current run. */
static inline struct kc_run_filter kc_writer_filter(const struct kc_store_writer *w)
{
        return (struct kc_run_filter){ w->options.min_count, w->options.max_count };
}

enum kc_status kc_writer_put(struct kc_store_writer *writer, const struct kc_run_pairs *pairs,
                             struct kc_error *err);

enum kc_status kc_writer_put_blocks(struct kc_store_writer *writer,
                                    const struct kc_run_blocks *blocks, struct kc_error *err);

/* Wait for the part's turn, and lock; the caller unlocks even after a failure, and passes the turn
 * on at the end of the part. KC_EUSAGE if the part is given twice or the form differs; or the
 * writer's failure. */
enum kc_status kc_writer_enter_part(struct kc_store_writer *writer, uint64_t part,
                                    enum kc_run_form form, struct kc_error *err);

/* Write the carry as the last block of the run. */
enum kc_status kc_writer_put_carry(struct kc_store_writer *writer, struct kc_error *err);

/* Make all calls, including blocked ones, fail like this from now on; an earlier failure
 * prevails. */
void kc_writer_fail(struct kc_store_writer *writer, const struct kc_error *failure);

/* Take an encoder for a call, to be given back (NULL is fine there). Fails if any call has
 * failed. */
enum kc_status kc_writer_take_encoder(struct kc_store_writer *writer, struct kc_encoder **encoder,
                                      struct kc_error *err);
void kc_writer_give_encoder(struct kc_store_writer *writer, struct kc_encoder *encoder);
void kc_encoder_free(struct kc_encoder *encoder);

#endif
