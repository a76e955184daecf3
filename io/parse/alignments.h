/*
 * SAM and CRAM, through htslib. Each read is given once: secondary and supplementary alignments are
 * left out. A read stored as its reverse complement is turned back, so that stranded counts equal
 * those of the FASTQ it came from.
 */
#ifndef KC_IO_PARSE_ALIGNMENTS_H
#define KC_IO_PARSE_ALIGNMENTS_H

#include "io/input/chunk.h"
#include "io/input/input.h"

struct kc_alignments;

/*
 * Open an input, which moves into *alignments (also on failure). KC_EINPUT, KC_EIO, KC_ENOMEM.
 *   qualities  whether they are wanted
 *   nthreads   threads that htslib may start to decode CRAM; 0: none
 */
enum kc_status kc_alignments_open(struct kc_alignments **alignments, struct kc_input *in,
                                  bool qualities, int nthreads, size_t chunk_nbytes,
                                  struct kc_error *err);

/* Fill a cleared chunk with the next reads, already indexed. Otherwise as kc_source_fill. */
bool kc_alignments_fill(struct kc_alignments *alignments, struct kc_chunk *chunk);

void kc_alignments_close(struct kc_alignments *alignments);

#endif
