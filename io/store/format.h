/*
 * The fixed parts of a .kc file. docs/dev/kc-file.md is the full description and uses the same
 * names.
 *
 *   | header | blocks of run 0 | index of run 0 | blocks of run 1 | index of run 1 | ... | footer |
 *
 * All integers are little-endian and every part begins at a multiple of 8, so the structs below
 * are the bytes of the file.
 */
#ifndef KC_IO_STORE_FORMAT_H
#define KC_IO_STORE_FORMAT_H

#include "kmer/block_codec.h"

#include <stdbool.h>
#include <stdint.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a .kc file is mapped to host words");

#define KC_STORE_MAGIC  "\x89KC\r\n\x1a\n" /* 8 bytes with the NUL */
#define KC_FOOTER_MAGIC "KCFOOTR3"

/* Footers of earlier versions have no checksum of their own. They are read but no longer
 * written. */
#define KC_OLD_FOOTER_MAGIC       "KCFOOTER" /* all runs hold counts */
#define KC_OLD_KINDS_FOOTER_MAGIC "KCFOOTR2" /* the kinds follow the head */

enum {
        KC_STORE_VERSION = 1,
        KC_STORE_VERSION_FLAGGED = 2, /* of files with flags that earlier programs do not know */
        /* flags: */
        KC_STORE_STRANDED = 1 << 0, /* k-mers as they occur; otherwise canonical */
        KC_STORE_HPC = 1 << 1,      /* of reads in which each run of equal bases is one base */
        KC_STORE_ONLY = 1 << 2,     /* only the k-mers of a set were counted */
        KC_STORE_NEW_FLAGS = KC_STORE_HPC | KC_STORE_ONLY,
        KC_STORE_FLAGS = KC_STORE_STRANDED | KC_STORE_NEW_FLAGS,
        KC_PAGE_NBLOCKS = 256, /* index entries in a page; all but a run's last are full */
        KC_STORE_MAX_RUNS = 256,
};

/* Where the footer is. */
struct kc_footer_ref {
        uint64_t offset;
        uint64_t nbytes;
        uint64_t checksum;     /* of the whole footer */
        uint64_t ref_checksum; /* of the 24 bytes above */
};

/*
 * Two references, so that a file can grow: the reference that is not in force is overwritten only
 * when the new footer and everything that it refers to are on the disk. The sound reference with
 * the larger offset is in force. A new file has two equal references, so an empty one is found only
 * in files of earlier versions.
 */
struct kc_store_header {
        char magic[8];
        uint32_t version;
        uint32_t k;
        uint32_t flags;
        uint32_t reserved;
        uint64_t only_checksum; /* with KC_STORE_ONLY: checksum of the set, never 0; otherwise 0 */
        uint32_t reserved_too[6]; /* 0 */
        uint64_t checksum;        /* of the 56 bytes above */
        struct kc_footer_ref footer[2];
};
_Static_assert(sizeof(struct kc_store_header) == 128, "header");

/*
 * The head states the footer's own place and length, and the footer's last word is the XXH3 of all
 * bytes before it, so that a search can recognise a footer that no sound reference leads to.
 */
struct kc_footer_head {
        char magic[8];
        uint64_t nbytes; /* of the whole footer, including its checksum */
        uint64_t offset; /* of the footer in the file */
        uint64_t nruns;
};
_Static_assert(sizeof(struct kc_footer_head) == 32, "footer head");

/* The head of the two old kinds. */
struct kc_old_footer_head {
        char magic[8];
        uint64_t nruns;
};

/* One word per run after the head; footers that begin with KC_OLD_FOOTER_MAGIC have none. */
enum kc_run_kind {
        KC_RUN_COUNTS = 0,
        KC_RUN_TOMBSTONES =
                1, /* its k-mers are removed from the runs before it; all counts are 1 */
};

/*
 * Added to the kind of a run that is linked: the footer holds the checksums of its index pages, and
 * these hold the checksums of its blocks. So a sound page or block in the wrong place is detected.
 * Every new run is linked; runs of earlier versions are not, and stay so.
 */
enum { KC_RUN_LINKED = 1 << 8 };

/*
 * Then, for each run: this record, the histogram, the top index (the first k-mer of each page, and
 * in a linked run then the checksum of each page), the names. The footer's checksum comes last.
 */
struct kc_run_record {
        uint64_t blocks_offset;
        uint64_t index_offset;
        uint64_t ndistinct;
        uint64_t sum; /* of counts */
        uint64_t ndropped_distinct;
        uint64_t ndropped_kmers;
        uint64_t min_count;
        uint32_t max_count;
        /* of enum kc_mixed. Earlier versions read max_count and mixed as one number, which no count
         * exceeds either */
        uint32_t mixed;
        uint64_t nreads, nbases, nskipped, nlow_quality;
        uint64_t nkmers;
        uint64_t nsaturated;
        uint64_t nhistogram; /* rows of (count, ndistinct) */
        uint64_t nnames;
        uint64_t names_nbytes; /* including one NUL each, without padding */
};
_Static_assert(sizeof(struct kc_run_record) == 136, "run record");

/*
 * An index page of n entries, in words; not padded to a fixed size, so page p of a run lies at
 * index_offset + p * 8 * kc_page_words(KC_PAGE_NBLOCKS, ...).
 *
 *   | n | first k-mers [n * key_nwords] | offsets of blocks [n], end of the last |
 *   | checksums of blocks [n], in a linked run only | checksum |
 */
static inline size_t kc_page_words(size_t nentries, int key_nwords, bool linked)
{
        return 1 + nentries * (size_t)key_nwords + nentries + 1 + (linked ? nentries : 0) + 1;
}

static inline uint64_t kc_div_up(uint64_t a, uint64_t b)
{
        return a / b + (a % b != 0);
}

/* Blocks of a run, and pages of its index. */
static inline uint64_t kc_run_nblocks(uint64_t ndistinct)
{
        return kc_div_up(ndistinct, KC_BLOCK_NKMERS);
}

static inline uint64_t kc_run_npages(uint64_t ndistinct)
{
        return kc_div_up(kc_run_nblocks(ndistinct), KC_PAGE_NBLOCKS);
}

/* Words of a whole index. */
static inline uint64_t kc_index_words(uint64_t nblocks, int key_nwords, bool linked)
{
        uint64_t last = nblocks % KC_PAGE_NBLOCKS;
        return nblocks / KC_PAGE_NBLOCKS * kc_page_words(KC_PAGE_NBLOCKS, key_nwords, linked) +
               (last ? kc_page_words(last, key_nwords, linked) : 0);
}

#endif
