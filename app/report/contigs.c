/*
 * Workers find all that the windows of a record say, and all numbers of those that are whole. In
 * the order of the blocks, pieces of a sequence are joined, and tracks are written.
 */
#include "app/report/contigs.h"

#include "app/profile/text.h"

#include <stdlib.h>
#include <string.h>

/* A record of a block. */
struct contig_part {
        struct contig contig;       /* if it is only a piece: without what follows from the strip */
        size_t ends[TRACKS_NLISTS]; /* of its stretches, in those of the block */
};

/* What a worker has found in a block. */
struct contig_slot {
        struct contig_part *parts; /* [nparts] of capacity */
        size_t nparts, capacity;
        struct tracks_found found;
        struct strip whole;     /* of one record after the other */
        struct strip pieces[2]; /* of the first and of the last record, if they are pieces */
};

struct finding {
        struct contigs *contigs;
        const struct tracks_setup *setup;
        struct contig_slot *slots; /* [nslots] */
        int nslots;
        /* Used by the worker that writes, for the current sequence: */
        struct tracks tracks;
        struct strip strip; /* if it comes in pieces */
};

static bool is_whole(const struct kc_seq_record *record)
{
        return (record->flags & KC_RECORD_WHOLE) == KC_RECORD_WHOLE;
}

/* Of record i of a block. */
static struct strip *strip_of(struct contig_slot *slot, const struct kc_seq_record *record,
                              size_t i)
{
        return is_whole(record) ? &slot->whole : &slot->pieces[i > 0];
}

