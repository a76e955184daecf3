/*
 * Parts of a run in, blocks out, by many threads at once.
 *
 * Blocks are cut every KC_BLOCK_NKMERS k-mers of the run, so what a call must encode depends on how
 * many k-mers came before it, and where it goes depends on how long their blocks are. Both are
 * decided in short serial sections, in the order of the parts; the work is done outside them:
 *
 *      check, tally                in parallel
 *      cut:   carry in, carry out  in turn: copies less than two blocks
 *      plan the blocks' layouts    in parallel
 *      claim: file space, index    in turn: a few words per block
 *      encode, checksum, pwrite    in parallel
 *      checksums to the index      one at a time, in any order: the entries are claimed
 *
 * The carry is the tail of the k-mers so far that does not fill a block yet.
 */
#include "io/store/writer.h"

#include "base/simd.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum {
        CHUNK_WORDS = 1 << 15, /* blocks are written once they fill this many words */
};

/* ---- failure ---- */

void kc_writer_fail(struct kc_store_writer *w, const struct kc_error *failure)
{
        pthread_mutex_lock(&w->lock);
        kc_fail_as(&w->failure, failure);
        kc_turn_stop(&w->parts);
        kc_turn_stop(&w->tickets);
        pthread_mutex_unlock(&w->lock);
}

/* The first failure of any call; lock held. */
static enum kc_status get_failure(const struct kc_store_writer *w, struct kc_error *err)
{
        if (w->failure.status == KC_OK)
                return KC_OK;
        return kc_fail_as(err, &w->failure);
}

/* ---- encoders ---- */

void kc_encoder_free(struct kc_encoder *e)
{
        if (e == NULL)
                return;
        kc_tally_free(&e->tally);
        free(e->head_kmers);
        free(e->plans);
        free(e->checksums);
        free(e->words);
        free(e);
}

static struct kc_encoder *new_encoder(int nwords)
{
        struct kc_encoder *e = calloc(1, sizeof *e);
        if (e == NULL)
                return NULL;
        e->head_kmers = malloc(KC_BLOCK_NKMERS * (size_t)nwords * sizeof *e->head_kmers);
        e->words = malloc((CHUNK_WORDS + kc_block_max_words(nwords) + 1) * sizeof *e->words);
        if (e->head_kmers == NULL || e->words == NULL) {
                kc_encoder_free(e);
                return NULL;
        }
        return e;
}

enum kc_status kc_writer_take_encoder(struct kc_store_writer *w, struct kc_encoder **encoder,
                                      struct kc_error *err)
{
        pthread_mutex_lock(&w->lock);
        enum kc_status status = get_failure(w, err);
        struct kc_encoder *e = NULL;
        if (status == KC_OK) {
                e = w->idle;
                if (e != NULL) {
                        w->idle = e->next_idle;
                } else if ((e = new_encoder(w->nwords)) != NULL) {
                        e->next_made = w->made;
                        w->made = e;
                } else {
                        status = kc_fail(err, KC_ENOMEM, "out of memory for encoding blocks");
                }
        }
        pthread_mutex_unlock(&w->lock);
        *encoder = e;
        return status;
}

void kc_writer_give_encoder(struct kc_store_writer *w, struct kc_encoder *e)
{
        if (e == NULL)
                return;
        pthread_mutex_lock(&w->lock);
        e->next_idle = w->idle;
        w->idle = e;
        pthread_mutex_unlock(&w->lock);
}

/* ---- check ---- */

KC_SIMD_CLONES
static bool is_ascending(const uint64_t *kmers, size_t n, int nwords)
{
        bool ascending = true;
        if (nwords == 1) {
                for (size_t i = 1; i < n; i++)
                        ascending &= kmers[i - 1] < kmers[i];
                return ascending;
        }
        for (size_t i = 1; i < n && ascending; i++, kmers += nwords)
                ascending = kc_kmer_compare(kmers, kmers + nwords, nwords) < 0;
        return ascending;
}

KC_SIMD_CLONES
static bool are_kept(const struct kc_run_filter *filter, const uint32_t *counts, size_t n)
{
        bool kept = true;
        for (size_t i = 0; i < n; i++)
                kept &= kc_run_keeps(filter, counts[i]);
        return kept;
}

/* Checked so that an engine that breaks its contract cannot cause a wrong file. The lowest bound is
 * at least 1, so a count of 0 is refused, too. */
static enum kc_status check_pairs(const struct kc_store_writer *w, const struct kc_run_pairs *in,
                                  struct kc_error *err)
{
        const struct kc_run_filter filter = kc_writer_filter(w);
        if (are_kept(&filter, in->counts, in->n) && is_ascending(in->kmers, in->n, w->nwords))
                return KC_OK;
        return kc_fail(err, KC_EUSAGE,
                       "%s was given a part that is out of order, or a count outside %u .. %u",
                       w->output.path, filter.min_count, filter.max_count);
}

/* ---- cut ---- */

