#include "gpu/text/text_internal.cuh"

/*
 * FASTQ of four lines a record. Line number modulo four is the role of a line; a record's line
 * starts follow each other, so one thread checks one record.
 */

/* l: the starts of the record's lines and of the line after it. */
static __device__ bool is_strict(const struct text_view &t, const uint32_t (&l)[5])
{
        const uint32_t seq_end = text_letters_end(t.bytes, l[1], l[2] - 1), nbases = seq_end - l[1];
        const uint32_t qual_end = text_letters_end(t.bytes, l[3], l[4] - 1);
        const uint32_t binary = text_first(t.facts->binary);
        if (t.bytes[l[0]] != '@' || t.bytes[l[2]] != '+' || qual_end - l[3] != nbases)
                return false;
        if (binary >= l[0] && binary < l[4])
                return false;
        return nbases == 0 || (t.bytes[l[1]] != '+' && t.bytes[l[1]] != '@');
}

static __global__ void __launch_bounds__(TEXT_THREADS) records_kernel(struct text_view t)
{
        const uint32_t nrecords = text_nlines(t) / 4, stride = gridDim.x * TEXT_THREADS;
        for (uint32_t r = blockIdx.x * TEXT_THREADS + threadIdx.x; r < nrecords; r += stride) {
                const uint4 starts = *(const uint4 *)&t.line_starts[4 * r];
                const uint32_t l[5] = { starts.x, starts.y, starts.z, starts.w,
                                        t.line_starts[4 * r + 4] };
                if (!is_strict(t, l))
                        text_note_first(&t.facts->bad, r);
        }
}

/* Records that are known to be strict, after records_kernel. */
static __device__ uint32_t count_strict(const struct text_view &t)
{
        return min(text_nlines(t) / 4, text_first(t.facts->bad));
}

namespace
{

struct letter_counts {
        uint64_t nletters, nvalid, nlow;
};

} // namespace

/* 32 bits of a plane, from a position on. */
static __device__ uint32_t bits_from(const uint32_t *plane, uint32_t at)
{
        return __funnelshift_r(plane[at / 32], plane[at / 32 + 1], at % 32);
}

/* How many bytes before a sequence's line feed, at `to`, are not letters. */
static __device__ uint32_t count_ends(const struct text_view &t, uint32_t line, uint32_t to)
{
        const uint32_t from = t.line_starts[line];
        if (to == from || (t.bases[(to - 1) / 32] >> (to - 1) % 32 & 1) != 0)
                return 0;
        return to - text_letters_end(t.bytes, from, to);
}

/* The usable bits of a word. line: the number of the line in which it begins. */
static __device__ uint32_t find_usable(const struct text_view &t, uint32_t word, uint32_t line,
                                       uint32_t nrecords, struct letter_counts *counts)
{
        const uint32_t bases = t.bases[word];
        uint32_t left = t.lines[word], usable = 0;
        for (uint32_t from = 0;; line++) {
                const uint32_t to = left != 0 ? (uint32_t)__ffs((int)left) - 1 : 32;
                if (line % 4 == 1 && line / 4 < nrecords) {
                        const uint32_t own = text_below(to) & ~text_below(from);
                        uint32_t good = bases & own;
                        counts->nletters += (uint32_t)__popc(own);
                        counts->nvalid += (uint32_t)__popc(good);
                        if (left != 0)
                                counts->nletters -= count_ends(t, line, word * 32 + to);
                        if (t.min_quality > 0) {
                                const uint32_t shift =
                                        t.line_starts[line + 2] - t.line_starts[line];
                                const uint32_t low = good & ~bits_from(t.extra, word * 32 + shift);
                                counts->nlow += (uint32_t)__popc(low);
                                good &= ~low;
                        }
                        usable |= good;
                }
                if (left == 0)
                        return usable;
                left &= left - 1;
                from = to + 1;
        }
}

static __global__ void __launch_bounds__(TEXT_THREADS) usable_kernel(struct text_view t)
{
        const uint32_t nrecords = count_strict(t), stride = gridDim.x * TEXT_WARPS;
        struct letter_counts counts = {};
        for (uint32_t tile = blockIdx.x * TEXT_WARPS + threadIdx.x / 32; tile < t.ntiles;
             tile += stride) {
                const uint32_t word = text_word(tile), own = (uint32_t)__popc(t.lines[word]);
                const uint32_t line = t.tile_lines[tile] + kc_warp_scan(own) - own;
                t.usable[word] = find_usable(t, word, line, nrecords, &counts);
        }
        text_add(&t.facts->nletters, counts.nletters);
        text_add(&t.facts->nvalid, counts.nvalid);
        if (t.min_quality > 0)
                text_add(&t.facts->nlow, counts.nlow);
}

/* Whether nothing but blank lines follows the last whole record. */
static __device__ bool is_blank_rest(const struct text_view &t, uint32_t from)
{
        for (uint32_t n = 0; from < t.end; from++, n++) {
                const uint8_t c = t.bytes[from];
                if (n == TEXT_MAX_NBLANKS || (c != '\n' && c != '\r' && !text_is_blank(c)))
                        return false;
        }
        return true;
}

static __global__ void finish_fastq_kernel(struct text_view t)
{
        const uint32_t nrecords = text_nlines(t) / 4, nstrict = count_strict(t);
        const uint32_t rest = t.line_starts[4 * nstrict], binary = text_first(t.facts->binary);
        const bool all = nrecords == t.tile_lines[t.ntiles] / 4;
        struct kc_gpu_text_result result = {};
        result.foreign = nstrict < nrecords;
        result.consumed = min(rest, t.end) - t.begin;
        if (!result.foreign && all && binary < t.end)
                result.foreign = true;
        if (!result.foreign && all && t.last) {
                result.foreign = !is_blank_rest(t, rest);
                if (!result.foreign)
                        result.consumed = t.end - t.begin;
        }
        result.nreads = nstrict;
        result.nbases = t.facts->nletters;
        result.nskipped = t.facts->nletters - t.facts->nvalid;
        result.nlow_quality = t.facts->nlow;
        t.found->result = result;
        t.found->nwords = t.nwords;
}

enum kc_status kc_gpu_text_fastq(struct kc_gpu_text *text, struct kc_error *err)
{
        enum kc_status status;
        const struct text_view *t = &text->view;
        const cudaStream_t stream = text->gpu->stream;
        records_kernel<<<text_loop_blocks(text->gpu, t->lines_cap / 4), TEXT_THREADS, 0, stream>>>(
                *t);
        KC_TRY(KC_LAUNCHED());
        usable_kernel<<<text_loop_blocks(text->gpu, (size_t)t->ntiles * 32), TEXT_THREADS, 0,
                        stream>>>(*t);
        KC_TRY(KC_LAUNCHED());
        finish_fastq_kernel<<<1, 1, 0, stream>>>(*t);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}
