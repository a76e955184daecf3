#include "gpu/count/superkmer.cuh"

#include "gpu/device/warp.cuh"

enum {
        WARP = 32,
        WARPS = 4,      /* per block; they work independently */
        LIST_ROWS = 24, /* entries that a lane's list can hold besides those of one window */
        START_BITS = 7, /* of an entry: number of the record's first k-mer in its span */
};
static_assert(KC_SPAN_NKMERS <= 1 << START_BITS, "an entry holds the place in the span");

kc_superkmer_setup kc_superkmer_setup_for(int k, int bin_bits, int max_nbases)
{
        kc_superkmer_setup s;
        s.k = k;
        s.m = kc_gpu_minimizer_length(k);
        s.window = k - s.m + 1;
        s.bin_bits = bin_bits;
        s.max_nkmers = (uint32_t)(max_nbases - k + 1);
        return s;
}

/* A window of w random m-mers changes its minimum about every (w + 1) / 2 positions; the ends of
 * spans add some. */
uint64_t kc_superkmer_expected(int k, uint64_t nkmers)
{
        uint64_t window = (uint64_t)(k - kc_gpu_minimizer_length(k) + 1);
        uint64_t n = nkmers / (window + 1) * 5 / 2 + nkmers / 32 + 4096;
        return n < nkmers + 4096 ? n : nkmers + 4096;
}

namespace
{

/* The bases from a position on, 16 at a time; arbitrary bases follow the last one. */
struct base_stream {
        const uint32_t *next;
        uint32_t nleft;    /* words of the span from *next on */
        uint32_t previous; /* *(next - 1); its bases from bit `shift` on are still to come */
        uint32_t shift, bits;
};

} // namespace

__device__ static void stream_begin(base_stream *s, const uint64_t *words, uint64_t position,
                                    uint32_t nbases)
{
        s->next = (const uint32_t *)words + position / 16;
        s->nleft = (uint32_t)(position % 16 + nbases + 15) / 16 - 1;
        s->shift = 2 * (uint32_t)(position % 16);
        s->previous = *s->next++;
}

__device__ static void stream_refill(base_stream *s)
{
        uint32_t ahead = 0;
        if (s->nleft > 0) {
                ahead = *s->next++;
                s->nleft--;
        }
        s->bits = __funnelshift_r(s->previous, ahead, s->shift);
        s->previous = ahead;
}

namespace
{

/*
 * A lane's records so far, | high bits of the minimizer's hash | start |, one per row in the lane's
 * column. A record ends where the next one begins.
 */
struct lane_list {
        uint32_t *rows; /* [rows][WARP] shared */
        uint32_t n;
};

/* Where records are written. */
struct records_out {
        uint64_t *records;
        uint64_t cap;
        unsigned long long *n;
};

/* What the lanes of a warp share while their lists are emptied. */
struct warp_board {
        uint64_t position[WARP]; /* of the span's first base */
        uint32_t before[WARP];   /* number of entries of the lanes before */
        uint32_t end[WARP];      /* number of the k-mer where the last record ends */
};

} // namespace

/* The lane that has entry e of the warp's entries. */
__device__ static uint32_t owner_of(const warp_board *board, uint32_t e)
{
        uint32_t owner = 0;
        for (uint32_t step = WARP / 2; step > 0; step /= 2)
                if (board->before[owner + step] <= e)
                        owner += step;
        return owner;
}

/* Turn all entries of the warp into records, divided evenly among lanes. `end`: where the lane's
 * last record ends. */
__device__ static void empty_lists(const kc_superkmer_setup &setup, const records_out &out,
                                   warp_board *board, lane_list *list, uint32_t end)
{
        const uint32_t lane = kc_warp_lane(), sum = kc_warp_scan(list->n);
        const uint32_t total = __shfl_sync(~0u, sum, WARP - 1);
        uint64_t place = 0;
        if (lane == 0)
                place = atomicAdd(out.n, (unsigned long long)total);
        place = __shfl_sync(~0u, place, 0);
        const uint64_t room = place < out.cap ? out.cap - place : 0;
        const uint32_t ntaken = (uint32_t)min(room, (uint64_t)total);
        board->before[lane] = sum - list->n;
        board->end[lane] = end;
        __syncwarp();
        for (uint32_t e = lane; e < ntaken; e += WARP) {
                uint32_t owner = owner_of(board, e), row = e - board->before[owner];
                uint32_t entry = list->rows[row * WARP + owner];
                bool last = owner + 1 < WARP ? e + 1 == board->before[owner + 1] : e + 1 == total;
                uint32_t start = entry % (1 << START_BITS);
                uint32_t stop = last ? board->end[owner]
                                     : list->rows[(row + 1) * WARP + owner] % (1 << START_BITS);
                __stcs(&out.records[place + e],
                       kc_record(board->position[owner] + start, stop - start,
                                 kc_minimizer_bin(entry >> START_BITS, setup.bin_bits)));
        }
        __syncwarp();
        list->n = 0;
}

/* Replace each of the lane's hashes[0 .. n-1] with the minimum of it and those after it. */
__device__ static void make_suffix_minima(uint32_t *hashes, int n)
{
        uint32_t least = hashes[(n - 1) * WARP];
        for (int t = n - 2; t >= 0; t--) {
                least = min(least, hashes[t * WARP]);
                hashes[t * WARP] = least;
        }
}

namespace
{

/* A lane's progress through a span, one m-mer at a time. */
struct span_walk {
        base_stream bases;
        kc_mmer mmer;
        uint32_t nfed;
        int m;
};

} // namespace

