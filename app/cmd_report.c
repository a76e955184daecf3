/*
 * kcount report: what reads say about their genome, and about assemblies of it.
 */
#include "app/cli/command.h"
#include "app/cli/message.h"
#include "app/cli/misplaced.h"
#include "app/cli/signals.h"
#include "app/report/fill.h"
#include "app/report/page/caveats.h"
#include "app/report/page/page_html.h"
#include "app/report/page/page_json.h"
#include "app/report/reads.h"
#include "app/report/report_text.h"

#include <assert.h>
#include <string.h>
#include <sys/stat.h>

struct report_settings {
        struct count_settings counting;
        struct option_names assemblies;
        const char *html, *sample, *svg, *multiqc, *merqury, *tracks;
        struct option_numbers ploidies;
        uint64_t threshold;
        struct device_asks asks;
        bool json, force;
};
static_assert(offsetof(struct report_settings, counting) == 0, "see COUNT_FIELD");

struct report_command {
        struct report report;
        struct report_setup setup;
        struct filled_page filled;
        struct count_settings counting; /* also with what count does not share with others */
        int ploidies[MODEL_MAX_PLOIDIES];
        struct device_answers device;
        struct writing writing;
};

/* If it is missing, the reader says so. */
static enum kc_status check_assembly(const char *name, struct kc_error *err)
{
        struct stat found;
        const bool is_pipe =
                strcmp(name, "-") == 0 ||
                (stat(name, &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode));
        if (is_pipe)
                return kc_fail(err, KC_EUSAGE,
                               "--assembly %s: an assembly is read twice, so it must be a file",
                               name);
        return name[0] != '@' ? KC_OK
                              : kc_fail(err, KC_EUSAGE,
                                        "--assembly %s: name the file itself, not a list", name);
}

static enum kc_status check_options(const struct report_settings *s, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < s->assemblies.n; i++)
                KC_TRY(check_assembly(s->assemblies.names[i], err));
        if (s->assemblies.n == 0 && (s->merqury != NULL || s->tracks != NULL || s->threshold > 0))
                return kc_fail(err, KC_EUSAGE, "%s needs an assembly: name it with --assembly",
                               s->merqury != NULL  ? "--merqury"
                               : s->tracks != NULL ? "--tracks"
                                                   : "--threshold");
        if (s->html == NULL && !s->json && s->svg == NULL && s->multiqc == NULL &&
            s->merqury == NULL && s->tracks == NULL)
                return kc_fail(err, KC_EUSAGE, "name the page to write, with -o report.html");
        if (s->json && s->html != NULL && strcmp(s->html, "-") == 0)
                return kc_fail(err, KC_EUSAGE, "-o - and --json both print on standard output");
        KC_TRY(device_check(s->asks.device, 0, DEVICE_ANSWERS, err));
out:
        return status;
}

/* Threads that the bound on memory allows. */
static enum kc_status plan_memory(struct report_command *c, const struct report_settings *s,
                                  struct kc_error *err)
{
        c->setup.memory_nbytes = s->counting.memory_nbytes > 0 ? s->counting.memory_nbytes
                                                               : kc_memory_default_nbytes(1);
        enum kc_status status =
                kc_memory_limit_threads(c->setup.memory_nbytes, MEMORY_THREAD_NBYTES, "the report",
                                        &c->writing.nthreads, err);
        c->setup.nthreads = c->writing.nthreads;
        return status;
}

static void put_text(const void *ctx, struct text_out *out)
{
        const struct report_command *c = ctx;
        if (c->setup.html != NULL && strcmp(c->setup.html, "-") != 0)
                text_out_printf(out, "wrote %s\n", c->setup.html);
        report_put_text(out, &c->filled.page);
        if (c->device.used) /* the CPU is not worth a line */
                device_put_answers(out, &c->device);
        writing_put_costs(
                out, &c->writing,
                &(struct writing_costs){ .spilled_nbytes = c->report.counted.spilled_nbytes });
}

/* The page's own: the same input gives the same bytes, so there are no times in it. */
static void put_json(struct text_out *out, const struct page *page)
{
        struct json json = { .out = out };
        page_put_json(&json, page);
}

static void warn(const struct page *page)
{
        struct page_caveat caveats[PAGE_MAX_CAVEATS];
        const size_t n = page_find_caveats(page, caveats);
        for (size_t i = 0; i < n; i++)
                message_print("kcount: warning: %s\n", caveats[i].text);
}

