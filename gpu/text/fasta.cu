/*
 * FASTA. The first letter of a line says what the line is. The letters of all sequences are moved
 * together, and a place without a base stands for each header, so that no segment continues across
 * it:
 *
 *      text     >a \n ACGT \n ACG \n >b \n NACG \n
 *      places   >     ACGT    ACG    >     NACG
 *      usable   0     1111    111    0     0111
 *
 * From here on, "positions" are in the text, and "places" are in what remains of it.
 */
#include "gpu/text/text_internal.cuh"

enum { CODE_WORDS = TEXT_TILE_NBYTES / 16 + 3, USABLE_WORDS = TEXT_TILE_NBYTES / 32 + 2 };

namespace
{

/* What part of the text is parsed: all, unless it has more lines than there is room for. */
struct text_extent {
        uint32_t nlines; /* that are complete */
        uint32_t nshown; /* these, and perhaps one that is not */
        uint32_t end;
        bool last; /* the file ends there */
        bool partial;
};

} // namespace

static __device__ struct text_extent extent_of(const struct text_view &t)
{
        const uint32_t nlines = text_nlines(t);
        if (t.tile_lines[t.ntiles] > nlines)
                return { nlines, nlines, t.line_starts[nlines], false, true };
        return { nlines, nlines + (t.line_starts[nlines] < t.end), t.end, t.last, false };
}

/* ---- lines ---- */

static __device__ enum text_kind kind_of(uint8_t first)
{
        if (first == '>')
                return TEXT_HEADER;
        return first == ';' || first == '\n' ? TEXT_NEITHER : TEXT_SEQUENCE;
}

static __global__ void __launch_bounds__(TEXT_THREADS) kinds_kernel(struct text_view t)
{
        const struct text_extent extent = extent_of(t);
        const uint32_t stride = gridDim.x * TEXT_THREADS;
        unsigned last = 0, first = 0;
        for (uint32_t line = blockIdx.x * TEXT_THREADS + threadIdx.x; line < extent.nshown;
             line += stride) {
                const uint32_t at = t.line_starts[line];
                const bool fresh = line > 0 || t.noverlap == 0;
                const uint8_t letter = fresh ? t.bytes[at] : 'A';
                const enum text_kind kind = kind_of(letter);
                t.kinds[line] = kind;
                if (letter == '@' || letter == '+')
                        text_note_first(&t.facts->bad, at);
                if (kind == TEXT_HEADER) {
                        last = max(last, line + 1);
                        first = max(first, UINT32_MAX - line);
                }
        }
        last = __reduce_max_sync(UINT32_MAX, last);
        first = __reduce_max_sync(UINT32_MAX, first);
        if (kc_warp_lane() != 0 || last == 0)
                return;
        atomicMax(&t.facts->last_header, last);
        atomicMax(&t.facts->first_header, first);
}

/* ---- letters ---- */

namespace
{

/* The part of a line that lies in a word. */
struct line_part {
        uint32_t word, line, from; /* from: the bit where it begins */
        uint32_t bits;
        uint32_t rare; /* of these, the ones in the plane of rare bytes */
};

} // namespace

static __device__ void refuse_first(const struct text_view &t, uint32_t word, uint32_t bits)
{
        if (bits != 0)
                text_note_first(&t.facts->bad, word * 32 + (uint32_t)__ffs((int)bits) - 1);
}

/* Where the line's letters end, as far as this text shows: blanks at the end of a text may or may
 * not end a line. */
static __device__ uint32_t line_end(const struct text_view &t, const struct text_extent &extent,
                                    uint32_t line)
{
        const uint32_t from = t.line_starts[line];
        if (line < extent.nlines)
                return text_letters_end(t.bytes, from, t.line_starts[line + 1] - 1);
        uint32_t to = extent.end;
        for (int n = 0; to > from && (text_is_blank(t.bytes[to - 1]) || t.bytes[to - 1] == '\r');
             to--)
                if (n++ == TEXT_MAX_NBLANKS)
                        return UINT32_MAX;
        return to;
}

