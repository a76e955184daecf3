#include "app/filter/written.h"

#include <stdlib.h>

static enum kc_status reserve(struct written *written, size_t n, struct kc_error *err)
{
        if (n <= written->room)
                return KC_OK;
        free(written->ends);
        written->ends = malloc(n * sizeof *written->ends);
        written->room = written->ends != NULL ? n : 0;
        return written->ends != NULL ? KC_OK
                                     : kc_fail(err, KC_ENOMEM, "out of memory for alignments");
}

enum kc_status written_make(struct written *written, enum kc_alignment_format format,
                            const struct sam_hdr_t *header, const struct kc_record_batch *batch,
                            struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(reserve(written, batch->n, err));
        written->bytes.n = 0;
        for (size_t i = 0; i < batch->n; i++) {
                KC_TRY(kc_alignment_put(&written->bytes, format, header, batch->alignments[i],
                                        err));
                written->ends[i] = written->bytes.n;
        }
out:
        return status;
}

const char *written_text(const struct written *written, size_t first, size_t end, size_t *nbytes)
{
        const size_t from = first > 0 ? written->ends[first - 1] : 0;
        *nbytes = end > first ? written->ends[end - 1] - from : 0;
        return written->bytes.data + from;
}

uint64_t written_nbytes(const struct written *written)
{
        return written->bytes.room + written->room * sizeof *written->ends;
}

void written_free(struct written *written)
{
        free(written->bytes.data);
        free(written->ends);
}
