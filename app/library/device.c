#include "app/library/device.h"

#include "app/library/memory.h"

#include <stdlib.h>
#include <string.h>

const char *kc_device_cuda(const char *device)
{
        if (strncmp(device, "cuda", 4) != 0)
                return NULL;
        const char *p = device + 4;
        if (*p == '\0')
                return p;
        if (*p != ':')
                return NULL;
        do {
                p++;
                size_t digits = strspn(p, "0123456789");
                if (digits == 0 || digits > 4)
                        return NULL;
                p += digits;
        } while (*p == ',');
        return *p == '\0' ? device + 4 : NULL;
}

int kc_device_indices(const char *cuda, int indices[KC_GPU_MAX_DEVICES])
{
        int n = 0;
        indices[0] = 0;
        for (const char *p = cuda; *p != '\0'; n++) {
                char *end;
                long index = strtol(p + 1, &end, 10);
                if (n < KC_GPU_MAX_DEVICES)
                        indices[n] = (int)index;
                p = end;
        }
        return n == 0 ? 1 : n;
}

enum kc_status kc_device_parse(const char *device, int indices[KC_GPU_MAX_DEVICES], int *ndevices,
                               struct kc_error *err)
{
        const char *cuda = strcmp(device, "auto") == 0 ? "" : kc_device_cuda(device);
        *ndevices = cuda != NULL ? kc_device_indices(cuda, indices) : 0;
        if (cuda == NULL && strcmp(device, "cpu") != 0)
                return kc_fail(err, KC_EUSAGE,
                               "'%s' is no device: it must be auto, cpu, cuda, cuda:N or "
                               "cuda:N,M,...",
                               device);
        if (*ndevices > KC_GPU_MAX_DEVICES)
                return kc_fail(err, KC_EUSAGE, "%d devices are listed; at most %d can be used",
                               *ndevices, KC_GPU_MAX_DEVICES);
        return KC_OK;
}

int kc_devices_worth(int ndevices, uint64_t nbases)
{
        const uint64_t nworth = 1 + nbases / (KC_FURTHER_GBASES * UINT64_C(1000000000));
        return nbases == 0 || nworth >= (uint64_t)ndevices ? ndevices : (int)nworth;
}

bool kc_device_is_unusable(const struct kc_error *reason)
{
        return reason->status == KC_ENOMEM || reason->status == KC_EDEVICE ||
               reason->status == KC_ENODEVICE;
}

/* Two thirds of the default bound, which is half of the available memory. Pinned memory cannot be
 * swapped, and input, --tmp and output may be on a RAM disk; runs also spill to --tmp. */
uint64_t kc_device_pinned_nbytes(uint64_t memory_nbytes)
{
        return memory_nbytes / 3 * 2;
}

uint64_t kc_device_part_nbytes(const struct kc_stored_source *source, int ndevices, uint64_t least)
{
        enum { LEAST_MIB = 256, PARTS_EACH = 8 };
        const uint64_t nparts = (uint64_t)ndevices * PARTS_EACH;
        uint64_t nbytes = 0;
        if (least == 0)
                least = (uint64_t)LEAST_MIB << 20;
        for (size_t i = 0; i < source->nfiles; i++)
                nbytes += source->files[i].nbytes;
        return nbytes / nparts > least ? nbytes / nparts : least;
}

/*
 * Whether devices should inflate and parse the files. By default they do if that is faster:
 * BGZF and BAM, which take the host's cores a long time, if there is enough for a few rounds; and
 * plain text if there are few cores, and so much of it that they could parse only a part before
 * the device is open. On an H200 with 4 cores, the device read it in 0.85 of the host's time.
 */
static bool is_faster(const struct kc_stored_source *source, int nthreads)
{
        enum { FEW_CORES = 4, LEAST_PACKED_MIB = 64, LEAST_PLAIN_MIB = 4096 };
        bool plain = false;
        uint64_t nbytes = 0;
        for (size_t i = 0; i < source->nfiles; i++) {
                plain |= !source->files[i].bgzf;
                nbytes += source->files[i].nbytes;
        }
        if (plain && nthreads > FEW_CORES)
                return false;
        return nbytes >= (uint64_t)(plain ? LEAST_PLAIN_MIB : LEAST_PACKED_MIB) * MEMORY_MIB;
}

const struct kc_stored_source *kc_device_files(struct kc_reader *reader,
                                               enum kc_reading_place place, int nthreads,
                                               int ndevices, uint64_t batch_nbytes,
                                               struct kc_stored_source *source)
{
        if (!kc_reader_stored(reader, UINT64_MAX, source))
                return NULL;
        if (place != KC_READING_DEVICE &&
            (place != KC_READING_FASTER || !is_faster(source, nthreads)))
                return NULL;
        if (ndevices > 1 &&
            !kc_reader_stored(reader, kc_device_part_nbytes(source, ndevices, batch_nbytes),
                              source))
                return NULL;
        return source;
}