/* A header has one place, for its first byte, and no carriage return among its letters. */
static __device__ uint32_t header_places(const struct text_view &t,
                                         const struct text_extent &extent,
                                         const struct line_part &part)
{
        const uint32_t start = t.line_starts[part.line], at = part.word * 32;
        for (uint32_t left = part.rare; left != 0; left &= left - 1) {
                const uint32_t byte = at + (uint32_t)__ffs((int)left) - 1;
                if (t.bytes[byte] == '\r' && byte < line_end(t, extent, part.line))
                        text_note_first(&t.facts->bad, byte);
        }
        return start >= at + part.from ? part.bits & (0 - part.bits) : 0;
}

/* Blanks are letters, except at the end of a line. */
static __device__ uint32_t sequence_places(const struct text_view &t,
                                           const struct text_extent &extent,
                                           const struct line_part &part)
{
        const uint32_t at = part.word * 32;
        uint32_t letters = part.bits;
        if (part.rare != 0) {
                const uint32_t end = line_end(t, extent, part.line);
                if (end == UINT32_MAX)
                        refuse_first(t, part.word, part.bits);
                letters &= end > at ? text_below(min(end - at, 32u)) : 0;
        }
        if (t.noverlap == 0 && part.line < text_first(t.facts->first_header))
                refuse_first(t, part.word, letters);
        const uint32_t odd = text_find_odd(t, part.word, letters & part.rare);
        if (odd != UINT32_MAX)
                text_note_first(&t.facts->bad, odd);
        return letters;
}

static __device__ uint32_t places_of(const struct text_view &t, const struct text_extent &extent,
                                     const struct line_part &part)
{
        switch (t.kinds[part.line]) {
        case TEXT_HEADER:
                return header_places(t, extent, part);
        case TEXT_SEQUENCE:
                return sequence_places(t, extent, part);
        default:
                return 0;
        }
}

static __device__ uint32_t find_places(const struct text_view &t, const struct text_extent &extent,
                                       uint32_t word, uint32_t line)
{
        const uint32_t rare = t.extra[word];
        const uint32_t at = word * 32;
        uint32_t inside = at < extent.end ? text_below(min(extent.end - at, 32u)) : 0;
        if (at < t.begin)
                inside &= ~text_below(min(t.begin - at, 32u));
        uint32_t left = t.lines[word], places = 0;
        for (uint32_t from = 0; line < extent.nshown; line++) {
                const uint32_t to = left != 0 ? (uint32_t)__ffs((int)left) - 1 : 32;
                const uint32_t bits = text_below(to) & ~text_below(from) & inside;
                const struct line_part part = { word, line, from, bits, rare & bits };
                if (bits != 0)
                        places |= places_of(t, extent, part);
                if (left == 0)
                        break;
                left &= left - 1;
                from = to + 1;
        }
        return places;
}

/* Replace the plane of rare bytes with that of the bytes that have places. */
static __global__ void __launch_bounds__(TEXT_THREADS) places_kernel(struct text_view t)
{
        const uint32_t tile = blockIdx.x * TEXT_WARPS + threadIdx.x / 32, word = text_word(tile);
        if (tile >= t.ntiles)
                return;
        const uint32_t own = (uint32_t)__popc(t.lines[word]);
        const uint32_t line = t.tile_lines[tile] + kc_warp_scan(own) - own;
        const uint32_t places = find_places(t, extent_of(t), word, line);
        t.extra[word] = places;
        const uint32_t n = __reduce_add_sync(UINT32_MAX, (uint32_t)__popc(places));
        if (kc_warp_lane() == 0)
                t.tile_bases[tile] = n;
}

/* ---- what is confirmed ---- */

