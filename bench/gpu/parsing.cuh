/*
 * Turns text on the device into packed reads (gpu/text, gpu/kept), for the benchmarks.
 */
#ifndef KC_BENCH_PARSING_CUH
#define KC_BENCH_PARSING_CUH

#include "gpu/kept/pack.cuh"
#include "gpu/text/text.cuh"

/* Memory for one text at a time. A zeroed one may be freed. */
struct parsing {
        struct kc_gpu_text *text;
        struct kc_gpu_text_out out;
        struct kc_packer packer;
        uint64_t *packed;
        struct kc_span_group *groups;
};

/* KC_ENOMEM, KC_EDEVICE. Free it even after a failure. */
enum kc_status parsing_new(struct parsing *p, struct kc_gpu *gpu,
                           const struct kc_gpu_text_setup *setup, struct kc_error *err);
void parsing_free(struct parsing *p, struct kc_gpu *gpu);

/* Parse one text; its reads replace those in p->out. KC_EINPUT if it is not of the strict form. */
enum kc_status parsing_parse(struct parsing *p, const struct kc_gpu_text_input *input,
                             struct kc_gpu_text_result *result, struct kc_error *err);

/* Pack the reads that were parsed last, on gpu->stream. */
enum kc_status parsing_pack(struct parsing *p, struct kc_gpu *gpu, int k, struct kc_error *err);

#endif
