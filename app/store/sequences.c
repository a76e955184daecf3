#include "app/store/sequences.h"

#include "app/cli/message.h"
#include "kmer/hpc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum kc_status sequences_open(struct kc_records **records, const char *path, int k, bool hpc,
                              struct kc_error *err)
{
        const struct kc_records_options options = {
                .accepted = KC_RECORDS_LINES, .nthreads = 1, .overlap = k - 1, .hpc = hpc
        };
        return kc_records_open(records, path, &options, err);
}

static enum kc_status compress(const char *sequence, int k, char **compressed, struct kc_error *err)
{
        *compressed = strdup(sequence);
        if (*compressed == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        const size_t n = kc_hpc_compress((uint8_t *)*compressed, strlen(sequence));
        (*compressed)[n] = '\0';
        if (n < (size_t)k)
                return kc_fail(err, KC_EUSAGE,
                               "'%s' is %s, %zu letters long, if runs of a base count as one; k is "
                               "%d",
                               sequence, *compressed, n, k);
        return KC_OK;
}

enum kc_status sequences_compress(const char *const *sequences, size_t n, int k, char ***compressed,
                                  struct kc_error *err)
{
        enum kc_status status = KC_OK;
        *compressed = calloc(n + 1, sizeof **compressed);
        if (*compressed == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        for (size_t i = 0; i < n; i++)
                KC_TRY(compress(sequences[i], k, &(*compressed)[i], err));
out:
        return status;
}

void sequences_free(char **compressed, size_t n)
{
        for (size_t i = 0; compressed != NULL && i < n; i++)
                free(compressed[i]);
        free(compressed);
}

enum kc_status sequences_reserve(char **letters, size_t *cap, size_t n, struct kc_error *err)
{
        if (n <= *cap)
                return KC_OK;
        free(*letters);
        *letters = malloc(n + n / 2);
        *cap = *letters != NULL ? n + n / 2 : 0;
        return *letters != NULL ? KC_OK : kc_fail(err, KC_ENOMEM, "out of memory for sequences");
}

bool sequences_is_short(const struct kc_seq_record *record, int k)
{
        return (record->flags & KC_RECORD_ENDS) &&
               record->offset + record->nbases - record->noverlap < (uint64_t)k;
}

void sequences_report_skipped(int k, uint64_t nshort, uint64_t nskipped)
{
        if (nshort)
                message_print("kcount: %" PRIu64 " sequence%s shorter than k = %d\n", nshort,
                              nshort == 1 ? " is" : "s are", k);
        if (nskipped)
                message_print("kcount: %" PRIu64 " letter%s outside ACGTU; k-mers that contain %s "
                              "were left out\n",
                              nskipped, nskipped == 1 ? "" : "s", nskipped == 1 ? "it" : "them");
}
