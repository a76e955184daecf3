/*
 * --device and --table: which engine counts.
 */
#ifndef APP_DEVICE_H
#define APP_DEVICE_H

#include "app/text_out.h"
#include "gpu/gpu.h"

#include <string.h>

struct device_choice {
        bool cuda;          /* the CUDA engine does the work */
        bool may_fall_back; /* the CPU engine may take over where the device fails at the start */
        int index;
        enum kc_gpu_table table;
        const char *table_name;
};

/*
 * Read what the user asked for. device is auto, cpu, cuda or cuda:N; table is NULL or the name of a
 * table of the CUDA engine. KC_EUSAGE. Looks at no device.
 */
enum kc_status device_check(const char *device, const char *table, struct kc_error *err);

/* Where work is not worth a device unless it is asked for by name, auto is cpu. */
static inline const char *device_if_named(const char *device)
{
        return strcmp(device, "auto") == 0 ? "cpu" : device;
}

/* What is to be done, for messages. */
enum device_work { DEVICE_COUNTS, DEVICE_MERGES };

/*
 * Choose the engine, once device_check has passed. Looks at no device: making one ready takes so
 * long that reading must begin meanwhile. Where k is too large for CUDA, that is told in a line on
 * stderr; with quiet, only where CUDA was asked for by name. KC_EUSAGE for a table that cannot take
 * k.
 */
enum kc_status device_choose(struct device_choice *choice, const char *device, const char *table,
                             int k, enum device_work work, bool quiet, struct kc_error *err);

/*
 * Whether the CPU may do what the device did not begin with: no device, or one that cannot be had,
 * because others use it, is no reason to fail unless the user asked for it. Then that is told in a
 * line on stderr, unless quiet, and choice->cuda is false from now on.
 */
bool device_fall_back(struct device_choice *choice, enum device_work work,
                      const struct kc_gpu_report *report, const struct kc_error *reason,
                      bool quiet);

/* "cpu" or "cuda:N". */
const char *device_name(const struct device_choice *choice, char text[16]);

/* The CUDA devices, for people or as JSON. KC_EDEVICE if there is none. */
enum kc_status device_list(struct text_out *out, bool as_json, struct kc_error *err);

#endif
