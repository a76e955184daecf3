/*
 * The inner loops of reading, with a variant for each instruction set.
 *
 * A base letter is valid if it is one of ACGTUacgtu. Its 2-bit code and the place of the code in a
 * word are those of kmer/batch.h.
 */
#ifndef KC_IO_PARSE_PACK_H
#define KC_IO_PARSE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kc_kernels {
        const char *name;

        /*
         * Pack letters up to the first invalid one, at most n.
         *   seq    64 bytes after its end may be read
         *   words  out: the codes; bits after the last are zero; one word more than needed may be
         *          written
         * Returns the number of letters packed.
         */
        size_t (*pack)(const uint8_t *seq, size_t n, uint64_t *words);

        /* Number of line ends in text. Sets *binary to true if there is a byte under 9, which no
         * text has. */
        size_t (*count_lines)(const uint8_t *text, size_t n, bool *binary);

        /*
         * How many bytes come before the first one outside '@' to '~', a range that includes all
         * letters.
         *   text  64 bytes after its end may be read
         */
        size_t (*skip_letters)(const uint8_t *text, size_t n);

        /*
         * Replace each valid letter whose quality is under min by KC_CHUNK_LOW_QUALITY.
         * Returns how many there were.
         */
        size_t (*mask_quality)(uint8_t *seq, const uint8_t *qual, size_t n, uint8_t min);
};

/* The letter of the lowest accepted Phred quality. */
static inline uint8_t kc_quality_letter(int min_quality)
{
        return (uint8_t)(min_quality < 200 ? 33 + min_quality : 233);
}

/* The best variant for this machine. */
const struct kc_kernels *kc_kernels_best(void);

/* All variants that this machine can run: index 0, 1, ... until NULL; the portable one is last. */
const struct kc_kernels *kc_kernels_get(size_t index);

#endif
