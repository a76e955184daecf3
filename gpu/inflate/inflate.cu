#include "gpu/inflate/inflate.cuh"

#include "gpu/inflate/crc.cuh"
#include "gpu/inflate/expand.cuh"

enum { MAX_GRID = 1 << 30 };

namespace
{

/* The deflate data that a warp reads. */
struct input {
        const uint32_t *words; /* the first one may begin with other data */
        uint32_t bit, end;     /* from the beginning of the words */
};

/* The block that a warp inflates. All of it is the same in all lanes. */
struct inflation {
        struct input in;
        struct kc_inflate_text text;
        struct kc_inflate_scratch *scratch;
        uint32_t strip_words; /* of input for each lane, at most KC_INFLATE_STRIP_WORDS */
        bool is_fixed;        /* the scratch has the fixed codes */
};

} // namespace

/* Copy the input from the next bit on to the scratch. Returns the place of that bit there. */
static __device__ uint32_t stage(const struct inflation *it)
{
        const struct input *in = &it->in;
        const uint32_t first = in->bit / 32, n = (in->end + 31) / 32;
        __syncwarp();
#pragma unroll
        for (uint32_t row = 0; row < KC_INFLATE_INPUT_WORDS; row += 32) {
                const uint32_t i = row + kc_warp_lane();
                if (i < KC_INFLATE_INPUT_WORDS)
                        it->scratch->input[i] = first + i < n ? in->words[first + i] : 0;
        }
        __syncwarp();
        return in->bit % 32;
}

/* Copy a block that is not compressed, from its lengths on. */
static __device__ enum kc_inflate_status copy_stored(struct inflation *it)
{
        struct input *in = &it->in;
        struct kc_inflate_text *text = &it->text;
        in->bit = (in->bit + 7) / 8 * 8;
        const uint32_t word = kc_inflate_peek(it->scratch->input, stage(it));
        const uint32_t n = word % 65536;
        in->bit += 32;
        if ((word >> 16 ^ n) != 65535 || in->bit > in->end || 8 * n > in->end - in->bit)
                return KC_INFLATE_INVALID;
        if (n > text->n - text->at)
                return KC_INFLATE_LENGTH;
        const uint8_t *bytes = (const uint8_t *)in->words + in->bit / 8;
#pragma unroll 4
        for (uint32_t i = kc_warp_lane(); i < n; i += 32)
                text->ring[(text->at + i) % KC_INFLATE_RING_NBYTES] = text->bytes[text->at + i] =
                        bytes[i];
        __syncwarp();
        in->bit += 8 * n;
        text->at += n;
        return KC_INFLATE_SOUND;
}

/* Make the next window's strips as long as the lists of tokens allow. */
static __device__ void adapt(struct inflation *it, enum kc_inflate_stop stop, uint32_t ntokens)
{
        const uint32_t most = __reduce_max_sync(UINT32_MAX, ntokens);
        if (stop == KC_INFLATE_TOKENS_FULL)
                it->strip_words = (it->strip_words / 2) | 1;
        else if (2 * most < KC_INFLATE_NTOKENS && it->strip_words < KC_INFLATE_STRIP_WORDS)
                it->strip_words += 2;
}

/* Decode a window of compressed data. *ended: it was the last one of its deflate block. */
static __device__ enum kc_inflate_status decode_window(struct inflation *it, bool *ended)
{
        struct input *in = &it->in;
        uint32_t nlanes;
        if (in->bit >= in->end)
                return KC_INFLATE_INVALID;
        const uint32_t begin = stage(it), left = in->end - in->bit;
        const struct kc_inflate_strip strip =
                kc_inflate_window(it->scratch, begin, begin + left, 32 * it->strip_words, &nlanes);
        const int last = (int)nlanes - 1;
        const enum kc_inflate_stop stop =
                (enum kc_inflate_stop)__shfl_sync(UINT32_MAX, (uint32_t)strip.stop, last);
        const uint32_t nbits = __shfl_sync(UINT32_MAX, strip.end, last) - begin;
        const bool counts = kc_warp_lane() < nlanes;
        const uint32_t ntokens = counts ? strip.ntokens : 0;
        const uint32_t nbytes = __reduce_add_sync(UINT32_MAX, counts ? strip.nbytes : 0);
        if (stop == KC_INFLATE_NO_CODE || nbits > left)
                return KC_INFLATE_INVALID;
        if (nbytes > it->text.n - it->text.at)
                return KC_INFLATE_LENGTH;
        if (!kc_inflate_expand(&it->text, it->scratch->tokens, ntokens))
                return KC_INFLATE_INVALID;
        adapt(it, stop, ntokens);
        in->bit += nbits;
        *ended = stop == KC_INFLATE_AT_END_OF_BLOCK;
        return KC_INFLATE_SOUND;
}