/* Set what follows from the strip of the whole sequence. */
static enum kc_status set_windows(struct contig *s, struct strip *strip, struct kc_error *err)
{
        struct strip_total total;
        enum kc_status status;
        s->step = strip->step;
        s->nbins = strip->nbins;
        s->bins = malloc((strip->nbins + 1) * sizeof *s->bins);
        if (s->bins == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for the parts of a sequence");
        strip_results(strip, s->bins);
        KC_TRY(strip_total(strip, &total, err));
        s->quality = (struct quality_counts){ .nkmers = total.nwindows, .nabsent = total.nabsent };
        s->nextra = total.nextra;
        s->depth_quarters = total.quarters;
out:
        return status;
}

/* ---- blocks, by all workers at once ---- */

static enum kc_status copy_name(char **copy, const struct kc_seq_record *record, const char *bytes,
                                struct kc_error *err)
{
        struct profile_name name;
        enum kc_status status;
        KC_TRY(profile_name_init(&name, bytes + record->name, record->name_nbytes, err));
        *copy = strndup(name.bytes, name.nbytes);
        if (*copy == NULL)
                status = kc_fail(err, KC_ENOMEM, "out of memory for the name of a sequence");
out:
        profile_name_free(&name);
        return status;
}

static void count_letters(struct contig *s, const char *letters, uint32_t n)
{
        for (uint32_t i = 0; i < n; i++) {
                const int code = kc_base_code((unsigned char)letters[i]);
                s->nbases += code >= 0;
                s->ngc += code == 1 || code == 2; /* C or G */
        }
        s->length += n;
}

static enum kc_status look_at_windows(const struct finding *f, struct contig_slot *slot,
                                      struct strip *strip, const struct kc_seq_record *record,
                                      const struct kc_ask_answer *answer, struct kc_error *err)
{
        const uint64_t first = record->offset - record->noverlap;
        const struct kc_ask_stretch *const end = answer->stretches + answer->nstretches;
        const uint32_t *pairs = answer->counts;
        enum kc_status status;
        tracks_found_begin(&slot->found);
        strip_begin(strip, answer->nstretches > 0 ? first + end[-1].begin + end[-1].n - 1 : 0);
        for (const struct kc_ask_stretch *s = answer->stretches; s < end; pairs += s++->n) {
                const uint64_t begin = first + s->begin;
                KC_TRY(strip_put(strip, begin, pairs, s->n, f->setup->depth, err));
                KC_TRY(tracks_find(&slot->found, f->setup, begin, pairs, s->n, err));
        }
        KC_TRY(strip_end(strip, err));
out:
        return status;
}

static enum kc_status look_at(const struct finding *f, struct contig_slot *slot,
                              const struct asked *block, size_t i, struct kc_error *err)
{
        const struct kc_seq_record *record = &block->batch->records[i];
        const char *bytes = block->batch->bytes;
        struct strip *strip = strip_of(slot, record, i);
        struct contig_part *part = &slot->parts[slot->nparts++];
        enum kc_status status;
        *part = (struct contig_part){ 0 };
        if (record->flags & KC_RECORD_BEGINS)
                KC_TRY(copy_name(&part->contig.name, record, bytes, err));
        count_letters(&part->contig, bytes + record->bases + record->noverlap,
                      record->nbases - record->noverlap);
        KC_TRY(look_at_windows(f, slot, strip, record, &block->answers[0][i], err));
        for (size_t list = 0; list < TRACKS_NLISTS; list++)
                part->ends[list] = slot->found.lists[list].n;
        if (is_whole(record))
                KC_TRY(set_windows(&part->contig, strip, err));
out:
        return status;
}

static enum kc_status reserve_parts(struct contig_slot *slot, size_t n, struct kc_error *err)
{
        if (n <= slot->capacity)
                return KC_OK;
        struct contig_part *parts = realloc(slot->parts, 2 * n * sizeof *parts);
        if (parts == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for %zu sequences", n);
        slot->parts = parts;
        slot->capacity = 2 * n;
        return KC_OK;
}

static enum kc_status format(void *ctx, int worker, const struct asked *block, struct kc_error *err)
{
        const struct finding *f = ctx;
        struct contig_slot *slot = &f->slots[block->slot];
        enum kc_status status;
        (void)worker;
        slot->nparts = 0;
        tracks_found_clear(&slot->found);
        KC_TRY(reserve_parts(slot, block->batch->n, err));
        for (size_t i = 0; i < block->batch->n; i++)
                KC_TRY(look_at(f, slot, block, i, err));
out:
        return status;
}

/* ---- in the order of the blocks ---- */

static enum kc_status reserve(struct contigs *s, struct kc_error *err)
{
        enum { LEAST = 64 };
        if (s->n < s->capacity)
                return KC_OK;
        const size_t capacity = s->capacity > 0 ? 2 * s->capacity : LEAST;
        struct contig *all = realloc(s->all, capacity * sizeof *all);
        if (all == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for %zu sequences", s->n);
        s->all = all;
        s->capacity = capacity;
        return KC_OK;
}

/* Begin a sequence with what the part has, which is then the list's. */
static enum kc_status begin_sequence(struct finding *f, struct contig_part *part,
                                     struct kc_error *err)
{
        struct contigs *s = f->contigs;
        enum kc_status status;
        KC_TRY(reserve(s, err));
        s->all[s->n++] = part->contig;
        tracks_begin(&f->tracks, f->setup, part->contig.name, strlen(part->contig.name));
        strip_begin(&f->strip, 0);
        part->contig = (struct contig){ 0 };
out:
        return status;
}

static void add_letters(struct contig *s, const struct contig *piece)
{
        s->length += piece->length;
        s->nbases += piece->nbases;
        s->ngc += piece->ngc;
}

static void put_tracks(struct finding *f, const struct contig_slot *slot, size_t i)
{
        for (size_t list = 0; list < TRACKS_NLISTS; list++) {
                const size_t begin = i > 0 ? slot->parts[i - 1].ends[list] : 0;
                tracks_put(&f->tracks, list, slot->found.lists[list].all + begin,
                           slot->parts[i].ends[list] - begin);
        }
}

static enum kc_status put_part(struct finding *f, struct contig_slot *slot,
                               const struct kc_seq_record *record, size_t i, struct kc_error *err)
{
        struct contig_part *part = &slot->parts[i];
        enum kc_status status;
        if (record->flags & KC_RECORD_BEGINS)
                KC_TRY(begin_sequence(f, part, err));
        struct contig *s = &f->contigs->all[f->contigs->n - 1];
        add_letters(s, &part->contig);
        put_tracks(f, slot, i);
        if (record->flags & KC_RECORD_ENDS)
                tracks_end(&f->tracks);
        if (is_whole(record))
                return KC_OK;
        KC_TRY(strip_join(&f->strip, strip_of(slot, record, i), err));
        if (record->flags & KC_RECORD_ENDS)
                KC_TRY(set_windows(s, &f->strip, err));
out:
        return status;
}

static enum kc_status write_block(void *ctx, const struct asked *block, struct kc_error *err)
{
        struct finding *f = ctx;
        struct contig_slot *slot = &f->slots[block->slot];
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < slot->nparts; i++)
                KC_TRY(put_part(f, slot, &block->batch->records[i], i, err));
out:
        return status;
}

/* ---- the file ---- */

static void free_contig(struct contig *s)
{
        free(s->name);
        free(s->bins);
}

static void close_finding(struct finding *f)
{
        for (int i = 0; f->slots != NULL && i < f->nslots; i++) {
                struct contig_slot *slot = &f->slots[i];
                for (size_t j = 0; j < slot->nparts; j++)
                        free_contig(&slot->parts[j].contig);
                free(slot->parts);
                tracks_found_free(&slot->found);
                strip_free(&slot->whole);
                strip_free(&slot->pieces[0]);
                strip_free(&slot->pieces[1]);
        }
        free(f->slots);
        strip_free(&f->strip);
        free(f);
}

enum kc_status contigs_find(struct contigs *contigs, struct kc_store *pairs, const char *path,
                            const struct tracks_setup *tracks, const struct asking_options *how,
                            struct kc_error *err)
{
        struct finding *f = calloc(1, sizeof *f);
        const struct asking_input input = { .paths = { path }, .accepted = KC_RECORDS_SYMBOLS };
        const struct asking_consumer consumer = { .ctx = f,
                                                  .format = format,
                                                  .write = write_block };
        enum kc_status status;
        *contigs = (struct contigs){ 0 };
        if (f == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        f->contigs = contigs;
        f->setup = tracks;
        f->nslots = asking_nslots(how);
        f->slots = calloc((size_t)f->nslots, sizeof *f->slots);
        if (f->slots == NULL)
                KC_TRY(kc_fail(err, KC_ENOMEM, "out of memory for %d threads", f->nslots));
        status = asking_run(pairs, &input, how, &consumer, NULL, err);
out:
        close_finding(f);
        return status;
}

/* The list's capacity is up to twice what it needs; each sequence has two allocations. */
uint64_t contigs_nbytes(uint64_t n, uint64_t nbases)
{
        enum { NAME_NBYTES = 32, ALLOCATION_NBYTES = 16 };
        return n * (2 * sizeof(struct contig) + NAME_NBYTES + 2 * ALLOCATION_NBYTES +
                    sizeof(struct strip_result)) +
               strip_most_bins(n, nbases) * sizeof(struct strip_result);
}

void contigs_free(struct contigs *contigs)
{
        for (size_t i = 0; i < contigs->n; i++)
                free_contig(&contigs->all[i]);
        free(contigs->all);
}
