/*
 * --device and --table: which engine counts.
 */
#ifndef APP_DEVICE_H
#define APP_DEVICE_H

#include "app/text_out.h"
#include "kmer/status.h"

/*
 * Check what the user asked for. device is auto, cpu, cuda or cuda:I,J,...; table is NULL or the
 * name of a table of the CUDA engine. KC_OK: the host engine counts. KC_EUSAGE; KC_EDEVICE.
 */
enum kc_status device_choose(const char *device, const char *table, struct kc_error *err);

/* The CUDA devices, for people or as JSON. KC_EDEVICE if there is none. */
enum kc_status device_list(struct text_out *out, bool as_json, struct kc_error *err);

#endif
