/*
 * SAM, BAM and CRAM through htslib. Each read once: secondary and supplementary alignments are
 * left out, and a read stored as its reverse complement is turned back, so that stranded counts
 * are those of the FASTQ it came from.
 */
#ifndef KC_IO_PARSE_ALIGNMENTS_H
#define KC_IO_PARSE_ALIGNMENTS_H

#include "io/input/chunk.h"
#include "io/input/input.h"

struct kc_alignments;

/*
 * Open an input, which moves into *alignments (also on failure).
 *   qualities  whether they are wanted
 *   nthreads   threads that htslib may start to decode CRAM; 0: none
 */
enum kc_status kc_alignments_open(struct kc_alignments **alignments, struct kc_input *in,
                                  bool qualities, int nthreads, size_t chunk_nbytes,
                                  struct kc_error *err);

/* Fill a cleared chunk with the next reads, indexed. As kc_source_fill, but needs no parsing. */
bool kc_alignments_fill(struct kc_alignments *alignments, struct kc_chunk *chunk);

void kc_alignments_close(struct kc_alignments *alignments);

#endif
