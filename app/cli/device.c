#include "app/cli/device.h"

#include "app/cli/fall_back.h"
#include "app/cli/message.h"
#include "app/cli/options.h"
#include "app/cli/size.h"
#include "app/library/device.h"

#include <stdio.h>
#include <string.h>

enum { MAX_DEVICES = 64 };

static const char *const table_names[] = {
        [KC_TABLE_WARPDRIVE] = "warpdrive",
        [KC_TABLE_SLAB] = "slab",
        [KC_TABLE_LINEAR] = "linear",
        [KC_TABLE_HOPSCOTCH] = "hopscotch",
};

static const char *const doing[] = {
        [DEVICE_COUNTS] = "counting",
        [DEVICE_MERGES] = "merging",
        [DEVICE_COMPARES] = "comparing",
        [DEVICE_ANSWERS] = "answering",
};

static enum kc_status check_list(const char *device, const char *cuda, enum device_work work,
                                 struct kc_error *err)
{
        int indices[KC_GPU_MAX_DEVICES];
        const int n = kc_device_indices(cuda, indices);
        if (n > 1 && (work == DEVICE_MERGES || work == DEVICE_COMPARES))
                return kc_fail(err, KC_EUSAGE,
                               "--device: '%s' lists several devices; only counting and looking "
                               "up can use more than one",
                               device);
        if (n > KC_GPU_MAX_DEVICES)
                return kc_fail(err, KC_EUSAGE,
                               "--device: %d devices are listed; at most %d can be used", n,
                               KC_GPU_MAX_DEVICES);
        return KC_OK;
}

enum kc_status device_check(const char *device, int table, enum device_work work,
                            struct kc_error *err)
{
        const char *cuda = kc_device_cuda(device);
        bool is_cpu = strcmp(device, "cpu") == 0;
        if (cuda == NULL && !is_cpu && strcmp(device, "auto") != 0)
                return option_refuse_word("--device", device, "auto cpu cuda cuda:N", err);
        if (cuda && check_list(device, cuda, work, err) != KC_OK)
                return KC_EUSAGE;
        if (table != 0 && is_cpu)
                return kc_fail(err, KC_EUSAGE,
                               "--table chooses a hash table of the CUDA engine; it cannot be "
                               "used with --device cpu");
        return KC_OK;
}

const char *device_if_worth(const char *device, uint64_t nkmers, int nthreads, uint64_t least)
{
        enum { MOST_NTHREADS = 16 };
        const int n = nthreads < MOST_NTHREADS ? nthreads : MOST_NTHREADS;
        return nkmers / (unsigned)n >= least ? device : device_if_named(device);
}

enum kc_status device_choose(struct device_choice *choice, const char *device, int table, int k,
                             enum device_work work, struct kc_error *err)
{
        const char *cuda = kc_device_cuda(device);
        const bool named = cuda != NULL || table != 0;
        *choice = (struct device_choice){
                .work = work,
                .table = table != 0 ? (enum kc_gpu_table)(table - 1) : KC_TABLE_WARPDRIVE,
        };
        choice->table_name = table_names[choice->table];
        choice->ndevices = kc_device_indices(cuda ? cuda : "", choice->indices);
        if (strcmp(device, "cpu") == 0 || (!named && !kc_gpu_has_engine()))
                return KC_OK; /* no other engine would be chosen */
        choice->may_fall_back = !named;
        if (table != 0 && k > KC_GPU_ENGINE_MAX_K)
                return kc_fail(err, KC_EUSAGE,
                               "--table %s supports k up to %d; without --table, the CPU counts "
                               "k = %d",
                               choice->table_name, KC_GPU_ENGINE_MAX_K, k);
        choice->cuda = k <= KC_GPU_ENGINE_MAX_K;
        if (!choice->cuda && named)
                message_print("kcount: the CUDA engine supports k up to %d: %s on the CPU\n",
                              KC_GPU_ENGINE_MAX_K, doing[work]);
        return KC_OK;
}

