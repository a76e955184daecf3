/*
 * A k-mer is shifted up until its first base is in the highest bits of its highest word; then each
 * byte, from the top, gives four letters, looked up in a table of 1 KiB. Words are spelled whole:
 * up to 31 meaningless letters after the last base are overwritten by what follows.
 */
#include "kmer/text.h"

#include "base/simd.h"
#include "kmer/kmer.h"

#include <string.h>

#define LETTERS_1(a, b, c) \
        { a, b, c, 'A' }, { a, b, c, 'C' }, { a, b, c, 'G' }, \
        { \
                a, b, c, 'T' \
        }
#define LETTERS_2(a, b) \
        LETTERS_1(a, b, 'A'), LETTERS_1(a, b, 'C'), LETTERS_1(a, b, 'G'), LETTERS_1(a, b, 'T')
#define LETTERS_3(a) LETTERS_2(a, 'A'), LETTERS_2(a, 'C'), LETTERS_2(a, 'G'), LETTERS_2(a, 'T')

static const char letters[256][4] = { LETTERS_3('A'), LETTERS_3('C'), LETTERS_3('G'),
                                      LETTERS_3('T') };

enum { WORD_LETTERS = 32, COUNT_DIGITS = 10 };

size_t kc_kmer_text_line_nbytes(int k)
{
        return (size_t)k + WORD_LETTERS + COUNT_DIGITS + 3;
}

static inline void put_word(uint64_t word, char *text)
{
        for (int i = 0; i < 8; i++)
                memcpy(text + 4 * i, letters[word >> (56 - 8 * i) & 255], 4);
}

/* high: the most significant word; step: from there to the next one, 1 or -1 */
static inline char *put_kmer(const uint64_t *high, int step, int k, int nwords, int shift,
                             char *text)
{
        for (int i = 0; i < nwords; i++, high += step) {
                uint64_t word = *high << shift;
                if (i + 1 < nwords && shift > 0)
                        word |= high[step] >> (64 - shift);
                put_word(word, text + WORD_LETTERS * i);
        }
        return text + k;
}

char *kc_kmer_text_letters(const uint64_t *kmers, int k, size_t n, char *text)
{
        const int nwords = kc_kmer_nwords(k), shift = 64 * nwords - 2 * k;
        for (size_t i = 0; i < n; i++)
                text = put_kmer(kmers + (i + 1) * (size_t)nwords - 1, -1, k, nwords, shift, text);
        return text;
}

/* Copies the same number of bytes for every count, which is faster than to copy what is needed. */
static inline char *put_count(uint32_t count, char *text)
{
        if (count < 100) {
                const unsigned tens = count / 10;
                *text = (char)('0' + tens);
                text += tens > 0;
                *text = (char)('0' + count % 10);
                return text + 1;
        }
        char digits[2 * COUNT_DIGITS] = { 0 }, *p = digits + COUNT_DIGITS;
        do {
                *--p = (char)('0' + count % 10);
                count /= 10;
        } while (count);
        memcpy(text, p, COUNT_DIGITS);
        return text + (digits + COUNT_DIGITS - p);
}

/* nwords: a constant for most k, so that the compiler unrolls the loop over words. */
static inline char *put_lines(const struct kc_kmer_text *format, int nwords, const uint64_t *kmers,
                              const uint32_t *counts, size_t n, char *text)
{
        const int k = format->k, shift = 64 * nwords - 2 * k;
        const char separator = format->form == KC_KMER_TEXT_SPACE ? ' ' : '\t';
        const int step = format->high_first ? 1 : -1;
        const uint64_t *high = kmers + (format->high_first ? 0 : nwords - 1);
        for (size_t i = 0; i < n; i++, high += nwords) {
                if (counts[i] < format->min_count || counts[i] > format->max_count)
                        continue;
                if (format->form == KC_KMER_TEXT_FASTA) {
                        *text++ = '>';
                        text = put_count(counts[i], text);
                        *text++ = '\n';
                        text = put_kmer(high, step, k, nwords, shift, text);
                } else {
                        text = put_kmer(high, step, k, nwords, shift, text);
                        *text++ = separator;
                        text = put_count(counts[i], text);
                }
                *text++ = '\n';
        }
        return text;
}

