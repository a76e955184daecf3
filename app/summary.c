#include "app/summary.h"

#include "app/size.h"
#include "app/writing.h"

#include <stdio.h>

static void put_number_if(struct text_out *out, const char *label, uint64_t number)
{
        if (number)
                writing_put_number(out, label, number);
}

static void put_share(struct text_out *out, const char *label, uint64_t part, uint64_t whole)
{
        char text[FORMATTED_NBYTES];
        text_out_printf(out, "  %-22s %18s", label, format_number(part, text));
        if (whole)
                text_out_printf(out, "  (%.1f%%)", 100.0 * (double)part / (double)whole);
        text_out_puts(out, "\n");
}

static double mbases_per_second(const struct summary *s)
{
        return s->wall_seconds > 0 ? (double)s->read.nbases / s->wall_seconds * 1e-6 : 0;
}

static void put_read(struct text_out *out, const struct summary *s)
{
        writing_put_number(out, "reads", s->read.nreads);
        writing_put_number(out, "bases", s->read.nbases);
}

static void put_counted(struct text_out *out, const struct summary *s)
{
        char label[64];
        snprintf(label, sizeof label, "%d-mers counted", s->stored.k);
        writing_put_number(out, label, s->counted.nkmers);
        snprintf(label, sizeof label, "distinct %d-mers", s->stored.k);
        writing_put_number(out, label, s->counted.ndistinct);
        put_share(out, "seen once", s->nunique, s->counted.ndistinct);
}

static void put_skipped(struct text_out *out, const struct summary *s)
{
        char label[64];
        writing_put_number(out, "letters skipped", s->read.nskipped);
        if (s->min_quality) {
                snprintf(label, sizeof label, "bases under quality %d", s->min_quality);
                writing_put_number(out, label, s->read.nlow_quality);
        }
}

static void put_lost(struct text_out *out, const struct summary *s)
{
        put_number_if(out, "distinct dropped", s->stored.ndropped_distinct);
        put_number_if(out, "counts dropped", s->stored.ndropped_kmers);
        put_number_if(out, "lost to saturation", s->counted.nsaturated);
        put_number_if(out, "bytes spilled", s->counted.spilled_nbytes);
}

/* Prints nothing unless the device made several passes or did not hold all reads. */
static void put_passes(struct text_out *out, const struct summary *s)
{
        const struct kc_gpu_report *gpu = &s->gpu;
        char device[FORMATTED_NBYTES], memory[FORMATTED_NBYTES], files[FORMATTED_NBYTES];
        if (gpu->npasses <= 1 && gpu->kept_host_nbytes == 0 && gpu->kept_file_nbytes == 0)
                return;
        text_out_printf(out,
                        "counted in %llu pass%s; reads kept: %s on the device, %s in memory, %s in "
                        "files\n",
                        (unsigned long long)gpu->npasses, gpu->npasses == 1 ? "" : "es",
                        format_size(gpu->kept_device_nbytes, device),
                        format_size(gpu->kept_host_nbytes, memory),
                        format_size(gpu->kept_file_nbytes, files));
}

/* Prints nothing unless several devices counted. */
static void put_parts(struct text_out *out, const struct summary *s)
{
        for (int i = 0; i < s->gpu.nparts && s->gpu.nparts > 1; i++) {
                const struct kc_gpu_part_report *part = &s->gpu.parts[i];
                char peak[FORMATTED_NBYTES], text[FORMATTED_NBYTES], reads[FORMATTED_NBYTES],
                        runs[FORMATTED_NBYTES];
                text_out_printf(out, "cuda:%d counted %llu k-mers, peak device memory %s",
                                part->device, (unsigned long long)part->nkmers,
                                format_size(part->peak_nbytes, peak));
                if (part->text_nbytes > 0)
                        text_out_printf(out, ", parsed %s", format_size(part->text_nbytes, text));
                if (i > 0 || part->reads_nbytes > 0)
                        text_out_printf(out, "; it received %s of reads and sent %s of runs",
                                        format_size(part->reads_nbytes, reads),
                                        format_size(part->runs_nbytes, runs));
                text_out_puts(out, "\n");
        }
}

