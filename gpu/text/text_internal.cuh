/*
 * What the source files of gpu/text share. Positions are those of bytes after the aligned block in
 * which the text begins.
 *
 * Warps work on tiles of 32 words of the planes, one for each lane, that is 1024 bytes of text.
 */
#ifndef KC_GPU_TEXT_TEXT_INTERNAL_CUH
#define KC_GPU_TEXT_TEXT_INTERNAL_CUH

#include "gpu/device/warp.cuh"
#include "gpu/text/classify.cuh"
#include "gpu/text/text.cuh"

enum {
        TEXT_THREADS = 256,
        TEXT_WARPS = TEXT_THREADS / 32,
        TEXT_TILE_NBYTES = 1024,
        TEXT_LINE_NBYTES = 16, /* if lines are shorter than this on average, a text may be consumed
                                  only in part */
        TEXT_RUN_NBYTES = 64,  /* likewise for segments */
        TEXT_MAX_NBLANKS = 1024, /* at a line's end; with more, the host takes over */
};

/* What a FASTA line is, by its first letter. */
enum text_kind : uint8_t { TEXT_SEQUENCE, TEXT_HEADER, TEXT_NEITHER };

/* What kernels find out about a text. Zero at the start; the first of something is stored as
 * its distance to UINT32_MAX, so that 0 means that there is none. */
struct text_facts {
        unsigned binary;       /* the first byte under 9 */
        unsigned bad;          /* FASTQ: the first record that is not strict; FASTA: a byte of it */
        unsigned last_header;  /* FASTA: the number of the last header's line + 1, or 0 */
        unsigned first_header; /* FASTA: of the first one's line */
        unsigned limit;        /* FASTA: only the records that end before it are confirmed */
        unsigned rest;         /* BAM: the first record that is not whole, or the end */
        unsigned nrecords;     /* BAM: the whole ones */
        unsigned long long nletters, nvalid, nlow; /* letters: in sequences; valid: ACGTU */
        unsigned long long nends;                  /* segments that have spans */
        unsigned long long nreads;
};

/* BAM: the records that begin in a part of a text. */
struct text_bam_part {
        uint32_t first; /* where the first one begins; UINT32_MAX: there is none */
        uint32_t after; /* where the one after them begins; 0: no record begins in the part;
                           UINT32_MAX: there is none */
        uint32_t stop;  /* where one begins of which the text does not have all; UINT32_MAX: none */
        uint32_t nrecords;
        uint32_t number; /* of the first one in the text */
};

/* For the host. */
struct text_found {
        struct kc_gpu_text_result result;
        uint64_t nruns, nspans, nkmers, nends, nwords;
};

/* The text being parsed, for kernels. All arrays are in device memory. */
struct text_view {
        const uint8_t *bytes;
        uint32_t begin, end; /* the text is [begin, end) */
        uint32_t noverlap;
        uint32_t nwords, ntiles; /* of the planes; the last word has the position `end` */
        uint32_t lines_cap, runs_cap;
        bool last;
        bool marks;                      /* of the setup */
        uint8_t min_quality;             /* as a letter */
        uint32_t *bases, *lines, *extra; /* planes [ntiles * 32] */
        uint32_t *usable;                /* bits of segments, [ntiles * 32 + 1], the last one 0 */
        uint64_t *codes;                 /* where spans find their bases: [nwords] */
        uint64_t *gapped;                /* FASTA: [nwords], before line ends are taken out */
        uint32_t *tile_lines;            /* [ntiles + 1] line feeds before each tile */
        uint32_t *tile_bases;            /* FASTA: [ntiles + 1] places of bases before each tile */
        uint64_t *tile_runs;   /* [ntiles + 1] before each tile: | ends: 32 | beginnings: 32 | */
        uint32_t *line_starts; /* [lines_cap + 1] the first lines_cap lines, and their end */
        enum text_kind *kinds; /* FASTA: [lines_cap + 1] */
        uint32_t nrefs, nparts, records_cap; /* BAM; line_starts are the starts of records */
        struct text_bam_part *parts;         /* BAM: [nparts] */
        uint32_t *record_places;             /* BAM: [records_cap + 1] places before each */
        uint32_t *run_begins, *run_ends;     /* [runs_cap] segments, as places of bases */
        uint64_t *run_spans; /* [runs_cap + 1] before each run: | k-mers | spans | */
        struct text_facts *facts;
        struct text_found *found;
};

struct kc_gpu_text {
        struct kc_gpu *gpu;
        struct kc_gpu_text_setup setup;
        struct text_view view; /* its memory; the fields that describe a text are set for each */
        uint32_t first_word;   /* of the last text, in the words of its reads */
        size_t scratch_nbytes;
        void *scratch;            /* for CUB */
        struct text_found *found; /* pinned */
};

static inline unsigned text_tile_blocks(const struct text_view *t)
{
        return kc_ceil_div(t->ntiles, TEXT_WARPS);
}

/* Blocks that loop: a few for each multiprocessor. */
static inline unsigned text_loop_blocks(const struct kc_gpu *gpu, size_t n)
{
        const unsigned most = 8 * (unsigned)gpu->nmultiprocessors;
        const unsigned wanted = kc_ceil_div(n, TEXT_THREADS);
        return wanted == 0 ? 1 : wanted < most ? wanted : most;
}