char *kc_kmer_text_lines(const struct kc_kmer_text *format, const uint64_t *kmers,
                         const uint32_t *counts, size_t n, char *text)
{
        const int nwords = kc_kmer_nwords(format->k);
        switch (nwords) {
        case 1:
                return put_lines(format, 1, kmers, counts, n, text);
        case 2:
                return put_lines(format, 2, kmers, counts, n, text);
        case 3:
                return put_lines(format, 3, kmers, counts, n, text);
        case 4:
                return put_lines(format, 4, kmers, counts, n, text);
        default:
                return put_lines(format, nwords, kmers, counts, n, text);
        }
}

/* How many windows are written at a time, from letters that stay in the fastest cache. */
enum { NWINDOWS = 1024 };

/* The ends of lines with counts below 100. */
#define SHORT_END(ones) \
        { \
                '\t', ones, '\n' \
        }
#define LONG_END(tens, ones) \
        { \
                '\t', tens, ones, '\n' \
        }
#define LONG_ENDS(tens) \
        LONG_END(tens, '0'), LONG_END(tens, '1'), LONG_END(tens, '2'), LONG_END(tens, '3'), \
                LONG_END(tens, '4'), LONG_END(tens, '5'), LONG_END(tens, '6'), \
                LONG_END(tens, '7'), LONG_END(tens, '8'), LONG_END(tens, '9')

static const char ends[100][4] = {
        SHORT_END('0'), SHORT_END('1'), SHORT_END('2'), SHORT_END('3'), SHORT_END('4'),
        SHORT_END('5'), SHORT_END('6'), SHORT_END('7'), SHORT_END('8'), SHORT_END('9'),
        LONG_ENDS('1'), LONG_ENDS('2'), LONG_ENDS('3'), LONG_ENDS('4'), LONG_ENDS('5'),
        LONG_ENDS('6'), LONG_ENDS('7'), LONG_ENDS('8'), LONG_ENDS('9'),
};

static inline char *put_end(uint32_t count, char *text)
{
        if (count < 100) {
                memcpy(text, ends[count], sizeof ends[count]);
                return text + 3 + (count >= 10);
        }
        *text = '\t';
        text = put_count(count, text + 1);
        *text = '\n';
        return text + 1;
}

/* spelled: [n + k - 1] letters and WORD_LETTERS more, which may be anything. The first word of
 * letters is copied outside the loop over words, because most k-mers have no other. */
KC_SIMD_CLONES
static char *put_windows(int k, const char *spelled, const uint32_t *counts, size_t n, char *text)
{
        for (size_t i = 0; i < n; i++) {
                memcpy(text, spelled + i, WORD_LETTERS);
                for (int j = WORD_LETTERS; j < k; j += WORD_LETTERS)
                        memcpy(text + j, spelled + i + j, WORD_LETTERS);
                text = put_end(counts[i], text + k);
        }
        return text;
}

char *kc_kmer_text_windows(int k, const char *bases, const uint32_t *counts, size_t n, char *text)
{
        char spelled[NWINDOWS + KC_MAX_K + WORD_LETTERS];
        for (size_t i = 0; i < n; i += NWINDOWS) {
                const size_t m = n - i < NWINDOWS ? n - i : NWINDOWS;
                for (size_t j = 0; j < m + (size_t)k - 1; j++) {
                        const char letter = (char)(bases[i + j] & 0xdf);
                        spelled[j] = letter == 'U' ? 'T' : letter;
                }
                memset(spelled + m + (size_t)k - 1, 0, WORD_LETTERS);
                text = put_windows(k, spelled, counts + i, m, text);
        }
        return text;
}
