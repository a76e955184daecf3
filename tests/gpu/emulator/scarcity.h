/*
 * What a test can set on emulated devices: above all, when memory runs out.
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
        KC_SCARCITY_TAKEN,  /* others hold all free memory: only what we release is available */
        KC_SCARCITY_PINNED, /* no host memory can be pinned */
        KC_SCARCITY_LINKS,  /* copies from one device to another fail */
};

/* From now on, the first n allocations of that kind of memory succeed as usual, the others not. */
void kc_emulator_scarcity(enum kc_scarcity kind, long n);

/* Whether the scarcity has affected an allocation since then. */
int kc_emulator_was_scarce(void);

/* Set the memory of each device, or of one, in bytes; 0: the usual 3 GiB. */
void kc_emulator_total(size_t nbytes);
void kc_emulator_total_of(int device, size_t nbytes);

/* Set the number of devices, and how many of them can be used; the others are in exclusive use by
 * other processes. The calling thread continues on the first one. */
void kc_emulator_devices(int n, int nusable);

/* Whether devices can be given access to the memory of others; forgets what was enabled. */
void kc_emulator_peers(int possible);

/* From now on, answer queries about kernels with this cudaError_t, as if the program had no code
 * for the device, or the device had failed. 0: all is well. */
void kc_emulator_kernels(int code);

/* Memory in use on all devices, in bytes; the number of allocations of pinned host memory. */
size_t kc_emulator_device_nbytes(void);
long kc_emulator_npinned(void);

#ifdef __cplusplus
}
#endif
#endif
