#include "gpu/text/text_internal.cuh"

static __device__ uint32_t byte_of(const uint32_t (&x)[8], uint32_t i)
{
        return x[i / 4] >> 8 * (i % 4) & 0xff;
}

/* Note the first byte under 9 among those whose bit is set. */
static __device__ void find_binary(const struct text_view &t, const uint32_t (&x)[8], uint32_t at,
                                   uint32_t inside)
{
#pragma unroll
        for (uint32_t i = 0; i < 32; i++)
                if ((inside >> i & 1) != 0 && byte_of(x, i) < 9)
                        text_note_first(&t.facts->binary, at + i);
}

/* The missing line feed of a file that does not end with one. */
static __device__ uint32_t added_line(const struct text_view &t, uint32_t at)
{
        if (!t.last || t.begin == t.end || t.end - at >= 32 || t.bytes[t.end - 1] == '\n')
                return 0;
        return 1u << (t.end - at);
}

/* Both halves are loaded together: they share a sector, which the caches may have dropped by the
 * time of a later load. */
static __device__ void load_bytes(const struct text_view &t, uint32_t at, uint32_t (&x)[8])
{
        const uint4 *from = (const uint4 *)(t.bytes + at);
        uint4 low = make_uint4(0, 0, 0, 0), high = low;
        if (at + 16 < t.end) {
                low = __ldcs(from);
                high = __ldcs(from + 1);
        } else if (at < t.end) {
                low = __ldcs(from);
        }
        x[0] = low.x, x[1] = low.y, x[2] = low.z, x[3] = low.w;
        x[4] = high.x, x[5] = high.y, x[6] = high.z, x[7] = high.w;
}

/* A lane takes 32 bytes, a word of each plane. */
template <enum kc_text_extra EXTRA>
static __global__ void __launch_bounds__(TEXT_THREADS) classify_kernel(struct text_view t)
{
        const uint32_t tile = blockIdx.x * TEXT_WARPS + threadIdx.x / 32, word = text_word(tile);
        if (tile >= t.ntiles)
                return;
        const uint32_t at = word * 32;
        uint32_t x[8];
        load_bytes(t, at, x);
        const struct kc_text_classes classes = kc_text_classify<EXTRA>(x, t.min_quality);
        uint32_t inside = t.end > at ? text_below(min(t.end - at, 32u)) : 0;
        if (at < t.begin)
                inside &= ~text_below(min(t.begin - at, 32u));
        uint32_t lines = classes.lines & inside;
        if (at <= t.end)
                lines |= added_line(t, at);
        if (classes.binary && inside != 0)
                find_binary(t, x, at, inside);
        t.bases[word] = classes.bases & inside;
        t.lines[word] = lines;
        if (EXTRA != KC_TEXT_NO_EXTRA)
                t.extra[word] = classes.extra & inside;
        if (word < t.nwords)
                (EXTRA == KC_TEXT_RARE ? t.gapped : t.codes)[word] = classes.codes;
        const uint32_t nlines = __reduce_add_sync(UINT32_MAX, (uint32_t)__popc(lines));
        if (kc_warp_lane() == 0)
                t.tile_lines[tile] = nlines;
}

/* FASTQ of four lines: note the records with an odd byte in their sequence. line: the number of the
 * line in which the word begins. */
static __device__ void check_letters(const struct text_view &t, uint32_t word, uint32_t line)
{
        const uint32_t at = word * 32, inside = at < t.end ? text_below(min(t.end - at, 32u)) : 0;
        const uint32_t others = inside & ~t.bases[word];
        uint32_t left = t.lines[word];
        for (uint32_t from = 0;; line++) {
                const uint32_t to = left != 0 ? (uint32_t)__ffs((int)left) - 1 : 32;
                const uint32_t own = others & text_below(to) & ~text_below(from);
                if (line % 4 == 1 && text_find_odd(t, word, own) != UINT32_MAX)
                        text_note_first(&t.facts->bad, line / 4);
                if (left == 0)
                        return;
                left &= left - 1;
                from = to + 1;
        }
}

template <bool FASTQ>
static __global__ void __launch_bounds__(TEXT_THREADS) lines_kernel(struct text_view t)
{
        const uint32_t tile = blockIdx.x * TEXT_WARPS + threadIdx.x / 32, word = text_word(tile);
        if (tile >= t.ntiles)
                return;
        uint32_t left = t.lines[word];
        const uint32_t own = (uint32_t)__popc(left);
        uint32_t line = t.tile_lines[tile] + kc_warp_scan(own) - own;
        if (FASTQ)
                check_letters(t, word, line);
        if (word == 0)
                t.line_starts[0] = t.begin;
        for (; left != 0 && line < t.lines_cap; left &= left - 1)
                t.line_starts[++line] = word * 32 + (uint32_t)__ffs((int)left);
}

enum kc_status kc_gpu_text_classify(struct kc_gpu_text *text, enum kc_gpu_text_format format,
                                    struct kc_error *err)
{
        enum kc_status status;
        const struct text_view *t = &text->view;
        const cudaStream_t stream = text->gpu->stream;
        const unsigned grid = text_tile_blocks(t);
        KC_TRY(KC_CUDA(cudaMemsetAsync(t->facts, 0, sizeof *t->facts, stream)));
        if (format == KC_GPU_TEXT_FASTA)
                classify_kernel<KC_TEXT_RARE><<<grid, TEXT_THREADS, 0, stream>>>(*t);
        else if (t->min_quality > 0)
                classify_kernel<KC_TEXT_QUALITY><<<grid, TEXT_THREADS, 0, stream>>>(*t);
        else
                classify_kernel<KC_TEXT_NO_EXTRA><<<grid, TEXT_THREADS, 0, stream>>>(*t);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

enum kc_status kc_gpu_text_find_lines(struct kc_gpu_text *text, enum kc_gpu_text_format format,
                                      struct kc_error *err)
{
        enum kc_status status;
        const struct text_view *t = &text->view;
        const cudaStream_t stream = text->gpu->stream;
        KC_TRY(kc_gpu_text_sum(text->scratch, &text->scratch_nbytes, t->tile_lines,
                               (size_t)t->ntiles + 1, stream, err));
        if (format == KC_GPU_TEXT_FASTQ)
                lines_kernel<true><<<text_tile_blocks(t), TEXT_THREADS, 0, stream>>>(*t);
        else
                lines_kernel<false><<<text_tile_blocks(t), TEXT_THREADS, 0, stream>>>(*t);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}
