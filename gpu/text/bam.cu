#include "gpu/text/bam.cuh"
#include "gpu/text/text_internal.cuh"

/*
 * BAM without its header. Only the lengths of records say where they begin, so the text is divided
 * into parts: in each of them a warp guesses where the first record begins, and follows the lengths
 * from there. One warp then goes through all parts. It accepts a guess only if the chain of records
 * before it leads there, and follows the chain itself where it does not.
 *
 *      parts    |            |            |            |
 *      records  |----|-----|----|---|----------------------|---|---
 *      guesses  ^                ^                          ^         none in the third part
 *
 * Each primary record then gets one place for every base, and one more, which ends its segments.
 */

enum : uint32_t {
        NONE = UINT32_MAX,
        LOG_PART = 14,
};

/* ---- where records begin ---- */

static __device__ uint32_t part_end(const struct text_view &t, uint32_t number)
{
        return min((number + 1) << LOG_PART, t.end);
}

/* The length of the record at this position; 0 if the text does not have all of it. */
static __device__ uint32_t whole_nbytes(const struct text_view &t, uint32_t at)
{
        if (t.end - at < TEXT_BAM_LENGTH_NBYTES)
                return 0;
        const uint64_t nbytes = text_bam_nbytes(text_bam_u32(t.bytes, at));
        return nbytes <= t.end - at ? (uint32_t)nbytes : 0;
}

namespace
{

struct visit_none {
        __device__ void operator()(uint32_t, uint32_t) const
        {
        }
};

struct visit_put {
        uint32_t *starts;
        __device__ void operator()(uint32_t i, uint32_t at) const
        {
                starts[i] = at;
        }
};

} // namespace

/* Follow the records from `at` on to the end of the part, unless it begins after that; visit(i,
 * at): record i begins at `at`. */
template <class Visit>
static __device__ struct text_bam_part follow(const struct text_view &t, uint32_t number,
                                              uint32_t at, Visit visit)
{
        const uint32_t end = part_end(t, number);
        struct text_bam_part part = { NONE, 0, NONE, 0, 0 };
        if (at >= end)
                return part;
        for (part.first = at; at < end; part.nrecords++) {
                const uint32_t nbytes = whole_nbytes(t, at);
                if (nbytes == 0) {
                        part.stop = at;
                        at = NONE;
                        break;
                }
                visit(part.nrecords, at);
                at += nbytes;
        }
        part.after = at;
        return part;
}

/* Where the part's first record seems to begin, or NONE. For a warp. */
static __device__ uint32_t guess_first(const struct text_view &t, uint32_t number)
{
        const uint32_t end = part_end(t, number);
        if (number == 0)
                return t.begin;
        for (uint32_t at = number << LOG_PART; at < end; at += 32) {
                const uint32_t own = at + kc_warp_lane();
                const uint32_t found = __ballot_sync(
                        UINT32_MAX,
                        own < end && text_bam_is_plausible(t.bytes, own, t.end, t.nrefs));
                if (found != 0)
                        return at + (uint32_t)__ffs((int)found) - 1;
        }
        return NONE;
}

static __global__ void __launch_bounds__(TEXT_THREADS) guess_kernel(struct text_view t)
{
        const uint32_t number = blockIdx.x * TEXT_WARPS + threadIdx.x / 32;
        if (number >= t.nparts)
                return;
        const uint32_t first = guess_first(t, number);
        if (kc_warp_lane() == 0)
                t.parts[number] = follow(t, number, first, visit_none());
}

/* The largest x of this lane and all lower lanes. */
static __device__ uint32_t max_scan(uint32_t x)
{
        for (uint32_t d = 1; d < 32; d *= 2) {
                const uint32_t other = __shfl_up_sync(UINT32_MAX, x, d);
                x = kc_warp_lane() >= d ? max(x, other) : x;
        }
        return x;
}

/*
 * Check the guesses for 32 parts, one for each lane, where `at` is the beginning of the first
 * record that is not in earlier parts. If the guesses of all lower lanes are right, so is `entry`.
 * So each round corrects at least the first wrong guess.
 */
