/*
 * Private to superkmer.cu: the records that the lanes of a warp have found, in lists in shared
 * memory, and how they leave: all of them evenly shared among the lanes, or each lane's own to the
 * lists of the passes.
 */
#ifndef KC_GPU_SUPERKMERS_LISTS_CUH
#define KC_GPU_SUPERKMERS_LISTS_CUH

#include "gpu/device/warp.cuh"
#include "gpu/superkmers/superkmer.cuh"

enum { WARP = 32, START_BITS = 7 };
static_assert(KC_SPAN_NKMERS <= 1 << START_BITS, "an entry holds the place in the span");

namespace
{

/* The record that a lane is currently extending, or an entry of its list. */
struct open_record {
        uint32_t start;     /* first k-mer, as a number in the span */
        uint32_t minimizer; /* its hash */
};

/*
 * A lane's records so far, one per row in the lane's column. A record ends where the next one
 * begins. PACKED: | high bits of the minimizer's hash | start: START_BITS |; `starts` is not used.
 */
template <bool PACKED> struct lane_list {
        uint32_t *minimizers; /* [rows][WARP] shared: their hashes */
        uint8_t *starts;      /* [rows][WARP] shared */
        uint32_t n;

        __device__ void store(uint32_t at, const open_record &record)
        {
                if (PACKED) {
                        minimizers[at] = (record.minimizer & ~0u << START_BITS) | record.start;
                } else {
                        minimizers[at] = record.minimizer;
                        starts[at] = (uint8_t)record.start;
                }
        }

        __device__ open_record load(uint32_t at) const
        {
                const uint32_t word = minimizers[at];
                if (PACKED)
                        return { word % (1u << START_BITS), word & ~0u << START_BITS };
                return { starts[at], word };
        }
};

/* The lanes' lists as one. */
struct joint_lists {
        uint32_t before[WARP]; /* number of entries of the lanes before */
        uint32_t end[WARP];    /* number of the k-mer where the last record ends */
};

/* Where the warp's records of each pass go. */
struct pass_lists {
        uint64_t place[KC_GPU_MAX_WALK_PASSES]; /* of the first one in the pass's list */
        uint32_t n[KC_GPU_MAX_WALK_PASSES];     /* how many were counted, then put */
        struct kc_bins bins[KC_GPU_MAX_WALK_PASSES];
};

/* What the lanes of a warp share while their lists are emptied. */
struct warp_board {
        uint64_t position[WARP]; /* of the span's first base */
        union {
                joint_lists joint; /* FIND_ALL, FIND_LOADS */
                pass_lists passes; /* FIND_SOME, FIND_COPY */
        };
};

/* What happens to the records. */
enum find_mode {
        FIND_ALL,   /* every record is wanted */
        FIND_SOME,  /* those of the passes */
        FIND_COPY,  /* the same, with their bases */
        FIND_LOADS, /* records are only counted */
};

struct find_out {
        uint32_t npasses;
        struct kc_bins bins[KC_GPU_MAX_WALK_PASSES]; /* [npasses] */
        struct kc_bins all;                          /* the points of all passes; not divided */
        struct kc_records_out records;
        struct kc_load *loads;
        uint32_t stride; /* of groups */
};

/* An entry's record. */
struct found_record {
        uint64_t position;
        uint32_t nkmers, point;
};

} // namespace

/* The lane that owns entry e of the warp. */
__device__ static uint32_t owner_of(const warp_board *board, uint32_t e)
{
        uint32_t owner = 0;
        for (uint32_t step = WARP / 2; step > 0; step /= 2)
                if (board->joint.before[owner + step] <= e)
                        owner += step;
        return owner;
}

/* The record whose entry is at `at`, in any lane's list. position: of the span's first base; end:
 * of the lane's last record. */
template <bool PACKED>
__device__ static found_record record_at(const lane_list<PACKED> &list, uint32_t at, bool last,
                                         uint64_t position, uint32_t end)
{
        const open_record entry = list.load(at);
        const uint32_t stop = last ? end : list.load(at + WARP).start;
        return { position + entry.start, stop - entry.start, kc_minimizer_point(entry.minimizer) };
}

