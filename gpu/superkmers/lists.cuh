/*
 * Private to superkmer.cu: the lanes of a warp keep the records that they find in lists in shared
 * memory, and empty these lists together. The work is shared evenly among the lanes. Records that
 * may go to several lists of the output are first sorted by list.
 */
#ifndef KC_GPU_SUPERKMERS_LISTS_CUH
#define KC_GPU_SUPERKMERS_LISTS_CUH

#include "gpu/device/warp.cuh"
#include "gpu/superkmers/superkmer.cuh"

enum {
        WARP = 32,
        WARPS = 4, /* most in a block; they work independently */
        START_BITS = 7,
        NSORTED = 512,           /* entries that a warp sorts at a time; few enough for six blocks
                                    to fit on a multiprocessor at k = 31 */
        ENTRY_IS_LAST = 1 << 15, /* the entry is the last in its lane's list */
};
static_assert((int)KC_MAX_RECORD_LISTS <= (int)WARP, "a lane for each list");
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

/* What happens to the records. */
enum find_mode {
        FIND_ALL,   /* all go to one list */
        FIND_SOME,  /* each goes to the list that has its point, if one has it */
        FIND_COPY,  /* the same, with their bases */
        FIND_LOADS, /* records are only counted */
};

/* What the lanes of a warp share while their lists are emptied. */
struct warp_board {
        uint64_t position[WARP]; /* of the span's first base */
        uint32_t end[WARP];      /* number of the k-mer where the last record ends */
};

/* The lists of all lanes, read as one list. */
struct joint_board : warp_board {
        uint32_t before[WARP]; /* number of entries of the lanes before */
};

/* The lanes' entries, sorted by the list that they go to. */
struct sorted_board : warp_board {
        uint64_t *to[KC_MAX_RECORD_LISTS];  /* entry i goes to to[list] + i if it is of this list;
                                               NULL: the list has no room */
        uint32_t ends[KC_MAX_RECORD_LISTS]; /* where each list's entries end; before that, how
                                               many it has */
        uint16_t entries[NSORTED];          /* row * WARP + lane, and ENTRY_IS_LAST */
};

/* The boards of all warps of a block. */
template <enum find_mode MODE> struct block_boards {
        joint_board warps[WARPS];
};
struct sorted_boards {
        sorted_board warps[WARPS];
        struct kc_bins bins[KC_MAX_RECORD_LISTS]; /* of each list */
};
template <> struct block_boards<FIND_SOME> : sorted_boards {
};
template <> struct block_boards<FIND_COPY> : sorted_boards {
};

struct find_out {
        struct kc_bins all; /* all points from the first list to the last one, as one bin */
        uint32_t nlists;
        uint32_t step;   /* the first step of the binary search for a list: a power of two */
        uint32_t stride; /* of groups */
        struct kc_records_out records;
        struct kc_load *loads;
};

/* An entry's record. */
struct found_record {
        uint64_t position;
        uint32_t nkmers, point;
};

} // namespace

