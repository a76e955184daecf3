/*
 * Devices by name, and what is left for them to do.
 */
#ifndef APP_LIBRARY_DEVICE_H
#define APP_LIBRARY_DEVICE_H

#include "gpu/gpu.h"
#include "io/reader.h"

#include <stdbool.h>
#include <stdint.h>

/* The part of `device` after "cuda": "", ":0", or a list such as ":0,1". NULL if `device` names no
 * CUDA device. */
const char *kc_device_cuda(const char *device);

/* Read the device numbers from the part after "cuda"; "" means device 0. Returns how many there
 * are, which may exceed KC_GPU_MAX_DEVICES: then only so many are read. */
int kc_device_indices(const char *cuda, int indices[KC_GPU_MAX_DEVICES]);

/* A further device is used only if the input has this many gigabases for it, because opening and
 * closing it take time: two H200s were 4 % slower than one with 20 Gbases, and 1.2 times as fast
 * with 99 (docs/dev/notes/gpu.md). */
enum { KC_FURTHER_GBASES = 25 };

/* Read the name of a device as the callers of the library give it: cpu, auto, cuda or a list. For
 * the CPU, *ndevices is 0; auto stands for device 0. KC_EUSAGE. */
enum kc_status kc_device_parse(const char *device, int indices[KC_GPU_MAX_DEVICES], int *ndevices,
                               struct kc_error *err);

/* How many of ndevices are worth opening for so many bases; 0: unknown, then all are. */
int kc_devices_worth(int ndevices, uint64_t nbases);

/* Whether the CPU may do the work that a device could not start: the device is missing, in use by
 * others, or out of order. */
bool kc_device_is_unusable(const struct kc_error *reason);

/* How much of the default bound on memory may be pinned. */
uint64_t kc_device_pinned_nbytes(uint64_t memory_nbytes);

/* How many bytes of the files a device reads at a time, if several devices read them: few enough
 * that all devices are busy until the end, but enough to be worth the effort.
 *   least  the fewest bytes; 0: the default */
uint64_t kc_device_part_nbytes(const struct kc_stored_source *source, int ndevices, uint64_t least);

/* Where files are inflated and parsed. */
enum kc_reading_place { KC_READING_FASTER = 1, KC_READING_HOST, KC_READING_DEVICE };

/* The reader's files, if devices should read them; otherwise NULL.
 *   nthreads      of the host
 *   batch_nbytes  for kc_device_part_nbytes; 0: the default
 *   source        space for the files */
const struct kc_stored_source *kc_device_files(struct kc_reader *reader,
                                               enum kc_reading_place place, int nthreads,
                                               int ndevices, uint64_t batch_nbytes,
                                               struct kc_stored_source *source);

#endif
