#include "app/library/question.h"

#include "app/library/library.h"
#include "kmer/letters.h"

#include <stdlib.h>
#include <string.h>

/* Windows of one sequence that follow each other in a slice. */
struct piece {
        const char *bases;
        size_t begin, n; /* windows: the first one, of all of the question */
};

/* ---- slices and pieces ---- */

static size_t nwindows_of(int k, const struct kcount_sequence *sequence)
{
        const size_t most = (size_t)k - 1;
        return sequence->nbases > most ? sequence->nbases - most : 0;
}

size_t kc_question_count(int k, const struct kcount_sequence *sequences, size_t nsequences)
{
        size_t n = 0;
        for (size_t i = 0; i < nsequences; i++)
                n += nwindows_of(k, &sequences[i]);
        return n;
}

static enum kc_status reserve(struct kc_question *q, size_t n, struct kc_error *err)
{
        if (n <= q->slices_cap)
                return KC_OK;
        free(q->slices);
        q->slices = malloc(n * sizeof *q->slices);
        q->slices_cap = q->slices != NULL ? n : 0;
        return q->slices != NULL ? KC_OK : kc_fail(err, KC_ENOMEM, "out of memory for a question");
}

static void cut_sequences(struct kc_question *q, size_t slice_nkmers, size_t most_pieces)
{
        struct kc_question_slice at = { 0 };
        size_t npieces = 0;
        q->slices[0] = at;
        for (size_t i = 0; i < q->nsequences; i++) {
                size_t left = nwindows_of(q->k, &q->sequences[i]);
                at.sequence = i;
                at.window = 0;
                while (left > 0) {
                        const size_t room = q->slices[q->nslices].begin + slice_nkmers - at.begin;
                        const size_t n = left < room ? left : room;
                        at.begin += n;
                        at.window += n;
                        left -= n;
                        if (n < room && ++npieces < most_pieces)
                                continue;
                        q->slices[++q->nslices] = at;
                        npieces = 0;
                }
        }
        q->nslices += at.begin > q->slices[q->nslices].begin;
}

enum kc_status kc_question_cut(struct kc_question *q, size_t slice_nkmers, size_t most_pieces,
                               struct kc_error *err)
{
        const size_t nfull = q->n / slice_nkmers;
        enum kc_status status;
        q->nslices = 0;
        KC_TRY(reserve(q, nfull + (q->nsequences + nfull) / most_pieces + 2, err));
        if (q->kmers == NULL)
                cut_sequences(q, slice_nkmers, most_pieces);
        else
                for (size_t begin = 0; begin < q->n; begin += slice_nkmers)
                        q->slices[q->nslices++] = (struct kc_question_slice){ .begin = begin };
        q->slices[q->nslices].begin = q->n;
out:
        return status;
}

/* The next piece of a slice. place: begins where the slice does. */
static bool next_piece(const struct kc_question *q, size_t slice, struct kc_question_slice *place,
                       struct piece *piece)
{
        const size_t end = q->slices[slice + 1].begin;
        while (place->begin < end) {
                const struct kcount_sequence *sequence = &q->sequences[place->sequence++];
                const size_t nhere = nwindows_of(q->k, sequence);
                const size_t left = nhere - (place->window < nhere ? place->window : nhere);
                *piece = (struct piece){ sequence->bases + place->window, place->begin,
                                         left < end - place->begin ? left : end - place->begin };
                place->begin += piece->n;
                place->window = 0;
                if (piece->n > 0)
                        return true;
        }
        return false;
}

/* ---- k-mers ---- */

/* The k-mers of a slice. KC_EUSAGE if a number is not a k-mer: looking it up could read outside the
 * index. */
static enum kc_status check(const struct kc_question *q, size_t slice, const uint64_t **kmers,
                            struct kc_error *err)
{
        const size_t nwords = (size_t)kc_kmer_nwords(q->k);
        const size_t n = kc_question_slice_nkmers(q, slice);
        uint64_t used = 0;
        *kmers = q->kmers + q->slices[slice].begin * nwords;
        for (size_t i = 0; i < n; i++)
                used |= (*kmers)[i * nwords];
        if ((used & ~kc_kmer_top_mask(q->k)) == 0)
                return KC_OK;
        return kc_fail(err, KC_EUSAGE,
                       "a number is not a k-mer: for k = %d, only its low %d bits "
                       "may be set",
                       q->k, 2 * q->k);
}

