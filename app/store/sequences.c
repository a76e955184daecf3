#include "app/store/sequences.h"

#include "app/cli/message.h"

#include <inttypes.h>

enum kc_status sequences_open(struct kc_records **records, const char *path, int k,
                              struct kc_error *err)
{
        const struct kc_records_options options = { .accepted = KC_RECORDS_LINES,
                                                    .nthreads = 1,
                                                    .overlap = k - 1 };
        return kc_records_open(records, path, &options, err);
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
