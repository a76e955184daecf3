/*
 * Turns text into packed reads, on the device: finds the records in a piece of FASTQ (four lines
 * each), FASTA or BAM in device memory, checks them, and packs their bases for kc_gpu_kept_put.
 *
 * No letter is moved. A text of n bytes becomes n bases, 2 bits for each byte whatever it is, and
 * bit planes with one bit per byte: is it a base, is it a line feed, is its quality sufficient?
 * Line feeds give the lines, lines the roles of their bytes, and all further steps work on the
 * planes:
 *
 *      bytes   @r1 \n  ACGTNACGT  \n + \n  IIIIIIII#  \n @r2 ...
 *      usable  000000  111101110   0 0 0   000000000   0 000 ...     runs of ones are segments
 *      bases   ......  ACGT.ACGT   . . .   .........   . ... ...     spans refer to their places
 *
 * so the text is read once, a span's bases may begin anywhere in a word (kc_pack_reads copes), and
 * neither long reads nor long lines divide the work unevenly. Only in FASTA, where line ends
 * interrupt sequences, are bases moved together. In BAM, lengths take the place of lines, and bases
 * become codes of 2 bits one after the other.
 *
 * The host's reader (io/parse/) accepts more than this does. Where the text is not of the strict
 * form, the reader's parser must take over; all reads before that place are confirmed. Strict FASTQ
 * is what kc_fastq_scan accepts, and strict FASTA is what kc_fasta_scan accepts, except that a line
 * may have at most 1024 blanks at its end. A BAM record is strict if the reader accepts it.
 */
#ifndef KC_GPU_TEXT_TEXT_CUH
#define KC_GPU_TEXT_TEXT_CUH

#include "gpu/device/context.cuh"
#include "gpu/device/reads.cuh"

struct kc_gpu_text;

enum kc_gpu_text_format { KC_GPU_TEXT_FASTQ, KC_GPU_TEXT_FASTA, KC_GPU_TEXT_BAM };

#define KC_GPU_TEXT_MAX_NBYTES ((size_t)1 << 31)

struct kc_gpu_text_setup {
        size_t max_nbytes; /* of one text: at most KC_GPU_TEXT_MAX_NBYTES */
        int min_k, max_k;  /* of all the k that are counted */
        int min_quality;   /* Phred (offset 33): bases below it end a segment; 0: none do */
        bool fasta, bam;   /* whether texts may be FASTA, or BAM, which take more memory */
        bool marks;        /* spans include k-mers that an earlier text has, for kc_gpu_kept_put to
                              leave out, for each k, by the spans' nbefore */
};

/*
 * A text. It begins with the first record of a file, without a byte order mark, blank lines or a
 * BAM header, or right after what kc_gpu_text_parse consumed. nbytes may be 0.
 *   bytes     device; may begin anywhere, but all of the aligned blocks of 16 bytes in which it
 *             begins and ends must be readable
 *   last      the file ends with it; a missing last line feed is added
 *   noverlap  FASTA: 0, or the noverlap of the result for the previous text. Then the text begins
 *             within a sequence, and this many of its first letters have been counted already
 *   nrefs     BAM: how many reference sequences the header names
 */
struct kc_gpu_text_input {
        enum kc_gpu_text_format format;
        const uint8_t *bytes;
        size_t nbytes;
        bool last;
        uint32_t noverlap;
        uint32_t nrefs;
};

/* Reads of one or more texts, for one kc_gpu_kept_put. Zero everything but memory and caps to
 * empty it. */
struct kc_gpu_text_out {
        uint64_t *words;       /* device [words_cap] */
        struct kc_span *spans; /* device [spans_cap] */
        size_t words_cap, spans_cap;
        uint64_t max_nbases;
        size_t nwords, nspans;
        uint64_t nbases, nkmers;
        size_t nmarks;
};

static inline struct kc_gpu_reads kc_gpu_text_reads(const struct kc_gpu_text_out *out)
{
        return { out->words,  out->spans,  out->nwords, out->nspans,
                 out->nbases, out->nkmers, out->nmarks };
}

/*
 * What was found. If the text is not of the strict form, the host's parser must take over where the
 * first such record begins; in FASTA that may be in an earlier text, and then consumed is 0. A text
 * that is not the last may be so short that nothing of it is consumed; the caller then passes more
 * of it, or lets the host go on.
 */
struct kc_gpu_text_result {
        uint64_t consumed;     /* bytes: what follows them is the beginning of the next text */
        bool full;             /* out has too little room, and nothing was consumed or added */
        bool foreign;          /* the host's parser must continue after the bytes consumed */
        uint32_t noverlap;     /* FASTA: for the next text */
        uint64_t nreads;       /* that begin in the bytes consumed */
        uint64_t nbases;       /* all letters of their sequences that were not counted before */
        uint64_t nskipped;     /* of these, letters that are not in ACGTUacgtu */
        uint64_t nlow_quality; /* bases below the minimum quality */
};

/* Most words and spans that the reads of one text may need: an empty kc_gpu_text_out with that much
 * room is never full. */
static inline size_t kc_gpu_text_most_words(size_t nbytes)
{
        return nbytes / 32 + 2;
}
size_t kc_gpu_text_most_spans(const struct kc_gpu_text_setup *setup);

/* The longest text whose reads certainly fit in nwords words. */
static inline size_t kc_gpu_text_fitting(size_t nwords)
{
        return nwords < 2 ? 0 : (nwords - 2) * 32;
}

/* Bytes of device memory that kc_gpu_text_new allocates, to within a few percent. */
size_t kc_gpu_text_nbytes(const struct kc_gpu_text_setup *setup);

/* KC_ENOMEM, KC_EDEVICE. *text = NULL on failure. */
enum kc_status kc_gpu_text_new(struct kc_gpu_text **text, struct kc_gpu *gpu,
                               const struct kc_gpu_text_setup *setup, struct kc_error *err);
void kc_gpu_text_free(struct kc_gpu_text *text); /* NULL is fine */

/*
 * Find the records and add their reads, cut for the smallest k, to *out, in the order of the text.
 * All work is on gpu->stream; returns when it is done. A text with more segments than there is
 * memory for (max_nbytes / 64 + 1024) is consumed only in part. KC_EDEVICE.
 */
enum kc_status kc_gpu_text_parse(struct kc_gpu_text *text, const struct kc_gpu_text_input *input,
                                 struct kc_gpu_text_out *out, struct kc_gpu_text_result *result,
                                 struct kc_error *err);

/*
 * Cut the reads that the last kc_gpu_text_parse added for another k, from min_k to max_k, and add
 * the spans to those of *out. Its words are not used: spans refer to the words that were passed to
 * kc_gpu_text_parse. *full: out->spans has too little room; nothing was added.
 * KC_EDEVICE.
 */
enum kc_status kc_gpu_text_cut(struct kc_gpu_text *text, int k, struct kc_gpu_text_out *out,
                               bool *full, struct kc_error *err);

#endif
