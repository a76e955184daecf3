#include "gpu/superkmers/superkmer.cuh"

#include "gpu/superkmers/lists.cuh"
#include "gpu/superkmers/stretch.cuh"

enum {
        MAX_WINDOW = 64, /* for blocks of WARPS warps; blocks for longer windows have half as many,
                            because of their shared memory */
        LIST_ROWS = 20,  /* entries that a lane's list can hold besides those of one window; so few
                            that seven blocks fit on a multiprocessor at k = 31, four at k = 55 */
        SAMPLED_GROUPS = 1 << 12, /* with more, one in SAMPLE_STRIDE is sampled */
        SAMPLE_STRIDE = 16,
        LONGEST_WINDOW = KC_GPU_ENGINE_MAX_K - KC_GPU_USUAL_MINIMIZER + 1,
};

/* Whether an entry is one word, with the high bits of a minimizer's hash. They are enough to tell
 * minimizers of the usual length apart: there are 2^25. */
static constexpr bool is_packed(int m)
{
        return m <= KC_GPU_USUAL_MINIMIZER;
}

/* Shared memory per lane. */
static constexpr size_t lane_nbytes(int window, bool packed)
{
        return (size_t)(2 * window + 1 + LIST_ROWS) * sizeof(uint32_t) +
               (packed ? 0 : (size_t)(window + LIST_ROWS) * sizeof(uint8_t));
}

static constexpr unsigned block_warps(int window)
{
        return window <= MAX_WINDOW ? WARPS : WARPS / 2;
}

/* The lanes' shared memory of a block. */
static constexpr size_t block_nbytes(int window, bool packed)
{
        return block_warps(window) * WARP * lane_nbytes(window, packed);
}

/* The most of it, for any k. */
static constexpr size_t block_most_nbytes(bool packed)
{
        return block_nbytes(MAX_WINDOW, packed) > block_nbytes(LONGEST_WINDOW, packed)
                       ? block_nbytes(MAX_WINDOW, packed)
                       : block_nbytes(LONGEST_WINDOW, packed);
}

template <class Key> kc_superkmer_setup kc_superkmer_setup_for(int k, int m)
{
        kc_superkmer_setup s;
        s.k = k;
        s.m = m;
        s.window = k - s.m + 1;
        s.form = { kc_record_length_bits<Key>(), KC_RECORD_USUAL_POSITION_BITS };
        s.max_nkmers =
                min(1u << s.form.length_bits, (uint32_t)(kc_stretch<Key>::MAX_NBASES - k + 1));
        s.copy_nwords = kc_stretch<Key>::NWORDS;
        s.span_k = k;
        return s;
}

int kc_record_position_bits(uint64_t nbases)
{
        int bits = KC_RECORD_USUAL_POSITION_BITS;
        while (bits < KC_RECORD_MAX_POSITION_BITS && nbases > (UINT64_C(1) << bits) / 5 * 4)
                bits++;
        return bits;
}

/* A window of w random m-mers changes its minimum about every (w + 1) / 2 positions; the ends of
 * spans add some records. */
uint64_t kc_superkmer_expected(const kc_superkmer_setup *setup, uint64_t nkmers)
{
        const uint64_t window = (uint64_t)setup->window;
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
        uint32_t shift;
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

__device__ static uint32_t stream_next(base_stream *s)
{
        uint32_t ahead = 0;
        if (s->nleft > 0) {
                ahead = *s->next++;
                s->nleft--;
        }
        const uint32_t bases = __funnelshift_r(s->previous, ahead, s->shift);
        s->previous = ahead;
        return bases;
}

static_assert(block_most_nbytes(false) + sizeof(sorted_boards) <= KC_GPU_BLOCK_SHARED_NBYTES,
              "shared memory");

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
        kc_mmers mmers;
        uint32_t shift; /* of the last m-mer */
        int m;
};

} // namespace

/* Start a walk: the next m-mer is the first one. */
__device__ static span_walk walk_begin(const uint64_t *words, uint64_t position, uint32_t nbases,
                                       int m)
{
        span_walk w = {};
        w.m = m;
        w.shift = 2 * (uint32_t)(m - 1);
        stream_begin(&w.bases, words, position, nbases);
        kc_mmers_feed(&w.mmers, stream_next(&w.bases));
        return w;
}