static __device__ struct text_bam_part check_parts(const struct text_view &t, uint32_t number,
                                                   uint32_t at)
{
        struct text_bam_part part = { NONE, 0, NONE, 0, 0 };
        uint32_t end = 0;
        if (number < t.nparts) {
                part = t.parts[number];
                end = part_end(t, number);
        }
        for (;;) {
                const uint32_t before = __shfl_up_sync(UINT32_MAX, max_scan(part.after), 1);
                const uint32_t entry = kc_warp_lane() == 0 ? at : max(at, before);
                const bool wrong = part.first != (entry < end ? entry : NONE);
                if (__ballot_sync(UINT32_MAX, wrong) == 0)
                        return part;
                if (wrong)
                        part = follow(t, number, entry, visit_none());
        }
}

/* For one warp: all parts, in order. */
static __global__ void chain_kernel(struct text_view t)
{
        uint32_t at = t.begin, nrecords = 0;
        for (uint32_t from = 0; from < t.nparts; from += 32) {
                const uint32_t number = from + kc_warp_lane();
                struct text_bam_part part = check_parts(t, number, at);
                const uint32_t sum = kc_warp_scan(part.nrecords);
                part.number = nrecords + sum - part.nrecords;
                nrecords += __shfl_sync(UINT32_MAX, sum, 31);
                at = __reduce_max_sync(UINT32_MAX, max(at, part.after));
                if (part.stop != NONE)
                        text_note_first(&t.facts->rest, part.stop);
                if (number < t.nparts)
                        t.parts[number] = part;
        }
        if (kc_warp_lane() != 0)
                return;
        text_note_first(&t.facts->rest, min(at, t.end));
        t.facts->nrecords = nrecords;
}

static __global__ void starts_kernel(struct text_view t)
{
        const uint32_t number = blockIdx.x * blockDim.x + threadIdx.x;
        if (number >= t.nparts)
                return;
        const struct text_bam_part part = t.parts[number];
        (void)follow(t, number, part.first, visit_put{ t.line_starts + part.number });
}

/* ---- what records hold ---- */

/* Whether the CIGAR of a mapped read with bases describes all of them. For a warp. */
static __device__ bool has_sound_cigar(const struct text_view &t, uint32_t at,
                                       const struct text_bam_record &r)
{
        uint64_t nbases = 0;
        if (r.nops == 0 || r.nbases == 0 || (r.flag & TEXT_BAM_UNMAPPED) != 0)
                return true;
        at += text_bam_cigar(r);
        for (uint32_t i = kc_warp_lane(); i < r.nops; i += 32)
                nbases += text_bam_op_nbases(text_bam_u32(t.bytes, at + 4 * i));
        for (int d = 16; d > 0; d /= 2)
                nbases += __shfl_xor_sync(UINT32_MAX, nbases, d);
        return nbases == r.nbases;
}

/* A warp checks a record, and notes how many places it has. */
static __global__ void __launch_bounds__(TEXT_THREADS) bam_records_kernel(struct text_view t)
{
        const uint32_t stride = gridDim.x * TEXT_WARPS;
        for (uint32_t i = blockIdx.x * TEXT_WARPS + threadIdx.x / 32; i < t.facts->nrecords;
             i += stride) {
                const uint32_t at = t.line_starts[i];
                const struct text_bam_record r = text_bam_fields(t.bytes, at);
                const bool sound = text_bam_is_sound(r, t.nrefs) && has_sound_cigar(t, at, r);
                if (kc_warp_lane() != 0)
                        continue;
                if (!sound)
                        text_note_first(&t.facts->bad, i);
                t.record_places[i] =
                        sound && (r.flag & TEXT_BAM_NOT_PRIMARY) == 0 ? r.nbases + 1 : 0;
        }
}

/* Records before the first one that is not sound. */
static __device__ uint32_t count_sound(const struct text_view &t)
{
        return min(t.facts->nrecords, text_first(t.facts->bad));
}

