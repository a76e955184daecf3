/*
 * Inflating from the middle of a deflate stream: whole blocks from any bit on, whether the 32 KiB
 * before them are known or not.
 *
 *      window known:    symbols are bytes; the window precedes the output.
 *      window unknown:  symbols have 16 bits; KC_WINDOW marks precede the output, each the number
 *                       of a byte of the window. Matches copy marks like any symbol.
 *
 * Between two symbols a decoder can stop and resume, with other buffers or the other kind of
 * output. All state is in the structs here; one decoder serves one thread.
 *
 * Source: RFC 1951. A code is valid if zlib accepts it.
 */
#ifndef KC_IO_INFLATE_DEFLATE_H
#define KC_IO_INFLATE_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        KC_WINDOW = 1 << 15,
        KC_DEFLATE_SLACK = 384, /* symbols after an output's end that may be written */
        KC_MARK = 0x8000,       /* | the number of a byte of the window, the oldest is 0 */

        KC_LITLEN_BITS = 11, /* small, so that the window stays in the L1 cache */
        KC_DISTANCE_BITS = 8,
        KC_LITLEN_ENTRIES = (1 << KC_LITLEN_BITS) + 320,
        KC_DISTANCE_ENTRIES = (1 << KC_DISTANCE_BITS) + 160,
};

/* Why a decoder stopped. */
enum kc_deflate_stop {
        KC_DEFLATE_BLOCK,  /* a block begins at .bit, and stop_at_blocks is set */
        KC_DEFLATE_END,    /* after the final block */
        KC_DEFLATE_OUTPUT, /* the output is full */
        KC_DEFLATE_INPUT,  /* the input ends before what begins at .bit is complete */
        KC_DEFLATE_BAD,    /* what begins at .bit is invalid: see .why */
};

enum kc_deflate_phase { KC_IN_HEADER, KC_IN_CODED, KC_IN_STORED, KC_IN_NOTHING };

struct kc_deflate {
        uint64_t bit; /* of the input: where to resume */
        enum kc_deflate_phase phase;
        bool final;          /* the current block is the last */
        bool stop_at_blocks; /* set by the caller */
        bool fixed;          /* the tables hold the fixed codes */
        uint32_t stored_left;
        const char *why;
        uint8_t lengths[320]; /* of the codes: literals and lengths, then distances */
        uint32_t litlen[KC_LITLEN_ENTRIES];
        uint32_t distance[KC_DISTANCE_ENTRIES];
};

/* Symbols are written from next on, until end is reached; distances reach back to begin. */
struct kc_deflate_bytes {
        uint8_t *begin, *next, *end;
};
struct kc_deflate_symbols {
        uint16_t *begin, *next, *end;
};

/* Begin with the block at this bit. */
void kc_deflate_begin(struct kc_deflate *d, uint64_t bit);

/*
 * Inflate from d->bit on until there is a reason to stop; BLOCK is returned again only after
 * another block.
 *   in, nin  the input; d->bit counts from its first byte. The next call's input may begin
 *            elsewhere if the caller adjusts d->bit.
 * On INPUT and BAD, d->bit and out are as they were before the symbol or header at fault.
 */
enum kc_deflate_stop kc_deflate_bytes(struct kc_deflate *d, const uint8_t *in, size_t nin,
                                      struct kc_deflate_bytes *out);
enum kc_deflate_stop kc_deflate_symbols(struct kc_deflate *d, const uint8_t *in, size_t nin,
                                        struct kc_deflate_symbols *out);

/* Write the marks that stand for an unknown window. */
void kc_deflate_put_marks(uint16_t window[KC_WINDOW]);

/* How many of the last symbols, at most n, are not marks. */
size_t kc_deflate_nplain(const uint16_t *symbols, size_t n);

/* The byte that each symbol stands for; values between bytes and marks are not used. */
struct kc_meanings {
        uint8_t of[1 << 16];
};
void kc_deflate_give_meaning(struct kc_meanings *meanings, const uint8_t window[KC_WINDOW]);

/* Convert symbols to bytes, with marks replaced by what they stand for. */
void kc_deflate_resolve(uint8_t *bytes, const uint16_t *symbols, size_t n,
                        const struct kc_meanings *meanings);

/* ---- finding blocks ---- */

#define KC_NO_BLOCK   UINT64_MAX
#define KC_STORED_KEY (UINT64_C(1) << 63)

/*
 * Can a block begin at this bit? Only blocks with telling headers are recognised: dynamic ones, and
 * stored ones followed by either kind, none of them final. The answer depends on at most
 * KC_BLOCK_LOOKAHEAD bytes. Returns the block's key, or KC_NO_BLOCK. A dynamic block's key is its
 * bit; a stored one, which may begin at several bits, has KC_STORED_KEY | the bit where its length
 * is.
 */
uint64_t kc_deflate_block_key(const uint8_t *in, size_t nin, uint64_t bit);
enum { KC_BLOCK_LOOKAHEAD = (1 << 16) + 1024 };

/* The first bit in [from, to) where kc_deflate_block_key finds a block; KC_NO_BLOCK if none. */
uint64_t kc_deflate_find(const uint8_t *in, size_t nin, uint64_t from, uint64_t to);

#endif
