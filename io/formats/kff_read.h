/*
 * Private to the reader of KFF files: what its stages share. kff_header.c and kff_sections.c find
 * blocks of k-mers, kff_take.c deals them out to the threads, and kff_decode.c turns them into
 * pairs.
 */
#ifndef KC_IO_FORMATS_KFF_READ_H
#define KC_IO_FORMATS_KFF_READ_H

#include "io/formats/import_internal.h"

enum {
        KC_KFF_MARK_NBYTES = 3,          /* "KFF", at both ends of the file */
        KC_KFF_WINDOW_NBYTES = 64 << 10, /* more than a batch of k-mers in small blocks takes */
};

enum kc_kff_value {
        KC_KFF_K,
        KC_KFF_MAX,
        KC_KFF_DATA_SIZE,
        KC_KFF_M, /* only minimizer sections need it */
        KC_KFF_NVALUES
};

/* The blocks of a section that no thread has taken yet. */
struct kc_kff_blocks {
        uint64_t n, max, m; /* max: k-mers in a block; m: 0 in a raw section */
        size_t n_nbytes, place_nbytes, count_nbytes;
        uint8_t minimizer[(KC_MAX_K + 3) / 4];
};

struct kc_kff_block {
        uint64_t n, place, nbases; /* nbases: without the minimizer */
        uint64_t head_nbytes, bases_nbytes, nbytes;
};

/* What a thread takes: nblocks whole blocks, or n k-mers of one block, from number `first` on. */
struct kc_kff_piece {
        struct kc_kff_blocks blocks;
        struct kc_kff_block block; /* if nblocks is 0 */
        uint64_t at, first;        /* at: offset in the file */
        size_t nblocks, n;
};

/* Maps the file's base codes to ours: see recode in kff_decode.c. */
struct kc_kff_recoding {
        uint64_t low, high, flip;
};

struct kc_kff {
        uint64_t at, end; /* of the sections */
        uint64_t value[KC_KFF_NVALUES], first_k;
        bool known[KC_KFF_NVALUES];
        struct kc_kff_recoding recoding;
        struct kc_kff_blocks blocks;
        struct kc_kff_block large; /* the block at `at` while it is taken in slices; else n is 0 */
        uint64_t next;             /* the first k-mer of large that has not been taken */
};

/* Whether each block is one k-mer and its count, and nothing else. */
static inline bool kc_kff_are_single(const struct kc_kff_blocks *blocks)
{
        return blocks->max == 1 && blocks->m == 0;
}

/* The head of a block: its number of k-mers, and the place of its minimizer. */
static inline size_t kc_kff_head_nbytes(const struct kc_kff_blocks *blocks)
{
        return blocks->n_nbytes + blocks->place_nbytes;
}

/* Return KC_EINPUT with a message that names the file and the byte `at`. */
enum kc_status kc_kff_damaged(const struct kc_import *import, uint64_t at, const char *what,
                              struct kc_error *err);
enum kc_status kc_kff_truncated(const struct kc_import *import, uint64_t at, struct kc_error *err);

/* Read the header and set kff->at, end and recoding. KC_EINPUT; KC_EIO. */
enum kc_status kc_kff_read_header(struct kc_import *import, struct kc_kff *kff,
                                  struct kc_error *err);

/* Read n bytes at offset. KC_EINPUT if they reach beyond the sections; KC_EIO. */
enum kc_status kc_kff_read_part(const struct kc_import *import, const struct kc_kff *kff, void *to,
                                uint64_t n, uint64_t offset, struct kc_error *err);

/* Read sections until kff->blocks.n is not 0 or the file ends. KC_EINPUT; KC_EIO. */
enum kc_status kc_kff_next_section(struct kc_import *import, struct kc_kff *kff,
                                   struct kc_error *err);

/*
 * Take work for one thread; the caller holds import->lock.
 *   cap     in   most k-mers in the piece
 *   window  out  [KC_KFF_WINDOW_NBYTES]: the piece's blocks, if they are whole and not single
 *   piece   out  n is 0 if nothing is left
 * KC_EINPUT; KC_EIO.
 */
enum kc_status kc_kff_take(struct kc_import *import, struct kc_kff *kff, size_t cap,
                           uint8_t *window, struct kc_kff_piece *piece, struct kc_error *err);

/* Parse the head of the block at this offset of the file. KC_EINPUT. */
enum kc_status kc_kff_parse_head(const struct kc_import *import, const struct kc_kff_blocks *blocks,
                                 const uint8_t *head, uint64_t at, struct kc_kff_block *block,
                                 struct kc_error *err);

/* Turn a piece into pairs. Its window must be the worker's buffer. KC_EINPUT; KC_EIO; KC_ENOMEM. */
enum kc_status kc_kff_decode(struct kc_import *import, const struct kc_kff *kff, int worker,
                             const struct kc_kff_piece *piece, struct kc_pair_batch *batch,
                             struct kc_error *err);

#endif
