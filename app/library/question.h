/*
 * What an asker is asked at once: k-mers, or all k-mers of sequences, one sequence after the other.
 * The question is cut into slices of about equal size, whatever the lengths of the sequences are,
 * and threads work on different slices.
 */
#ifndef APP_LIBRARY_QUESTION_H
#define APP_LIBRARY_QUESTION_H

#include "base/status.h"
#include "include/kcount.h"
#include "kmer/ask.h"

struct kc_question {
        /* Set by the caller. */
        int k;
        bool stranded;
        const uint64_t *kmers; /* [n * nwords] as kcount.h has them; NULL: sequences are asked */
        const struct kcount_sequence *sequences; /* [nsequences] */
        size_t nsequences;
        uint32_t *found; /* out [n] */
        bool *valid;     /* out [n]; may be NULL */
        size_t n;        /* k-mers; of sequences: kc_question_count */

        size_t nslices, slices_cap;
        struct kc_question_slice {
                size_t begin;            /* its first k-mer, of the question */
                size_t sequence, window; /* those of that k-mer */
                bool has_others;         /* some of its letters are not bases */
        } * slices;                      /* [nslices + 1], kept from one question to the next */
};

/* How many k-mers the sequences have. */
size_t kc_question_count(int k, const struct kcount_sequence *sequences, size_t nsequences);

/* Cut the question into slices of slice_nkmers k-mers, and at most most_pieces pieces of sequences.
 * KC_ENOMEM. */
enum kc_status kc_question_cut(struct kc_question *question, size_t slice_nkmers,
                               size_t most_pieces, struct kc_error *err);

static inline size_t kc_question_slice_nkmers(const struct kc_question *question, size_t slice)
{
        return question->slices[slice + 1].begin - question->slices[slice].begin;
}

/*
 * Make the k-mers of a slice in the form that the store keeps. One with a letter that is not a base
 * is arbitrary, and so is its count: kc_question_mark replaces it.
 *   codes  [nkmers + k + KC_LETTERS_SPARE] scratch
 *   kmers  out [(nkmers + KC_LETTERS_SPARE) * nwords]
 * KC_EUSAGE if a number is not a k-mer.
 */
enum kc_status kc_question_make(struct kc_question *question, size_t slice, uint8_t *codes,
                                uint64_t *kmers, struct kc_error *err);

/*
 * Make the sequences of a slice. K-mers get an N between them, so no other windows are valid.
 *   letters    scratch, if k-mers are asked: [nkmers * (k + 1)]
 *   sequences  out [kc_question_npieces]
 * KC_EUSAGE if a number is not a k-mer.
 */
enum kc_status kc_question_letters(const struct kc_question *question, size_t slice, char *letters,
                                   struct kc_ask_sequence *sequences, struct kc_error *err);

/* How many sequences that makes. */
size_t kc_question_npieces(const struct kc_question *question, size_t slice);

/* Store the answers to what kc_question_letters made. */
void kc_question_answer(struct kc_question *question, size_t slice,
                        const struct kc_ask_answer *answers);

/* All counts of the slice have been found: set to 0 those of k-mers with other letters, and say
 * which k-mers are valid. */
void kc_question_mark(const struct kc_question *question, size_t slice);

#endif
