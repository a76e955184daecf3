/*
 * A gzip file inflated region by region, by any number of threads.
 *
 *      file:    | region 0 ........ | region 1 ........ | region 2 ........ |
 *      blocks:  |-----|------|---------|-----|-----|--------|-----|---- ...
 *      guesses: |------- 0 ------------|------- 1 ----------|------- 2 -----
 *
 * 1. (any order) *guess*: inflate the first block that seems to begin within a region of the file,
 *    and all that follow until one begins in a later region. The window before it is unknown, so
 *    the text has marks in it (io/inflate/deflate.h).
 * 2. (in order) *accept*: the current place moves from region to region. A guess that begins
 *    exactly there is right, since everything before it is; its window is passed on. Any other
 *    guess is dropped, and the region is inflated from the place on. So guesses affect only the
 *    speed, and invalid data is found here, in the file's order.
 * 3. (any order) *finish*: replace the marks and compute checksums.
 * 4. (in order) *fold*: combine the checksums and lengths of members and compare them.
 *
 * Neither the text of a guess nor that of a region exceeds a limit: a guess stops there and is
 * accepted as far as it goes, and a region goes on with the next call. A guess also stops when the
 * window has become known meanwhile, because the rest of the region then needs no marks.
 */
#ifndef KC_IO_INFLATE_GUNZIP_H
#define KC_IO_INFLATE_GUNZIP_H

#include "base/status.h"
#include "io/inflate/deflate.h"

/* The part of the file that is in memory. */
struct kc_view {
        const uint8_t *data;
        size_t n;
        uint64_t offset; /* of data in the file */
        bool ends;       /* the file ends with it */
};

/* Parts of a member's header may have any length: each can be walked through view by view. */
enum kc_gunzip_phase {
        KC_AT_MEMBER,
        KC_IN_EXTRA,
        KC_IN_NAME,
        KC_IN_COMMENT,
        KC_AT_HEADER_CRC,
        KC_IN_DATA,
        KC_AT_TRAILER,
        KC_IN_PADDING, /* after a trailer; zeros, if anything */
        KC_AT_END,
};

/* The current place of inflating, between two symbols. */
struct kc_gunzip_place {
        enum kc_gunzip_phase phase;
        uint64_t bit; /* of the file */
        struct {
                uint64_t begin; /* byte of the file */
                uint8_t flags;
                uint16_t left; /* of the extra field */
                uint32_t crc;  /* of what was read so far */
        } header;
        bool padded; /* zeros were found */
        bool bgzf; /* the current member is a BGZF block; in a guess, the first is taken for one */
        bool open; /* what follows a BGZF block with text is not known yet */
        bool between_blocks;        /* in data: a block begins here */
        struct kc_deflate *deflate; /* owned */
};

/* The end of a member within a region. */
struct kc_member_end {
        size_t text;     /* bytes of the region's text before it */
        uint64_t offset; /* after its trailer in the file */
        uint32_t crc, nbytes;
        bool open; /* BGZF ends here without its end-of-file block */
};

/* The text of a region: symbols, then bytes. Zero-initialise; free with kc_region_free. */
struct kc_region {
        uint64_t key; /* of the block it begins with; KC_NO_BLOCK: it holds no guess */
        struct kc_gunzip_place place; /* after the region */
        uint16_t *symbols;            /* [KC_WINDOW marks, then text] */
        size_t nsymbols, symbols_cap;
        uint8_t *bytes; /* [KC_WINDOW bytes before, then text] */
        size_t nbytes, bytes_cap;
        size_t nwindow; /* bytes that a distance can reach, before the end of the text in bytes */
        struct kc_member_end *ends;
        size_t nends, ends_cap;
        uint64_t open_before; /* as ends[].open: place in the file, before the region; 0: none */
};

/* The state that is passed on from region to region in the file's order. */
struct kc_gunzip {
        const char *name; /* of the file, for messages */
        uint64_t size;    /* of the file, for messages */
        struct kc_gunzip_place place;
        uint8_t window[KC_WINDOW]; /* its last nwindow bytes are the text before place */
        size_t nwindow;
        uint32_t crc; /* of the current member, as far as it was folded */
        uint64_t nbytes;
};

/* Checksums of the stretches of a region's text between ends of members. */
struct kc_region_sums {
        uint32_t head_crc, tail_crc; /* up to the first end; after the last. Without an end: head
                                        only */
        uint64_t head_nbytes, tail_nbytes;
};

/* Begin at the file's first byte. name must outlive gunzip. KC_ENOMEM; free in any case. */
enum kc_status kc_gunzip_init(struct kc_gunzip *gunzip, const char *name, uint64_t size,
                              struct kc_error *err);
void kc_gunzip_free(struct kc_gunzip *gunzip);
void kc_region_free(struct kc_region *region);

/* Drop the guess and the text; keep the memory. */
void kc_region_empty(struct kc_region *region);

/* How far a guess goes. */
struct kc_guess_limits {
        uint64_t to; /* up to the first block that begins at this byte or later */
        size_t max;  /* bytes of text, about */
        bool (*has_ended)(const void *ctx); /* called now and then: stop if true; may be NULL */
        const void *ctx;
};

/*
 * Inflate what begins in the bytes [from, limits->to) of the file, with the window unknown.
 *   view  begins at from or before, and should go KC_BLOCK_LOOKAHEAD bytes beyond to
 * A guess that ends early, or is wrong, is not a failure. KC_ENOMEM.
 */
enum kc_status kc_region_guess(struct kc_region *region, const struct kc_view *view, uint64_t from,
                               const struct kc_guess_limits *limits, struct kc_error *err);

/*
 * In the file's order: make the region hold the text from gunzip->place on, up to the first block
 * that begins at byte `to` or later, or about max bytes; the place moves after it.
 *   region  a guess, or an empty region; *window is what its marks stand for, for kc_region_finish
 *   view    holds all that is needed from the place on; otherwise the region ends with the view
 *   *done   that block, or the file's end, was reached
 * The region may be empty. KC_EINPUT if the file is damaged or truncated; KC_ENOMEM.
 */
enum kc_status kc_region_accept(struct kc_region *region, struct kc_gunzip *gunzip,
                                uint8_t window[KC_WINDOW], const struct kc_view *view, uint64_t to,
                                size_t max, bool *done, struct kc_error *err);

/* Write the text [nsymbols + nbytes] and compute its checksums; those of whole members are
 * compared. KC_EINPUT. */
enum kc_status kc_region_finish(const struct kc_region *region, const uint8_t window[KC_WINDOW],
                                uint8_t *text, struct kc_region_sums *sums, const char *name,
                                struct kc_error *err);

/* In the file's order: combine the checksums. KC_EINPUT. */
enum kc_status kc_gunzip_fold(struct kc_gunzip *gunzip, const struct kc_region *region,
                              const struct kc_region_sums *sums, struct kc_error *err);

#endif