namespace
{

/* A read that is being packed. */
struct bam_read {
        uint64_t bases; /* where they begin, in halves of a byte */
        uint32_t qual;  /* where its qualities begin; NONE: all are sufficient */
        uint32_t nbases;
        bool reverse;
};

/* Places of a word: their codes and, as one bit each, whether they are usable. */
struct bam_word {
        uint64_t codes;
        uint32_t usable;
};

struct bam_counts {
        uint64_t nreads, nletters, nvalid, nlow;
};

} // namespace

static __device__ struct bam_read read_of(const struct text_view &t, uint32_t record)
{
        const uint32_t at = t.line_starts[record];
        const struct text_bam_record r = text_bam_fields(t.bytes, at);
        struct bam_read read = { 2 * ((uint64_t)at + text_bam_bases(r)), at + text_bam_qualities(r),
                                 r.nbases, (r.flag & TEXT_BAM_REVERSE) != 0 };
        if (t.min_quality == 0 || r.nbases == 0 || t.bytes[read.qual] == TEXT_BAM_NO_QUALITY)
                read.qual = NONE;
        return read;
}

/* Bit i: the quality of base first + i of n, as stored, is sufficient. */
static __device__ uint32_t good_qualities(const struct text_view &t, const struct bam_read &read,
                                          uint32_t first, uint32_t n)
{
        const uint8_t least = (uint8_t)(t.min_quality - TEXT_PHRED_OFFSET);
        uint32_t good = text_bam_at_least(t.bytes, read.qual + first, min(n, 8u), least);
        if (n > 8)
                good |= text_bam_at_least(t.bytes, read.qual + first + 8, n - 8, least) << 8;
        return good;
}

/* Put n bases of the read (1 to 16), beginning with base `first`, at place `at` of the word. */
static __device__ void put_bases(const struct text_view &t, const struct bam_read &read,
                                 uint32_t first, uint32_t n, uint32_t at, struct bam_word *word,
                                 struct bam_counts *counts)
{
        const uint32_t stored = read.reverse ? read.nbases - first - n : first;
        uint64_t bases = text_bam_load(t.bytes, read.bases + stored, n);
        if (read.reverse)
                bases = text_bam_turn(bases, n);
        const uint32_t valid = text_bam_valid(bases);
        uint32_t good = UINT32_MAX;
        if (read.qual != NONE)
                good = good_qualities(t, read, stored, n);
        if (read.qual != NONE && read.reverse)
                good = __brev(good) >> (32 - n);
        word->codes |= (uint64_t)text_bam_codes(bases) << 2 * at;
        word->usable |= (valid & good) << at;
        counts->nletters += n;
        counts->nvalid += (uint32_t)__popc(valid);
        counts->nlow += (uint32_t)__popc(valid & ~good);
}

/* The record that this place is in: the last one with at most `place` places before it. */
static __device__ uint32_t record_of(const struct text_view &t, uint32_t nrecords, uint32_t place)
{
        uint32_t low = 0, high = nrecords;
        while (high - low > 1) {
                const uint32_t middle = low + (high - low) / 2;
                if (t.record_places[middle] <= place)
                        low = middle;
                else
                        high = middle;
        }
        return low;
}

/* The word of places [place, end). */
static __device__ struct bam_word make_word(const struct text_view &t, uint32_t nrecords,
                                            uint32_t place, uint32_t end, struct bam_counts *counts)
{
        struct bam_word word = {};
        const uint32_t from = place;
        for (uint32_t record = record_of(t, nrecords, place); place < end; record++) {
                if (t.record_places[record + 1] <= place) /* not a primary one */
                        continue;
                const struct bam_read read = read_of(t, record);
                const uint32_t begin = t.record_places[record], last = begin + read.nbases;
                while (place < min(last, end)) {
                        const uint32_t n = min(min(last, end) - place, (uint32_t)TEXT_BAM_WORD);
                        put_bases(t, read, place - begin, n, place - from, &word, counts);
                        place += n;
                }
                counts->nreads += place < end;
                place++; /* the one after its bases */
        }
        return word;
}