static enum kc_status check_map(const char *name, enum kc_gpu_map map, int k, struct kc_error *err)
{
        if (strcmp(name, "cpu") == 0)
                return kc_fail(err, KC_EUSAGE,
                               "--map chooses a map in the memory of a CUDA device; it cannot be "
                               "used with --device cpu");
        if (k > kc_gpu_map_max_k(map))
                return kc_fail(err, KC_EUSAGE,
                               "--map %s supports k up to %d, but the file has k = %d",
                               kc_gpu_map_name(map), kc_gpu_map_max_k(map), k);
        return KC_OK;
}

static enum kc_status check_spread(const struct kc_gpu_ask_options *options, struct kc_error *err)
{
        if (options->ndevices < 2)
                return kc_fail(err, KC_EUSAGE,
                               "--spread needs several devices, such as --device cuda:0,1");
        if (options->map != KC_GPU_MAP_WARPDRIVE)
                return kc_fail(err, KC_EUSAGE, "--spread works with --map warpdrive, not with %s",
                               kc_gpu_map_name(options->map));
        return KC_OK;
}

/* Whether only the CPU looks k-mers of this length up. */
static bool is_too_long(const struct device_answers *answers, int k)
{
        const int most = kc_gpu_map_max_k(answers->options.map);
        if (k > most && !answers->may_fall_back)
                message_print("kcount: CUDA devices answer for k up to %d: %s on the CPU\n", most,
                              doing[DEVICE_ANSWERS]);
        return k > most;
}

enum kc_status device_choose_map(struct device_answers *answers, const struct device_asks *asks,
                                 int k, bool stranded, bool quiet, struct kc_error *err)
{
        struct kc_gpu_ask_options *options = &answers->options;
        const char *name = asks->device, *cuda = kc_device_cuda(name);
        enum kc_status status;
        *answers = (struct device_answers){
                .may_fall_back = cuda == NULL && asks->map == 0,
                .quiet = quiet,
                .options = {
                        .map = asks->map != 0 ? (enum kc_gpu_map)(asks->map - 1)
                                              : KC_GPU_MAP_WARPDRIVE,
                        .spread = asks->spread,
                        .stranded = stranded,
                        .memory_nbytes = asks->gpu_memory_nbytes,
                },
        };
        KC_TRY(device_check(name, 0, DEVICE_ANSWERS, err));
        options->ndevices = kc_device_indices(cuda != NULL ? cuda : "", options->devices);
        if (asks->map != 0)
                KC_TRY(check_map(name, options->map, k, err));
        if (asks->spread)
                KC_TRY(check_spread(options, err));
        if (strcmp(name, "cpu") == 0 || (answers->may_fall_back && !kc_gpu_has_engine()))
                return KC_OK;
        answers->cuda = !is_too_long(answers, k);
out:
        return status;
}

void device_put_left_out(struct text_out *out, const struct device_choice *choice)
{
        for (int i = 0; i < choice->nleft_out; i++)
                text_out_printf(out, "%scuda:%d", i == 0 ? "" : ", ",
                                choice->indices[choice->ndevices + i]);
        if (choice->nleft_out > 0)
                text_out_printf(out,
                                " %s left out: a further device saves time only with %d Gbases or "
                                "more of input for it\n",
                                choice->nleft_out == 1 ? "was" : "were", KC_FURTHER_GBASES);
}

bool device_fall_back(struct device_choice *choice, const struct kc_gpu_report *report,
                      const struct kc_error *reason, bool quiet)
{
        if (!choice->cuda || !choice->may_fall_back || report->began ||
            !fall_back_to_cpu(reason, doing[choice->work], quiet))
                return false;
        choice->cuda = false;
        return true;
}

/* ndevices 0: the CPU. */
static const char *name_of(const int *indices, int ndevices, char text[DEVICE_NAME_NBYTES])
{
        int n = snprintf(text, DEVICE_NAME_NBYTES, ndevices > 0 ? "cuda" : "cpu");
        for (int i = 0; i < ndevices; i++)
                n += snprintf(text + n, (size_t)(DEVICE_NAME_NBYTES - n), "%c%d",
                              i == 0 ? ':' : ',', indices[i]);
        return text;
}

const char *device_name(const struct device_choice *choice, char text[DEVICE_NAME_NBYTES])
{
        return name_of(choice->indices, choice->cuda ? choice->ndevices : 0, text);
}

