/*
 * The order of a file's chunks. Threads parse them in parallel, but each chunk passes two steps in
 * the file's order: the split, which connects it with the previous chunk, and the confirmation,
 * which decides whether what was found in it may be used.
 */
#ifndef KC_IO_PARSE_ORDER_H
#define KC_IO_PARSE_ORDER_H

#include "base/turn.h"
#include "io/input/chunk.h"

struct kc_order {
        struct kc_turn split, confirm;
        bool failed; /* in confirm's turn: a chunk was refused, so all later ones are dropped */
};

void kc_order_init(struct kc_order *order);
void kc_order_destroy(struct kc_order *order);

/*
 * Decide about a chunk, at the end of its turn to be confirmed. own is what went wrong with this
 * chunk, if anything. On failure, and after one, nothing is left of the chunk. Returns own's
 * status with its message in err if this is the file's first failure, otherwise KC_OK.
 */
enum kc_status kc_order_settle(struct kc_order *order, struct kc_chunk *chunk,
                               const struct kc_error *own, struct kc_error *err);

#endif
