/*
 * bench_tables: the papers' evaluations, rerun on the device at hand.
 *
 *      bench_tables [-n REPEAT] [-s SHIFT] [-d DEVICE] [-J] [PAPER...]
 *
 * Runs all papers, or those named. A row of a table or figure is timed with CUDA events: the median
 * of REPEAT runs (5) after a warm-up run. A line of JSON reports it, with the paper's rate if its
 * text has one, and both as operations per second for each GB/s of memory bandwidth: here that of a
 * measured copy, for the paper's device that of its data sheet. -s divides all sizes by 2^SHIFT,
 * for a quick look. Exit status 77 without a device, and 3, unless -J, if the build has no machine
 * code for it.
 */
#include "bench/gpu/stages.cuh"
#include "bench/tables/tables.cuh"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

/* TABLES_PAPERS: X(NAME) for each paper's NAME.cu in this folder, see CMakeLists.txt. */
#define X(name) enum kc_status bench_##name(struct tables_bench *b, struct kc_error *err);
TABLES_PAPERS
#undef X

struct paper {
        const char *name;
        enum kc_status (*run)(struct tables_bench *b, struct kc_error *err);
};

#define X(name) { #name, bench_##name },
static const struct paper PAPERS[] = { TABLES_PAPERS };
#undef X

static void usage(const char *why)
{
        fprintf(stderr,
                "bench_tables: %s\n"
                "usage: bench_tables [-n REPEAT] [-s SHIFT] [-d DEVICE] [-J] [PAPER...]\npapers:",
                why);
        for (const struct paper &paper : PAPERS)
                fprintf(stderr, " %s", paper.name);
        fprintf(stderr, "\n");
        exit(2);
}

static int parse_arguments(int argc, char **argv, struct tables_bench *b)
{
        int device = 0;
        b->base.repeat = 5;
        for (int c; (c = getopt(argc, argv, "n:s:d:J")) != -1;) {
                if (c == 'n')
                        b->base.repeat = atoi(optarg);
                else if (c == 's')
                        b->shift = atoi(optarg);
                else if (c == 'd')
                        device = atoi(optarg);
                else if (c == 'J')
                        b->base.may_jit = true;
                else
                        usage("no such option");
        }
        if (b->base.repeat < 1 || b->base.repeat > STAGE_MAX_REPEAT || b->shift < 0 ||
            b->shift > 31)
                usage("nothing to do");
        return device;
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
                for (const struct paper &paper : PAPERS)
                        known |= strcmp(argv[i], paper.name) == 0;
                if (!known)
                        usage("no such paper");
        }
}

static enum kc_status run(struct tables_bench *b, int device, int argc, char **argv,
                          struct kc_error *err)
{
        enum kc_status status;
        struct stage copy;
        KC_TRY(bench_open(&b->base, device, {}, err));
        KC_TRY(bench_copy_inside(&b->base, ((size_t)2 << 30) >> b->shift, &copy, err));
        for (const struct paper &paper : PAPERS) {
                b->paper = paper.name;
                if (is_named(paper.name, argc, argv))
                        KC_TRY(paper.run(b, err));
        }
out:
        bench_close(&b->base);
        return status;
}

int main(int argc, char **argv)
{
        struct tables_bench bench = {};
        struct kc_error err = {};
        int device = parse_arguments(argc, argv, &bench);
        check_names(argc, argv);
        bench_need_device(&bench.base, "bench_tables", device);
        if (run(&bench, device, argc, argv, &err) != KC_OK) {
                fprintf(stderr, "bench_tables: %s: %s\n", bench.paper ? bench.paper : "device",
                        err.message);
                return 1;
        }
        return bench.failed;
}