/* In turns, only the first device works. */
static const char *name_of_answers(const struct device_answers *answers,
                                   char text[DEVICE_NAME_NBYTES])
{
        const struct kc_gpu_ask_options *options = &answers->options;
        const int ndevices = answers->way == KC_GPU_ASK_TURNS ? 1 : options->ndevices;
        return name_of(options->devices, answers->used ? ndevices : 0, text);
}

void device_put_answers(struct text_out *out, const struct device_answers *answers)
{
        static const char *const ways[] = { [KC_GPU_ASK_WHOLE] = "",
                                            [KC_GPU_ASK_SPREAD] = ", spread",
                                            [KC_GPU_ASK_TURNS] = ", part by part" };
        char name[DEVICE_NAME_NBYTES];
        if (answers->used)
                text_out_printf(out, "looked up on %s, map %s%s\n", name_of_answers(answers, name),
                                kc_gpu_map_name(answers->options.map), ways[answers->way]);
        else if (answers->cuda)
                text_out_puts(out, "looked up on the CPU\n");
}

void device_report_answers(const struct device_answers *answers)
{
        struct text_out messages;
        if (answers->quiet)
                return;
        text_out_stderr(&messages);
        device_put_answers(&messages, answers);
        text_out_flush(&messages);
}

void device_json_answers(struct json *json, const struct device_answers *answers)
{
        static const char *const ways[] = { [KC_GPU_ASK_WHOLE] = "whole",
                                            [KC_GPU_ASK_SPREAD] = "spread",
                                            [KC_GPU_ASK_TURNS] = "parts" };
        char name[DEVICE_NAME_NBYTES];
        json_string(json, "device", name_of_answers(answers, name));
        if (!answers->used)
                return;
        json_string(json, "map", kc_gpu_map_name(answers->options.map));
        json_string(json, "loaded", ways[answers->way]);
}

static void put_devices_json(struct text_out *out, const struct kc_gpu_device *devices, int n)
{
        struct json json = { .out = out };
        json_begin(&json, NULL, '[');
        for (int i = 0; i < n; i++) {
                const struct kc_gpu_device *d = &devices[i];
                json_begin(&json, NULL, '{');
                json_number(&json, "index", (uint64_t)d->index);
                json_string(&json, "name", d->name);
                json_number(&json, "major", (uint64_t)d->major);
                json_number(&json, "minor", (uint64_t)d->minor);
                json_number(&json, "memory_bytes", d->memory_nbytes);
                json_number(&json, "free_bytes", d->free_nbytes);
                json_number(&json, "multiprocessors", (uint64_t)d->nmultiprocessors);
                json_bool(&json, "compiled", d->compiled);
                json_string(&json, "trouble", d->trouble);
                json_end(&json, '}');
        }
        json_end(&json, ']');
}

static void put_device(struct text_out *out, const struct kc_gpu_device *d)
{
        char total[FORMATTED_NBYTES], left[FORMATTED_NBYTES];
        text_out_printf(out,
                        "cuda:%d  %s, compute capability %d.%d, %d multiprocessors, %s "
                        "(%s free)\n",
                        d->index, d->name, d->major, d->minor, d->nmultiprocessors,
                        format_size(d->memory_nbytes, total), format_size(d->free_nbytes, left));
}

static void put_devices(struct text_out *out, const struct kc_gpu_device *devices, int n)
{
        for (int i = 0; i < n; i++)
                if (devices[i].trouble[0] == '\0')
                        put_device(out, &devices[i]);
                else
                        text_out_printf(out, "cuda:%d  %s, cannot be used: %s\n", devices[i].index,
                                        devices[i].name[0] ? devices[i].name : "unknown",
                                        devices[i].trouble);
}

enum kc_status device_list(struct text_out *out, bool as_json, struct kc_error *err)
{
        struct kc_gpu_device devices[MAX_DEVICES];
        int n = 0;
        enum kc_status status = kc_gpu_devices(devices, MAX_DEVICES, &n, err);
        if (status != KC_OK)
                return status;
        n = n < MAX_DEVICES ? n : MAX_DEVICES;
        if (as_json)
                put_devices_json(out, devices, n);
        else
                put_devices(out, devices, n);
        return KC_OK;
}
