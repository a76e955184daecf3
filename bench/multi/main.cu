/*
 * bench_multi: copies between several devices, and the WarpDrive map over them.
 *
 *      bench_multi [-n REPEAT] [-s SHIFT] [-d DEVICE,DEVICE...] [-l LOG2,LOG2...] [-m GIB] [-J]
 *                  [PART...]
 *
 * Runs the parts that are named, or all of them:
 *
 *      links          copies from every device to every other
 *      scaling        the map on one device to all of them (Juenger et al., figure 9)
 *      capacity       2^28 to 2^32 keys of three distributions (figure 10, upper half)
 *      host           keys on the host, with the time of each stage (figure 11)
 *      host-capacity  2^28 to 2^32 keys on the host (figure 10, lower half)
 *
 * A measurement is timed by the wall clock, with all devices idle before and after it: the median
 * of REPEAT runs (5) after a warm-up run, as a line of JSON. What does not fit in memory is
 * skipped, with a line on stderr. -d: the devices, by default all; one that is named several times
 * stands for several (virtual devices). -l: the sizes, 2^LOG2 keys, in place of each part's own. -s
 * divides all sizes by 2^SHIFT. -m bounds the pinned memory of the host: by default half of the
 * physical memory. Exit status 77 without a device, and 3, unless -J is given, if the build has no
 * machine code for it.
 */
#include "bench/multi/multi.cuh"
#include "gpu/gpu.h"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

static const struct {
        const char *name;
        enum kc_status (*run)(struct multi_bench *b, struct kc_error *err);
} PARTS[] = { { "links", multi_links },
              { "scaling", multi_scaling },
              { "capacity", multi_capacity },
              { "host", multi_host },
              { "host-capacity", multi_host_capacity } };

static void usage(const char *why)
{
        fprintf(stderr,
                "bench_multi: %s\n"
                "usage: bench_multi [-n REPEAT] [-s SHIFT] [-d DEVICE,DEVICE...] "
                "[-l LOG2,LOG2...] [-m GIB] [-J] [PART...]\n"
                "parts:",
                why);
        for (const auto &part : PARTS)
                fprintf(stderr, " %s", part.name);
        fprintf(stderr, "\n");
        exit(2);
}

/* Numbers from 0 to most, separated by commas; at most cap of them. */
static void parse_numbers(const char *text, long most, int *numbers, int cap, int *n,
                          const char *why)
{
        for (char *end; *text != '\0'; text = end + (*end == ',')) {
                long number = strtol(text, &end, 10);
                if (end == text || (*end != ',' && *end != '\0') || number < 0 || number > most ||
                    *n == cap)
                        usage(why);
                numbers[(*n)++] = (int)number;
        }
}

static uint64_t parse_gib(const char *text)
{
        char *end;
        const unsigned long long gib = strtoull(text, &end, 10);
        if (end == text || *end != '\0' || gib > UINT64_MAX >> 30)
                usage("-m takes a number of GiB");
        return (uint64_t)gib << 30;
}

static void parse_arguments(int argc, char **argv, struct multi_bench *b)
{
        b->base.repeat = 5;
        b->most_pinned_nbytes =
                (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
        for (int c; (c = getopt(argc, argv, "n:s:d:l:m:J")) != -1;) {
                if (c == 'n')
                        b->base.repeat = atoi(optarg);
                else if (c == 's')
                        b->shift = atoi(optarg);
                else if (c == 'd')
                        parse_numbers(optarg, INT_MAX, b->devices, KC_GPU_MAX_DEVICES, &b->ndevices,
                                      "-d takes device numbers separated by commas");
                else if (c == 'l')
                        parse_numbers(optarg, 40, b->sizes, KC_BENCH_MULTI_SIZES, &b->nsizes,
                                      "-l takes numbers up to 40 separated by commas");
                else if (c == 'm')
                        b->most_pinned_nbytes = parse_gib(optarg);
                else if (c == 'J')
                        b->base.may_jit = true;
                else
                        usage("unknown option");
        }
        if (b->base.repeat < 1)
                usage("REPEAT must be at least 1");
        if (b->shift < 0 || b->shift > 31)
                usage("SHIFT must be between 0 and 31");
}

static bool is_named(const char *name, int argc, char **argv)
{
        bool named = optind == argc;
        for (int i = optind; i < argc; i++)
                named |= strcmp(argv[i], name) == 0;
        return named;
}

static void check_names(int argc, char **argv)
{
        for (int i = optind; i < argc; i++) {
                bool known = false;
                for (const auto &part : PARTS)
                        known |= strcmp(argv[i], part.name) == 0;
                if (!known)
                        usage("unknown part");
        }
}

static enum kc_status all_devices(struct multi_bench *b, struct kc_error *err)
{
        int n;
        enum kc_status status = kc_gpu_devices(NULL, 0, &n, err);
        for (; status == KC_OK && b->ndevices < std::min(n, (int)KC_GPU_MAX_DEVICES); b->ndevices++)
                b->devices[b->ndevices] = b->ndevices;
        return status;
}

static enum kc_status run(struct multi_bench *b, int argc, char **argv, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (b->ndevices == 0)
                KC_TRY(all_devices(b, err));
        for (const auto &part : PARTS)
                if (is_named(part.name, argc, argv))
                        KC_TRY(part.run(b, err));
out:
        return status;
}

int main(int argc, char **argv)
{
        static struct multi_bench bench;
        struct kc_error err = {};
        parse_arguments(argc, argv, &bench);
        check_names(argc, argv);
        bench_need_device(&bench.base, "bench_multi", bench.devices[0]);
        if (run(&bench, argc, argv, &err) != KC_OK) {
                fprintf(stderr, "bench_multi: %s\n", err.message);
                return 1;
        }
        return bench.failed;
}
