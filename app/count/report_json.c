#include "app/count/summary.h"

static double mbases_per_second(const struct summary *s)
{
        return s->wall_seconds > 0 ? (double)s->read.nbases / s->wall_seconds * 1e-6 : 0;
}

static void put_json_parts(struct json *json, const struct summary *s)
{
        json_begin(json, "devices", '[');
        for (int i = 0; i < s->gpu.nparts; i++) {
                const struct kc_gpu_part_report *part = &s->gpu.parts[i];
                json_begin(json, NULL, '{');
                json_number(json, "index", (uint64_t)part->device);
                json_number(json, "counted_kmers", part->nkmers);
                json_number(json, "passes", part->npasses);
                json_number(json, "peak_memory_bytes", part->peak_nbytes);
                json_number(json, "merged_kmers", part->nmerged);
                json_number(json, "text_bytes", part->text_nbytes);
                json_number(json, "kept_reads_bytes", part->kept_nbytes);
                json_number(json, "received_reads_bytes", part->reads_nbytes);
                json_number(json, "sent_runs_bytes", part->runs_nbytes);
                json_end(json, '}');
        }
        json_end(json, ']');
}

static void put_json_device(struct json *json, const struct summary *s)
{
        char device[DEVICE_NAME_NBYTES];
        json_string(json, "device", device_name(&s->device, device));
        if (!s->device.cuda)
                return;
        json_string(json, "table", s->device.table_name);
        json_number(json, "device_peak_memory_bytes", s->gpu.peak_nbytes);
        json_number(json, "device_text_bytes", s->read.stored.text_nbytes);
        json_number(json, "device_inflated_bytes", s->read.stored.inflated_nbytes);
        json_number(json, "device_fallback_bytes", s->read.stored.wasted_nbytes);
        json_number(json, "device_passes", s->gpu.npasses);
        json_number(json, "device_partial_kmers", s->gpu.npartial);
        json_number(json, "reads_on_device_bytes", s->gpu.kept_device_nbytes);
        json_number(json, "reads_in_memory_bytes", s->gpu.kept_host_nbytes);
        json_number(json, "reads_in_files_bytes", s->gpu.kept_file_nbytes);
        put_json_parts(json, s);
}

static void put_json_ranks(struct json *json, const struct summary *s)
{
        if (s->nranks == 0)
                return;
        json_begin(json, "ranks", '[');
        for (int i = 0; i < s->nranks; i++) {
                const struct rank_report *rank = &s->ranks[i];
                json_begin(json, NULL, '{');
                json_string(json, "host", rank->host);
                json_string(json, "device", rank->device);
                json_number(json, "reads", rank->read.nreads);
                json_number(json, "bases", rank->read.nbases);
                json_number(json, "input_bytes", rank->read.input_nbytes);
                json_number(json, "sent_bytes", rank->nsent);
                json_number(json, "received_bytes", rank->ntaken);
                json_number(json, "counted_distinct", rank->ncounted[s->number]);
                json_number(json, "spilled_bytes", rank->nspilled[s->number]);
                if (s->output != NULL)
                        json_number(json, "written_bytes", rank->nwritten[s->number]);
                json_number(json, "peak_memory_bytes", rank->peak_nbytes);
                json_end(json, '}');
        }
        json_end(json, ']');
}

static void put_json_exports(struct json *json, const struct exporting_files *exports)
{
        if (exports->n == 0)
                return;
        json_begin(json, "exports", '[');
        for (size_t i = 0; i < exports->n; i++)
                json_string(json, NULL, exports->paths[i]);
        json_end(json, ']');
}

/* The elements and the end of an array: inputs whose marks among those in `mask` are `marks`. */
static void put_json_inputs(struct json *json, const struct summary *s, unsigned mask,
                            unsigned marks)
{
        for (size_t i = 0; i < s->ninputs; i++)
                if ((s->marks[i] & mask) == marks)
                        json_string(json, NULL, s->inputs[i]);
        json_end(json, ']');
}

