/*
 * One alignment record of BAM.
 *
 *      byte 0            4       8     12            13     14    16           18     20
 *           block_size | refID | pos | l_read_name | mapq | bin | n_cigar_op | flag | l_seq |
 *
 *      24           28         32     36
 *      next_refID | next_pos | tlen | name | CIGAR, 4 bytes per operation | bases, 2 per byte |
 *
 *      qualities, 1 per byte | tags
 *
 * All numbers are little-endian, and block_size is the length of what follows it.
 *
 * Source: the SAM/BAM format specification, section 4.2.
 */
#ifndef KC_IO_PARSE_BAM_RECORD_H
#define KC_IO_PARSE_BAM_RECORD_H

#include "io/parse/pack.h"
#include "io/parse/problem.h"

enum {
        KC_BAM_LENGTH_NBYTES = 4,
        KC_BAM_FIXED_NBYTES = 36,
        KC_BAM_NO_QUALITY = 0xff, /* as the first quality: the read has none */
};

struct kc_bam_record {
        uint64_t nbytes;      /* of the record, with block_size */
        uint32_t nbases;      /* l_seq */
        uint64_t bases, qual; /* where they begin within the record */
        uint16_t flags;
        bool reverse; /* the bases are the read's reverse complement */
};

static inline uint32_t kc_bam_u16(const uint8_t *bytes)
{
        return bytes[0] | (uint32_t)bytes[1] << 8;
}

static inline uint32_t kc_bam_u32(const uint8_t *bytes)
{
        return kc_bam_u16(bytes) | kc_bam_u16(bytes + 2) << 16;
}

/* Length of the record that begins with these 4 bytes; 0 if it is impossible. */
uint64_t kc_bam_record_nbytes(const uint8_t *bytes);

/* Bytes that precede the bases of the record that begins with these KC_BAM_FIXED_NBYTES. */
uint64_t kc_bam_record_nhead(const uint8_t *bytes);

/*
 * Read and check the fields of a record.
 *   bytes    kc_bam_record_nhead bytes of it, or all if it is shorter than they say
 *   nrefs    number of reference sequences in the file's header
 *   problem  in/out, zeroed before the first record: what is wrong; an empty text if nothing is
 * The tags are not looked at.
 */
void kc_bam_record_parse(const uint8_t *bytes, uint32_t nrefs, struct kc_bam_record *record,
                         struct kc_problem *problem);

/* How bases become letters. */
struct kc_bam_decoder {
        uint8_t plain[256][2], complement[256][2]; /* the two letters in a byte */
        const struct kc_kernels *kernels;
        uint8_t min_quality; /* Phred; 0: qualities are not wanted */
};

void kc_bam_decoder_init(struct kc_bam_decoder *decoder, const struct kc_kernels *kernels,
                         int min_quality);

/*
 * Write the letters of n bases, from number `first` on, or of their complements.
 *   bases    the packed bases of the whole sequence, or its beginning
 *   qual     [n] the qualities of the n bases: bases of a lower one become KC_CHUNK_LOW_QUALITY;
 *            NULL: all are accepted
 *   letters  out [n]: may be qual, so that letters take the qualities' place
 * Returns the number of bases of low quality.
 */
size_t kc_bam_decode(const struct kc_bam_decoder *decoder, bool complement, const uint8_t *bases,
                     size_t first, size_t n, const uint8_t *qual, uint8_t *letters);

/* Reverse the order of letters [n]. */
void kc_bam_reverse(uint8_t *letters, size_t n);

#endif
