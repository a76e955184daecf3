/*
 * How often each count occurs among those that are looked up: an exact histogram on the device. It
 * has a counter for each small count, and a table for larger ones. What the table has no room for
 * goes to the host as it comes.
 */
#ifndef KC_GPU_ASK_FREQUENCIES_CUH
#define KC_GPU_ASK_FREQUENCIES_CUH

#include "gpu/ask.h"
#include "gpu/device/context.cuh"

enum {
        KC_ASK_NSMALL = 4096,
        KC_ASK_USUAL_SLOTS = 1 << 18, /* for larger counts, which are few: 3 MiB */
};

/* Equal counts that a thread has seen one after the other. */
struct kc_ask_repeats {
        uint32_t count, n;
};

/* All arrays are in device memory. A zeroed one is closed. */
struct kc_ask_frequencies {
        struct kc_gpu *gpu;
        unsigned long long *small;  /* [KC_ASK_NSMALL] */
        uint32_t *large;            /* [nslots] counts; 0: the slot is free */
        unsigned long long *nlarge; /* [nslots] */
        unsigned long long *nrest;  /* [1] */
        size_t nslots;
        uint64_t ntaken; /* counts that were passed to the tally */
};

/* nslots: a power of 2. KC_ENOMEM, KC_EDEVICE. Close it even then. */
enum kc_status kc_ask_frequencies_open(struct kc_ask_frequencies *f, struct kc_gpu *gpu,
                                       size_t nslots, struct kc_error *err);
void kc_ask_frequencies_close(struct kc_ask_frequencies *f);

/* Forget all counts. KC_EDEVICE. */
enum kc_status kc_ask_frequencies_clear(struct kc_ask_frequencies *f, struct kc_error *err);

/*
 * Add n counts, fewer than 2^32, after the work queued on gpu->stream. Those that have no room go
 * to the tally at once.
 *   rest  [n] device, to work with
 * KC_ENOMEM, KC_EDEVICE, or what tally->put returns.
 */
enum kc_status kc_ask_frequencies_add(struct kc_ask_frequencies *f, const uint32_t *counts,
                                      size_t n, struct kc_ask_repeats *rest,
                                      const struct kc_ask_tally *tally, struct kc_error *err);

/* Pass all that is left to the tally. Fails as kc_ask_frequencies_add. */
enum kc_status kc_ask_frequencies_end(struct kc_ask_frequencies *f,
                                      const struct kc_ask_tally *tally, struct kc_error *err);

#endif