static __device__ enum kc_inflate_status decode_windows(struct inflation *it)
{
        enum kc_inflate_status status = KC_INFLATE_SOUND;
        for (bool ended = false; !ended && status == KC_INFLATE_SOUND;)
                status = decode_window(it, &ended);
        return status;
}

enum deflate_type { STORED, FIXED, DYNAMIC };

/* Make the codes of a compressed block whose type ends at `bit` of the scratch's input. */
static __device__ bool make_codes(struct inflation *it, uint32_t type, uint32_t bit)
{
        const uint32_t begin = bit;
        struct kc_inflate_sizes sizes;
        if (type == FIXED && it->is_fixed)
                return true;
        it->is_fixed = type == FIXED;
        if (it->is_fixed)
                sizes = kc_inflate_fixed_head(it->scratch);
        else if (!kc_inflate_read_head(it->scratch, &bit, &sizes))
                return false;
        it->in.bit += bit - begin;
        return it->in.bit <= it->in.end && kc_inflate_make_codes(it->scratch, &sizes);
}

/* Inflate a deflate block. *is_last: it says that it is the last one. */
static __device__ enum kc_inflate_status inflate_deflate_block(struct inflation *it, bool *is_last)
{
        if (it->in.end - it->in.bit < 3)
                return KC_INFLATE_INVALID;
        const uint32_t bit = stage(it), word = kc_inflate_peek(it->scratch->input, bit);
        const uint32_t type = (word >> 1) % 4;
        *is_last = word % 2 != 0;
        it->in.bit += 3;
        if (type == STORED)
                return copy_stored(it);
        if (type > DYNAMIC || !make_codes(it, type, bit + 3))
                return KC_INFLATE_INVALID;
        return decode_windows(it);
}

static __device__ enum kc_inflate_status inflate_data(struct inflation *it)
{
        bool is_last = false;
        while (!is_last) {
                const enum kc_inflate_status status = inflate_deflate_block(it, &is_last);
                if (status != KC_INFLATE_SOUND)
                        return status;
        }
        if (it->text.at != it->text.n)
                return KC_INFLATE_LENGTH;
        return (it->in.bit + 7) / 8 == it->in.end / 8 ? KC_INFLATE_SOUND : KC_INFLATE_TRAILING;
}

static __device__ bool is_within(uint64_t at, uint32_t n, size_t size)
{
        return n <= KC_BGZF_MAX_NBYTES && at <= size && n <= size - at;
}

static __device__ enum kc_inflate_status inflate_block(const struct kc_inflate *inflate,
                                                       const struct kc_bgzf_block *block,
                                                       struct kc_inflate_scratch *scratch)
{
        if (!is_within(block->at, block->nbytes, inflate->nbytes) ||
            !is_within(block->text_at, block->text_nbytes, inflate->text_nbytes))
                return KC_INFLATE_TABLE;
        const uint32_t skip = 8 * (uint32_t)(block->at % 4);
        struct inflation it = {
                { (const uint32_t *)(inflate->bytes + block->at / 4 * 4), skip,
                  skip + 8 * block->nbytes },
                { inflate->text + block->text_at, scratch->ring, block->text_nbytes, 0 },
                scratch,
                KC_INFLATE_STRIP_WORDS,
                false,
        };
        const enum kc_inflate_status status = inflate_data(&it);
        if (status != KC_INFLATE_SOUND)
                return status;
        return kc_crc32(it.text.bytes, it.text.n, scratch->crc) == block->crc ? KC_INFLATE_SOUND
                                                                              : KC_INFLATE_CRC;
}

static __global__ void __launch_bounds__(32)
        inflate_blocks_kernel(struct kc_inflate inflate, unsigned long long *refused)
{
        __shared__ struct kc_inflate_scratch scratch;
        for (size_t b = blockIdx.x; b < inflate.nblocks; b += gridDim.x) {
                const enum kc_inflate_status status =
                        inflate_block(&inflate, &inflate.blocks[b], &scratch);
                __syncwarp();
                if (kc_warp_lane() != 0)
                        continue;
                inflate.status[b] = status;
                if (status != KC_INFLATE_SOUND)
                        atomicMax(refused, (unsigned long long)(inflate.nblocks - b));
        }
}

enum kc_status kc_gpu_inflate(struct kc_gpu_stream on, const struct kc_inflate *inflate,
                              unsigned long long *refused, struct kc_error *err)
{
        enum kc_status status;
        const size_t most = MAX_GRID, grid = inflate->nblocks < most ? inflate->nblocks : most;
        KC_TRY(KC_CUDA(cudaMemsetAsync(refused, 0, sizeof *refused, on.stream)));
        if (grid == 0)
                return KC_OK;
        inflate_blocks_kernel<<<(unsigned)grid, 32, 0, on.stream>>>(*inflate, refused);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}