/* The number of the line that has the byte at this position. */
static __device__ uint32_t line_of(const struct text_view &t, uint32_t nlines, uint32_t at)
{
        uint32_t low = 0, high = nlines + 1;
        while (high - low > 1) {
                const uint32_t middle = low + (high - low) / 2;
                if (t.line_starts[middle] <= at)
                        low = middle;
                else
                        high = middle;
        }
        return low;
}

/* Where the record with this line begins, as far as it is in the text. For a warp. */
static __device__ uint32_t record_start(const struct text_view &t, uint32_t line)
{
        for (uint32_t end = line + 1;; end -= 32) {
                const uint32_t lane = kc_warp_lane();
                const bool header = lane < end && t.kinds[end - 1 - lane] == TEXT_HEADER;
                const uint32_t found = __ballot_sync(UINT32_MAX, header);
                if (found != 0)
                        return t.line_starts[end - (uint32_t)__ffs((int)found)];
                if (end <= 32)
                        return t.begin;
        }
}

/* For a warp. */
static __global__ void limit_kernel(struct text_view t)
{
        const struct text_extent extent = extent_of(t);
        const uint32_t bad = min(text_first(t.facts->bad), text_first(t.facts->binary));
        uint32_t limit = extent.end;
        if (bad < extent.end)
                limit = record_start(t, line_of(t, extent.nlines, bad));
        if (kc_warp_lane() == 0)
                t.facts->limit = limit;
}

static __global__ void __launch_bounds__(TEXT_THREADS) headers_kernel(struct text_view t)
{
        const uint32_t nshown = extent_of(t).nshown, limit = t.facts->limit;
        const uint32_t stride = gridDim.x * TEXT_THREADS;
        uint64_t n = 0;
        for (uint32_t line = blockIdx.x * TEXT_THREADS + threadIdx.x; line < nshown; line += stride)
                n += t.kinds[line] == TEXT_HEADER && t.line_starts[line] < limit;
        text_add(&t.facts->nreads, n);
}

/* ---- moving together ---- */

namespace
{

/* The places of a tile, on their way. */
struct gathering {
        uint32_t codes[CODE_WORDS], usable[USABLE_WORDS];
};

} // namespace

/* Set n bits, 1 to 32, in an array of words. */
static __device__ void put_bits(uint32_t *words, uint32_t at, uint32_t n, uint32_t bits)
{
        bits &= text_below(n);
        atomicOr(&words[at / 32], bits << at % 32);
        if (at % 32 + n > 32)
                atomicOr(&words[at / 32 + 1], bits >> (32 - at % 32));
}

/* Put the bits of a word that have places, from place `at` of the gathering on. */
static __device__ void gather_word(struct gathering *g, uint32_t at, uint32_t places,
                                   uint32_t usable, uint64_t codes)
{
        while (places != 0) {
                const uint32_t from = (uint32_t)__ffs((int)places) - 1;
                const uint32_t stop = ~(places >> from);
                const uint32_t n = stop != 0 ? (uint32_t)__ffs((int)stop) - 1 : 32;
                const uint64_t own = codes >> 2 * from;
                put_bits(g->usable, at, n, usable >> from);
                put_bits(g->codes, 2 * at, min(2 * n, 32u), (uint32_t)own);
                if (n > 16)
                        put_bits(g->codes, 2 * at + 32, 2 * n - 32, (uint32_t)(own >> 32));
                places &= ~(text_below(n) << from);
                at += n;
        }
}

/* Copy words. Other tiles may share the first two (tiles share places up to a multiple of 32, that
 * is, two words of codes) and the last. */
static __device__ void copy_words(uint32_t *to, const uint32_t *from, uint32_t n)
{
        for (uint32_t i = kc_warp_lane(); i < n; i += 32)
                if (i > 1 && i + 1 < n)
                        to[i] = from[i];
                else if (from[i] != 0)
                        atomicOr(&to[i], from[i]);
}

