/*
 * See reads.h.
 *
 * Without a profile, all reads have one length, each letter is wrong with the same probability, and
 * their qualities are a window of one long random walk over LEVELS, made once; wrong letters get a
 * low one. The text is so repetitive that gzip compresses it four- to fivefold, like real FASTQ.
 */
#include "bench/simulate/reads.h"

#include "bench/simulate/draw.h"

#include <stdlib.h>
#include <string.h>

enum {
        WALK_NBYTES = 1 << 22, /* of the quality walk */
        NAME_NBYTES = 32,      /* room for @sim.NUMBER/1 */
        PLACE_NBYTES = 32,     /* room for where the read is from, with --truth */
};

static const char LEVELS[] = "#,5:?DFGHI";

/* A walk that mostly stays at its level, otherwise drops or climbs back to the top. */
static enum kc_status make_walk(struct reads *reads, struct kc_error *err)
{
        uint64_t n = WALK_NBYTES + reads->set->length;
        uint64_t state = draw_stream(reads->set->seed, FOR_WALK, 0);
        int top = sizeof LEVELS - 2, level = top;
        reads->walk = malloc(n);
        if (reads->walk == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for qualities");
        for (uint64_t i = 0; i < n; i++) {
                uint64_t bits = next_random(&state);
                if (level == top && bits % 32 == 0)
                        level = top - 1 - (int)((bits >> 32) % 4);
                else if (level < top && bits % 4 == 0)
                        level = bits >> 8 & 3 ? top : (int)((bits >> 32) % (uint64_t)top);
                reads->walk[i] = LEVELS[level];
        }
        return KC_OK;
}

enum kc_status reads_open(struct reads *reads, const struct settings *set, struct kc_error *err)
{
        enum kc_status status;
        *reads = (struct reads){ .set = set };
        KC_TRY(genome_open(&reads->genome, set, err));
        if (set->profile != NULL)
                KC_TRY(qualities_open(&reads->qualities, set, err));
        else
                KC_TRY(make_walk(reads, err));
out:
        return status;
}

void reads_close(struct reads *reads)
{
        free(reads->walk);
        qualities_close(reads->qualities);
        genome_close(&reads->genome, reads->set);
}

size_t reads_record_nbytes(const struct settings *set, uint64_t nbases)
{
        uint64_t nlines = set->wrap ? (nbases + set->wrap - 1) / set->wrap : 1;
        uint64_t truth = set->truth ? PLACE_NBYTES + profile_cigar_room(nbases) : 0;
        return NAME_NBYTES + truth + 2 + 2 * (nbases + nlines);
}

size_t reads_scratch_nbytes(const struct settings *set)
{
        return 2 * set->longest + profile_span(set->longest) + profile_cigar_room(set->longest);
}

static void spoil(const struct settings *set, uint64_t *state, struct read *read)
{
        uint64_t i = draw_gap(state, set->error_rate);
        for (; i < read->nbases; i += 1 + draw_gap(state, set->error_rate)) {
                uint64_t shift = 1 + draw_below(state, 3);
                uint64_t code = (uint64_t)(read->bases[i] >> 1) + shift;
                read->bases[i] = GENOME_LETTERS[code & 3];
                read->quality[i] = LEVELS[draw_below(state, 4)];
        }
}

static void put_unknown(const struct settings *set, uint64_t *state, struct read *read)
{
        uint64_t i = draw_gap(state, set->n_rate);
        for (; i < read->nbases; i += 1 + draw_gap(state, set->n_rate)) {
                read->bases[i] = 'N';
                read->quality[i] = '!';
        }
}

static char *put_number(char *out, uint64_t number)
{
        char digits[20];
        int n = 0;
        do
                digits[n++] = (char)('0' + number % 10);
        while (number /= 10);
        while (n > 0)
                *out++ = digits[--n];
        return out;
}

static char *put_text(char *out, const char *text, size_t n)
{
        memcpy(out, text, n);
        return out + n;
}

static char *put_wrapped(char *out, const char *bases, uint64_t n, uint64_t wrap)
{
        if (n == 0)
                *out++ = '\n'; /* its line must be there */
        if (wrap == 0)
                wrap = n;
        for (uint64_t i = 0; i < n; i += wrap) {
                uint64_t take = n - i < wrap ? n - i : wrap;
                out = put_text(out, bases + i, take);
                *out++ = '\n';
        }
        return out;
}

/* Where a read is from: bases begin .. begin + n - 1 of the genome, or their reverse complement. */
struct place {
        uint64_t begin, n;
        bool reverse;
};

static char *put_record(const struct settings *set, uint64_t number, const struct place *place,
                        const struct read *read, char *out)
{
        *out++ = set->fasta ? '>' : '@';
        out = put_number(put_text(out, "sim.", 4), number);
        out = put_text(out, "/1", 2);
        if (set->truth) {
                uint64_t skipped = place->reverse ? place->n - read->used : 0;
                *out++ = ' ';
                out = put_number(out, place->begin + skipped);
                out = put_text(out, place->reverse ? " - " : " + ", 3);
                out = put_text(out, read->cigar, (size_t)(read->cigar_at - read->cigar));
        }
        *out++ = '\n';
        out = put_wrapped(out, read->bases, read->nbases, set->wrap);
        if (set->fasta)
                return out;
        out = put_text(out, "+\n", 2);
        return put_wrapped(out, read->quality, read->nbases, set->wrap);
}

static void make_read(const struct reads *reads, uint64_t *state, struct place *place, char *strand,
                      struct read *read)
{
        const struct settings *set = reads->set;
        uint64_t begin, end;
        genome_draw(&reads->genome, set, state, &begin, &end);
        if (set->profile != NULL)
                read->nbases = profile_draw_length(set, state);
        if (read->nbases > end - begin)
                read->nbases = end - begin;
        place->begin = begin + draw_below(state, end - begin - read->nbases + 1);
        uint64_t bits = next_random(state);
        const char *from = reads->genome.bases + place->begin;
        place->reverse = bits & 1;
        place->n = read->nbases;
        if (set->profile == NULL) {
                genome_copy(from, read->nbases, place->reverse, read->bases);
                memcpy(read->quality, reads->walk + (bits >> 1) % WALK_NBYTES, read->nbases);
                spoil(set, state, read);
                read->used = read->nbases;
                return;
        }
        place->n = profile_span(read->nbases);
        if (place->n > end - place->begin)
                place->n = end - place->begin;
        genome_copy(from, place->n, place->reverse, strand);
        profile_read(reads->qualities, set, state, strand, place->n, read);
}

char *reads_put(const struct reads *reads, uint64_t number, char *scratch, char *out,
                uint64_t *nbases)
{
        const struct settings *set = reads->set;
        uint64_t state = draw_stream(set->seed, FOR_READ, number);
        char *strand = scratch + 2 * set->longest;
        struct place place;
        struct read read = { .nbases = set->length,
                             .bases = scratch,
                             .quality = scratch + set->longest,
                             .cigar = set->truth ? strand + profile_span(set->longest) : NULL };
        read.cigar_at = read.cigar;
        make_read(reads, &state, &place, strand, &read);
        put_unknown(set, &state, &read);
        *nbases += read.nbases;
        return put_record(set, number, &place, &read, out);
}
