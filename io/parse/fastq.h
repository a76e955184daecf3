/*
 * FASTQ, in two ways that agree: strict records of four lines, checked at the speed of memory and
 * in any number of pieces at once; and the general form (sequence and qualities over several lines,
 * blank lines between records), record by record from the beginning.
 */
#ifndef KC_IO_PARSE_FASTQ_H
#define KC_IO_PARSE_FASTQ_H

#include "io/input/chunk.h"
#include "io/parse/pack.h"
#include "io/parse/problem.h"

/*
 * Index the records in [start, end) of the chunk's buffer, which begins and ends with whole lines.
 * KC_ENOMEM.
 *   nlines  number of line ends in that range
 * *strict: whether all of it is sound records of four lines; if not, the index is meaningless.
 */
enum kc_status kc_fastq_scan(struct kc_chunk *chunk, const struct kc_kernels *kernels, size_t start,
                             size_t end, size_t nlines, bool *strict, struct kc_error *err);

/*
 * Index all complete records in [chunk->start, chunk->end), after what is indexed already, joining
 * the lines of a sequence in place. KC_ENOMEM.
 *   last      the text ends here: an incomplete record is a problem
 *   consumed  out: where the first incomplete record begins, untouched
 */
enum kc_status kc_fastq_parse(struct kc_chunk *chunk, const struct kc_kernels *kernels, bool last,
                              size_t *consumed, struct kc_problem *problem, struct kc_error *err);

#endif
