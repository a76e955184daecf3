#include "app/cli/typed_kmer.h"

#include "include/kcount.h"
#include "kmer/kmer.h"

#include <string.h>

static enum kc_status fail_length(const char *text, int k, struct kc_error *err)
{
        return kc_fail(err, KC_EUSAGE, "'%s' is %zu letters long, but k is %d", text, strlen(text),
                       k);
}

static enum kc_status check_letters(const char *text, struct kc_error *err)
{
        for (size_t i = 0; text[i] != '\0'; i++)
                if (kc_base_code((unsigned char)text[i]) < 0)
                        return kc_fail(err, KC_EUSAGE,
                                       "'%s': letter %zu, '%c', is not one of ACGTU", text, i + 1,
                                       text[i]);
        return KC_OK;
}

enum kc_status typed_kmer_check(const char *text, int k, struct kc_error *err)
{
        size_t length = strlen(text);
        return length < (size_t)k ? fail_length(text, k, err) : check_letters(text, err);
}

/* Parse a bound, padded to k letters with filler. */
static enum kc_status parse_bound(const char *text, int k, char filler, uint64_t *kmer,
                                  struct kc_error *err)
{
        char letters[KCOUNT_MAX_K];
        size_t length = strlen(text);
        if (length > (size_t)k)
                return fail_length(text, k, err);
        memset(letters, filler, sizeof letters);
        memcpy(letters, text, length);
        kcount_encode(k, letters, 1, kmer);
        return check_letters(text, err);
}

static bool comes_after(const uint64_t *a, const uint64_t *b, int nwords)
{
        int i = 0;
        while (i + 1 < nwords && a[i] == b[i])
                i++;
        return a[i] > b[i];
}

enum kc_status typed_kmer_range(const char *from, const char *to, int k, uint64_t *from_kmer,
                                uint64_t *to_kmer, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(parse_bound(from, k, 'A', from_kmer, err));
        KC_TRY(parse_bound(to, k, 'T', to_kmer, err));
        if (comes_after(from_kmer, to_kmer, kcount_nwords(k)))
                status = kc_fail(err, KC_EUSAGE, "FROM, '%s', comes after TO, '%s'", from, to);
out:
        return status;
}
