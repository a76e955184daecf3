/*
 * An emulated device that has no memory any more, at a time of the test's choice.
 */
#ifndef KC_TESTS_GPU_SCARCITY_H
#define KC_TESTS_GPU_SCARCITY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum kc_scarcity {
        KC_SCARCITY_NONE,
        KC_SCARCITY_DEVICE, /* every allocation of device memory fails */
        KC_SCARCITY_TAKEN,  /* others have what was free: only what we give back can be had */
        KC_SCARCITY_PINNED, /* no host memory can be pinned */
};

/* From now on the first n allocations, of the kind of memory in question, are as ever. */
void kc_emulator_scarcity(enum kc_scarcity kind, long n);

/* Whether an allocation has met with the scarcity since then. */
int kc_emulator_was_scarce(void);

/* So many devices, one at least; all but the first are others' alone. */
void kc_emulator_devices(int n);

/* Device memory in use; pinned host memory, in allocations. */
size_t kc_emulator_device_nbytes(void);
long kc_emulator_npinned(void);

#ifdef __cplusplus
}
#endif
#endif