/* Returns whether all letters are bases. */
static bool make_from_bases(const struct kc_question *q, const struct piece *piece, uint8_t *codes,
                            uint64_t *kmers)
{
        const size_t nbases = piece->n + (size_t)q->k - 1;
        struct kc_roller roller = kc_roller(q->k, q->stranded);
        const bool is_whole = kc_letters_encode(piece->bases, nbases, codes);
        for (size_t i = 0; !is_whole && i < nbases; i++)
                codes[i] &= KC_NO_BASE - 1;
        kc_roll_begin(&roller, codes);
        kc_roll(&roller, piece->n, kmers);
        return is_whole;
}

enum kc_status kc_question_make(struct kc_question *q, size_t slice, uint8_t *codes,
                                uint64_t *kmers, struct kc_error *err)
{
        const int nwords = kc_kmer_nwords(q->k);
        struct kc_question_slice place = q->slices[slice];
        const size_t n = kc_question_slice_nkmers(q, slice);
        const uint64_t *given;
        struct piece piece;
        enum kc_status status = KC_OK;
        if (q->kmers == NULL) {
                for (; next_piece(q, slice, &place, &piece); kmers += piece.n * (size_t)nwords)
                        q->slices[slice].has_others |= !make_from_bases(q, &piece, codes, kmers);
                return KC_OK;
        }
        KC_TRY(check(q, slice, &given, err));
        kc_library_turn_words(given, nwords, n, kmers);
        if (!q->stranded)
                kc_library_canonical(q->k, kmers, n);
out:
        return status;
}

/* ---- letters ---- */

enum kc_status kc_question_letters(const struct kc_question *q, size_t slice, char *letters,
                                   struct kc_ask_sequence *sequences, struct kc_error *err)
{
        const size_t k = (size_t)q->k, nwords = (size_t)kc_kmer_nwords(q->k);
        const size_t n = kc_question_slice_nkmers(q, slice);
        struct kc_question_slice place = q->slices[slice];
        const uint64_t *kmers;
        struct piece piece;
        enum kc_status status = KC_OK;
        if (q->kmers == NULL) {
                while (next_piece(q, slice, &place, &piece))
                        *sequences++ = (struct kc_ask_sequence){ piece.bases,
                                                                 (uint32_t)(piece.n + k - 1) };
                return KC_OK;
        }
        KC_TRY(check(q, slice, &kmers, err));
        *sequences = (struct kc_ask_sequence){ letters, (uint32_t)(n * (k + 1)) };
        for (size_t i = 0; i < n; i++, letters += k + 1) {
                kcount_decode(q->k, kmers + i * nwords, 1, letters);
                letters[k] = 'N';
        }
out:
        return status;
}

size_t kc_question_npieces(const struct kc_question *q, size_t slice)
{
        struct kc_question_slice place = q->slices[slice];
        struct piece piece;
        size_t n = q->kmers != NULL;
        while (q->kmers == NULL && next_piece(q, slice, &place, &piece))
                n++;
        return n;
}

void kc_question_answer(struct kc_question *q, size_t slice, const struct kc_ask_answer *answers)
{
        struct kc_question_slice place = q->slices[slice];
        struct piece piece;
        if (q->kmers != NULL) {
                memcpy(q->found + place.begin, answers->counts,
                       kc_question_slice_nkmers(q, slice) * sizeof *q->found);
                return;
        }
        for (; next_piece(q, slice, &place, &piece); answers++) {
                const uint32_t *counts = answers->counts;
                q->slices[slice].has_others |= answers->summary.nvalid < piece.n;
                for (size_t i = 0; i < answers->nstretches; i++) {
                        const struct kc_ask_stretch stretch = answers->stretches[i];
                        memcpy(q->found + piece.begin + stretch.begin, counts,
                               stretch.n * sizeof *counts);
                        counts += stretch.n;
                }
        }
}

/* ---- other letters ---- */

static void mark_piece(const struct kc_question *q, const struct piece *piece)
{
        const size_t k = (size_t)q->k;
        uint32_t *found = q->found + piece->begin;
        size_t run = 0; /* of bases, up to here */
        for (size_t i = 0; i < piece->n + k - 1; i++) {
                run = kc_base_code((unsigned char)piece->bases[i]) >= 0 ? run + 1 : 0;
                if (i + 1 < k)
                        continue;
                if (run < k)
                        found[i + 1 - k] = 0;
                if (q->valid != NULL)
                        q->valid[piece->begin + i + 1 - k] = run >= k;
        }
}

void kc_question_mark(const struct kc_question *q, size_t slice)
{
        struct kc_question_slice place = q->slices[slice];
        struct piece piece;
        if (place.has_others)
                while (next_piece(q, slice, &place, &piece))
                        mark_piece(q, &piece);
        else if (q->valid != NULL)
                memset(q->valid + place.begin, true, kc_question_slice_nkmers(q, slice));
}
