/*
 * Blocks that another process, a guest, writes to the file of a writer. A network file system may
 * write back whole pages as one machine has them in its cache; bytes that another machine has
 * written to the same page in the meantime are then lost. So a guest writes only pages that its
 * blocks fill. The two ends of its blocks, on pages that also hold other bytes, come with the
 * description of the blocks, and the writer writes them.
 *
 *      pages   |       |       |       |       |
 *      blocks      <==================>
 *      writer      <--->               <->
 *      guest           <-------------->
 */
#ifndef KC_IO_STORE_GUEST_H
#define KC_IO_STORE_GUEST_H

#include "io/store/output.h"
#include "ranks/run.h"

/* Write the two ends of blocks whose place is at this offset. KC_EIO. */
enum kc_status kc_guest_write_edges(struct kc_output *output, const struct kc_run_blocks *blocks,
                                    const struct kc_run_sealed *sealed, uint64_t offset,
                                    struct kc_error *err);

#endif