/* The lane that owns entry e of the warp. */
__device__ static uint32_t owner_of(const joint_board *board, uint32_t e)
{
        uint32_t owner = 0;
        for (uint32_t step = WARP / 2; step > 0; step /= 2)
                if (board->before[owner + step] <= e)
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
__device__ static found_record record_of(const joint_board *board, const lane_list<PACKED> &list,
                                         uint32_t e, uint32_t total)
{
        const uint32_t owner = owner_of(board, e), row = e - board->before[owner];
        const bool last = owner + 1 < WARP ? e + 1 == board->before[owner + 1] : e + 1 == total;
        return record_at(list, row * WARP + owner, last, board->position[owner], board->end[owner]);
}

/* Copy the record's bases to its place among the copies; returns their position. */
__device__ static uint64_t copy_bases(const kc_superkmer_setup &setup,
                                      const struct kc_records_out &out, const uint64_t *words,
                                      const found_record &record, uint64_t place)
{
        const uint32_t from = (uint32_t)record.position % KC_CHUNK_NBASES;
        const uint32_t nbases = record.nkmers + (uint32_t)setup.k - 1;
        uint64_t *to = out.copies + place * (uint32_t)setup.copy_nwords;
        for (uint32_t at = 0; at < nbases; at += 32)
                to[at / 32] = kc_packed_bases(words, from + at, min(nbases - at, 32u));
        return out.copies_position + place * (uint32_t)setup.copy_nwords * 32;
}

/* bins: those of the record's list; to: the record's place there */
template <enum find_mode MODE>
__device__ static void put_record(const kc_superkmer_setup &setup, const find_out &out,
                                  const uint64_t *words, found_record record,
                                  const struct kc_bins &bins, uint64_t *to)
{
        if (MODE == FIND_COPY)
                record.position = copy_bases(setup, out.records, words, record,
                                             (uint64_t)(to - out.records.lists[0].records));
        __stcs(to, kc_record(record.position, record.nkmers, kc_bins_number(&bins, record.point),
                             setup.form));
}

/* The only list that can have the point; it need not have it. */
__device__ static uint32_t list_of(const find_out &out, const struct kc_bins *bins, uint32_t point)
{
        uint32_t list = 0;
        for (uint32_t step = out.step; step > 0; step /= 2)
                if (list + step < out.nlists && bins[list + step].first <= point)
                        list += step;
        return list;
}

/* Returns a bit for each of the lane's entries first, first + 1, ..., at most nrows <= 32 of them:
 * 1 if the entry goes to a list. Also counts the warp's entries for each list. */
template <bool PACKED>
__device__ static uint32_t count_entries(const find_out &out, const struct kc_bins *bins,
                                         sorted_board *board, const lane_list<PACKED> &list,
                                         uint32_t first, uint32_t nrows)
{
        const uint32_t n = first < list.n ? min(list.n - first, nrows) : 0;
        const uint32_t at = first * WARP + kc_warp_lane();
        uint32_t wanted = 0;
        for (uint32_t i = 0; i < n; i++) {
                const uint32_t point = kc_minimizer_point(list.load(at + i * WARP).minimizer);
                if (!kc_bins_have(&out.all, point))
                        continue;
                const uint32_t to = list_of(out, bins, point);
                if (!kc_bins_have(&bins[to], point))
                        continue;
                wanted |= 1u << i;
                atomicAdd(&board->ends[to], 1u);
        }
        return wanted;
}

/* Reserve room for the counted entries in all lists at once; returns the number of entries. */
__device__ static uint32_t reserve_counted(const find_out &out, sorted_board *board)
{
        const uint32_t lane = kc_warp_lane();
        __syncwarp();
        const uint32_t n = board->ends[lane], end = kc_warp_scan(n), begin = end - n;
        if (n > 0) {
                const struct kc_record_list &list = out.records.lists[lane];
                const uint64_t place =
                        atomicAdd_system((unsigned long long *)list.n, (unsigned long long)n);
                board->to[lane] = place + n <= list.cap
                                          ? list.records + ((int64_t)place - (int64_t)begin)
                                          : NULL;
        }
        board->ends[lane] = begin;
        __syncwarp();
        return __shfl_sync(~0u, end, WARP - 1);
}

/* Sort by list those of the lane's entries whose bits count_entries has set. */
template <bool PACKED>
__device__ static void sort_entries(const find_out &out, const struct kc_bins *bins,
                                    sorted_board *board, const lane_list<PACKED> &list,
                                    uint32_t first, uint32_t wanted)
{
        for (; wanted != 0; wanted &= wanted - 1) {
                const uint32_t row = first + (uint32_t)__ffs((int)wanted) - 1;
                const uint32_t at = row * WARP + kc_warp_lane();
                const uint32_t point = kc_minimizer_point(list.load(at).minimizer);
                const uint32_t i = atomicAdd(&board->ends[list_of(out, bins, point)], 1u);
                board->entries[i] = (uint16_t)(at | (row + 1 == list.n ? ENTRY_IS_LAST : 0));
        }
        __syncwarp();
}

/* Put the record of sorted entry i into its list. */
template <enum find_mode MODE, bool PACKED>
__device__ static void put_sorted(const kc_superkmer_setup &setup, const find_out &out,
                                  const uint64_t *words, const struct kc_bins *bins,
                                  const sorted_board *board, const lane_list<PACKED> &list,
                                  uint32_t i)
{
        const uint32_t entry = board->entries[i], at = entry % ENTRY_IS_LAST, owner = at % WARP;
        const found_record record = record_at(list, at, entry >= ENTRY_IS_LAST,
                                              board->position[owner], board->end[owner]);
        const uint32_t to = MODE == FIND_COPY ? 0 : list_of(out, bins, record.point);
        if (board->to[to] != NULL)
                put_record<MODE>(setup, out, words, record, bins[to], board->to[to] + i);
}

/*
 * Put the records that go to a list. Neighbouring lanes write neighbouring records of a list, so
 * that whole sectors of memory are written. The memory may be another device's.
 */
template <enum find_mode MODE, bool PACKED>
__device__ static void put_some(const kc_superkmer_setup &setup, const find_out &out,
                                const uint64_t *words, const struct kc_bins *bins,
                                sorted_board *board, const lane_list<PACKED> &list, uint32_t end)
{
        const uint32_t lane = kc_warp_lane();
        const uint32_t nrows = __reduce_add_sync(~0u, list.n) <= NSORTED ? 32 : NSORTED / WARP;
        board->end[lane] = end;
        for (uint32_t first = 0; __any_sync(~0u, first < list.n); first += nrows) {
                board->ends[lane] = 0;
                __syncwarp();
                const uint32_t wanted = count_entries(out, bins, board, list, first, nrows);
                const uint32_t total = reserve_counted(out, board);
                sort_entries(out, bins, board, list, first, wanted);
                for (uint32_t i = lane; i < total; i += WARP)
                        put_sorted<MODE>(setup, out, words, bins, board, list, i);
                __syncwarp();
        }
}

/* Reserve room for n records in the only list; returns the place of the first. */
__device__ static uint64_t reserve_records(const find_out &out, uint32_t n)
{
        uint64_t place = 0;
        if (kc_warp_lane() == 0 && n > 0)
                place = atomicAdd((unsigned long long *)out.records.lists[0].n,
                                  (unsigned long long)n);
        return __shfl_sync(~0u, place, 0);
}

template <bool PACKED>
__device__ static void put_all(const kc_superkmer_setup &setup, const find_out &out,
                               const uint64_t *words, const joint_board *board,
                               const lane_list<PACKED> &list, uint32_t total)
{
        const struct kc_record_list &to = out.records.lists[0];
        const uint64_t place = reserve_records(out, total);
        const uint64_t room = place < to.cap ? to.cap - place : 0;
        const uint32_t ntaken = (uint32_t)min(room, (uint64_t)total);
        for (uint32_t e = kc_warp_lane(); e < ntaken; e += WARP)
                put_record<FIND_ALL>(setup, out, words, record_of(board, list, e, total),
                                     out.records.bins[0], to.records + place + e);
}

template <bool PACKED>
__device__ static void add_loads(const find_out &out, const joint_board *board,
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
                                   const uint64_t *words, joint_board *board,
                                   const lane_list<PACKED> &list, uint32_t end)
{
        const uint32_t lane = kc_warp_lane(), sum = kc_warp_scan(list.n);
        const uint32_t total = __shfl_sync(~0u, sum, WARP - 1);
        board->before[lane] = sum - list.n;
        board->end[lane] = end;
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
                                   const uint64_t *words, block_boards<MODE> *boards,
                                   lane_list<PACKED> *list, uint32_t end)
{
        auto *board = &boards->warps[threadIdx.x / WARP];
        if constexpr (MODE == FIND_SOME || MODE == FIND_COPY)
                put_some<MODE>(setup, out, words, boards->bins, board, *list, end);
        else
                share_lists<MODE>(setup, out, words, board, *list, end);
        list->n = 0;
}

#endif