static_assert(KC_GPU_MAX_MINIMIZER <= 15, "an m-mer and the base before it are in 16 bases");

/* The hash of the next m-mer. */
__device__ static uint32_t walk_hash(span_walk *w)
{
        w->shift += 2;
        if (w->shift > 32) {
                kc_mmers_feed(&w->mmers, stream_next(&w->bases));
                w->shift = 2;
        }
        const kc_mmer mmer = kc_mmers_at(&w->mmers, w->shift, w->m);
        return kc_mmer_hash(&mmer);
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
template <bool PACKED>
__device__ static void next_block(const kc_superkmer_setup &setup, span_walk *w, uint32_t *hashes,
                                  lane_list<PACKED> *list, open_record *record, uint32_t kmer,
                                  uint32_t nkmers)
{
        uint32_t least = UINT32_MAX, end = list->n * WARP + threadIdx.x % WARP;
        for (int t = 0; t < setup.window; t++, kmer++) {
                uint32_t hash = walk_hash(w);
                least = min(least, hash);
                uint32_t minimum = min(least, hashes[(t + 1) * WARP]);
                hashes[t * WARP] = hash;
                list->store(end, *record);
                bool ends = (minimum != record->minimizer ||
                             kmer - record->start == setup.max_nkmers) &&
                            kmer < nkmers;
                end += ends ? WARP : 0;
                record->start = ends ? kmer : record->start;
                record->minimizer = ends ? minimum : record->minimizer;
        }
        list->n = end / WARP;
        make_suffix_minima(hashes, setup.window);
}

/* The chunk that has a group. */
__device__ static uint32_t chunk_of(const struct kc_gpu_chunks &chunks, uint32_t group)
{
        uint32_t low = 0, high = chunks.n;
        while (high - low > 1) {
                const uint32_t middle = low + (high - low) / 2;
                if (chunks.table[middle].first_group <= group)
                        low = middle;
                else
                        high = middle;
        }
        return low;
}

namespace
{

struct group_span {
        const uint64_t *words;
        uint64_t position;
        uint32_t nkmers; /* 0: this lane has none */
};

} // namespace

/* How many k-mers begin in span `number` of the chunk. Of the span's own, those for which the rest
 * of the segment is too short are missing, so look ahead as far as that matters. */
__device__ static uint32_t span_nkmers(const kc_superkmer_setup &setup,
                                       const struct kc_gpu_chunk *chunk, uint32_t number)
{
        const uint32_t missing = (uint32_t)(setup.k - setup.span_k);
        uint8_t span = chunk->groups[number / KC_GROUP_NSPANS].spans[number % KC_GROUP_NSPANS];
        const uint32_t own = kc_group_span_nkmers(span);
        uint32_t left = own;
        while (left < own + missing && !kc_group_span_ends(span)) {
                number++;
                span = chunk->groups[number / KC_GROUP_NSPANS].spans[number % KC_GROUP_NSPANS];
                left += kc_group_span_nkmers(span);
        }
        return left > missing ? min(own, left - missing) : 0;
}

/* Leave out the k-mers that lie within marks, which are the first or the last ones of their
 * segment. */
__device__ static void leave_marked(const kc_superkmer_setup &setup,
                                    const struct kc_gpu_chunk *chunk, group_span *span)
{
        const uint32_t k = (uint32_t)setup.k;
        uint32_t begin = (uint32_t)span->position % KC_CHUNK_NBASES, end = begin + span->nkmers;
        uint32_t low = 0, high = chunk->nmarks;
        while (low < high) { /* the first mark that may reach beyond `begin` */
                const uint32_t middle = low + (high - low) / 2;
                const uint32_t first = chunk->marks[middle].first;
                if (first < begin && begin - first >= KC_GPU_ENGINE_MAX_K)
                        low = middle + 1;
                else
                        high = middle;
        }
        const uint32_t before = begin;
        for (; low < chunk->nmarks && chunk->marks[low].first < end; low++) {
                const struct kc_mark mark = chunk->marks[low];
                const uint32_t stop = mark.first + mark.n - min(k - 1, mark.n);
                if (mark.first <= begin)
                        begin = max(begin, stop);
                else if (mark.first < stop)
                        end = mark.first;
        }
        span->nkmers = end > begin ? end - begin : 0;
        span->position += begin - before;
}

/* The lane's span of a group. */
__device__ static group_span span_of(const kc_superkmer_setup &setup,
                                     const struct kc_gpu_chunks &chunks, uint32_t group)
{
        const uint32_t number = chunk_of(chunks, group), lane = kc_warp_lane();
        const struct kc_gpu_chunk *chunk = &chunks.table[number];
        const uint32_t index = group - chunk->first_group;
        const struct kc_span_group *spans = &chunk->groups[index];
        const bool has_one = index * KC_GROUP_NSPANS + lane < chunk->nspans;
        const uint8_t span = has_one ? spans->spans[lane] : 0;
        group_span s = {};
        s.words = chunk->words;
        const uint32_t own = has_one ? kc_span_own_nbases(kc_group_span_nkmers(span),
                                                          kc_group_span_ends(span), setup.span_k)
                                     : 0;
        s.position = (uint64_t)number << KC_CHUNK_BITS;
        s.position += spans->first + kc_warp_scan(own) - own;
        s.nkmers = has_one ? span_nkmers(setup, chunk, index * KC_GROUP_NSPANS + lane) : 0;
        if (chunk->nmarks > 0)
                leave_marked(setup, chunk, &s);
        return s;
}

/*
 * One lane per span; all lanes of a warp go through their spans in lockstep. The minimum over the
 * window that ends at an m-mer is the smaller of two: the minimum of its block of `window` m-mers
 * up to it, and that of a suffix of the previous block (van Herk 1992, Gil and Werman 1993). So
 * every position takes the same work.
 */
template <enum find_mode MODE, bool PACKED>
static __global__ void __launch_bounds__(WARP *WARPS)
        find_superkmers_kernel(kc_superkmer_setup setup, struct kc_gpu_chunks chunks,
                               uint32_t first, uint32_t ngroups, find_out out)
{
        extern __shared__ uint32_t shared[];
        __shared__ block_boards<MODE> boards;
        const uint32_t warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
        const int window = setup.window, nrows = window + LIST_ROWS;
        uint32_t *hashes = shared + warp * (uint32_t)(window + 1 + nrows) * WARP + lane;
        uint32_t *starts = shared + blockDim.x * (uint32_t)(window + 1 + nrows);
        lane_list<PACKED> list = { hashes - lane + (window + 1) * WARP,
                                   (uint8_t *)starts + warp * (uint32_t)nrows * WARP, 0 };
        hashes[window * WARP] = UINT32_MAX; /* the empty suffix */
        if constexpr (MODE == FIND_SOME || MODE == FIND_COPY) {
                if (threadIdx.x < out.nlists)
                        boards.bins[threadIdx.x] = out.records.bins[threadIdx.x];
                __syncthreads();
        }

        const uint32_t group = (blockIdx.x * (blockDim.x / WARP) + warp) * out.stride;
        if (group >= ngroups)
                return;
        const group_span span = span_of(setup, chunks, first + group);
        const uint32_t nkmers = span.nkmers, most = __reduce_max_sync(~0u, nkmers);
        boards.warps[warp].position[lane] = span.position;

        span_walk w = walk_begin(span.words, span.position % KC_CHUNK_NBASES,
                                 max(nkmers, 1u) + (uint32_t)setup.k - 1, setup.m);
        open_record record = first_block(&w, hashes, window);
        for (uint32_t kmer = 1; kmer < most; kmer += (uint32_t)window) {
                next_block(setup, &w, hashes, &list, &record, kmer, nkmers);
                if (__any_sync(~0u, (int)list.n > LIST_ROWS - 2))
                        empty_lists(setup, out, span.words, &boards, &list, record.start);
        }
        if (nkmers > 0)
                list.store(list.n++ * WARP + lane, record);
        __syncwarp();
        empty_lists(setup, out, span.words, &boards, &list, nkmers);
}

/* One lane per span. */
static __global__ void __launch_bounds__(WARP *WARPS)
        count_kmers_kernel(kc_superkmer_setup setup, struct kc_gpu_chunks chunks, uint64_t *nkmers)
{
        const uint32_t group = blockIdx.x * WARPS + threadIdx.x / WARP;
        if (group >= chunks.ngroups)
                return;
        const uint32_t own = span_of(setup, chunks, group).nkmers;
        const uint32_t all = __reduce_add_sync(~0u, own);
        if (kc_warp_lane() == 0)
                atomicAdd((unsigned long long *)nkmers, (unsigned long long)all);
}

/* Launch one warp for every out->stride-th group. */
template <enum find_mode MODE, bool PACKED>
static enum kc_status launch_as(cudaStream_t stream, const kc_superkmer_setup *setup,
                                const struct kc_gpu_chunks *chunks, uint32_t first,
                                uint32_t ngroups, const find_out *out, struct kc_error *err)
{
        enum kc_status status;
        const unsigned nwarps = block_warps(setup->window);
        const size_t shared = block_nbytes(setup->window, PACKED);
        auto *kernel = find_superkmers_kernel<MODE, PACKED>;
        /* A limit for any k: threads that share a device may launch this for different k at a
         * time. */
        KC_TRY(KC_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            (int)block_most_nbytes(PACKED))));
        kernel<<<kc_ceil_div(ngroups, nwarps * out->stride), nwarps * WARP, shared, stream>>>(
                *setup, *chunks, first, ngroups, *out);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