/* list: of any lane; total: number of entries of all lanes. */
template <bool PACKED>
__device__ static found_record record_of(const warp_board *board, const lane_list<PACKED> &list,
                                         uint32_t e, uint32_t total)
{
        const uint32_t owner = owner_of(board, e), row = e - board->joint.before[owner];
        const bool last =
                owner + 1 < WARP ? e + 1 == board->joint.before[owner + 1] : e + 1 == total;
        return record_at(list, row * WARP + owner, last, board->position[owner],
                         board->joint.end[owner]);
}

/* Copy the record's bases to its place among the copies; returns their position. */
__device__ static uint64_t copy_bases(const kc_superkmer_setup &setup,
                                      const struct kc_records_out &out, const uint64_t *words,
                                      const found_record &record, uint64_t place)
{
        const uint32_t from = (uint32_t)record.position % KC_CHUNK_NBASES;
        const uint32_t nbases = record.nkmers + (uint32_t)setup.k - 1;
        uint64_t *to = out.copies + place * (uint32_t)setup.copy_nwords;
        for (uint32_t at = 0; at < nbases; at += 32, to++)
                *to = kc_packed_bases(words, from + at, min(nbases - at, 32u));
        return out.copies_position + place * (uint32_t)setup.copy_nwords * 32;
}

/* bins: of its pass; place: among all lists */
template <enum find_mode MODE>
__device__ static void put_record(const kc_superkmer_setup &setup, const find_out &out,
                                  const uint64_t *words, found_record record,
                                  const struct kc_bins &bins, uint64_t place)
{
        if (MODE == FIND_COPY)
                record.position = copy_bases(setup, out.records, words, record, place);
        __stcs(&out.records.records[place],
               kc_record(record.position, record.nkmers, kc_bins_number(&bins, record.point),
                         setup.form));
}

/* The pass that has the point; one of them must. */
__device__ static uint32_t pass_of(const pass_lists &passes, uint32_t npasses, uint32_t point)
{
        uint32_t pass = 0;
        for (uint32_t step = KC_GPU_MAX_WALK_PASSES / 2; step > 0; step /= 2)
                if (pass + step < npasses && passes.bins[pass + step].first <= point)
                        pass += step;
        return pass;
}

/* Which of the lane's entries first, first + 1, ..., at most 32, are of the passes: a bit each.
 * Also counts the warp's entries of each pass. */
template <bool PACKED>
__device__ static uint32_t count_entries(const find_out &out, pass_lists *passes,
                                         const lane_list<PACKED> &list, uint32_t first)
{
        const uint32_t n = first < list.n ? min(list.n - first, 32u) : 0;
        const uint32_t at = first * WARP + kc_warp_lane();
        uint32_t wanted = 0;
        for (uint32_t i = 0; i < n; i++) {
                const uint32_t point = kc_minimizer_point(list.load(at + i * WARP).minimizer);
                if (!kc_bins_have(&out.all, point))
                        continue;
                wanted |= 1u << i;
                atomicAdd(&passes->n[pass_of(*passes, out.npasses, point)], 1u);
        }
        return wanted;
}

/* Reserve room for the records that were counted, in the lists of all passes at once. */
__device__ static void reserve_counted(const find_out &out, pass_lists *passes)
{
        const uint32_t pass = kc_warp_lane();
        __syncwarp();
        if (pass < out.npasses && passes->n[pass] > 0) {
                passes->place[pass] = atomicAdd((unsigned long long *)&out.records.n[pass],
                                                (unsigned long long)passes->n[pass]);
                passes->n[pass] = 0;
        }
        __syncwarp();
}

/*
 * Put the records of the passes. They are few, so each lane puts those of its own list, and need
 * not look for the owner of every entry. In each pass's list, the records of a warp are neighbours,
 * so that whole sectors of memory are written.
 */