__device__ static void walk_feed(span_walk *w)
{
        if (w->nfed++ % 16 == 0)
                stream_refill(&w->bases);
        kc_mmer_feed(&w->mmer, w->bases.bits & 3, w->m);
        w->bases.bits >>= 2;
}

/* Start a walk: after m - 1 bases, the next one completes the first m-mer. */
__device__ static span_walk walk_begin(const uint64_t *words, uint64_t position, uint32_t nbases,
                                       int m)
{
        span_walk w = {};
        w.m = m;
        stream_begin(&w.bases, words, position, nbases);
        for (int i = 0; i < m - 1; i++)
                walk_feed(&w);
        return w;
}

__device__ static uint32_t walk_hash(span_walk *w)
{
        walk_feed(w);
        return kc_mmer_hash(&w->mmer);
}

namespace
{

/* The record that a lane is currently extending. */
struct open_record {
        uint32_t start, minimizer;
};

} // namespace

__device__ static uint32_t list_entry(const open_record &record)
{
        return (record.minimizer & ~0u << START_BITS) | record.start;
}

/* The first block of m-mers is that of the first k-mer; its minimum is that k-mer's minimizer. */
__device__ static open_record first_block(span_walk *w, uint32_t *hashes, int window)
{
        open_record record = { 0, UINT32_MAX };
        for (int t = 0; t < window; t++) {
                uint32_t hash = walk_hash(w);
                record.minimizer = min(record.minimizer, hash);
                hashes[t * WARP] = hash;
        }
        make_suffix_minima(hashes, window);
        return record;
}

/* A further block, from k-mer `kmer` on. An entry is always stored, but kept only if a record ends:
 * a branch would cost more. */
__device__ static void next_block(const kc_superkmer_setup &setup, span_walk *w, uint32_t *hashes,
                                  lane_list *list, open_record *record, uint32_t kmer,
                                  uint32_t nkmers)
{
        uint32_t least = UINT32_MAX, *end = list->rows + list->n * WARP + threadIdx.x % WARP;
        for (int t = 0; t < setup.window; t++, kmer++) {
                uint32_t hash = walk_hash(w);
                least = min(least, hash);
                uint32_t minimum = min(least, hashes[(t + 1) * WARP]);
                hashes[t * WARP] = hash;
                *end = list_entry(*record);
                bool ends = (minimum != record->minimizer ||
                             kmer - record->start == setup.max_nkmers) &&
                            kmer < nkmers;
                end += ends ? WARP : 0;
                record->start = ends ? kmer : record->start;
                record->minimizer = ends ? minimum : record->minimizer;
        }
        list->n = (uint32_t)(end - list->rows) / WARP;
        make_suffix_minima(hashes, setup.window);
}

/*
 * One lane per span; all lanes of a warp go through their spans in lockstep. The minimum over the
 * window that ends at an m-mer is that of its block of `window` m-mers up to it, and of a suffix of
 * the block before (van Herk 1992, Gil and Werman 1993). So every position takes the same work.
 */
static __global__ void __launch_bounds__(WARP *WARPS)
        find_superkmers_kernel(kc_superkmer_setup setup, const uint64_t *words,
                               const kc_span *spans, size_t nspans, records_out out)
{
        extern __shared__ uint32_t shared[];
        __shared__ warp_board boards[WARPS];
        const uint32_t warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
        const int window = setup.window, nrows = window + LIST_ROWS;
        uint32_t *hashes = shared + warp * (uint32_t)(window + 1 + nrows) * WARP + lane;
        warp_board *board = &boards[warp];
        lane_list list = { hashes - lane + (window + 1) * WARP, 0 };
        hashes[window * WARP] = UINT32_MAX; /* the empty suffix */

        const size_t index = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
        kc_span span = {};
        if (index < nspans)
                span = spans[index];
        const uint32_t nkmers = span.nkmers, most = __reduce_max_sync(~0u, nkmers);
        board->position[lane] = (uint64_t)span.word * 32 + span.base;

        span_walk w = walk_begin(words, board->position[lane],
                                 max(nkmers, 1u) + (uint32_t)setup.k - 1, setup.m);
        open_record record = first_block(&w, hashes, window);
        for (uint32_t kmer = 1; kmer < most; kmer += (uint32_t)window) {
                next_block(setup, &w, hashes, &list, &record, kmer, nkmers);
                if (__any_sync(~0u, (int)list.n > LIST_ROWS - 2))
                        empty_lists(setup, out, board, &list, record.start);
        }
        if (nkmers > 0)
                list.rows[list.n++ * WARP + lane] = list_entry(record);
        __syncwarp();
        empty_lists(setup, out, board, &list, nkmers);
}

enum kc_status kc_superkmer_find(struct kc_gpu *gpu, const kc_superkmer_setup *setup,
                                 const struct kc_gpu_reads *reads, size_t first, size_t nspans,
                                 uint64_t *records, uint64_t cap, uint64_t *n, struct kc_error *err)
{
        enum kc_status status;
        const size_t rows = (size_t)(2 * setup->window + 1 + LIST_ROWS);
        const size_t shared = WARPS * WARP * rows * sizeof(uint32_t);
        const records_out out = { records, cap, (unsigned long long *)n };
        KC_TRY(KC_CUDA(cudaMemsetAsync(n, 0, sizeof *n, gpu->stream)));
        if (nspans == 0)
                return KC_OK;
        KC_TRY(KC_CUDA(cudaFuncSetAttribute(
                find_superkmers_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared)));
        find_superkmers_kernel<<<kc_ceil_div(nspans, WARP * WARPS), WARP * WARPS, shared,
                                 gpu->stream>>>(*setup, reads->words, reads->spans + first, nspans,
                                                out);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}