/* Begin with the first nbytes of an input; codes: see struct text_view. */
void kc_gpu_text_show(struct kc_gpu_text *text, const struct kc_gpu_text_input *input,
                      size_t nbytes, uint64_t *codes);

/* ---- steps, on gpu->stream ---- */

/* The planes, and the starts of all lines; in FASTQ, also the first record with an odd byte in its
 * sequence. */
enum kc_status kc_gpu_text_classify(struct kc_gpu_text *text, enum kc_gpu_text_format format,
                                    struct kc_error *err);
enum kc_status kc_gpu_text_find_lines(struct kc_gpu_text *text, enum kc_gpu_text_format format,
                                      struct kc_error *err);

/* From lines to the usable plane. */
enum kc_status kc_gpu_text_fastq(struct kc_gpu_text *text, struct kc_error *err);
enum kc_status kc_gpu_text_fasta(struct kc_gpu_text *text, struct kc_error *err);

/* BAM: everything up to the usable plane. */
enum kc_status kc_gpu_text_bam(struct kc_gpu_text *text, struct kc_error *err);
size_t kc_gpu_text_bam_nparts(size_t nbytes);

/* From the usable plane to segments, and from them to spans, whose words are counted from
 * first_word. nspans_cap: spans with higher numbers are not written. */
enum kc_status kc_gpu_text_find_runs(struct kc_gpu_text *text, struct kc_error *err);
enum kc_status kc_gpu_text_cut_spans(struct kc_gpu_text *text, int k, uint32_t first_word,
                                     struct kc_span *spans, size_t nspans_cap,
                                     struct kc_error *err);

/* Replace each of n numbers by the sum of those before it. With scratch = NULL, only sets
 * *nbytes. */
enum kc_status kc_gpu_text_sum(void *scratch, size_t *nbytes, uint32_t *numbers, size_t n,
                               cudaStream_t stream, struct kc_error *err);
enum kc_status kc_gpu_text_sum(void *scratch, size_t *nbytes, uint64_t *numbers, size_t n,
                               cudaStream_t stream, struct kc_error *err);
enum kc_status kc_gpu_text_sum_spans(void *scratch, size_t *nbytes, const struct text_view *t,
                                     int k, cudaStream_t stream, struct kc_error *err);

/* ---- in kernels ---- */

/* The lowest n bits; n up to 32. */
static __device__ inline uint32_t text_below(uint32_t n)
{
        return n < 32 ? (1u << n) - 1 : UINT32_MAX;
}

/* The lane's word of a plane. */
static __device__ inline uint32_t text_word(uint32_t tile)
{
        return tile * 32 + kc_warp_lane();
}

static __device__ inline uint32_t text_first(unsigned stored)
{
        return UINT32_MAX - stored;
}

static __device__ inline void text_note_first(unsigned *stored, uint32_t x)
{
        atomicMax(stored, UINT32_MAX - x);
}

/* How many complete lines line_starts has. */
static __device__ inline uint32_t text_nlines(const struct text_view &t)
{
        return min(t.tile_lines[t.ntiles], t.lines_cap);
}

static __device__ inline bool text_is_blank(uint8_t c)
{
        return c == ' ' || c == '\t';
}

/* Where the line's letters end, as in kc_line_nletters (io/parse/line.h); UINT32_MAX if there are
 * too many blanks at its end. */
static __device__ inline uint32_t text_letters_end(const uint8_t *bytes, uint32_t from, uint32_t to)
{
        if (to == from || bytes[to - 1] > ' ')
                return to;
        if (bytes[to - 1] == '\r')
                to--;
        for (int n = 0; to > from && text_is_blank(bytes[to - 1]); to--)
                if (n++ == TEXT_MAX_NBLANKS)
                        return UINT32_MAX;
        return to;
}

/* The first of these bytes of a word, in a line of a sequence, that is odd (see
 * io/parse/sequence.h); UINT32_MAX: none is. A line feed may follow a carriage return at the end of
 * the text. */
static __device__ inline uint32_t text_find_odd(const struct text_view &t, uint32_t word,
                                                uint32_t left)
{
        for (; left != 0; left &= left - 1) {
                const uint32_t at = word * 32 + (uint32_t)__ffs((int)left) - 1;
                const uint8_t c = t.bytes[at];
                if (c == '\r' ? at + 1 < t.end && t.bytes[at + 1] != '\n'
                              : c == '>' || c > '~' || (c < ' ' && c != '\t'))
                        return at;
        }
        return UINT32_MAX;
}

/* Add up x of all threads of the block; all of them must take part. */
static __device__ inline void text_add(unsigned long long *sum, uint64_t x)
{
        __shared__ uint64_t sums[TEXT_WARPS];
        for (int d = 16; d > 0; d /= 2)
                x += __shfl_xor_sync(UINT32_MAX, x, d);
        __syncthreads();
        if (kc_warp_lane() == 0)
                sums[threadIdx.x / 32] = x;
        __syncthreads();
        if (threadIdx.x != 0)
                return;
        for (int i = 1; i < TEXT_WARPS; i++)
                x += sums[i];
        if (x != 0)
                atomicAdd(sum, (unsigned long long)x);
}

#endif
