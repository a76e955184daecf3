#include "app/cli/typed_kmer.h"

#include "kmer/kmer.h"

#include <string.h>

enum kc_status typed_kmer_check(const char *text, int k, struct kc_error *err)
{
        size_t length = strlen(text);
        if (length < (size_t)k)
                return kc_fail(err, KC_EUSAGE, "'%s' is %zu letters long, but k is %d", text,
                               length, k);
        for (size_t i = 0; i < length; i++)
                if (kc_base_code((unsigned char)text[i]) < 0)
                        return kc_fail(err, KC_EUSAGE,
                                       "'%s': letter %zu, '%c', is not one of ACGTU", text, i + 1,
                                       text[i]);
        return KC_OK;
}

/* Parse a bound, padded to k letters with filler. */
static enum kc_status parse_bound(const char *text, int k, char filler, uint64_t *kmer,
                                  struct kc_error *err)
{
        char letters[KC_MAX_K];
        size_t length = strlen(text);
        if (length > (size_t)k)
                return kc_fail(err, KC_EUSAGE, "'%s' is %zu letters long, but k is %d", text,
                               length, k);
        memset(letters, filler, sizeof letters);
        memcpy(letters, text, length);
        int good = kc_kmer_parse(letters, k, kmer);
        if (good < k)
                return kc_fail(err, KC_EUSAGE, "'%s': letter %d, '%c', is not one of ACGTU", text,
                               good + 1, letters[good]);
        return KC_OK;
}

enum kc_status typed_kmer_range(const char *from, const char *to, int k, uint64_t *from_kmer,
                                uint64_t *to_kmer, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(parse_bound(from, k, 'A', from_kmer, err));
        KC_TRY(parse_bound(to, k, 'T', to_kmer, err));
        if (kc_kmer_compare(from_kmer, to_kmer, kc_kmer_nwords(k)) > 0)
                status = kc_fail(err, KC_EUSAGE, "FROM, '%s', comes after TO, '%s'", from, to);
out:
        return status;
}
