/*
 * bench_gpu: the stages on the device by themselves, timed with CUDA events.
 *
 *      bench_gpu [-g GENOME] [-c COVERAGE] [-k K,K,...] [-n REPEAT] [-d DEVICE,...] [-A] [-C] [-J]
 *
 * The reads are made on the device: 150 bases, 0.5 % substitutions, by default 40-fold coverage of
 * a genome of 64 Mi bases (2.7 Gbases, 0.7 GB packed: larger than any cache). Each stage runs once
 * to warm up and then REPEAT times. A line of JSON reports all times, the least bytes that must
 * move, and their rate as a share of the bandwidth of a copy on the same device in the same run.
 * bench/gpu_stages.py keeps the lines. -C first checks the counts against all k-mers sorted with
 * CUB. With several devices, only counting and merging are timed: on the first one, and on all of
 * them together, which share the k-mers. -A instead times looking up the reads' k-mers in a
 * table of those of the genome, for k up to 32. Exit status 77 without a device, and 3, unless -J,
 * if the build has no machine code for it.
 */
#include "bench/gpu/stages.cuh"
#include "gpu/gpu.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

enum { MAX_KMERS = 8 };

struct settings {
        uint64_t genome_nbases;
        double coverage;
        int kmers[MAX_KMERS], nkmers;
        int repeat;
        int devices[KC_GPU_MAX_DEVICES], ndevices;
        bool asks, check, may_jit;
};

static void usage(const char *why)
{
        fprintf(stderr,
                "bench_gpu: %s\n"
                "usage: bench_gpu [-g GENOME] [-c COVERAGE] [-k K,K,...] [-n REPEAT] "
                "[-d DEVICE,...] [-A] [-C] [-J]\n",
                why);
        exit(2);
}

static void parse_kmers(struct settings *set, const char *text)
{
        char *end;
        set->nkmers = 0;
        do {
                long k = strtol(text, &end, 10);
                if (k < 1 || k > KC_GPU_ENGINE_MAX_K || set->nkmers == MAX_KMERS)
                        usage("-k: 1 to 128, a few");
                set->kmers[set->nkmers++] = (int)k;
                text = end + 1;
        } while (*end == ',');
}

static void parse_devices(struct settings *set, const char *text)
{
        char *end;
        set->ndevices = 0;
        do {
                if (set->ndevices == KC_GPU_MAX_DEVICES)
                        usage("-d: too many devices");
                set->devices[set->ndevices++] = (int)strtol(text, &end, 10);
                text = end + 1;
        } while (*end == ',');
}

static struct settings parse_arguments(int argc, char **argv)
{
        struct settings set = { 64 << 20, 40, { 31, 55 }, 2, 7, { 0 }, 1, false, false, false };
        for (int c; (c = getopt(argc, argv, "g:c:k:n:d:ACJ")) != -1;) {
                if (c == 'g')
                        set.genome_nbases = strtoull(optarg, NULL, 10);
                else if (c == 'c')
                        set.coverage = atof(optarg);
                else if (c == 'k')
                        parse_kmers(&set, optarg);
                else if (c == 'n')
                        set.repeat = atoi(optarg);
                else if (c == 'd')
                        parse_devices(&set, optarg);
                else if (c == 'A')
                        set.asks = true;
                else if (c == 'C')
                        set.check = true;
                else if (c == 'J')
                        set.may_jit = true;
                else
                        usage("no such option");
        }
        if (set.genome_nbases < WORKLOAD_READ_NBASES || set.coverage <= 0 || set.repeat < 1 ||
            set.repeat > STAGE_MAX_REPEAT || optind < argc)
                usage("nothing to do");
        for (int i = 0; i < set.nkmers && set.asks; i++)
                if (set.kmers[i] > 32 || set.ndevices > 1)
                        usage("-A: one device, -k up to 32");
        return set;
}

static enum kc_status bench_kmers(const struct settings *set, struct bench *bench, int k,
                                  struct kc_error *err)
{
        if (set->asks)
                return bench_asking(bench, k, err);
        return kc_key_choose(k, [&](auto key) {
                return set->ndevices == 1 ? bench_counting<decltype(key)>(bench, k, err)
                                          : bench_sharing<decltype(key)>(bench, set->devices,
                                                                         set->ndevices, k, err);
        });
}

static enum kc_status run(const struct settings *set, struct bench *bench, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_set users = {};
        for (int i = 0; i < set->ndevices; i++)
                kc_gpu_set_add(&users, set->devices[i]);
        KC_TRY(bench_open(bench, set->devices[0], users, err));
        KC_TRY(bench_copies(bench, err));
        for (int i = 0; i < set->nkmers; i++)
                KC_TRY(bench_kmers(set, bench, set->kmers[i], err));
out:
        bench_close(bench);
        return status;
}

int main(int argc, char **argv)
{
        struct settings set = parse_arguments(argc, argv);
        struct bench bench = {};
        struct kc_error err = {};
        bench.may_jit = set.may_jit;
        for (int i = set.ndevices; i-- > 0;)
                bench_need_device(&bench, "bench_gpu", set.devices[i]);
        bench.repeat = set.repeat;
        bench.check = set.check;
        bench.reads = workload_of(set.genome_nbases, set.coverage);
        if (run(&set, &bench, &err) != KC_OK) {
                fprintf(stderr, "bench_gpu: %s\n", err.message);
                return 1;
        }
        return 0;
}
