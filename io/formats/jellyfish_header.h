/*
 * The header of Jellyfish's files, an object in JSON, and the hash function that it declares: the
 * product of a binary matrix and the k-mer. Jellyfish writes records in the order of their hashes.
 */
#ifndef KC_IO_FORMATS_JELLYFISH_HEADER_H
#define KC_IO_FORMATS_JELLYFISH_HEADER_H

#include "kmer/kmer.h"

#include <stdbool.h>

/* The member of our own that holds the number of records. Jellyfish ignores it, and its merge does
 * not copy it. */
#define KC_JELLYFISH_NRECORDS "kcount_records"

/* The value of a member of the outermost object, and what follows; NULL if it is missing. */
const char *kc_jellyfish_member(const char *json, const char *name);

/* Its value as a number, at most UINT64_MAX; false if it is missing or not a number. */
bool kc_jellyfish_number(const char *json, const char *name, uint64_t *number);

struct kc_jellyfish_hash {
        int nrows;                      /* bits of a hash */
        uint64_t columns[2 * KC_MAX_K]; /* [2k]; the first one belongs to the highest bit */
};

/* Read the hash function of a header. Returns false if there is none, or if it only selects bits of
 * the k-mer, so that hashes are distributed as unevenly as the k-mers. */
bool kc_jellyfish_read_hash(struct kc_jellyfish_hash *hash, const char *json, int k);

/* The place of a k-mer in the order of hashes: above 0, and 1 for the last hash. */
double kc_jellyfish_place(const struct kc_jellyfish_hash *hash, const uint64_t *kmer, int k);

#endif