/* usable and codes must be zero. */
static __global__ void __launch_bounds__(TEXT_THREADS) gather_bases_kernel(struct text_view t)
{
        __shared__ struct gathering gatherings[TEXT_WARPS];
        const uint32_t limit = t.facts->limit, stride = gridDim.x * TEXT_WARPS;
        struct gathering *g = &gatherings[threadIdx.x / 32];
        uint64_t nplaces = 0, nvalid = 0;
        for (uint32_t tile = blockIdx.x * TEXT_WARPS + threadIdx.x / 32; tile < t.ntiles;
             tile += stride) {
                const uint32_t word = text_word(tile), places = t.extra[word];
                const uint32_t confirmed =
                        word * 32 < limit ? text_below(min(limit - word * 32, 32u)) : 0;
                const uint32_t usable = t.bases[word] & places & confirmed;
                const uint32_t own = (uint32_t)__popc(places), first = t.tile_bases[tile];
                const uint32_t place = first + kc_warp_scan(own) - own;
                for (uint32_t i = kc_warp_lane(); i < sizeof *g / sizeof(uint32_t); i += 32)
                        ((uint32_t *)g)[i] = 0;
                __syncwarp();
                if (places != 0)
                        gather_word(g, first % 32 + place - first, places, usable, t.gapped[word]);
                __syncwarp();
                const uint32_t end = first % 32 + t.tile_bases[tile + 1] - first;
                copy_words(t.usable + first / 32, g->usable, (end + 31) / 32);
                copy_words((uint32_t *)(t.codes + first / 32), g->codes, (end + 15) / 16);
                __syncwarp();
                nplaces += (uint32_t)__popc(places & confirmed);
                nvalid += (uint32_t)__popc(usable);
        }
        text_add(&t.facts->nletters, nplaces);
        text_add(&t.facts->nvalid, nvalid);
}

/* ---- the end ---- */

/* How many places come before a position. For a warp. */
static __device__ uint32_t places_before(const struct text_view &t, uint32_t at)
{
        const uint32_t tile = at / TEXT_TILE_NBYTES, word = text_word(tile);
        const uint32_t below = word * 32 < at ? text_below(min(at - word * 32, 32u)) : 0;
        return t.tile_bases[tile] +
               __reduce_add_sync(UINT32_MAX, (uint32_t)__popc(t.extra[word] & below));
}

/* The position of a place. For a warp. */
static __device__ uint32_t position_of(const struct text_view &t, uint32_t place)
{
        uint32_t low = 0, high = t.ntiles;
        while (high - low > 1) {
                const uint32_t middle = low + (high - low) / 2;
                if (t.tile_bases[middle] <= place)
                        low = middle;
                else
                        high = middle;
        }
        const uint32_t word = text_word(low), own = (uint32_t)__popc(t.extra[word]);
        const uint32_t after = t.tile_bases[low] + kc_warp_scan(own);
        const uint32_t lane = (uint32_t)__ffs((int)__ballot_sync(UINT32_MAX, after > place)) - 1;
        uint32_t left = t.extra[word];
        for (uint32_t skip = place - (after - own); lane == kc_warp_lane() && skip > 0; skip--)
                left &= left - 1;
        return __shfl_sync(UINT32_MAX, word * 32 + (uint32_t)__ffs((int)left) - 1, (int)lane);
}

/* Valid letters that an earlier text has counted: the first noverlap places, which are few. */
static __device__ uint32_t count_seen(const struct text_view &t)
{
        const uint32_t at = kc_warp_lane() * 32;
        const uint32_t below = at < t.noverlap ? text_below(min(t.noverlap - at, 32u)) : 0;
        const uint32_t usable = kc_warp_lane() < t.nwords ? t.usable[kc_warp_lane()] : 0;
        return __reduce_add_sync(UINT32_MAX, (uint32_t)__popc(usable & below));
}

/* Where the next text begins. The last record is not complete, so its last bases are shown again,
 * or all of it if it has none yet. For a warp. */
