#include "app/count/count_internal.h"
#include "app/library/inside.h"

static void put_parts(struct json *json, const struct kc_gpu_report *gpu)
{
        json_begin(json, "devices", '[');
        for (int i = 0; i < gpu->nparts; i++) {
                const struct kc_gpu_part_report *part = &gpu->parts[i];
                json_begin(json, NULL, '{');
                json_number(json, "index", (uint64_t)part->device);
                json_number(json, "counted_kmers", part->nkmers);
                json_number(json, "passes", part->npasses);
                json_number(json, "walks", part->nwalks);
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

static void put_left_out(struct json *json, const struct device_choice *device)
{
        uint64_t indices[KC_GPU_MAX_DEVICES];
        for (int i = 0; i < device->nleft_out; i++)
                indices[i] = (uint64_t)device->indices[device->ndevices + i];
        json_numbers(json, "devices_left_out", indices, (size_t)device->nleft_out);
}

static void put_device(struct json *json, const struct count *c, const struct kc_gpu_report *gpu)
{
        const struct device_choice *device = &c->writing.device;
        const struct kc_reader_totals *read = &c->counter.read;
        char name[DEVICE_NAME_NBYTES];
        json_string(json, "device", device_name(device, name));
        if (!device->cuda)
                return;
        json_string(json, "table", device->table_name);
        json_number(json, "device_peak_memory_bytes", gpu->peak_nbytes);
        json_number(json, "device_text_bytes", read->stored.text_nbytes);
        json_number(json, "device_inflated_bytes", read->stored.inflated_nbytes);
        json_number(json, "device_fallback_bytes", read->stored.wasted_nbytes);
        json_number(json, "device_passes", gpu->npasses);
        json_number(json, "device_walks", gpu->nwalks);
        json_number(json, "device_shared_walks", gpu->nshared);
        json_number(json, "device_recounted_kmers", gpu->nrecounted);
        json_number(json, "reads_on_device_bytes", gpu->kept_device_nbytes);
        json_number(json, "reads_in_memory_bytes", gpu->kept_host_nbytes);
        json_number(json, "reads_in_files_bytes", gpu->kept_file_nbytes);
        put_parts(json, gpu);
        put_left_out(json, device);
}

/* What each rank did, with the figures of output i. */
static void put_ranks(struct json *json, const struct count *c, size_t i)
{
        if (c->reports == NULL)
                return;
        json_begin(json, "ranks", '[');
        for (int rank = 0; rank < count_nreports(c); rank++) {
                const struct rank_report *r = &c->reports[rank];
                json_begin(json, NULL, '{');
                json_string(json, "host", r->host);
                json_string(json, "device", r->device);
                json_number(json, "reads", r->read.nreads);
                json_number(json, "bases", r->read.nbases);
                json_number(json, "input_bytes", r->read.input_nbytes);
                json_number(json, "sent_bytes", r->nsent);
                json_number(json, "received_bytes", r->ntaken);
                json_number(json, "counted_distinct", r->ncounted[i]);
                json_number(json, "spilled_bytes", r->nspilled[i]);
                json_number(json, "written_bytes", r->nwritten[i]);
                json_number(json, "peak_memory_bytes", r->peak_nbytes);
                json_end(json, '}');
        }
        json_end(json, ']');
}

/* Inputs whose marks among those in `mask` are `marks`. */
static void put_inputs(struct json *json, const char *key, const struct count *c, unsigned mask,
                       unsigned marks)
{
        const char *const *names;
        const size_t n = kc_reader_names(c->counter.reader, &names);
        json_begin(json, key, '[');
        for (size_t i = 0; i < n; i++)
                if ((c->marks[i] & mask) == marks)
                        json_string(json, NULL, names[i]);
        json_end(json, ']');
}

static void put_settings(struct json *json, const struct count *c, const struct count_output *o)
{
        const struct kcount_info info = kc_library_describe(&o->counted->written.info);
        writing_json_output(json, o->path, &info);
        if (o->exports.n > 0)
                json_strings(json, "exports", (const char *const *)o->exports.paths, o->exports.n);
        put_inputs(json, "inputs", c, 0, 0);
        put_inputs(json, "inputs_without_sequence", c, KC_INPUT_HAS_BASES, 0);
        put_inputs(json, "inputs_without_end_block", c, KC_INPUT_NO_END_BLOCK,
                   KC_INPUT_NO_END_BLOCK);
        json_number(json, "runs", o->counted->written.info.nruns);
        json_number(json, "min_quality", c->settings->min_quality);
        json_number(json, "skip", c->counter.selection.nskip);
        json_bool(json, "hpc", c->counter.selection.hpc);
        json_bool(json, "only", c->settings->only != NULL);
        json_number(json, "require_flags", c->counter.selection.required);
        json_number(json, "exclude_flags", c->counter.selection.excluded);
        json_number(json, "memory_bound_bytes", c->counter.memory_nbytes);
}

static void put_read(struct json *json, const struct kc_reader_totals *read)
{
        const uint64_t host_nbytes = read->text_nbytes - read->stored.text_nbytes;
        json_number(json, "reads", read->nreads);
        json_number(json, "bases", read->nbases);
        json_number(json, "skipped_letters", read->nskipped);
        json_number(json, "low_quality_bases", read->nlow_quality);
        json_number(json, "left_out_bases", read->nleft_out);
        json_number(json, "input_bytes", read->input_nbytes);
        json_number(json, "text_bytes", read->text_nbytes);
        json_number(json, "host_text_bytes", host_nbytes);
        json_number(json, "host_inflated_bytes", read->inflated_nbytes);
        json_number(json, "host_fallback_bytes", read->stored.gave_up ? host_nbytes : 0);
}

static void put_counted(struct json *json, const struct count_output *o)
{
        json_number(json, "kmers", o->totals->nkmers);
        json_number(json, "distinct", o->totals->ndistinct);
        json_number(json, "unique", o->counted->written.nunique);
        json_number(json, "dropped_distinct", o->counted->written.info.ndropped_distinct);
        json_number(json, "dropped_kmers", o->counted->written.info.ndropped_kmers);
        json_number(json, "saturated_kmers", o->totals->nsaturated);
        json_number(json, "spilled_bytes", o->totals->spilled_nbytes);
}

static void put_histogram(struct json *json, const struct count_output *o)
{
        json_begin(json, "histogram", '[');
        for (size_t i = 0; i < o->counted->written.nrows; i++)
                json_numbers(json, NULL,
                             (uint64_t[]){ o->counted->written.rows[i].count,
                                           o->counted->written.rows[i].ndistinct },
                             2);
        json_end(json, ']');
}

void count_put_json(const void *ctx, size_t i, struct json *json)
{
        const struct count *c = ctx;
        const struct count_output *o = &c->outputs[i];
        const struct kc_reader_totals *read = &c->counter.read;
        const bool counted = !c->settings->reader_only;
        const double *seconds = o->totals->stage_seconds, wall = writing_seconds(&c->writing);
        const struct writing_stage stages[] = { { "partition", seconds[KC_STAGE_PARTITION] },
                                                { "count", seconds[KC_STAGE_COUNT] },
                                                { "order", seconds[KC_STAGE_ORDER] } };
        if (counted) {
                put_settings(json, c, o);
                put_device(json, c, &c->counter.reports[i]);
                put_ranks(json, c, i);
                put_counted(json, o);
        }
        put_read(json, read);
        if (o->counted->written.rows != NULL)
                put_histogram(json, o);
        writing_json_costs(json, &c->writing, stages, counted ? 3 : 0);
        json_real(json, "mbases_per_second", wall > 0 ? (double)read->nbases / wall * 1e-6 : 0);
}