template <enum find_mode MODE, bool PACKED>
__device__ static void put_some(const kc_superkmer_setup &setup, const find_out &out,
                                const uint64_t *words, warp_board *board,
                                const lane_list<PACKED> &list, uint32_t end)
{
        const uint32_t lane = kc_warp_lane();
        pass_lists *passes = &board->passes;
        for (uint32_t first = 0; __any_sync(~0u, first < list.n); first += 32) {
                if (lane < out.npasses)
                        passes->n[lane] = 0;
                __syncwarp();
                uint32_t wanted = count_entries(out, passes, list, first);
                reserve_counted(out, passes);
                for (; wanted != 0; wanted &= wanted - 1) {
                        const uint32_t row = first + (uint32_t)__ffs((int)wanted) - 1;
                        const found_record record =
                                record_at(list, row * WARP + lane, row + 1 == list.n,
                                          board->position[lane], end);
                        const uint32_t pass = pass_of(*passes, out.npasses, record.point);
                        const uint64_t place =
                                passes->place[pass] + atomicAdd(&passes->n[pass], 1u);
                        if (place < out.records.cap)
                                put_record<MODE>(setup, out, words, record, passes->bins[pass],
                                                 pass * out.records.cap + place);
                }
                __syncwarp();
        }
}

/* Reserve room for n records of the only pass; returns the place of the first. */
__device__ static uint64_t reserve_records(const find_out &out, uint32_t n)
{
        uint64_t place = 0;
        if (kc_warp_lane() == 0 && n > 0)
                place = atomicAdd((unsigned long long *)out.records.n, (unsigned long long)n);
        return __shfl_sync(~0u, place, 0);
}

template <bool PACKED>
__device__ static void put_all(const kc_superkmer_setup &setup, const find_out &out,
                               const uint64_t *words, const warp_board *board,
                               const lane_list<PACKED> &list, uint32_t total)
{
        const uint64_t place = reserve_records(out, total);
        const uint64_t room = place < out.records.cap ? out.records.cap - place : 0;
        const uint32_t ntaken = (uint32_t)min(room, (uint64_t)total);
        for (uint32_t e = kc_warp_lane(); e < ntaken; e += WARP)
                put_record<FIND_ALL>(setup, out, words, record_of(board, list, e, total),
                                     out.bins[0], place + e);
}

template <bool PACKED>
__device__ static void add_loads(const find_out &out, const warp_board *board,
                                 const lane_list<PACKED> &list, uint32_t total)
{
        for (uint32_t e = kc_warp_lane(); e < total; e += WARP) {
                const found_record record = record_of(board, list, e, total);
                struct kc_load *load = &out.loads[record.point >> KC_LOAD_SHIFT];
                atomicAdd((unsigned long long *)&load->nrecords, (unsigned long long)out.stride);
                atomicAdd((unsigned long long *)&load->nkmers,
                          (unsigned long long)record.nkmers * out.stride);
        }
}

/* Divide all entries of the warp evenly among lanes. `end`: where the lane's last record ends. */
template <enum find_mode MODE, bool PACKED>
__device__ static void share_lists(const kc_superkmer_setup &setup, const find_out &out,
                                   const uint64_t *words, warp_board *board,
                                   const lane_list<PACKED> &list, uint32_t end)
{
        const uint32_t lane = kc_warp_lane(), sum = kc_warp_scan(list.n);
        const uint32_t total = __shfl_sync(~0u, sum, WARP - 1);
        board->joint.before[lane] = sum - list.n;
        board->joint.end[lane] = end;
        __syncwarp();
        if (MODE == FIND_ALL)
                put_all(setup, out, words, board, list, total);
        else
                add_loads(out, board, list, total);
        __syncwarp();
}

/* Deal with all entries of the warp. */
template <enum find_mode MODE, bool PACKED>
__device__ static void empty_lists(const kc_superkmer_setup &setup, const find_out &out,
                                   const uint64_t *words, warp_board *board,
                                   lane_list<PACKED> *list, uint32_t end)
{
        if (MODE == FIND_SOME || MODE == FIND_COPY)
                put_some<MODE>(setup, out, words, board, *list, end);
        else
                share_lists<MODE>(setup, out, words, board, *list, end);
        list->n = 0;
}

#endif
