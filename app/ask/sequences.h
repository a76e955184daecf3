/*
 * The sequences of a block, as they are asked.
 */
#ifndef APP_ASK_SEQUENCES_H
#define APP_ASK_SEQUENCES_H

#include "app/ask/blocks.h"

/* Of a worker. Zero-initialise them, and free them with asking_sequences_free. */
struct asking_sequences {
        struct kc_ask_sequence *items; /* [cap] */
        size_t cap;
        char *compressed; /* [compressed_cap] with hpc */
        size_t compressed_cap;
};

/*
 * Set the items to the sequences of the block's records. They point into the block or, with hpc,
 * are compressed. KC_ENOMEM.
 */
enum kc_status asking_sequences_set(struct asking_sequences *sequences,
                                    const struct asking_block *block, bool hpc, int k,
                                    struct kc_error *err);

void asking_sequences_free(struct asking_sequences *sequences);

#endif