static enum kc_status work(void *ctx, struct kc_error *err)
{
        struct report_command *c = ctx;
        enum kc_status status;
        KC_TRY(report_work(&c->report, err));
        KC_TRY(fill_page(&c->filled, &c->report, c->writing.call->line, err));
        if (c->report.html != NULL)
                page_put_html(c->report.html, &c->filled.page);
        pictures_put(&c->report.pictures, &c->filled.page);
        multiqc_put(&c->report.multiqc, &c->filled.page);
out:
        return status;
}

static enum kc_status run_report(const struct invocation *call, struct kc_error *err)
{
        const struct report_settings *s = call->settings;
        struct report_command c = {
                .writing = writing_of(call, &s->counting.common),
                .counting = s->counting,
                .setup = { .reads = (const char *const *)call->operands,
                           .nreads = (size_t)call->noperands,
                           .assemblies = s->assemblies.names,
                           .nassemblies = s->assemblies.n,
                           .sample = s->sample,
                           .html = s->html,
                           .svg = s->svg,
                           .multiqc = s->multiqc,
                           .merqury = s->merqury,
                           .tracks = s->tracks,
                           .folder = s->counting.tmp_dir != NULL ? s->counting.tmp_dir : ".",
                           .counting = &c.counting,
                           .threshold = s->threshold,
                           .ploidies = c.ploidies,
                           .force = s->force,
                           .device = &c.device },
        };
        const struct writing_work all = { .ctx = &c, .on_cpu = work, .hidden = true };
        const struct writing_report report = { .ctx = &c, .put_text = put_text };
        bool is_unread;
        enum kc_status status;
        c.setup.job = c.writing.job;
        for (size_t i = 0; i < s->ploidies.n; i++)
                c.ploidies[c.setup.nploidies++] = (int)s->ploidies.values[i];
        c.counting.device = s->asks.device;
        c.counting.gpu_memory_nbytes = s->asks.gpu_memory_nbytes;
        KC_TRY(check_options(s, err));
        KC_TRY(reads_look(call, &c.setup.are_counted, err));
        KC_TRY(plan_memory(&c, s, err));
        signals_install(c.writing.job);
        KC_TRY(report_open(&c.report, &c.setup, err));
        KC_TRY(device_choose_map(&c.device, &s->asks, c.report.info.k, c.report.info.stranded,
                                 s->counting.common.quiet, err));
        KC_TRY(writing_run(&c.writing, &all, err));
        KC_TRY(files_commit(&c.report.files, err));
        warn(&c.filled.page);
        if (s->json)
                put_json(call->out, &c.filled.page);
        writing_report(&c.writing, &report);
out:
        is_unread = files_pipe_closed(&c.report.files);
        fill_free(&c.filled);
        report_close(&c.report);
        if (is_unread)
                signals_die_by_pipe();
        return status;
}

#define FIELD(member) offsetof(struct report_settings, member)

