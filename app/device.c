#include "app/device.h"

#include "app/json.h"
#include "app/size.h"
#include "gpu/gpu.h"

#include <string.h>

enum { MAX_DEVICES = 64 };

/* "cuda" or "cuda:0,1": digits and commas, no comma without a number on both sides. */
static bool is_cuda(const char *device)
{
        if (strncmp(device, "cuda", 4) != 0)
                return false;
        const char *p = device + 4;
        if (*p == '\0')
                return true;
        if (*p != ':')
                return false;
        do {
                p++;
                size_t digits = strspn(p, "0123456789");
                if (digits == 0 || digits > 4)
                        return false;
                p += digits;
        } while (*p == ',');
        return *p == '\0';
}

static bool is_table(const char *name)
{
        static const char *const tables[] = { "warpdrive", "slab", "linear", "hopscotch" };
        for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
                if (strcmp(name, tables[i]) == 0)
                        return true;
        return false;
}

enum kc_status device_choose(const char *device, const char *table, struct kc_error *err)
{
        bool cuda = is_cuda(device);
        if (!cuda && strcmp(device, "auto") != 0 && strcmp(device, "cpu") != 0)
                return kc_fail(err, KC_EUSAGE,
                               "--device: '%s' is none of auto, cpu, cuda, cuda:0,1,...", device);
        if (table && !is_table(table))
                return kc_fail(err, KC_EUSAGE,
                               "--table: '%s' is none of warpdrive, slab, linear, hopscotch",
                               table);
        if (!cuda && table)
                return kc_fail(err, KC_EUSAGE,
                               "--table chooses a table of the CUDA engine; it needs --device "
                               "cuda");
        if (!cuda)
                return KC_OK;
        struct kc_gpu_device devices[1];
        int n;
        enum kc_status status = kc_gpu_devices(devices, 1, &n, err);
        if (status != KC_OK)
                return status;
        return kc_fail(err, KC_EDEVICE,
                       "this version has no CUDA counting engine yet; use --device cpu");
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
                json_end(&json, '}');
        }
        json_end(&json, ']');
}

static void put_devices(struct text_out *out, const struct kc_gpu_device *devices, int n)
{
        for (int i = 0; i < n; i++) {
                const struct kc_gpu_device *d = &devices[i];
                char total[FORMATTED_NBYTES], left[FORMATTED_NBYTES];
                text_out_printf(out,
                                "cuda:%d  %s, compute capability %d.%d, %d multiprocessors, %s "
                                "(%s free)\n",
                                d->index, d->name, d->major, d->minor, d->nmultiprocessors,
                                format_size(d->memory_nbytes, total),
                                format_size(d->free_nbytes, left));
        }
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
