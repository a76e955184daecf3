#include "io/store/ranges.h"

#include <stdlib.h>
#include <string.h>

enum { NALIVE = 2 }; /* ranges that are valid at a time */

/* A run, and its next block. */
struct run_at {
        struct kc_set_run_at at;
        uint64_t block, nblocks;
        struct kc_page page; /* of that block, while the run is in the heap */
        size_t ntaken;       /* blocks in the range */
        size_t slot, word;   /* where the next of them goes */
};

struct range {
        struct kc_join_block *blocks;
        uint64_t *firsts; /* [cap * nwords] */
        uint64_t from[KC_MAX_WORDS], end[KC_MAX_WORDS];
};

struct kc_set_ranges {
        const struct kc_set *set;
        struct kc_join_plan plan;
        size_t nwords; /* of a k-mer */
        struct run_at *runs;
        struct run_at **heap; /* runs with blocks left, by the first k-mer of their next one */
        size_t nheap;
        struct kc_join_block *taken; /* [cap] in the order of their first k-mers */
        uint64_t *taken_firsts;
        struct range ranges[NALIVE];
        size_t cap;
        uint64_t nranges;
        uint64_t end[KC_MAX_WORDS]; /* of the previous range */
        bool is_at_end;
};

/* ---- the heap ---- */

static const uint64_t *next_first(const struct kc_set_ranges *r, const struct run_at *run)
{
        return run->page.firsts + run->block % KC_PAGE_NBLOCKS * r->nwords;
}

static bool is_before(const struct kc_set_ranges *r, size_t a, size_t b)
{
        return kc_kmer_compare(next_first(r, r->heap[a]), next_first(r, r->heap[b]),
                               (int)r->nwords) < 0;
}

static void swap(struct kc_set_ranges *r, size_t a, size_t b)
{
        struct run_at *run = r->heap[a];
        r->heap[a] = r->heap[b];
        r->heap[b] = run;
}

static void sift_down(struct kc_set_ranges *r, size_t at)
{
        for (;;) {
                size_t least = at;
                for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < r->nheap; child++)
                        if (is_before(r, child, least))
                                least = child;
                if (least == at)
                        return;
                swap(r, at, least);
                at = least;
        }
}

static enum kc_status load(struct run_at *run, struct kc_error *err)
{
        return kc_page_load(&run->page, run->at.store, run->at.run, run->block / KC_PAGE_NBLOCKS,
                            err);
}

static enum kc_status fill_heap(struct kc_set_ranges *r, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        r->nheap = 0;
        for (size_t i = 0; i < r->plan.nruns; i++) {
                r->runs[i].ntaken = 0;
                if (r->runs[i].block == r->runs[i].nblocks)
                        continue;
                KC_TRY(load(&r->runs[i], err));
                r->heap[r->nheap++] = &r->runs[i];
        }
        for (size_t i = r->nheap; i-- > 0;)
                sift_down(r, i);
out:
        return status;
}

/* ---- taking blocks ---- */

/* Take the run's next block as the i-th of the range. */
static enum kc_status take(struct kc_set_ranges *r, struct run_at *run, size_t i,
                           struct kc_error *err)
{
        const size_t entry = run->block % KC_PAGE_NBLOCKS;
        const struct kc_block_place place = kc_page_place(&run->page, entry);
        r->taken[i] = (struct kc_join_block){
                .offset = place.offset,
                .run = (uint32_t)(run - r->runs),
                .n = (uint32_t)kc_run_block_nkmers(run->at.run, run->block),
                .nwords = (uint32_t)place.nwords,
                .checksum = place.checksum,
        };
        memcpy(r->taken_firsts + i * r->nwords, next_first(r, run), r->nwords * sizeof(uint64_t));
        run->ntaken++;
        return ++run->block < run->nblocks ? load(run, err) : KC_OK;
}

static enum kc_status take_blocks(struct kc_set_ranges *r, size_t max_blocks, size_t *n,
                                  struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (*n = 0; *n < max_blocks && r->nheap > 0; ++*n) {
                struct run_at *run = r->heap[0];
                KC_TRY(take(r, run, *n, err));
                if (run->block == run->nblocks)
                        r->heap[0] = r->heap[--r->nheap];
                sift_down(r, 0);
        }
out:
        return status;
}

