#include "gpu/text/text_internal.cuh"

enum kc_status kc_gpu_text_fasta(struct kc_gpu_text *text, struct kc_error *err)
{
        (void)text;
        return kc_fail(err, KC_EDEVICE, "FASTA");
}