static void append_to_carry(struct kc_store_writer *w, const struct kc_pairs *in)
{
        const size_t nw = (size_t)w->nwords;
        if (in->n == 0)
                return;
        memcpy(w->carry_kmers + w->ncarry * nw, in->kmers, in->n * nw * sizeof *in->kmers);
        memcpy(w->carry_counts + w->ncarry, in->counts, in->n * sizeof *in->counts);
        w->ncarry += in->n;
}

static struct kc_pairs skip(const struct kc_pairs *in, size_t n, int nwords)
{
        return (struct kc_pairs){ in->kmers + n * (size_t)nwords, in->counts + n, in->n - n };
}

/* The carry and the first pairs of in make a whole block; it is the encoder's head. */
static void cut_head(struct kc_store_writer *w, struct kc_encoder *e, struct kc_pairs *in)
{
        size_t nmissing = KC_BLOCK_NKMERS - w->ncarry;
        append_to_carry(w, &(struct kc_pairs){ in->kmers, in->counts, nmissing });
        memcpy(e->head_kmers, w->carry_kmers,
               KC_BLOCK_NKMERS * (size_t)w->nwords * sizeof *e->head_kmers);
        memcpy(e->head_counts, w->carry_counts, sizeof e->head_counts);
        w->ncarry = 0;
        e->head = (struct kc_pairs){ e->head_kmers, e->head_counts, KC_BLOCK_NKMERS };
        *in = skip(in, nmissing, w->nwords);
}

static void cut_blocks(struct kc_store_writer *w, struct kc_encoder *e, struct kc_pairs in)
{
        e->head = e->rest = (struct kc_pairs){ 0 };
        e->nblocks = (w->ncarry + in.n) / KC_BLOCK_NKMERS;
        w->ndistinct += in.n;
        if (e->nblocks == 0) {
                append_to_carry(w, &in);
                return;
        }
        if (w->ncarry > 0)
                cut_head(w, e, &in);
        size_t nwhole = in.n - in.n % KC_BLOCK_NKMERS;
        e->rest = (struct kc_pairs){ in.kmers, in.counts, nwhole };
        in = skip(&in, nwhole, w->nwords);
        append_to_carry(w, &in);
        e->ticket = w->next_ticket++;
}

static enum kc_status check_follows(struct kc_store_writer *w, const struct kc_run_pairs *in,
                                    struct kc_error *err)
{
        const size_t nw = (size_t)w->nwords;
        if (in->n == 0)
                return KC_OK;
        if (w->ndistinct > 0 && kc_kmer_compare(w->last, in->kmers, w->nwords) >= 0)
                return kc_fail(err, KC_EUSAGE, "%s was given parts that are out of order",
                               w->output.path);
        memcpy(w->last, in->kmers + (in->n - 1) * nw, nw * sizeof *w->last);
        return KC_OK;
}

/* Begin the run in this form, or fail if it was begun in the other. */
static enum kc_status check_form(struct kc_store_writer *w, enum kc_run_form form,
                                 struct kc_error *err)
{
        if (w->form == KC_FORM_NONE)
                w->form = form;
        if (w->form == form)
                return KC_OK;
        return kc_fail(err, KC_EUSAGE, "%s was given both pairs and blocks for one run",
                       w->output.path);
}

enum kc_status kc_writer_enter_part(struct kc_store_writer *w, uint64_t part, enum kc_run_form form,
                                    struct kc_error *err)
{
        kc_turn_wait(&w->parts, part);
        pthread_mutex_lock(&w->lock);
        enum kc_status status = get_failure(w, err);
        if (status != KC_OK)
                return status;
        if (!kc_turn_wait(&w->parts, part)) /* does not wait: was it passed before the lock? */
                return kc_fail(err, KC_EUSAGE, "%s was given part %llu twice", w->output.path,
                               (unsigned long long)part);
        return check_form(w, form, err);
}

/* Wait for the part's turn, cut its blocks, pass the turn on. */
static enum kc_status cut(struct kc_store_writer *w, struct kc_encoder *e,
                          const struct kc_run_pairs *in, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_writer_enter_part(w, in->part, KC_FORM_PAIRS, err));
        KC_TRY(check_follows(w, in, err));
        cut_blocks(w, e, (struct kc_pairs){ in->kmers, in->counts, in->n });
        if (in->last)
                kc_turn_pass(&w->parts);
out:
        pthread_mutex_unlock(&w->lock);
        return status;
}

/* ---- plan, claim, write ---- */

static struct kc_pairs get_block(const struct kc_encoder *e, size_t block, int nwords)
{
        if (e->head.n > 0) {
                if (block == 0)
                        return e->head;
                block--;
        }
        struct kc_pairs pairs = skip(&e->rest, block * KC_BLOCK_NKMERS, nwords);
        pairs.n = KC_BLOCK_NKMERS;
        return pairs;
}