static __device__ uint32_t next_begin(const struct text_view &t, const struct text_extent &extent,
                                      uint32_t max_k, struct kc_gpu_text_result *result)
{
        const uint32_t nplaces = t.tile_bases[t.ntiles], header = t.facts->last_header;
        const uint32_t record = header > 0 ? t.line_starts[header - 1] : t.begin;
        const bool in_header = header > 0 && header - 1 == extent.nlines;
        const uint32_t letters = nplaces - (header > 0 ? places_before(t, record) + 1 : 0);
        if (in_header || letters == 0) {
                result->nreads -= header > 0;
                return header > 0 ? record : t.line_starts[extent.nlines];
        }
        result->noverlap = min(letters, max(max_k - 1, 1u));
        return position_of(t, nplaces - result->noverlap);
}

/* For a warp. */
static __global__ void finish_fasta_kernel(struct text_view t, uint32_t max_k)
{
        const struct text_extent extent = extent_of(t);
        const uint32_t limit = t.facts->limit, seen = count_seen(t);
        struct kc_gpu_text_result result = {};
        uint32_t next = limit;
        result.foreign = min(text_first(t.facts->bad), text_first(t.facts->binary)) < extent.end;
        result.nreads = t.facts->nreads;
        const uint64_t nletters = t.facts->nletters - t.facts->nreads;
        const uint64_t noverlap = min(nletters, (uint64_t)t.noverlap);
        result.nbases = nletters - noverlap;
        result.nskipped = nletters - t.facts->nvalid - (noverlap - seen);
        if (result.foreign)
                result.noverlap = limit == t.begin ? t.noverlap : 0;
        else if (!extent.last)
                next = next_begin(t, extent, max_k, &result);
        result.consumed = next - t.begin;
        result.foreign = result.foreign || (extent.partial && next == t.begin);
        if (kc_warp_lane() != 0)
                return;
        t.found->result = result;
        t.found->nwords = t.tile_bases[t.ntiles] / 32 + 1;
}

static enum kc_status find_letters(struct kc_gpu_text *text, struct kc_error *err)
{
        enum kc_status status;
        const struct text_view *t = &text->view;
        const cudaStream_t stream = text->gpu->stream;
        kinds_kernel<<<text_loop_blocks(text->gpu, t->lines_cap), TEXT_THREADS, 0, stream>>>(*t);
        KC_TRY(KC_LAUNCHED());
        places_kernel<<<text_tile_blocks(t), TEXT_THREADS, 0, stream>>>(*t);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(kc_gpu_text_sum(text->scratch, &text->scratch_nbytes, t->tile_bases,
                               (size_t)t->ntiles + 1, stream, err));
        limit_kernel<<<1, 32, 0, stream>>>(*t);
        KC_TRY(KC_LAUNCHED());
        headers_kernel<<<text_loop_blocks(text->gpu, t->lines_cap), TEXT_THREADS, 0, stream>>>(*t);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

enum kc_status kc_gpu_text_fasta(struct kc_gpu_text *text, struct kc_error *err)
{
        enum kc_status status;
        const struct text_view *t = &text->view;
        const cudaStream_t stream = text->gpu->stream;
        KC_TRY(find_letters(text, err));
        KC_TRY(KC_CUDA(
                cudaMemsetAsync(t->usable, 0, (size_t)t->ntiles * 32 * sizeof *t->usable, stream)));
        KC_TRY(KC_CUDA(cudaMemsetAsync(t->codes, 0, t->nwords * sizeof *t->codes, stream)));
        gather_bases_kernel<<<text_loop_blocks(text->gpu, (size_t)t->ntiles * 32), TEXT_THREADS, 0,
                              stream>>>(*t);
        KC_TRY(KC_LAUNCHED());
        finish_fasta_kernel<<<1, 32, 0, stream>>>(*t, (uint32_t)text->setup.max_k);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}
