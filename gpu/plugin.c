/*
 * The interfaces to CUDA (gpu.h and ask.h) where the engine is not linked in: each call loads the
 * plug-in, or finds it loaded, and goes through its door.
 */
#include "gpu/plugin.h"

#include "kmer/remedy.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLUGIN "libkcount-cuda.so.0"

enum { MAX_PLACES = 3 };

typedef const struct kc_gpu_door *door_function(void);

/* The folder of the library or program that contains this code. */
static bool find_folder(char folder[PATH_MAX])
{
        Dl_info info;
        struct link_map *map;
        if (dladdr1((void *)kc_gpu_has_engine, &info, (void **)&map, RTLD_DL_LINKMAP) == 0)
                return false;
        if (map->l_name[0] != '\0')
                snprintf(folder, PATH_MAX, "%s", map->l_name);
        else if (realpath("/proc/self/exe", folder) == NULL) /* only the program has no name */
                return false;
        char *slash = strrchr(folder, '/');
        if (slash != NULL)
                *slash = '\0';
        return slash != NULL;
}

/* The files that may be the plug-in, in the order in which they are tried: in this code's folder;
 * where an installation has it, if this is a program; and what the user names. Returns how many. */
static int find_files(char paths[MAX_PLACES][PATH_MAX])
{
        static const char *const places[] = { "", KC_PLUGIN_FOLDER "/" };
        const char *named = secure_getenv("KCOUNT_CUDA_PLUGIN");
        char folder[PATH_MAX];
        const bool has_folder = find_folder(folder);
        int n = 0;
        for (int i = 0; has_folder && i < 2; i++)
                if (snprintf(paths[n], PATH_MAX, "%s/%s" PLUGIN, folder, places[i]) < PATH_MAX &&
                    access(paths[n], F_OK) == 0)
                        n++;
        if (named != NULL && named[0] != '\0')
                n += snprintf(paths[n], PATH_MAX, "%s", named) < PATH_MAX;
        return n;
}

/* Versions are not mixed, because the structs of two versions may differ. */
static enum kc_status check_version(const struct kc_gpu_door *door, const char *path,
                                    struct kc_error *err)
{
        if (strcmp(door->version, KCOUNT_VERSION) != 0)
                return kc_fail_file(err, KC_EDEVICE, KC_REMEDY_CPU, path,
                                    "%s: the CUDA engine of kcount %s does not match kcount %s",
                                    path, door->version, KCOUNT_VERSION);
        if (door->layout_nbytes != sizeof(struct kc_gpu_layout))
                return kc_fail_file(err, KC_EDEVICE, KC_REMEDY_CPU, path,
                                    "%s: the CUDA engine is from another build of kcount %s", path,
                                    KCOUNT_VERSION);
        return KC_OK;
}

/* A plug-in that is used is never closed: the driver's threads run until the process ends. */
static enum kc_status open_file(const char *path, const struct kc_gpu_door **door,
                                struct kc_error *err)
{
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library == NULL)
                return kc_fail_file(err, KC_EDEVICE, KC_REMEDY_CPU, path,
                                    "the CUDA engine cannot be loaded: %s", dlerror());
        door_function *open_door = (door_function *)dlsym(library, "kcount_cuda_door");
        enum kc_status status;
        if (open_door == NULL)
                KC_TRY(kc_fail_file(err, KC_EDEVICE, KC_REMEDY_CPU, path,
                                    "%s: this is not a CUDA engine of kcount", path));
        *door = open_door();
        KC_TRY(check_version(*door, path, err));
        return KC_OK;
out:
        dlclose(library);
        return status;
}

/* The first plug-in that fits. If none does, the failure is that of the first that was found. */
static enum kc_status load(const struct kc_gpu_door **door, struct kc_error *err)
{
        char paths[MAX_PLACES][PATH_MAX];
        struct kc_error first = { 0 };
        const int n = find_files(paths);
        for (int i = 0; i < n; i++)
                if (open_file(paths[i], door, &first) == KC_OK)
                        return KC_OK;
        if (n > 0)
                return kc_fail_as(err, &first);
        return kc_fail_remedy(err, KC_ENODEVICE, KC_REMEDY_BUILD_CUDA | KC_REMEDY_CPU,
                              "this build has no CUDA engine, and " PLUGIN " was not found");
}

