/*
 * The runs of a set operation as ranges of blocks (struct kc_join_source), for joiners that decode
 * blocks themselves.
 *
 * A range is made by taking blocks in the order of their first k-mers, whatever their runs, up to
 * the allowed number. It ends before the first k-mer of the next block: the blocks taken hold all
 * k-mers below that one. The last block of a run may extend past the end of the range, so the next
 * range takes it again. Hence ranges hold the intended number of blocks, however k-mers are
 * distributed.
 */
#ifndef KC_IO_STORE_RANGES_H
#define KC_IO_STORE_RANGES_H

#include "io/store/join.h"

struct kc_set_ranges;

/* All stores have the same k and strands (kc_set_check), and outlive the ranges. KC_ENOMEM. */
enum kc_status kc_set_ranges_open(struct kc_set_ranges **ranges, const struct kc_set *set,
                                  struct kc_error *err);

/* The same for a joint histogram (kc_joint_plan). */
enum kc_status kc_joint_ranges_open(struct kc_set_ranges **ranges, const struct kc_set *set,
                                    struct kc_error *err);

void kc_set_ranges_close(struct kc_set_ranges *ranges); /* NULL is fine */

/* Start again from the first range. The source is valid as long as the ranges. */
struct kc_join_source kc_set_ranges_source(struct kc_set_ranges *ranges);

#endif