static const struct option_spec report_options[] = {
        OPTION(OUTPUT, "output", FIELD(html),
               "Write the report as a page of HTML. It is one file, and needs no network.",
               .letter = 'o', .argument = "FILE"),
        OPTION(INPUTS, "assembly", FIELD(assemblies),
               "FASTA of an assembly, or its .kc file. For a .kc file, the report says nothing "
               "about individual sequences. Give the option twice for two haplotypes.",
               .argument = "FILE"),
        READS_KMER,
        OPTION(NUMBERS, "ploidy", FIELD(ploidies),
               "How many haplotypes the genome has, 1 to 6. To compare several ploidies, put "
               "commas between them. Default: 1,2,4.",
               .letter = 'p', .argument = "P", .min = 1, .max = 6),
        OPTION(NUMBER, "threshold", FIELD(threshold),
               "k-mers that were read at least N times are solid. Default: from what the "
               "model says or, without a model, above the first minimum of the histogram.",
               .argument = "N", .min = 1, .max = UINT32_MAX),
        OPTION(TEXT, "sample", FIELD(sample), "Name of the sample; default: that of the reads.",
               .argument = "TEXT"),
        OPTION(TEXT, "svg", FIELD(svg),
               "Write the pictures as SVG to this folder. It is made if it is missing.",
               .argument = "DIR"),
        OPTION(OUTPUT, "multiqc", FIELD(multiqc),
               "Write the main numbers for MultiQC. FILE must end in _mqc.json, by which MultiQC "
               "finds it. The spectrum goes to another one, which ends in _spectrum_mqc.json.",
               .argument = "FILE"),
        OPTION(TEXT, "merqury", FIELD(merqury),
               "Write the files that Merqury writes. They are PREFIX.qv, "
               "PREFIX.completeness.stats and others, with the same contents. Those that Merqury "
               "does not name after its prefix, such as ASSEMBLY_only.bed, go to the folder of "
               "PREFIX.",
               .argument = "PREFIX"),
        OPTION(TEXT, "tracks", FIELD(tracks),
               "Write where the assembly differs from the reads, as BED. The files are "
               "PREFIX.ASSEMBLY.absent.bed, .duplicated.bed and .collapsed.bed.",
               .argument = "PREFIX"),
        OPTION_FORCE(FIELD(force)),
        OPTION_THREADS(FIELD(counting.common.nthreads)),
        OPTION_MEMORY(FIELD(counting.memory_nbytes)),
        OPTION(TEXT, "tmp", FIELD(counting.tmp_dir),
               "Folder for temporary files. They take up to about 10 bytes for each k-mer of an "
               "assembly or of reads that are counted. Default: the current one.",
               .argument = "DIR"),
        READS_OPTIONS,
        OPTIONS_ASK(FIELD(asks)),
        OPTION_JSON(FIELD(json)),
        MESSAGE_OPTIONS(FIELD(counting.common)),
        { 0 },
};

const struct command command_report = {
        .name = "report",
        .base = &command_count,
        .run = run_report,
        .operands = "READS...",
        .group = COMMAND_LOOKS,
        .summary = "Report on a genome and its assemblies, as a page of HTML",
        .description =
                "The page says what the reads show of the genome: its size, ploidy and "
                "heterozygosity, from the model that 'kcount model' fits; the coverage and errors "
                "of the reads; and k-mers that look like an organelle's or a contaminant's. With "
                "--assembly, it says how good an assembly is. If something makes a number doubtful "
                "or wrong, the page says so, and a warning does, too.\n\n"
                "READS is a .kc file, or whatever 'kcount count' takes, such as FASTQ: files, - or "
                "@LIST. These reads are counted first, into a temporary file. A .kc file must have "
                "all k-mers of the reads, counted without --min, --max, --stranded and --only.\n\n"
                "QV: from the share of the assembly's k-mers that the reads lack, with 95 % "
                "limits. If they lack none, only the lower limit is known. The adjusted QV takes "
                "into account k-mers that the reads lack by chance, and errors that they have in "
                "common with the assembly.\n\n"
                "Completeness: the share of the reads' solid k-mers that the assembly has.\n\n"
                "Copy number: for each count in the reads, how many k-mers are missing from the "
                "assembly, how many it has once, twice, and so on; for two assemblies, also which "
                "of the two has them.\n\n"
                "Sequences: length, QV, depth (the median count of its k-mers in the reads) and "
                "extra k-mers, which the assembly has twice or more although the reads have enough "
                "for one copy.\n\n"
                "Tracks: a k-mer is absent if no read has it; duplicated if the assembly has it "
                "twice or more, and its count is at most 1.5 times the depth of the genome; "
                "collapsed if its count is more than c + 0.5 times that depth, where c is how "
                "often the assembly has it, at most 254 times. The depth is the ploidy times the "
                "model's coverage, or that of the histogram's main peak. In a line of absent "
                "k-mers, each base is in at least one of them. A line of duplicated or collapsed "
                "k-mers may have gaps of up to k bases, but it has at least k such k-mers, and "
                "they are at least half of the k-mers in it. A line of collapsed k-mers is also "
                "longer than those that arise by chance.\n\n"
                "The same files and command give the same page and the same JSON.",
        .examples =
                "  kcount report reads.kc -o report.html\n"
                "  kcount report reads_1.fq.gz reads_2.fq.gz -o report.html\n"
                "  kcount report reads.kc --assembly asm.fa.gz -o report.html --tracks out\n"
                "  kcount report reads.kc --assembly hap1.fa --assembly hap2.fa --merqury out\n",
        .options = report_options,
        .settings_nbytes = sizeof(struct report_settings),
        .min_operands = 1,
        .max_operands = -1,
};