static void put_device(struct text_out *out, const struct summary *s)
{
        char device[DEVICE_NAME_NBYTES], peak[FORMATTED_NBYTES];
        if (!s->device.cuda)
                return;
        text_out_printf(out, "counted on %s, table %s, peak device memory %s\n",
                        device_name(&s->device, device), s->device.table_name,
                        format_size(s->gpu.peak_nbytes, peak));
        put_passes(out, s);
        put_parts(out, s);
}

static void put_ranks(struct text_out *out, const struct summary *s)
{
        for (int i = 0; i < s->nranks; i++) {
                const struct rank_report *rank = &s->ranks[i];
                char bases[FORMATTED_NBYTES], kmers[FORMATTED_NBYTES], sent[FORMATTED_NBYTES];
                char taken[FORMATTED_NBYTES];
                text_out_printf(out,
                                "rank %d on %s read %s bases, sent %s, received %s, counted %s "
                                "distinct k-mers\n",
                                i, rank->host, format_number(rank->read.nbases, bases),
                                format_size(rank->nsent, sent), format_size(rank->ntaken, taken),
                                format_number(rank->ncounted[s->number], kmers));
        }
}

static void put_stages(struct text_out *out, const struct summary *s)
{
        const double *stage = s->counted.stage_seconds;
        text_out_printf(out, "stages: read and partition %.2f s, count %.2f s",
                        stage[KC_STAGE_PARTITION], stage[KC_STAGE_COUNT]);
        if (s->output != NULL)
                text_out_printf(out, ", order and write %.2f s", stage[KC_STAGE_ORDER]);
        else if (stage[KC_STAGE_ORDER] > 0)
                text_out_printf(out, ", order %.2f s", stage[KC_STAGE_ORDER]);
        text_out_puts(out, "\n");
        put_device(out, s);
        put_ranks(out, s);
}

static void put_output(struct text_out *out, const struct summary *s)
{
        char size[FORMATTED_NBYTES];
        format_size(s->stored.file_nbytes, size);
        if (s->adds)
                text_out_printf(out, "added to %s, now %u runs, %s\n", s->output, s->stored.nruns,
                                size);
        else
                text_out_printf(out, "wrote %s, %s\n", s->output, size);
        for (size_t i = 0; i < s->exports->n; i++)
                text_out_printf(out, "%s%s", i == 0 ? "exported to " : ", ", s->exports->paths[i]);
        if (s->exports->n > 0)
                text_out_puts(out, "\n");
}

static void put_one(struct text_out *out, const struct summary *s)
{
        put_counted(out, s);
        put_skipped(out, s);
        put_lost(out, s);
        put_stages(out, s);
}

static void put_each(struct text_out *out, const struct summaries *all)
{
        put_skipped(out, all->items);
        for (size_t i = 0; i < all->n; i++) {
                put_counted(out, &all->items[i]);
                put_lost(out, &all->items[i]);
        }
        for (size_t i = 0; i < all->n; i++) {
                text_out_printf(out, "k = %d, ", all->items[i].stored.k);
                put_stages(out, &all->items[i]);
        }
}

void summary_put_text(const void *ctx, struct text_out *out)
{
        const struct summaries *all = ctx;
        const struct summary *s = all->items;
        char peak[FORMATTED_NBYTES];
        put_read(out, s);
        if (!s->reader_only && all->n == 1)
                put_one(out, s);
        else if (!s->reader_only)
                put_each(out, all);
        text_out_printf(out, "wall %.2f s, CPU %.2f s, peak memory %s, %.1f Mbases/s\n",
                        s->wall_seconds, s->user_seconds + s->system_seconds,
                        format_size(s->peak_nbytes, peak), mbases_per_second(s));
        for (size_t i = 0; i < all->n; i++)
                if (!s->reader_only && s->output != NULL)
                        put_output(out, &all->items[i]);
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
                json_number(json, "received_superkmers_bytes", part->records_nbytes);
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