/* Sort the blocks by run, each run's in the order taken. */
static void sort_blocks(struct kc_set_ranges *r, struct range *to, size_t n)
{
        const size_t nw = r->nwords;
        size_t slot = 0;
        for (size_t i = 0; i < r->plan.nruns; i++) {
                r->runs[i].slot = slot;
                slot += r->runs[i].ntaken;
        }
        for (size_t i = 0; i < n; i++) {
                size_t at = r->runs[r->taken[i].run].slot++;
                to->blocks[at] = r->taken[i];
                memcpy(to->firsts + at * nw, r->taken_firsts + i * nw, nw * sizeof(uint64_t));
        }
}

/*
 * A run's last block may extend past the end of the range, so the next range reads it again. This
 * also applies if the run's next block starts exactly at the end: an overlap of the two blocks is
 * detected only if both are in one range.
 */
static void go_back(struct kc_set_ranges *r)
{
        for (size_t i = 0; i < r->plan.nruns; i++) {
                struct run_at *run = &r->runs[i];
                if (run->ntaken > 0 &&
                    (run->block == run->nblocks ||
                     kc_kmer_compare(next_first(r, run), r->end, (int)r->nwords) >= 0))
                        run->block--;
        }
}

static enum kc_status reserve(struct kc_set_ranges *r, size_t nblocks, struct kc_error *err)
{
        const size_t key_nbytes = r->nwords * sizeof(uint64_t);
        bool complete = true;
        if (nblocks <= r->cap)
                return KC_OK;
        if (r->cap > 0)
                return kc_fail(err, KC_EUSAGE, "ranges cannot become longer");
        r->taken = malloc(nblocks * sizeof *r->taken);
        r->taken_firsts = malloc(nblocks * key_nbytes);
        for (int i = 0; i < NALIVE; i++) {
                r->ranges[i].blocks = malloc(nblocks * sizeof *r->taken);
                r->ranges[i].firsts = malloc(nblocks * key_nbytes);
                complete &= r->ranges[i].blocks != NULL && r->ranges[i].firsts != NULL;
        }
        if (!complete || r->taken == NULL || r->taken_firsts == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for ranges of %zu blocks", nblocks);
        r->cap = nblocks;
        return KC_OK;
}

static enum kc_status next(void *ctx, size_t max_blocks, struct kc_join_range *range,
                           struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_set_ranges *r = ctx;
        struct range *to = &r->ranges[r->nranges % NALIVE];
        const size_t key_nbytes = r->nwords * sizeof(uint64_t);
        size_t n;
        *range = (struct kc_join_range){ 0 };
        if (r->is_at_end)
                return KC_OK;
        if (max_blocks <= r->plan.nruns)
                return kc_fail(err, KC_EUSAGE, "%zu blocks are too few for %zu runs", max_blocks,
                               r->plan.nruns);
        KC_TRY(reserve(r, max_blocks, err));
        KC_TRY(fill_heap(r, err));
        KC_TRY(take_blocks(r, max_blocks, &n, err));
        sort_blocks(r, to, n);
        memcpy(to->from, r->end, key_nbytes);
        *range = (struct kc_join_range){ .blocks = to->blocks,
                                         .firsts = to->firsts,
                                         .nblocks = n,
                                         .from = r->nranges > 0 ? to->from : NULL };
        for (size_t i = 0; i < n; i++)
                range->nwords += to->blocks[i].nwords;
        r->nranges++;
        r->is_at_end = r->nheap == 0;
        if (!r->is_at_end) {
                memcpy(r->end, next_first(r, r->heap[0]), key_nbytes);
                memcpy(to->end, r->end, key_nbytes);
                range->end = to->end;
                go_back(r);
        }
out:
        return status;
}

/* ---- reading ---- */

static enum kc_status read_blocks(void *ctx, const struct kc_join_range *range, size_t begin,
                                  size_t end, uint64_t *words, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_set_ranges *r = ctx;
        const struct kc_join_block *blocks = range->blocks;
        const struct kc_set_run_at *at = &r->runs[blocks[begin].run].at;
        size_t nwords = 0;
        for (size_t i = begin; i < end; i++)
                nwords += blocks[i].nwords;
        KC_TRY(kc_store_pread(at->store, words, nwords * sizeof *words, blocks[begin].offset, err));
        for (size_t i = begin; i < end; i++) {
                const struct kc_block_place place = { .offset = blocks[i].offset,
                                                      .nwords = blocks[i].nwords,
                                                      .linked = at->run->linked,
                                                      .checksum = blocks[i].checksum };
                KC_TRY(kc_block_verify(at->store, words, &place, err));
                words += place.nwords;
        }
out:
        return status;
}

static enum kc_status refuse(void *ctx, const struct kc_join_range *range, size_t block,
                             struct kc_error *err)
{
        const struct kc_set_ranges *r = ctx;
        const struct kc_join_block *b = &range->blocks[block];
        return kc_block_damaged(r->runs[b->run].at.store, b->offset, "is not laid out like one",
                                err);
}

/* ---- */

void kc_set_ranges_close(struct kc_set_ranges *r)
{
        if (r == NULL)
                return;
        for (size_t i = 0; r->runs != NULL && i < r->plan.nruns; i++)
                free(r->runs[i].page.words);
        for (int i = 0; i < NALIVE; i++) {
                free(r->ranges[i].blocks);
                free(r->ranges[i].firsts);
        }
        free(r->taken);
        free(r->taken_firsts);
        free(r->runs);
        free(r->heap);
        free(r->plan.nodes);
        free(r);
}

static enum kc_status find_runs(struct kc_set_ranges *r, struct kc_error *err)
{
        struct kc_set_run_at *at = kc_set_runs(r->set);
        r->runs = calloc(r->plan.nruns + 1, sizeof *r->runs);
        r->heap = calloc(r->plan.nruns + 1, sizeof *r->heap);
        if (at == NULL || r->runs == NULL || r->heap == NULL) {
                free(at);
                return kc_fail(err, KC_ENOMEM, "out of memory for merging %zu runs", r->plan.nruns);
        }
        for (size_t i = 0; i < r->plan.nruns; i++) {
                r->runs[i].at = at[i];
                r->runs[i].nblocks = kc_set_run_is_idle(&at[i]) ? 0 : at[i].run->nblocks;
        }
        free(at);
        return KC_OK;
}

/* make_plan: kc_set_plan or kc_joint_plan. */
static enum kc_status open_ranges(struct kc_set_ranges **ranges, const struct kc_set *set,
                                  enum kc_status (*make_plan)(const struct kc_set *,
                                                              struct kc_join_plan *,
                                                              struct kc_error *),
                                  struct kc_error *err)
{
        enum kc_status status;
        struct kc_set_ranges *r = calloc(1, sizeof *r);
        if (r == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for merging files");
        r->set = set;
        r->nwords = (size_t)set->stores[0]->nwords;
        KC_TRY(make_plan(set, &r->plan, err));
        KC_TRY(find_runs(r, err));
        *ranges = r;
        r = NULL;
out:
        kc_set_ranges_close(r);
        return status;
}

enum kc_status kc_set_ranges_open(struct kc_set_ranges **ranges, const struct kc_set *set,
                                  struct kc_error *err)
{
        return open_ranges(ranges, set, kc_set_plan, err);
}

enum kc_status kc_joint_ranges_open(struct kc_set_ranges **ranges, const struct kc_set *set,
                                    struct kc_error *err)
{
        return open_ranges(ranges, set, kc_joint_plan, err);
}

struct kc_join_source kc_set_ranges_source(struct kc_set_ranges *r)
{
        for (size_t i = 0; i < r->plan.nruns; i++)
                r->runs[i].block = 0;
        r->nranges = 0;
        r->is_at_end = false;
        return (struct kc_join_source){ .ctx = r,
                                        .plan = &r->plan,
                                        .k = r->set->stores[0]->k,
                                        .npairs = kc_set_npairs(r->set),
                                        .next = next,
                                        .read = read_blocks,
                                        .refuse = refuse };
}
