/*
 * The merge of two sorted runs into one: each k-mer once, with its counts summed.
 *
 * The merged order is cut into tiles of equal length by merge path (Green, McColl, Bader, 2012): a
 * binary search on a diagonal of the two runs finds where each of them is cut. A thread block
 * merges a tile, each thread a few items of it, found by the same search in shared memory. The two
 * items of a k-mer that is in both runs are never separated: a cut that falls between them moves
 * past the second.
 *
 * A first pass over the k-mers counts what each tile yields, so that the result can be allocated in
 * its exact size and every tile knows its place in it.
 */
#ifndef KC_GPU_RUNS_MERGE_CUH
#define KC_GPU_RUNS_MERGE_CUH

#include "gpu/device/run.cuh"

/*
 * How many of the first `diagonal` items come from a, in merged order with items of a before equal
 * items of b. a is [na], b is [nb], diagonal <= na + nb.
 */
template <class Key, class Index>
KC_HD Index kc_merge_search(const Key *a, Index na, const Key *b, Index nb, Index diagonal)
{
        Index low = diagonal > nb ? diagonal - nb : 0;
        Index high = diagonal < na ? diagonal : na;
        while (low < high) {
                Index middle = low + (high - low) / 2;
                if (a[middle] <= b[diagonal - 1 - middle])
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

/* A cut of both runs: all items before it are below all items after it. */
template <class Index> struct kc_merge_cut {
        Index a, b;
};

/* The cut at a diagonal, or one item later if the diagonal separates two equal k-mers. */
template <class Key, class Index>
KC_HD kc_merge_cut<Index> kc_merge_cut_at(const Key *a, Index na, const Key *b, Index nb,
                                          Index diagonal)
{
        struct kc_merge_cut<Index> cut;
        cut.a = kc_merge_search(a, na, b, nb, diagonal);
        cut.b = diagonal - cut.a;
        if (cut.a > 0 && cut.b < nb && a[cut.a - 1] == b[cut.b])
                cut.b++;
        return cut;
}

/* A walk over both runs, starting at a cut. */
template <class Key> struct kc_merge_walk {
        const Key *a, *b;
        unsigned na, nb;
        struct kc_merge_cut<unsigned> at;
        Key a_next, b_next; /* a[at.a] and b[at.b], if they exist */
};

template <class Key>
KC_HD void kc_merge_walk_begin(struct kc_merge_walk<Key> *walk, const Key *a, unsigned na,
                               const Key *b, unsigned nb, unsigned diagonal)
{
        walk->a = a;
        walk->b = b;
        walk->na = na;
        walk->nb = nb;
        walk->at = kc_merge_cut_at(a, na, b, nb, diagonal);
        walk->a_next = walk->at.a < na ? a[walk->at.a] : 0;
        walk->b_next = walk->at.b < nb ? b[walk->at.b] : 0;
}

/* The result of one step: the next k-mer, and which runs it is in. */
template <class Key> struct kc_merge_item {
        Key kmer;
        bool in_a, in_b;
};

/* Requires a next item: at.a < na or at.b < nb. */
template <class Key>
KC_HD struct kc_merge_item<Key> kc_merge_walk_step(struct kc_merge_walk<Key> *walk) {
        struct kc_merge_item<Key> item;
        bool a_left = walk->at.a < walk->na, b_left = walk->at.b < walk->nb;
        item.in_a = a_left && (!b_left || walk->a_next <= walk->b_next);
        item.in_b = b_left && (!a_left || walk->b_next <= walk->a_next);
        item.kmer = item.in_a ? walk->a_next : walk->b_next;
        if (item.in_a && ++walk->at.a < walk->na)
                walk->a_next = walk->a[walk->at.a];
        if (item.in_b && ++walk->at.b < walk->nb)
                walk->b_next = walk->b[walk->at.b];
        return item;
}

/* A planned merge, whose result's length is known. A zeroed one may be freed. */
template <class Key, class Value = uint32_t>
struct kc_gpu_merge {
        struct kc_gpu_run<Key, Value> a, b; /* the caller's memory; cap is ignored */
        size_t n;                           /* pairs of the result */
        size_t ntiles;
        struct kc_merge_cut<size_t> *cuts; /* [ntiles + 1] device */
        uint32_t *lengths;                 /* [ntiles] device: pairs that a tile yields */
        size_t *starts;                    /* [ntiles + 1] device: the tiles' places in the
                                              result */
};

/* Upper bound in bytes on the device memory that planning a merge of n pairs in total takes. */
template <class Key> size_t kc_gpu_merge_nbytes(size_t n);

/*
 * Plan the merge of a and b; either may be empty. Their memory must stay valid until the merge is
 * made. Work is on gpu->stream; returns when merge->n is known. KC_ENOMEM, KC_EDEVICE.
 */
template <class Key>
enum kc_status kc_gpu_merge_plan(struct kc_gpu *gpu, struct kc_gpu_merge<Key> *merge,
                                 const struct kc_gpu_run<Key> *a, const struct kc_gpu_run<Key> *b,
                                 struct kc_error *err);

/*
 * Make the planned merge.
 *   nsaturated  in/out, device: increased by what saturation cuts off the counts
 *   result      room for at least merge->n pairs; result->n is set
 * Returns with the work queued on gpu->stream. KC_EDEVICE.
 */
template <class Key>
enum kc_status kc_gpu_merge_make(struct kc_gpu *gpu, const struct kc_gpu_merge<Key> *merge,
                                 uint64_t *nsaturated, struct kc_gpu_run<Key> *result,
                                 struct kc_error *err);

template <class Key> void kc_gpu_merge_free(struct kc_gpu *gpu, struct kc_gpu_merge<Key> *merge);

/* Plan and make a merge into a new run of exactly the needed size, which the caller frees.
 * KC_ENOMEM, KC_EDEVICE. */
template <class Key>
enum kc_status kc_gpu_merge_runs(struct kc_gpu *gpu, const struct kc_gpu_run<Key> *a,
                                 const struct kc_gpu_run<Key> *b, uint64_t *nsaturated,
                                 struct kc_gpu_run<Key> *result, struct kc_error *err);

/*
 * Merge all parts into one run, the two smallest first.
 *   parts   in/out [n]: those with cap > 0 own their memory, which is freed once they are merged;
 *           the others belong to the caller. All are empty on KC_OK
 *   result  out: owns its memory if cap > 0; otherwise it is the only part that was not empty
 * Returns with the work queued on gpu->stream. KC_ENOMEM, KC_EDEVICE.
 */
template <class Key>
enum kc_status kc_gpu_merge_all(struct kc_gpu *gpu, struct kc_gpu_run<Key> *parts, size_t n,
                                uint64_t *nsaturated, struct kc_gpu_run<Key> *result,
                                struct kc_error *err);

#endif