bool kc_gpu_has_engine(void)
{
        char paths[MAX_PLACES][PATH_MAX];
        return find_files(paths) > 0;
}

const char *kc_gpu_archs(void)
{
        const struct kc_gpu_door *door;
        struct kc_error err = { 0 };
        return load(&door, &err) == KC_OK ? door->archs() : "";
}

enum kc_status kc_gpu_devices(struct kc_gpu_device *devices, int cap, int *n, struct kc_error *err)
{
        const struct kc_gpu_door *door;
        enum kc_status status;
        *n = 0;
        KC_TRY(load(&door, err));
        status = door->devices(devices, cap, n, err);
out:
        return status;
}

enum kc_status kc_gpu_count(const struct kc_count_params *params,
                            const struct kc_gpu_params *gpu_params,
                            const struct kc_batch_source *source, const struct kc_run_sink *sink,
                            struct kc_job *job, struct kc_count_totals *totals,
                            struct kc_gpu_report *report, struct kc_error *err)
{
        const struct kc_gpu_door *door;
        enum kc_status status;
        *report = (struct kc_gpu_report){ 0 };
        KC_TRY(load(&door, err));
        status = door->count(params, gpu_params, source, sink, job, totals, report, err);
out:
        return status;
}

enum kc_status kc_gpu_count_all(const struct kc_count_params *params,
                                const struct kc_gpu_params *gpu_params,
                                const struct kc_batch_source *source, struct kc_count_task *tasks,
                                int ntasks, struct kc_job *job, struct kc_gpu_report *reports,
                                struct kc_error *err)
{
        const struct kc_gpu_door *door;
        enum kc_status status;
        for (int i = 0; i < ntasks; i++)
                reports[i] = (struct kc_gpu_report){ 0 };
        KC_TRY(load(&door, err));
        status = door->count_all(params, gpu_params, source, tasks, ntasks, job, reports, err);
out:
        return status;
}

enum kc_status kc_gpu_combine(const struct kc_gpu_params *params, int nthreads,
                              const struct kc_join_source *source, const struct kc_run_sink *sink,
                              struct kc_job *job, struct kc_join_totals *totals,
                              struct kc_gpu_report *report, struct kc_error *err)
{
        const struct kc_gpu_door *door;
        enum kc_status status;
        *report = (struct kc_gpu_report){ 0 };
        KC_TRY(load(&door, err));
        status = door->combine(params, nthreads, source, sink, job, totals, report, err);
out:
        return status;
}

enum kc_status kc_gpu_joint(const struct kc_gpu_params *params, int nthreads,
                            const struct kc_join_source *source, const struct kc_joint_taker *taker,
                            struct kc_job *job, uint64_t *nread, struct kc_gpu_report *report,
                            struct kc_error *err)
{
        const struct kc_gpu_door *door;
        enum kc_status status;
        *report = (struct kc_gpu_report){ 0 };
        KC_TRY(load(&door, err));
        status = door->joint(params, nthreads, source, taker, job, nread, report, err);
out:
        return status;
}

enum kc_status kc_gpu_ask_open(struct kc_asker *asker, const struct kc_gpu_ask_table *table,
                               const struct kc_gpu_ask_options *options,
                               const struct kc_ask_setup *setup, enum kc_gpu_ask_way *way,
                               struct kc_error *err)
{
        const struct kc_gpu_door *door;
        enum kc_status status;
        *asker = (struct kc_asker){ 0 };
        KC_TRY(load(&door, err));
        status = door->ask_open(asker, table, options, setup, way, err);
out:
        return status;
}

enum kc_status kc_gpu_ask_tally(const struct kc_gpu_ask_table *table,
                                const struct kc_gpu_ask_options *options,
                                const struct kc_gpu_ask_reads *reads,
                                const struct kc_ask_tally *tally, bool *began, struct kc_error *err)
{
        const struct kc_gpu_door *door;
        enum kc_status status;
        *began = false;
        KC_TRY(load(&door, err));
        status = door->ask_tally(table, options, reads, tally, began, err);
out:
        return status;
}
