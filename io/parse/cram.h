/*
 * Why a CRAM file cannot be decoded: htslib reports one failure for all causes.
 */
#ifndef KC_IO_PARSE_CRAM_H
#define KC_IO_PARSE_CRAM_H

#include "io/input/input.h"

#include <htslib/sam.h>

/*
 * Look for the first container with a block that fails its checksum or does not decompress.
 *   in      a regular file; its descriptor stays open, at the same position
 *   offset  out: where that container begins; the file's size if there is none, in which case the
 *           reference is missing; 0 if the file cannot be read
 * Takes as long as reading and decompressing the file.
 */
void kc_cram_find_damage(const struct kc_input *in, uint64_t *offset);

/*
 * Drop the network addresses of reference sequences from the header of an open CRAM file, so that
 * htslib does not fetch them. KC_ENOMEM.
 */
enum kc_status kc_cram_stay_local(htsFile *file, struct kc_error *err);

#endif
