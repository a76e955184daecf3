/*
 * Parts of a run in, already encoded as blocks by an engine.
 *
 * Where a block goes and what the index says about it are known when a call begins, so there is
 * only one serial section: in the part's turn, the index entries and the file space. Checks and
 * checksums come before it, writing after it.
 *
 * The k-mers inside the blocks are not examined. Only cheap checks are made: that the sizes fit,
 * that blocks follow one another, and, at the run's end, that they hold as many k-mers as the
 * counts that came with them say.
 */
#include "io/store/writer.h"

#include <xxhash.h>

static enum kc_status refuse(const struct kc_store_writer *w, const char *why, struct kc_error *err)
{
        return kc_fail(err, KC_EUSAGE, "%s was given invalid blocks: %s", w->output.path, why);
}

/* ---- check ---- */

static size_t block_n(const struct kc_run_blocks *b, size_t block)
{
        return block + 1 < b->nblocks ? (size_t)KC_BLOCK_NKMERS
                                      : b->n - (b->nblocks - 1) * KC_BLOCK_NKMERS;
}

/* Check that each block has a possible size, and that together they fill the words exactly. */
static enum kc_status check_sizes(const struct kc_store_writer *w, const struct kc_run_blocks *b,
                                  struct kc_error *err)
{
        const size_t max_words = kc_block_max_words(w->nwords);
        if (b->nblocks != b->n / KC_BLOCK_NKMERS + (b->n % KC_BLOCK_NKMERS != 0))
                return refuse(w, "too many or too few for their k-mers", err);
        size_t at = 0;
        for (size_t i = 0; i < b->nblocks; i++) {
                size_t nwords = b->block_nwords[i];
                if (nwords < KC_BLOCK_MIN_WORDS || nwords > max_words || b->nwords - at <= nwords)
                        return refuse(w, "wrong sizes", err);
                at += nwords + 1;
        }
        return at == b->nwords ? KC_OK : refuse(w, "wrong sizes", err);
}

/* Check that the blocks' heads state the right numbers of k-mers. */
static enum kc_status check_heads(const struct kc_store_writer *w, const struct kc_run_blocks *b,
                                  struct kc_error *err)
{
        const uint64_t *at = b->words;
        for (size_t i = 0; i < b->nblocks; i++) {
                if ((*at & 0xffff) != block_n(b, i))
                        return refuse(w, "wrong headers", err);
                at += b->block_nwords[i] + 1;
        }
        return KC_OK;
}

static enum kc_status check_order(const struct kc_store_writer *w, const struct kc_run_blocks *b,
                                  struct kc_error *err)
{
        const size_t nw = (size_t)w->nwords;
        bool ascending = true;
        if (b->nblocks == 0)
                return KC_OK;
        for (size_t i = 1; i < b->nblocks && ascending; i++)
                ascending = kc_kmer_compare(b->firsts + (i - 1) * nw, b->firsts + i * nw,
                                            w->nwords) < 0;
        int last = kc_kmer_compare(b->firsts + (b->nblocks - 1) * nw, b->last_kmer, w->nwords);
        if (ascending && (block_n(b, b->nblocks - 1) == 1 ? last == 0 : last < 0))
                return KC_OK;
        return refuse(w, "out of order", err);
}

static enum kc_status check_counts(const struct kc_store_writer *w, const struct kc_run_blocks *b,
                                   struct kc_error *err)
{
        const struct kc_run_filter filter = kc_writer_filter(w);
        bool kept = true;
        for (uint32_t c = 0; c < KC_RUN_NROWS; c++)
                kept &= b->rows[c] == 0 || kc_run_keeps(&filter, c);
        for (size_t i = 0; i < b->nbig; i++)
                kept &= b->big_counts[i] >= KC_RUN_NROWS && kc_run_keeps(&filter, b->big_counts[i]);
        return kept ? KC_OK : refuse(w, "counts that the filter drops", err);
}

/* Check that the blocks follow those so far; lock held. */
static enum kc_status check_follows(const struct kc_store_writer *w, const struct kc_run_blocks *b,
                                    struct kc_error *err)
{
        if (b->nblocks == 0 || w->ndistinct == 0)
                return KC_OK;
        if (w->ndistinct % KC_BLOCK_NKMERS != 0)
                return refuse(w, "a block follows one that is not full", err);
        if (kc_kmer_compare(w->last, b->firsts, w->nwords) >= 0)
                return refuse(w, "parts out of order", err);
        return KC_OK;
}