/* A thread makes one word of bases at a time. */
static __global__ void __launch_bounds__(TEXT_THREADS) bases_kernel(struct text_view t)
{
        const uint32_t nrecords = count_sound(t), nplaces = t.record_places[nrecords];
        const uint32_t stride = gridDim.x * TEXT_THREADS;
        struct bam_counts counts = {};
        for (uint32_t i = blockIdx.x * TEXT_THREADS + threadIdx.x; i < t.ntiles * 32; i += stride) {
                struct bam_word word = {};
                if (i < t.nwords && i * 32 < nplaces) {
                        word = make_word(t, nrecords, i * 32, min(i * 32 + 32, nplaces), &counts);
                        t.codes[i] = word.codes;
                }
                t.usable[i] = word.usable;
        }
        text_add(&t.facts->nreads, counts.nreads);
        text_add(&t.facts->nletters, counts.nletters);
        text_add(&t.facts->nvalid, counts.nvalid);
        if (t.min_quality > 0)
                text_add(&t.facts->nlow, counts.nlow);
}

/* ---- the end ---- */

static __global__ void finish_bam_kernel(struct text_view t)
{
        const uint32_t nsound = count_sound(t);
        const bool all = nsound == t.facts->nrecords;
        const uint32_t rest = all ? text_first(t.facts->rest) : t.line_starts[nsound];
        const bool has_length = t.end - rest >= TEXT_BAM_LENGTH_NBYTES;
        struct kc_gpu_text_result result = {};
        result.foreign = !all || (t.last && rest < t.end) ||
                         (has_length && text_bam_nbytes(text_bam_u32(t.bytes, rest)) == 0);
        result.consumed = rest - t.begin;
        result.nreads = t.facts->nreads;
        result.nbases = t.facts->nletters;
        result.nskipped = t.facts->nletters - t.facts->nvalid;
        result.nlow_quality = t.facts->nlow;
        t.found->result = result;
        t.found->nwords = t.record_places[nsound] / 32 + 1;
}

size_t kc_gpu_text_bam_nparts(size_t nbytes)
{
        return (nbytes >> LOG_PART) + 1;
}

static enum kc_status find_records(struct kc_gpu_text *text, struct kc_error *err)
{
        enum { PART_THREADS = 32 };
        enum kc_status status;
        const struct text_view *t = &text->view;
        const cudaStream_t stream = text->gpu->stream;
        guess_kernel<<<kc_ceil_div(t->nparts, TEXT_WARPS), TEXT_THREADS, 0, stream>>>(*t);
        KC_TRY(KC_LAUNCHED());
        chain_kernel<<<1, 32, 0, stream>>>(*t);
        KC_TRY(KC_LAUNCHED());
        starts_kernel<<<kc_ceil_div(t->nparts, PART_THREADS), PART_THREADS, 0, stream>>>(*t);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

enum kc_status kc_gpu_text_bam(struct kc_gpu_text *text, struct kc_error *err)
{
        enum kc_status status;
        const struct text_view *t = &text->view;
        const cudaStream_t stream = text->gpu->stream;
        const size_t nplaces = (size_t)t->records_cap + 1;
        KC_TRY(KC_CUDA(cudaMemsetAsync(t->facts, 0, sizeof *t->facts, stream)));
        KC_TRY(KC_CUDA(
                cudaMemsetAsync(t->record_places, 0, nplaces * sizeof *t->record_places, stream)));
        KC_TRY(find_records(text, err));
        bam_records_kernel<<<text_loop_blocks(text->gpu, (size_t)t->records_cap * 32), TEXT_THREADS,
                             0, stream>>>(*t);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(kc_gpu_text_sum(text->scratch, &text->scratch_nbytes, t->record_places, nplaces,
                               stream, err));
        bases_kernel<<<text_loop_blocks(text->gpu, (size_t)t->ntiles * 32), TEXT_THREADS, 0,
                       stream>>>(*t);
        KC_TRY(KC_LAUNCHED());
        finish_bam_kernel<<<1, 1, 0, stream>>>(*t);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}
