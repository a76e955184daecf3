/*
 * Why a CRAM file cannot be decoded: htslib reports one failure for all causes.
 */
#ifndef KC_CRAM_H
#define KC_CRAM_H

#include "io/input.h"

#include <htslib/sam.h>

/*
 * Look for the first container with a block that fails its checksum or does not decompress.
 *   in  a regular file; its descriptor stays open and where it is
 * *offset is where that container begins, or the file's size if there is none, so that what is
 * missing is the reference. Takes the time of reading and decompressing the file.
 */
void kc_cram_find_damage(const struct kc_input *in, uint64_t *offset);

/*
 * Forget where on the network a header says that reference sequences are, so that htslib does not
 * fetch them. KC_ENOMEM.
 */
enum kc_status kc_cram_stay_local(htsFile *file, struct kc_error *err);

#endif