/* ---- seal, enter, write, tally ---- */

/* Check the sizes of the blocks, and fill in their checksums. */
static enum kc_status seal(const struct kc_store_writer *w, const struct kc_run_blocks *b,
                           struct kc_error *err)
{
        uint64_t *at = b->words;
        enum kc_status status;
        KC_TRY(check_sizes(w, b, err));
        KC_TRY(check_heads(w, b, err));
        for (size_t i = 0; i < b->nblocks; i++) {
                size_t nwords = b->block_nwords[i];
                at[nwords] = XXH3_64bits(at, nwords * sizeof *at);
                at += nwords + 1;
        }
out:
        return status;
}

/* Enter the blocks into the index; *offset: where they go; lock held. */
static enum kc_status enter_blocks(struct kc_store_writer *w, const struct kc_run_blocks *b,
                                   uint64_t *offset, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const size_t nw = (size_t)w->nwords;
        const uint64_t *at = b->words;
        *offset = w->end;
        for (size_t i = 0; i < b->nblocks; i++) {
                at += b->block_nwords[i];
                const struct kc_index_entry entry = { b->firsts + i * nw, w->end, *at++ };
                KC_TRY(kc_index_add(&w->index, &entry, w->nwords, w->output.path, err));
                w->end += (b->block_nwords[i] + UINT64_C(1)) * sizeof(uint64_t);
        }
out:
        return status;
}

/* The blocks are part of the run now; lock held. */
static void append(struct kc_store_writer *w, const struct kc_run_blocks *b)
{
        w->ndistinct += b->n;
        if (b->nblocks > 0)
                memcpy(w->last, b->last_kmer, (size_t)w->nwords * sizeof *w->last);
}

static enum kc_status claim(struct kc_store_writer *w, const struct kc_run_blocks *b,
                            uint64_t *offset, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_writer_enter_part(w, b->part, KC_FORM_BLOCKS, err));
        KC_TRY(check_follows(w, b, err));
        KC_TRY(enter_blocks(w, b, offset, err));
        append(w, b);
        kc_turn_pass(&w->parts);
out:
        pthread_mutex_unlock(&w->lock);
        return status;
}

/* In one piece: long mappings cost less per byte. */
static enum kc_status write_blocks(struct kc_store_writer *w, const struct kc_run_blocks *b,
                                   uint64_t offset, struct kc_error *err)
{
        if (b->nwords == 0)
                return KC_OK;
        return kc_output_pwrite(&w->output, b->words, b->nwords * sizeof *b->words, offset, err);
}

static enum kc_status tally_blocks(struct kc_encoder *e, const struct kc_run_blocks *b,
                                   struct kc_error *err)
{
        _Static_assert((int)KC_TALLY_NSMALL == (int)KC_RUN_NROWS, "rows are added as they are");
        kc_tally_add_rows(&e->tally, b->rows);
        kc_run_add_dropped(&e->dropped, &b->dropped);
        return kc_tally_add(&e->tally, b->big_counts, b->nbig, err);
}

/* Check the description of the blocks, and add up their counts. */
static enum kc_status accept_description(struct kc_store_writer *w, struct kc_encoder *e,
                                         const struct kc_run_blocks *b, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(check_order(w, b, err));
        KC_TRY(check_counts(w, b, err));
        KC_TRY(tally_blocks(e, b, err));
out:
        return status;
}

enum kc_status kc_writer_put_blocks(struct kc_store_writer *w, const struct kc_run_blocks *b,
                                    struct kc_error *err)
{
        struct kc_encoder *e = NULL;
        enum kc_status status;
        uint64_t offset;
        KC_TRY(kc_writer_take_encoder(w, &e, err));
        KC_TRY(seal(w, b, err));
        KC_TRY(accept_description(w, e, b, err));
        KC_TRY(claim(w, b, &offset, err));
        KC_TRY(write_blocks(w, b, offset, err));
out:
        kc_writer_give_encoder(w, e);
        return status;
}
