#include "app/library/machine.h"

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Address space used in addition to memory: libraries, stacks, what malloc() reserves. */
enum { SPACE_NBYTES = 384 << 20 };

static uint64_t smaller(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

/* Read the first line of folder/name. False if there is none. */
static bool read_line(const char *folder, const char *name, char *line, int size)
{
        char path[2 * PATH_MAX + 64];
        snprintf(path, sizeof path, "%s/%s", folder, name);
        FILE *file = fopen(path, "re");
        if (file == NULL)
                return false;
        bool found = fgets(line, size, file) != NULL;
        fclose(file);
        return found;
}

/* The value, in bytes, of a "Name:   123 kB" line of a file; 0 if absent. */
static uint64_t read_kib(const char *path, const char *name)
{
        char line[256];
        uint64_t kib = 0;
        FILE *file = fopen(path, "re");
        if (file == NULL)
                return 0;
        while (fgets(line, sizeof line, file))
                if (strncmp(line, name, strlen(name)) == 0) {
                        kib = strtoull(line + strlen(name), NULL, 10);
                        break;
                }
        fclose(file);
        return kib * 1024;
}

struct limits {
        uint64_t memory_nbytes;
        double ncores;
};

/* "max", or any other word that is not a number, means no limit. */
static void limit_memory(struct limits *limits, const char *line)
{
        uint64_t value;
        if (sscanf(line, "%" SCNu64, &value) == 1)
                limits->memory_nbytes = smaller(limits->memory_nbytes, value);
}

static void limit_cores(struct limits *limits, double quota, double period)
{
        if (quota > 0 && period > 0 && quota / period < limits->ncores)
                limits->ncores = quota / period;
}

/* Read a control group's limits, under their names in version 2 and version 1. */
static void read_group(struct limits *limits, const char *folder)
{
        char line[128], period_line[128];
        double quota, period;
        if (read_line(folder, "memory.max", line, sizeof line) ||
            read_line(folder, "memory.limit_in_bytes", line, sizeof line))
                limit_memory(limits, line);
        if (read_line(folder, "cpu.max", line, sizeof line)) {
                if (sscanf(line, "%lf %lf", &quota, &period) == 2)
                        limit_cores(limits, quota, period);
        } else if (read_line(folder, "cpu.cfs_quota_us", line, sizeof line) &&
                   read_line(folder, "cpu.cfs_period_us", period_line, sizeof period_line)) {
                limit_cores(limits, atof(line), atof(period_line));
        }
}

/* Read the limits of a group and of all its ancestors, up to the mount point of its hierarchy. */
static void read_groups(struct limits *limits, const char *mount, const char *group)
{
        char folder[2 * PATH_MAX];
        snprintf(folder, sizeof folder, "%s%s", mount, group);
        while (strlen(folder) >= strlen(mount)) {
                read_group(limits, folder);
                *strrchr(folder, '/') = '\0';
        }
}

/* Lines of /proc/self/cgroup: "NUMBER:CONTROLLERS:GROUP"; version 2 names no controllers. */
static struct limits read_limits(void)
{
        struct limits limits = { .memory_nbytes = UINT64_MAX, .ncores = 1e9 };
        char line[PATH_MAX + 128];
        FILE *file = fopen("/proc/self/cgroup", "re");
        if (file == NULL)
                return limits;
        while (fgets(line, sizeof line, file)) {
                char *rest = line, *number = strsep(&rest, ":"), *names = strsep(&rest, ":");
                if (number == NULL || names == NULL || rest == NULL)
                        continue;
                rest[strcspn(rest, "\n")] = '\0';
                if (*names == '\0')
                        read_groups(&limits, "/sys/fs/cgroup", rest);
                else if (strcmp(names, "memory") == 0)
                        read_groups(&limits, "/sys/fs/cgroup/memory", rest);
                else if (strncmp(names, "cpu", 3) == 0 && strcmp(names, "cpuset") != 0)
                        read_groups(&limits, "/sys/fs/cgroup/cpu", rest);
        }
        fclose(file);
        return limits;
}

static int count_cores(void)
{
        long n = sysconf(_SC_NPROCESSORS_ONLN);
        cpu_set_t set;
        /* Fails on machines with more than 1024 cores; n then remains the number of online
         * cores. */
        if (sched_getaffinity(0, sizeof set, &set) == 0)
                n = CPU_COUNT(&set);
        double quota = read_limits().ncores;
        if (quota < (double)n)
                n = (long)(quota + 0.999);
        return n < 1 ? 1 : n > 1024 ? 1024 : (int)n;
}

int kc_machine_nthreads(uint64_t wanted)
{
        return wanted ? (int)wanted : count_cores();
}

/* Total memory, for systems that do not report how much is available. UINT64_MAX: unknown. */
static uint64_t physical_nbytes(void)
{
        long npages = sysconf(_SC_PHYS_PAGES);
        return npages > 0 ? (uint64_t)npages * (uint64_t)sysconf(_SC_PAGESIZE) : UINT64_MAX;
}

uint64_t kc_machine_available_nbytes(void)
{
        uint64_t nbytes = read_limits().memory_nbytes;
        uint64_t available = read_kib("/proc/meminfo", "MemAvailable:");
        /* a control group without a limit may report a number that no machine reaches */
        nbytes = smaller(nbytes, available ? available : physical_nbytes());
        struct rlimit space;
        if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
                nbytes = smaller(nbytes,
                                 space.rlim_cur > SPACE_NBYTES ? space.rlim_cur - SPACE_NBYTES : 1);
        return nbytes == UINT64_MAX ? 0 : nbytes;
}

uint64_t kc_machine_peak_nbytes(void)
{
        /* getrusage() is the fallback: after fork and exec, its value starts at the parent's
         * size. */
        uint64_t nbytes = read_kib("/proc/self/status", "VmHWM:");
        struct rusage usage;
        if (nbytes == 0 && getrusage(RUSAGE_SELF, &usage) == 0)
                nbytes = (uint64_t)usage.ru_maxrss * 1024;
        return nbytes;
}

static double seconds(struct timeval t)
{
        return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

void kc_machine_cpu_seconds(double *user, double *system)
{
        struct rusage usage = { 0 };
        getrusage(RUSAGE_SELF, &usage);
        *user = seconds(usage.ru_utime);
        *system = seconds(usage.ru_stime);
}

uint64_t kc_machine_raise_open_files(void)
{
        struct rlimit limit = { .rlim_cur = 0 };
        if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
                return 0;
        const rlim_t before = limit.rlim_cur;
        limit.rlim_cur = limit.rlim_max;
        return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_max : before;
}
