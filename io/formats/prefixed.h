/*
 * k-mers whose first bases are in a table and whose other bases are in records, as KMC and FastK
 * store them: entry i of the table is where the records of the k-mers with prefix i end.
 *
 * The table is read in order, under the lock: a thread takes a stretch of it at a time, and reads
 * and decodes the records without the lock. The memory therefore does not grow with the table.
 */
#ifndef KC_IO_FORMATS_PREFIXED_H
#define KC_IO_FORMATS_PREFIXED_H

#include "io/formats/import_internal.h"

/* A file that holds records. */
struct kc_prefixed_part {
        struct kc_input in;
        char *path;
        uint64_t offset; /* of its first record */
        uint64_t nrecords;
};

struct kc_prefixed {
        /* set by the format, parts with kc_prefixed_add_part */
        const struct kc_input *table;
        uint64_t table_offset; /* of entry 0; each has 64 bits */
        uint64_t nentries;     /* the last one is not read: it is nrecords */
        uint64_t nrecords;
        int prefix_bits;  /* the prefix of entry i is i modulo 2^prefix_bits */
        int suffix_bytes; /* in a record: the other bases, the first one in the top bits */
        int unused_bits;  /* at the end of the suffix */
        int count_bytes;  /* after the suffix, least significant first; 0: all counts are 1 */
        uint64_t limit;   /* the largest count that the file can hold; 0: there is none */
        uint64_t min_count, max_count;  /* k-mers with other counts are left out */
        struct kc_prefixed_part *parts; /* [nparts] */
        size_t nparts;

        /* what threads share */
        uint64_t *entries; /* the stretch of the table that is in memory */
        size_t entries_n, entries_at;
        uint64_t entry;  /* number of the next entry */
        uint64_t record; /* number of the first record that no thread has taken */
};

/* Add a part, which the caller opens. path: from malloc, owned by the part from now on; NULL gives
 * KC_ENOMEM. */
enum kc_status kc_prefixed_add_part(struct kc_prefixed *prefixed, char *path, struct kc_error *err);

/* Check that a record and its prefix make a k-mer and that the parts hold nrecords, and allocate
 * what threads share. KC_EINPUT; KC_ENOMEM. */
enum kc_status kc_prefixed_begin(const struct kc_import *import, struct kc_prefixed *prefixed,
                                 struct kc_error *err);

/* For read() of a kc_import_format whose state begins with a struct kc_prefixed. */
enum kc_status kc_prefixed_read(struct kc_import *import, int worker, struct kc_pair_batch *batch,
                                struct kc_error *err);

/* Close the parts and free what prefixed holds. A zeroed one is fine. */
void kc_prefixed_free(struct kc_prefixed *prefixed);

#endif
