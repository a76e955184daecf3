/*
 * Any text as a number, as a size, and as a k-mer typed by hand; any words as k-mers to print.
 *
 *      byte 0: k - 1 | text, or words and counts
 */
#include "app/cli/size.h"
#include "app/cli/typed_kmer.h"
#include "kmer/kmer.h"
#include "kmer/text.h"
#include "tests/fuzz/require.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NKMERS = 3 };

static void check_number(const char *text)
{
        uint64_t number, again;
        char plain[32], formatted[FORMATTED_NBYTES], *to = plain;
        if (!parse_number(text, &number))
                return;
        REQUIRE(strspn(text, "0123456789") == strlen(text));
        for (const char *at = format_number(number, formatted); *at != '\0'; at++)
                if (*at != ',')
                        *to++ = *at;
        *to = '\0';
        REQUIRE(parse_number(plain, &again) && again == number);
}

static void check_size(const char *text)
{
        uint64_t nbytes, number;
        char formatted[FORMATTED_NBYTES];
        bool is_size = parse_size(text, &nbytes);
        if (is_size) {
                REQUIRE(isdigit((unsigned char)text[0]) || text[0] == '.');
                REQUIRE(nbytes < UINT64_C(1) << 63);
                REQUIRE(strlen(format_size(nbytes, formatted)) < FORMATTED_NBYTES);
        }
        if (parse_number(text, &number) && number < UINT64_C(1) << 53)
                REQUIRE(is_size && nbytes == number);
}

static void check_typed(const char *text, int k)
{
        struct kc_error err = { 0 };
        bool good = strlen(text) >= (size_t)k && strspn(text, "ACGTUacgtu") == strlen(text);
        REQUIRE((typed_kmer_check(text, k, &err) == KC_OK) == good);
        REQUIRE(good || err.message[0] != '\0');
}

/* ---- printing ---- */

/* One k-mer and its count, base by base. */
static int spell(char *to, size_t cap, const struct kc_kmer_text *format, const uint64_t *kmer,
                 uint32_t count)
{
        char letters[KC_MAX_K + 1];
        for (int i = 0; i < format->k; i++) {
                int bit = 2 * (format->k - 1 - i);
                letters[i] = "ACGT"[kmer[bit / 64] >> bit % 64 & 3];
        }
        letters[format->k] = '\0';
        if (format->form == KC_KMER_TEXT_FASTA)
                return snprintf(to, cap, ">%" PRIu32 "\n%s\n", count, letters);
        const char separator = format->form == KC_KMER_TEXT_SPACE ? ' ' : '\t';
        return snprintf(to, cap, "%s%c%" PRIu32 "\n", letters, separator, count);
}

static void check_lines(const uint8_t *data, size_t size, int k)
{
        int nwords = kc_kmer_nwords(k), unused = 64 * nwords - 2 * k;
        uint64_t kmers[NKMERS * KC_MAX_WORDS] = { 0 };
        uint32_t counts[NKMERS] = { 0 };
        struct kc_kmer_text format = { k, (enum kc_kmer_text_form)(size % 3), 1, UINT32_MAX,
                                       .high_first = false };
        memcpy(counts, data, size < sizeof counts ? size : sizeof counts);
        if (size > sizeof counts)
                memcpy(kmers, data + sizeof counts,
                       size - sizeof counts < sizeof kmers ? size - sizeof counts : sizeof kmers);
        char got[NKMERS * (KC_MAX_K + 64)], want[sizeof got];
        int n = 0;
        for (int i = 0; i < NKMERS; i++) {
                uint64_t *kmer = kmers + i * nwords;
                kmer[nwords - 1] =
                        unused == 0 ? kmer[nwords - 1] : kmer[nwords - 1] << unused >> unused;
                if (counts[i] >= 1)
                        n += spell(want + n, sizeof want - (size_t)n, &format, kmer, counts[i]);
        }
        REQUIRE(kc_kmer_text_line_nbytes(k) * NKMERS <= sizeof got);
        char *end = kc_kmer_text_lines(&format, kmers, counts, NKMERS, got);
        REQUIRE(end - got == n && memcmp(got, want, (size_t)n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (size < 1)
                return 0;
        int k = data[0] < 255 ? data[0] + 1 : 255;
        char *text = malloc(size);
        REQUIRE(text != NULL);
        memcpy(text, data + 1, size - 1);
        text[size - 1] = '\0';
        check_number(text);
        check_size(text);
        check_typed(text, k);
        check_lines(data + 1, size - 1, k);
        free(text);
        return 0;
}
