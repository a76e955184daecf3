/*
 * --device and --table: which engine counts.
 */
#ifndef APP_CLI_DEVICE_H
#define APP_CLI_DEVICE_H

#include "app/cli/json.h"
#include "app/cli/text_out.h"
#include "gpu/ask.h"
#include "gpu/gpu.h"

#include <string.h>

/* The kind of work: merging and comparing use one device only, and messages name it. */
enum device_work { DEVICE_COUNTS, DEVICE_MERGES, DEVICE_COMPARES, DEVICE_ANSWERS };

struct device_choice {
        enum device_work work;
        bool cuda;          /* the CUDA engine does the work */
        bool may_fall_back; /* the user leaves the choice to a program that has both engines: the
                               CPU may take over if k is too large, or the device fails at the
                               start */
        int indices[KC_GPU_MAX_DEVICES]; /* [ndevices] the first device reads and writes */
        int ndevices;
        int nleft_out; /* further ones, after these, for which there is too little input */
        enum kc_gpu_table table;
        const char *table_name;
};

enum { DEVICE_NAME_NBYTES = 96 }; /* enough for all indices */

/*
 * Check what the user asked for. device is auto, cpu, cuda, cuda:N or, if the work can use several
 * devices, a list cuda:N,M,...; table is an enum kc_gpu_table plus 1, or 0 if none is given.
 * KC_EUSAGE. Does not access a device.
 */
enum kc_status device_check(const char *device, int table, enum device_work work,
                            struct kc_error *err);

/* For work that should use a device only if the user names one: auto means cpu. */
static inline const char *device_if_named(const char *device)
{
        return strcmp(device, "auto") == 0 ? "cpu" : device;
}

/* For joins of files with nkmers k-mers: `device` if one should be faster than the CPU, or if the
 * user names one; otherwise cpu.
 *   least  the fewest k-mers per thread for which a device is faster, since it takes a quarter of
 *          a second to start. More than 16 threads do not make the CPU faster */
const char *device_if_worth(const char *device, uint64_t nkmers, int nthreads, uint64_t least);

/*
 * Choose the engine, after device_check. Does not access a device: preparing one takes so long that
 * reading must begin in the meantime. If k is too large for CUDA, which the user asked for by name,
 * prints a line on stderr. KC_EUSAGE for a table that does not support k.
 */
enum kc_status device_choose(struct device_choice *choice, const char *device, int table, int k,
                             enum device_work work, struct kc_error *err);

/* A line of the summary about devices that were left out; none if there are none. */
void device_put_left_out(struct text_out *out, const struct device_choice *choice);

/* Whether the CPU may do the work that the device failed to start (app/cli/fall_back.h): only if
 * the user did not ask for the device. If true, sets choice->cuda to false. */
bool device_fall_back(struct device_choice *choice, const struct kc_gpu_report *report,
                      const struct kc_error *reason, bool quiet);

/* Where the user wants k-mers to be looked up. */
struct device_asks {
        const char *device;
        int map; /* as enum kc_gpu_map, but from 1; 0: not given */
        bool spread;
        uint64_t gpu_memory_nbytes;
};

/* What looks k-mers up. */
struct device_answers {
        bool cuda;          /* on CUDA devices; otherwise by the CPU */
        bool may_fall_back; /* the user leaves the choice: the CPU does it if that is likely to be
                               faster (app/ask/choice.h), or if the device fails at the start */
        bool quiet;         /* if so, no line on stderr says why */
        bool used;          /* devices have answered; set by those who ask, like `way` */
        enum kc_gpu_ask_way way; /* how they held the k-mers */
        struct kc_gpu_ask_options options;
};

/*
 * Choose where k-mers are looked up. auto leaves the choice open, unless the user names a map. If
 * the user names a device but no map, and k is too large for devices, chooses the CPU and prints a
 * line on stderr. Does not access a device. KC_EUSAGE, also for a map that does not hold this k, or
 * cannot be spread over the devices.
 */
enum kc_status device_choose_map(struct device_answers *answers, const struct device_asks *asks,
                                 int k, bool stranded, bool quiet, struct kc_error *err);

/* Afterwards, say where k-mers were looked up: in a line of the summary, unless only the CPU could
 * do it; in the same line alone on stderr, but not if quiet; or in fields of JSON, always. */
void device_put_answers(struct text_out *out, const struct device_answers *answers);
void device_report_answers(const struct device_answers *answers);
void device_json_answers(struct json *json, const struct device_answers *answers);

/* "cpu", "cuda:N" or "cuda:N,M,...". */
const char *device_name(const struct device_choice *choice, char text[DEVICE_NAME_NBYTES]);

/* Print the CUDA devices, as text or as JSON. Fails like kc_gpu_devices. */
enum kc_status device_list(struct text_out *out, bool as_json, struct kc_error *err);

#endif
