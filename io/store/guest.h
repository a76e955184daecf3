/*
 * Blocks that another process, a guest, writes to the file of a writer. A network file system may
 * write back whole pages, with what the machine believes to be in them: bytes that another machine
 * has written to the same page meanwhile are lost. So a guest writes only pages that its blocks fill;
 * the two ends of its blocks, where pages have bytes of others, come with the blocks' description, and
 * the writer writes them.
 *
 *      pages   |       |       |       |       |
 *      blocks      <==================>
 *      writer      <--->               <->
 *      guest           <-------------->
 */
#ifndef KC_IO_STORE_GUEST_H
#define KC_IO_STORE_GUEST_H

#include "io/store/output.h"
#include "kmer/run.h"

/* Write the ends of blocks that go to this offset. KC_EIO. */
enum kc_status kc_guest_write_edges(struct kc_output *output, const struct kc_run_blocks *blocks,
                                    const struct kc_run_sealed *sealed, uint64_t offset,
                                    struct kc_error *err);

#endif