static void put_json_settings(struct json *json, const struct summary *s)
{
        json_string(json, "output", s->output);
        json_number(json, "output_bytes", s->stored.file_nbytes);
        put_json_exports(json, s->exports);
        json_begin(json, "inputs", '[');
        put_json_inputs(json, s, 0, 0);
        json_begin(json, "inputs_without_sequence", '[');
        put_json_inputs(json, s, KC_INPUT_HAS_BASES, 0);
        json_begin(json, "inputs_without_end_block", '[');
        put_json_inputs(json, s, KC_INPUT_NO_END_BLOCK, KC_INPUT_NO_END_BLOCK);
        json_number(json, "runs", s->stored.nruns);
        json_number(json, "k", (uint64_t)s->stored.k);
        json_bool(json, "stranded", s->stored.stranded);
        json_number(json, "min_quality", (uint64_t)s->min_quality);
        json_number(json, "memory_bound_bytes", s->memory_nbytes);
        put_json_device(json, s);
        put_json_ranks(json, s);
}

static void put_json_read(struct json *json, const struct summary *s)
{
        const uint64_t host_nbytes = s->read.text_nbytes - s->read.stored.text_nbytes;
        json_number(json, "reads", s->read.nreads);
        json_number(json, "bases", s->read.nbases);
        json_number(json, "skipped_letters", s->read.nskipped);
        json_number(json, "low_quality_bases", s->read.nlow_quality);
        json_number(json, "input_bytes", s->read.input_nbytes);
        json_number(json, "text_bytes", s->read.text_nbytes);
        json_number(json, "host_text_bytes", host_nbytes);
        json_number(json, "host_inflated_bytes", s->read.inflated_nbytes);
        json_number(json, "host_fallback_bytes", s->read.stored.gave_up ? host_nbytes : 0);
}

static void put_json_counted(struct json *json, const struct summary *s)
{
        json_number(json, "kmers", s->counted.nkmers);
        json_number(json, "distinct", s->counted.ndistinct);
        json_number(json, "unique", s->nunique);
        json_number(json, "dropped_distinct", s->stored.ndropped_distinct);
        json_number(json, "dropped_kmers", s->stored.ndropped_kmers);
        json_number(json, "saturated_kmers", s->counted.nsaturated);
        json_number(json, "spilled_bytes", s->counted.spilled_nbytes);
}

static void put_json_histogram(struct json *json, const struct summary *s)
{
        json_begin(json, "histogram", '[');
        for (size_t i = 0; i < s->nrows; i++)
                json_number_pair(json, s->rows[i].count, s->rows[i].ndistinct);
        json_end(json, ']');
}

static void put_json_seconds(struct json *json, const struct summary *s)
{
        json_begin(json, "seconds", '{');
        if (!s->reader_only) {
                json_real(json, "partition", s->counted.stage_seconds[KC_STAGE_PARTITION]);
                json_real(json, "count", s->counted.stage_seconds[KC_STAGE_COUNT]);
                json_real(json, "order", s->counted.stage_seconds[KC_STAGE_ORDER]);
        }
        json_real(json, "wall", s->wall_seconds);
        json_real(json, "user", s->user_seconds);
        json_real(json, "system", s->system_seconds);
        json_end(json, '}');
}

void summary_put_json(const void *ctx, size_t i, struct json *json)
{
        const struct summaries *all = ctx;
        const struct summary *s = &all->items[i];
        json_number(json, "threads", (uint64_t)s->nthreads);
        if (!s->reader_only)
                put_json_settings(json, s);
        put_json_read(json, s);
        if (!s->reader_only)
                put_json_counted(json, s);
        if (s->rows != NULL)
                put_json_histogram(json, s);
        put_json_seconds(json, s);
        json_number(json, "peak_memory_bytes", s->peak_nbytes);
        json_real(json, "mbases_per_second", mbases_per_second(s));
}