template <enum find_mode MODE>
static enum kc_status launch(cudaStream_t stream, const kc_superkmer_setup *setup,
                             const struct kc_gpu_chunks *chunks, uint32_t first, uint32_t ngroups,
                             const find_out *out, struct kc_error *err)
{
        auto *launch_it = is_packed(setup->m) ? launch_as<MODE, true> : launch_as<MODE, false>;
        return ngroups == 0 ? KC_OK : launch_it(stream, setup, chunks, first, ngroups, out, err);
}

enum kc_status kc_superkmer_find(struct kc_gpu *gpu, const kc_superkmer_setup *setup,
                                 const struct kc_gpu_chunks *chunks, uint32_t first,
                                 uint32_t ngroups, const struct kc_records_out *records,
                                 struct kc_error *err)
{
        find_out out = {};
        const struct kc_bins *begin = records->bins, *end = begin + records->nlists - 1;
        out.records = *records;
        out.nlists = (uint32_t)records->nlists;
        out.stride = 1;
        out.all = { begin->first, end->first - begin->first + end->width, 0 };
        for (out.step = 1; 2 * out.step < out.nlists; out.step *= 2)
                ;
        if (records->copies != NULL)
                return launch<FIND_COPY>(gpu->stream, setup, chunks, first, ngroups, &out, err);
        if (records->nlists > 1 || begin->width != 0)
                return launch<FIND_SOME>(gpu->stream, setup, chunks, first, ngroups, &out, err);
        return launch<FIND_ALL>(gpu->stream, setup, chunks, first, ngroups, &out, err);
}

enum kc_status kc_superkmer_sample(struct kc_gpu *gpu, const kc_superkmer_setup *setup,
                                   const struct kc_gpu_chunks *chunks, struct kc_load *loads,
                                   struct kc_error *err)
{
        find_out out = {};
        out.loads = loads;
        out.stride = chunks->ngroups > SAMPLED_GROUPS ? SAMPLE_STRIDE : 1;
        return launch<FIND_LOADS>(gpu->stream, setup, chunks, 0, chunks->ngroups, &out, err);
}

enum kc_status kc_superkmer_count(struct kc_gpu *gpu, const kc_superkmer_setup *setup,
                                  const struct kc_gpu_chunks *chunks, uint64_t *nkmers,
                                  struct kc_error *err)
{
        if (chunks->ngroups == 0)
                return KC_OK;
        count_kmers_kernel<<<kc_ceil_div(chunks->ngroups, WARPS), WARP * WARPS, 0, gpu->stream>>>(
                *setup, *chunks, nkmers);
        return KC_LAUNCHED();
}

#define INSTANTIATE(Key) template kc_superkmer_setup kc_superkmer_setup_for<Key>(int, int);
KC_GPU_KEYS(INSTANTIATE)
