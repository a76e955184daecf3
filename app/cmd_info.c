/*
 * kcount info: describe a .kc file, or list the devices.
 */
#include "app/cli/command.h"
#include "app/cli/device.h"
#include "app/cli/size.h"
#include "app/cli/writing.h"
#include "app/library/inside.h"
#include "app/store/stores.h"

struct info_settings {
        bool json, devices;
};

static void put_number(struct text_out *out, const char *label, uint64_t number)
{
        char text[FORMATTED_NBYTES];
        text_out_printf(out, "%-22s %s\n", label, format_number(number, text));
}

/* Leaves out what says nothing if it is 0. */
static void put_number_if(struct text_out *out, const char *label, uint64_t number)
{
        if (number > 0)
                put_number(out, label, number);
}

/* A bound of the filter. mixed: for some of the counts, it was stricter. */
static void put_bound(struct text_out *out, const char *label, const char *mixed_as, bool mixed,
                      uint64_t bound)
{
        char text[FORMATTED_NBYTES];
        text_out_printf(out, "%-22s %s%s\n", label, mixed ? mixed_as : "",
                        format_number(bound, text));
}

static void put_filter(struct text_out *out, const struct kc_store_info *info)
{
        const bool mixed_min = info->mixed & KC_MIXED_MIN, mixed_max = info->mixed & KC_MIXED_MAX;
        if (mixed_min || info->min_count > 1)
                put_bound(out, "smallest count kept", "mixed, at least ", mixed_min,
                          info->min_count);
        if (mixed_max || info->max_count_kept < UINT32_MAX)
                put_bound(out, "largest count kept", "mixed, at most ", mixed_max,
                          info->max_count_kept);
        put_number_if(out, "distinct dropped", info->ndropped_distinct);
        put_number_if(out, "k-mers dropped", info->ndropped_kmers);
}

static void put_runs(struct text_out *out, const struct kc_store_info *info)
{
        if (info->nruns > 1)
                put_number(out, "sorted runs", info->nruns);
        if (info->ntombstone_runs > 0) {
                put_number(out, "of these, tombstones", info->ntombstone_runs);
                put_number(out, "k-mers in these", info->ntombstones);
        }
}

static void put_text(struct text_out *out, const char *path, const struct kc_store_info *info)
{
        char size[FORMATTED_NBYTES];
        text_out_printf(out, "%-22s %s\n", "file", path);
        text_out_printf(out, "%-22s %s\n", "size", format_size(info->file_nbytes, size));
        put_number(out, "format version", info->version);
        put_number(out, "k", (uint64_t)info->k);
        text_out_printf(out, "%-22s %s\n", "strands",
                        info->stranded ? "as they stand (--stranded)" : "canonical");
        if (info->hpc)
                text_out_printf(out, "%-22s %s\n", "homopolymers", "compressed (--hpc)");
        if (info->only_checksum != 0)
                text_out_printf(out, "%-22s %s\n", "k-mers", "those of a given set (--only)");
        put_runs(out, info);
        put_number(out, "distinct k-mers", info->ndistinct);
        put_number(out, "seen once", info->nunique);
        put_number(out, "largest count", info->max_count);
        put_number(out, "sum of counts", info->sum);
        put_number(out, "k-mers counted", info->nkmers);
        put_filter(out, info);
        put_number_if(out, "lost to saturation", info->nsaturated);
        put_number_if(out, "reads", info->nreads);
        put_number_if(out, "bases", info->nbases);
        put_number_if(out, "letters skipped", info->nskipped);
        put_number_if(out, "low-quality bases", info->nlow_quality);
        for (size_t i = 0; i < info->nnames; i++)
                text_out_printf(out, "%-22s %s\n", i ? "" : "inputs", info->names[i]);
        if (info->nruns > 1)
                text_out_puts(out, "Each run is counted by itself: a k-mer in two runs counts "
                                   "twice here.\n"
                                   "For merged numbers, see hist, or info after compact.\n");
}

static void put_json(struct text_out *out, const char *path, const struct kc_store_info *info)
{
        const struct kcount_info described = kc_library_describe(info);
        struct json json = { .out = out };
        json_begin(&json, NULL, '{');
        json_string(&json, "file", path);
        json_number(&json, "file_bytes", info->file_nbytes);
        json_number(&json, "version", info->version);
        json_number(&json, "k", (uint64_t)info->k);
        json_bool(&json, "stranded", info->stranded);
        json_bool(&json, "hpc", info->hpc);
        json_bool(&json, "only", info->only_checksum != 0);
        json_number(&json, "runs", info->nruns);
        json_number(&json, "tombstone_runs", info->ntombstone_runs);
        json_number(&json, "tombstones", info->ntombstones);
        writing_json_counts(&json, &described);
        json_number(&json, "counted_kmers", info->nkmers);
        json_number(&json, "min_count", info->min_count);
        json_number(&json, "max_count", info->max_count_kept);
        json_bool(&json, "min_count_is_mixed", info->mixed & KC_MIXED_MIN);
        json_bool(&json, "max_count_is_mixed", info->mixed & KC_MIXED_MAX);
        json_number(&json, "reads", info->nreads);
        json_number(&json, "bases", info->nbases);
        json_number(&json, "skipped_letters", info->nskipped);
        json_number(&json, "low_quality_bases", info->nlow_quality);
        json_strings(&json, "inputs", info->names, info->nnames);
        json_end(&json, '}');
}

static enum kc_status run_info(const struct invocation *call, struct kc_error *err)
{
        const struct info_settings *s = call->settings;
        char example[EXAMPLE_NBYTES];
        if (s->devices != (call->noperands == 0))
                return kc_fail(err, KC_EUSAGE, "info needs either FILE.kc or --devices%s",
                               command_example(call->command, example));
        if (s->devices)
                return device_list(call->out, s->json, err);
        struct kc_store *store;
        enum kc_status status = stores_open(&store, call->operands[0], err);
        if (status != KC_OK)
                return status;
        struct kc_store_info info;
        kc_store_get_info(store, &info);
        if (s->json)
                put_json(call->out, call->operands[0], &info);
        else
                put_text(call->out, call->operands[0], &info);
        kc_store_close(store);
        return KC_OK;
}

#define FIELD(member) offsetof(struct info_settings, member)

static const struct option_spec info_options[] = {
        OPTION_JSON(FIELD(json)),
        OPTION(FLAG, "devices", FIELD(devices), "List the CUDA devices instead."),
        { 0 },
};

const struct command command_info = {
        .name = "info",
        .run = run_info,
        .operands = "FILE.kc | --devices",
        .group = COMMAND_LOOKS,
        .summary = "Show k, totals and inputs of a file; --devices lists GPUs",
        .description =
                "Prints k, strands, totals and the inputs' names from the file's footer; nothing "
                "else in the file is read, so damage elsewhere goes unseen (see check).",
        .examples = "  kcount info reads.kc\n"
                    "  kcount info --devices\n",
        .options = info_options,
        .settings_nbytes = sizeof(struct info_settings),
        .max_operands = 1,
        .for_more = "one .kc file; run it once for each file",
};
