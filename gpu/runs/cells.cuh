/*
 * The joint histogram of files on a device (kmer/joint.h).
 *
 * Nearly all k-mers have small counts, so their cells are a dense table of counters. Most k-mers
 * are in a few cells, such as that of the k-mers that the first file has once and no other has. So
 * the lanes of a warp whose k-mers are in the same cell add a single sum to it. A
 * k-mer whose counts are not in the table is appended to a list, which has room for all k-mers of a
 * range and goes to the host after it.
 */
#ifndef KC_GPU_RUNS_CELLS_CUH
#define KC_GPU_RUNS_CELLS_CUH

#include "gpu/device/run.cuh"
#include "kmer/joint.h"

/* What kernels need of it; pointers are to device memory. */
struct kc_cell_table {
        unsigned nfiles;
        uint32_t most[KC_JOINT_MAX_FILES];    /* greater counts count as most + 1 */
        uint32_t extents[KC_JOINT_MAX_FILES]; /* counts below these are in the table */
        size_t ncells;
        unsigned long long *ndistinct; /* [ncells], the last file's count varying fastest */
        unsigned long long *sums;      /* [nfiles][ncells] of cells with greater counts than `most`;
                                          NULL: there are none */
        uint32_t *large;               /* [nfiles][large_cap] the counts of other k-mers */
        size_t large_cap;
        unsigned long long *nlarge;
        uint64_t *sum; /* of all counts */
};

struct kc_gpu_cells {
        struct kc_gpu *gpu;
        const struct kc_joint_taker *taker;
        struct kc_cell_table table;
        uint32_t *counts;            /* [nfiles * CELLS_AT_ONCE] pinned: of large k-mers */
        struct kc_joint_cell *cells; /* [CELLS_AT_ONCE] for the taker */
        uint64_t sum;                /* of all counts that the taker got */
};

/* Bytes of device memory for each k-mer of a range. */
static inline size_t kc_gpu_cells_kmer_nbytes(size_t nfiles)
{
        return nfiles * sizeof(uint32_t);
}

/*
 * Open an empty histogram for ranges of at most max_kmers distinct k-mers. Its table takes at most
 * an eighth of the bound on device memory. Close it even after a failure, when the device has no
 * more work with it; a zeroed one may be closed, too. The taker must outlive it. KC_ENOMEM,
 * KC_EDEVICE.
 */
enum kc_status kc_gpu_cells_open(struct kc_gpu_cells *cells, struct kc_gpu *gpu,
                                 const struct kc_joint_taker *taker, size_t max_kmers,
                                 struct kc_error *err);
void kc_gpu_cells_close(struct kc_gpu_cells *cells);

/*
 * Add the k-mers of a range.
 *   left   values of the first file: counts, and marks
 *   right  likewise of the second; of three files, the counts in the others as kc_join_pair gives
 *          them. Empty with one file
 * Returns when the work is done and the range's large k-mers are with the taker. KC_ENOMEM,
 * KC_EDEVICE, or the taker's error.
 */
template <class Key>
enum kc_status kc_gpu_cells_add(struct kc_gpu_cells *cells,
                                const struct kc_gpu_run<Key, uint64_t> *left,
                                const struct kc_gpu_run<Key, uint64_t> *right,
                                struct kc_error *err);

/* After the last range: pass the table to the taker, and check that no count was lost. KC_ENOMEM,
 * KC_EDEVICE, or the taker's error. */
enum kc_status kc_gpu_cells_end(struct kc_gpu_cells *cells, struct kc_error *err);

#endif
