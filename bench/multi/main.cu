/*
 * bench_multi: copies between several devices, and the WarpDrive map over them.
 *
 *      bench_multi [-n REPEAT] [-s SHIFT] [-d DEVICE,DEVICE...] [-J] [PART...]
 *
 * Runs the parts links, scaling, capacity and host, or those named. A measurement is timed by the wall
 * clock, with all devices idle before and after it: the median of REPEAT runs (5) after a warm-up
 * run, as a line of JSON. -d: the devices, all by default; one that is named several times stands
 * for several (virtual devices). -s divides all sizes by 2^SHIFT. Exit status 77 without a device,
 * and 3, unless -J, if the build has no machine code for it.
 */
#include "bench/multi/multi.cuh"
#include "gpu/gpu.h"

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
              { "host", multi_host } };

static void usage(const char *why)
{
        fprintf(stderr,
                "bench_multi: %s\n"
                "usage: bench_multi [-n REPEAT] [-s SHIFT] [-d DEVICE,DEVICE...] [-J] [PART...]\n"
                "parts:",
                why);
        for (const auto &part : PARTS)
                fprintf(stderr, " %s", part.name);
        fprintf(stderr, "\n");
        exit(2);
}

static void parse_devices(struct multi_bench *b, const char *text)
{
        for (char *end; *text != '\0'; text = end + (*end == ',')) {
                long device = strtol(text, &end, 10);
                if (end == text || (*end != ',' && *end != '\0') || device < 0 ||
                    b->ndevices == KC_LINKS_MAX)
                        usage("-d takes numbers with commas between them");
                b->devices[b->ndevices++] = (int)device;
        }
}

static void parse_arguments(int argc, char **argv, struct multi_bench *b)
{
        b->base.repeat = 5;
        for (int c; (c = getopt(argc, argv, "n:s:d:J")) != -1;) {
                if (c == 'n')
                        b->base.repeat = atoi(optarg);
                else if (c == 's')
                        b->shift = atoi(optarg);
                else if (c == 'd')
                        parse_devices(b, optarg);
                else if (c == 'J')
                        b->base.may_jit = true;
                else
                        usage("no such option");
        }
        if (b->base.repeat < 1 || b->shift < 0 || b->shift > 31)
                usage("nothing to do");
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
                        usage("no such part");
        }
}

static enum kc_status all_devices(struct multi_bench *b, struct kc_error *err)
{
        int n;
        enum kc_status status = kc_gpu_devices(NULL, 0, &n, err);
        for (; status == KC_OK && b->ndevices < std::min(n, (int)KC_LINKS_MAX); b->ndevices++)
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
