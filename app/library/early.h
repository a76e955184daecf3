/*
 * A layer between asking and an asker that works in rounds, for consumers for which a part of a
 * record's windows can be enough: a few windows at both ends of each record are asked first. The
 * consumer settles what it can, and only the other records are asked for the rest. All of this
 * happens within one round of the caller, and takes several of the asker.
 *
 * Each answer is the summary of what was asked, in no order: nlead and counts mean nothing.
 */
#ifndef APP_LIBRARY_EARLY_H
#define APP_LIBRARY_EARLY_H

#include "app/library/asking.h"

struct kc_early;

struct kc_early_setup {
        int k, nthreads;
        uint64_t memory_nbytes;                /* bound on what the layer needs itself */
        const struct kc_asking_source *source; /* of the blocks */
        const struct kc_asking_consumer *consumer;
};

/* Whether the asker's rounds are cheap enough, if it may use so much memory, that two rounds with
 * few k-mers cost less than one with all. */
bool kc_early_suits(const struct kc_asker *asker, int k, uint64_t memory_nbytes);

/* Is it worth it? Try with parts of some records of the block. lookups looks k-mers up one by one,
 * and nothing was added to it. KC_ENOMEM, and failures of the asker. */
enum kc_status kc_early_try(const struct kc_early_setup *setup, const struct kc_asker *lookups,
                            const struct kc_asking_block *block, bool *worth_it,
                            struct kc_error *err);

/* The asker and the consumer must outlive *early, which is to be closed in any case. KC_ENOMEM. */
enum kc_status kc_early_open(struct kc_early **early, const struct kc_asker *asker,
                             const struct kc_early_setup *setup, struct kc_error *err);

/*
 * Like those of struct kc_asker, but the block must stay as it is until its answers are taken. If a
 * round settles too few records, those of all later rounds are passed to the asker as they are.
 */
enum kc_status kc_early_add(struct kc_early *early, int worker, const struct kc_asking_block *block,
                            bool *full, struct kc_error *err);
enum kc_status kc_early_answer(struct kc_early *early, struct kc_error *err);
enum kc_status kc_early_take(struct kc_early *early, int worker, struct kc_ask_answer *answers,
                             size_t n, struct kc_error *err);

/* NULL is fine. */
void kc_early_close(struct kc_early *early);

#endif
