#include "app/library/walking.h"

#include "base/parallel.h"
#include "base/turn.h"
#include "kmer/kmer.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Parts fill about half of a buffer, because most pairs take half of what they might. */
enum { BUFFER_NBYTES = 2 << 20, MAX_PARTS = 1 << 20 };

struct walk {
        const struct kc_walking *walking;
        size_t nwords;
        uint64_t *bounds; /* part p is [bounds[p - 1], bounds[p]) */
        size_t nbounds;
        atomic_size_t next_part;
        struct kc_turn turn; /* the part that may be delivered now */
};

/* What a thread has made of the part that it has taken. */
struct walk_part {
        size_t number;
        char *data;
        size_t used;
};

static void give_up(void *ctx)
{
        struct walk *walk = ctx;
        kc_turn_stop(&walk->turn);
}

static enum kc_status deliver(struct walk *walk, struct walk_part *part, struct kc_error *err)
{
        if (!kc_turn_wait(&walk->turn, part->number))
                return kc_fail(err, KC_ECANCELED, "another thread failed");
        const size_t used = part->used;
        part->used = 0;
        return walk->walking->deliver(walk->walking->ctx, part->data, used, err);
}

/* Convert n pairs, delivering whenever the buffer is full. */
static enum kc_status convert(struct walk *walk, struct walk_part *part, const uint64_t *kmers,
                              const uint32_t *counts, size_t n, struct kc_error *err)
{
        const struct kc_walking *w = walk->walking;
        enum kc_status status = KC_OK;
        while (n > 0) {
                const size_t fits = (BUFFER_NBYTES - part->used) / w->pair_nbytes;
                if (fits == 0) {
                        KC_TRY(deliver(walk, part, err));
                        continue;
                }
                const size_t m = n < fits ? n : fits;
                const char *end = w->convert(w->ctx, kmers, counts, m, part->data + part->used);
                part->used = (size_t)(end - part->data);
                kmers += m * walk->nwords;
                counts += m;
                n -= m;
        }
out:
        return status;
}

static enum kc_status open_part(const struct walk *walk, size_t number, struct kc_cursor **cursor,
                                struct kc_error *err)
{
        const struct kc_walking *w = walk->walking;
        const uint64_t *bound = walk->bounds + number * walk->nwords;
        uint64_t last[KC_MAX_WORDS];
        const uint64_t *from = number == 0 ? w->from : bound - walk->nwords;
        if (number == walk->nbounds)
                return kc_cursor_open(cursor, w->store, from, w->to, err);
        kc_kmer_decrement(bound, (int)walk->nwords, last);
        return kc_cursor_open(cursor, w->store, from, last, err);
}

static enum kc_status do_part(struct walk *walk, struct walk_part *part, struct kc_error *err)
{
        struct kc_job *job = walk->walking->job;
        struct kc_cursor *cursor = NULL;
        enum kc_status status;
        KC_TRY(open_part(walk, part->number, &cursor, err));
        for (;;) {
                const uint64_t *kmers;
                const uint32_t *counts;
                size_t n;
                KC_TRY(kc_cursor_next(cursor, &kmers, &counts, &n, err));
                if (n == 0)
                        break;
                if (kc_job_is_canceled(job))
                        KC_TRY(kc_fail(err, KC_ECANCELED, "interrupted"));
                KC_TRY(convert(walk, part, kmers, counts, n, err));
                kc_job_advance(job, n);
        }
        KC_TRY(deliver(walk, part, err));
        kc_turn_pass(&walk->turn);
out:
        kc_cursor_close(cursor);
        return status;
}

static enum kc_status work(void *ctx, int worker, struct kc_error *err)
{
        (void)worker;
        struct walk *walk = ctx;
        struct walk_part part = { .data = malloc(BUFFER_NBYTES) };
        if (part.data == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for the k-mers of a part");
        enum kc_status status = KC_OK;
        for (;;) {
                part.number = atomic_fetch_add(&walk->next_part, 1);
                if (part.number > walk->nbounds)
                        break;
                KC_TRY(do_part(walk, &part, err));
        }
out:
        free(part.data);
        return status;
}

enum kc_status kc_walking_run(const struct kc_walking *walking, struct kc_error *err)
{
        struct kc_store_info info;
        kc_store_get_info(walking->store, &info);
        const bool is_whole = walking->from == NULL && walking->to == NULL;
        struct walk walk = { .walking = walking, .nwords = (size_t)kc_kmer_nwords(info.k) };
        int nthreads = walking->nthreads;
        enum kc_status status;
        uint64_t nparts = info.ndistinct * walking->pair_nbytes / BUFFER_NBYTES + 1;
        if (nparts > MAX_PARTS)
                nparts = MAX_PARTS;
        kc_job_expect(walking->job, is_whole ? info.ndistinct : 0);
        if (nthreads > 1)
                KC_TRY(kc_store_split(walking->store, walking->from, walking->to, nparts,
                                      &walk.bounds, &walk.nbounds, err));
        kc_turn_init(&walk.turn);
        if ((size_t)nthreads > walk.nbounds + 1)
                nthreads = (int)walk.nbounds + 1;
        status = kc_parallel(nthreads, work, give_up, &walk, err);
        kc_turn_destroy(&walk.turn);
out:
        free(walk.bounds);
        return status;
}
