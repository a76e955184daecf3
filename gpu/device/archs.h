/*
 * Which devices a build has machine code for. For any other, the driver compiles the kernels from
 * PTX when the program starts, which takes minutes, and the code differs from that of a build for
 * the device.
 */
#ifndef KC_GPU_DEVICE_ARCHS_H
#define KC_GPU_DEVICE_ARCHS_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Whether a device of compute capability major.minor runs what was compiled for this architecture
 * [n]: "90", "90-real" or "90a"; "90-virtual" is PTX only. Other words run nowhere. */
static inline bool kc_arch_runs_on(const char *arch, size_t n, int major, int minor)
{
        char *end;
        const long number = strtol(arch, &end, 10);
        const bool exact = *end == 'a';
        const size_t ndigits = (size_t)(end - arch);
        if (ndigits == 0 || ndigits > n || number / 10 != major)
                return false;
        if (n >= sizeof "-virtual" && strncmp(arch + n - strlen("-virtual"), "-virtual", 8) == 0)
                return false;
        return exact ? number % 10 == minor : number % 10 <= minor;
}

/*
 * Whether a build has machine code for a device of this compute capability. Machine code runs on
 * devices of the same major version and the same or a later minor one.
 *   archs  those of the build as CMake names them, such as "80-real,90"
 */
static inline bool kc_archs_cover(const char *archs, int major, int minor)
{
        for (size_t n; *archs != '\0'; archs += n + (archs[n] == ',')) {
                n = strcspn(archs, ",");
                if (kc_arch_runs_on(archs, n, major, minor))
                        return true;
        }
        return false;
}

#endif
