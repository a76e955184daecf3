/*
 * Joining one part of the table with the k-mers that are asked of it, in the lists of all threads.
 */
#ifndef KC_CPU_ASK_JOIN_H
#define KC_CPU_ASK_JOIN_H

#include "cpu/ask/index.h"
#include "cpu/ask/lists.h"

struct kc_ask_join_setup {
        const struct kc_ask_table *table;
        const struct kc_ask_plan *plan;
        /* If a part of the table has more k-mers than a piece, it is indexed in pieces, each of
         * which answers a group of k-mers before the next is decoded. */
        uint32_t piece_nkmers, group_nkmers;
};

/* What one thread needs for joining, kept from round to round. Made with kc_ask_joiner, and freed
 * with kc_ask_joiner_free. */
struct kc_ask_joiner {
        const struct kc_ask_join_setup *setup;
        void *walk;
        struct kc_ask_index index;                     /* of the piece */
        uint64_t from[KC_MAX_WORDS], to[KC_MAX_WORDS]; /* the part */
        uint32_t *answers;                             /* of the group [answers_cap] */
        size_t answers_cap;
};

static inline struct kc_ask_joiner kc_ask_joiner(const struct kc_ask_join_setup *setup)
{
        return (struct kc_ask_joiner){ .setup = setup, .index.nwords = setup->plan->nwords };
}

void kc_ask_joiner_free(struct kc_ask_joiner *joiner);

/* Write the answers of one part over the k-mers in these lists, which are sealed. KC_ENOMEM, and
 * failures of the table. */
enum kc_status kc_ask_join(struct kc_ask_joiner *joiner, const struct kc_ask_lists *const *lists,
                           int nlists, uint32_t part, struct kc_error *err);

#endif