static enum kc_status plan_blocks(struct kc_encoder *e, int nwords, struct kc_error *err)
{
        if (e->nblocks > e->nplans_cap) {
                free(e->plans);
                free(e->checksums);
                e->nplans_cap = 0;
                e->plans = malloc(e->nblocks * sizeof *e->plans);
                e->checksums = malloc(e->nblocks * sizeof *e->checksums);
                if (e->plans == NULL || e->checksums == NULL)
                        return kc_fail(err, KC_ENOMEM, "out of memory for encoding blocks");
                e->nplans_cap = e->nblocks;
        }
        for (size_t i = 0; i < e->nblocks; i++) {
                struct kc_pairs p = get_block(e, i, nwords);
                kc_block_plan(&e->plans[i], p.kmers, p.counts, p.n, nwords);
        }
        return KC_OK;
}

static size_t block_nbytes(const struct kc_block_plan *plan)
{
        return (plan->nwords + (size_t)1) * sizeof(uint64_t); /* including its checksum */
}

/* Enter the blocks into the index, without checksums; *offset: where they go; lock held. */
static enum kc_status enter_blocks(struct kc_store_writer *w, struct kc_encoder *e,
                                   uint64_t *offset, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        e->first_entry = w->index.checksums.n;
        *offset = w->end;
        for (size_t i = 0; i < e->nblocks; i++) {
                struct kc_pairs p = get_block(e, i, w->nwords);
                const struct kc_index_entry entry = { .first = p.kmers, .offset = w->end };
                KC_TRY(kc_index_add(&w->index, &entry, w->nwords, w->output.path, err));
                w->end += block_nbytes(&e->plans[i]);
        }
out:
        return status;
}

static void enter_checksums(struct kc_store_writer *w, const struct kc_encoder *e)
{
        pthread_mutex_lock(&w->lock);
        memcpy(w->index.checksums.data + e->first_entry, e->checksums,
               e->nblocks * sizeof *e->checksums);
        pthread_mutex_unlock(&w->lock);
}

static enum kc_status claim(struct kc_store_writer *w, struct kc_encoder *e, uint64_t *offset,
                            struct kc_error *err)
{
        enum kc_status status;
        kc_turn_wait(&w->tickets, e->ticket); /* its turn comes, unless there was a failure */
        pthread_mutex_lock(&w->lock);
        KC_TRY(get_failure(w, err));
        KC_TRY(enter_blocks(w, e, offset, err));
        kc_turn_pass(&w->tickets);
out:
        pthread_mutex_unlock(&w->lock);
        return status;
}

static enum kc_status write_blocks(struct kc_store_writer *w, struct kc_encoder *e, uint64_t offset,
                                   struct kc_error *err)
{
        size_t used = 0;
        for (size_t i = 0; i < e->nblocks; i++) {
                const struct kc_block_plan *plan = &e->plans[i];
                struct kc_pairs p = get_block(e, i, w->nwords);
                uint64_t *words = e->words + used;
                kc_block_encode(plan, p.kmers, p.counts, w->nwords, words);
                e->checksums[i] = XXH3_64bits(words, plan->nwords * sizeof *words);
                words[plan->nwords] = e->checksums[i];
                used += plan->nwords + 1;
                if (used >= CHUNK_WORDS || i + 1 == e->nblocks) {
                        enum kc_status status = kc_output_pwrite(&w->output, e->words,
                                                                 used * sizeof *words, offset, err);
                        if (status != KC_OK)
                                return status;
                        offset += used * sizeof *words;
                        used = 0;
                }
        }
        return KC_OK;
}

static enum kc_status store_blocks(struct kc_store_writer *w, struct kc_encoder *e,
                                   struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint64_t offset;
        if (e->nblocks == 0)
                return KC_OK;
        KC_TRY(plan_blocks(e, w->nwords, err));
        KC_TRY(claim(w, e, &offset, err));
        KC_TRY(write_blocks(w, e, offset, err));
        enter_checksums(w, e);
out:
        return status;
}

enum kc_status kc_writer_put(struct kc_store_writer *w, const struct kc_run_pairs *pairs,
                             struct kc_error *err)
{
        struct kc_encoder *e = NULL;
        enum kc_status status;
        KC_TRY(kc_writer_take_encoder(w, &e, err));
        KC_TRY(check_pairs(w, pairs, err));
        KC_TRY(kc_tally_add(&e->tally, pairs->counts, pairs->n, err));
        kc_run_add_dropped(&e->dropped, &pairs->dropped);
        KC_TRY(cut(w, e, pairs, err));
        KC_TRY(store_blocks(w, e, err));
out:
        kc_writer_give_encoder(w, e);
        return status;
}

enum kc_status kc_writer_put_carry(struct kc_store_writer *w, struct kc_error *err)
{
        struct kc_encoder *e = NULL;
        enum kc_status status;
        KC_TRY(kc_writer_take_encoder(w, &e, err));
        if (w->ncarry > 0) {
                e->head = (struct kc_pairs){ w->carry_kmers, w->carry_counts, w->ncarry };
                e->nblocks = 1;
                e->ticket = w->next_ticket++;
                KC_TRY(store_blocks(w, e, err));
        }
        w->ncarry = 0;
out:
        kc_writer_give_encoder(w, e);
        return status;
}
