/*
 * SAM and CRAM through htslib, and BAM for callers that want its records. In chunks, each read is
 * given once: secondary and supplementary alignments are left out, and so are those that the
 * selection does not take. A read stored as its reverse complement is turned back, so that
 * stranded counts equal those of the FASTQ it came from.
 */
#ifndef KC_IO_PARSE_ALIGNMENTS_H
#define KC_IO_PARSE_ALIGNMENTS_H

#include "io/input/chunk.h"
#include "io/input/input.h"
#include "io/reader.h"

struct bam1_t;
struct kc_alignments;
struct sam_hdr_t;

/* What is wanted of a record; nothing else of CRAM is then decoded. */
enum kc_alignment_fields { KC_FIELDS_BASES, KC_FIELDS_QUALITIES, KC_FIELDS_ALL };

/*
 * Open an input, which moves into *alignments (also on failure). KC_EINPUT, KC_EIO, KC_ENOMEM.
 *   selection  for chunks
 *   nthreads   that use it; htslib starts up to 4 of its own to decode CRAM, none for one
 */
enum kc_status kc_alignments_open(struct kc_alignments **alignments, struct kc_input *in,
                                  enum kc_alignment_fields fields,
                                  const struct kc_selection *selection, int nthreads,
                                  size_t chunk_nbytes, struct kc_error *err);

/* Fill a cleared chunk with the next reads, already indexed. Otherwise as kc_source_fill. */
bool kc_alignments_fill(struct kc_alignments *alignments, struct kc_chunk *chunk);

/* Or record by record, one thread at a time: read the next one; *found is false at the end.
 * KC_EINPUT, KC_EIO, KC_ENOMEM. */
enum kc_status kc_alignments_next(struct kc_alignments *alignments, struct bam1_t *record,
                                  bool *found, struct kc_error *err);

bool kc_alignments_is_cram(const struct kc_alignments *alignments);

/* The file's header, owned by *alignments. */
struct sam_hdr_t *kc_alignments_header(const struct kc_alignments *alignments);

/* Whether this is the main record of its read, neither secondary nor supplementary. */
bool kc_alignment_is_primary(const struct bam1_t *record);

/* Write the letters of a read of n bases, as the sequencer gave it, to seq [n]. */
void kc_alignment_bases(const struct bam1_t *record, uint8_t *seq);

/* Whether the record has qualities; write them as letters to qual [n]. */
bool kc_alignment_has_qualities(const struct bam1_t *record);
void kc_alignment_qualities(const struct bam1_t *record, uint8_t *qual);

void kc_alignments_close(struct kc_alignments *alignments);

#endif
