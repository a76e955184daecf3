/*
 * Makes reads on the device from files as they are stored (kmer/stored.h). Workers copy the files
 * to the device, portion by portion; the driver follows the chain of BGZF headers and has the
 * device inflate the blocks (gpu/inflate) and turn the text into reads (gpu/text).
 *
 *      files ──▶ pinned portions ──▶ portions on the device ──▶ rounds of text ──▶ reads
 *        workers           workers, as they are read     inflate             parse
 *
 * A round's blocks are inflated while the text of the previous round is parsed. What a round leaves
 * over, the beginning of a record, goes in front of the next round's text. The header of BAM is
 * skipped: the source has checked it. If anything is not sound and strict, the intake gives up
 * ("foreign"); the caller drops the reads that it has and reads the files the other way (gpu/feed).
 */
#ifndef KC_GPU_INTAKE_INTAKE_CUH
#define KC_GPU_INTAKE_INTAKE_CUH

#include "gpu/device/context.cuh"
#include "gpu/device/gate.h"
#include "gpu/device/reads.cuh"
#include "gpu/device/trace.cuh"
#include "kmer/stored.h"

struct kc_gpu_intake;

struct kc_gpu_intake_setup {
        const struct kc_stored_source *source;
        int k;              /* the smallest that is counted */
        int max_k;          /* the largest */
        size_t text_nbytes; /* of a round, at most; from kc_gpu_intake_plan */
};

/* How much text a round can have on a device with limit_nbytes for everything, if portions may take
 * host_nbytes of host memory; 0: too little memory for an intake. small_nbytes: if not 0, a round
 * has about that much, for tests. */
size_t kc_gpu_intake_plan(const struct kc_stored_source *source, size_t limit_nbytes,
                          size_t host_nbytes, size_t small_nbytes);

/* Most bases and spans in the reads that kc_gpu_intake_take returns. */
uint64_t kc_gpu_intake_most_bases(const struct kc_gpu_intake_setup *setup);
size_t kc_gpu_intake_most_spans(const struct kc_gpu_intake_setup *setup);

/* Does not use the device yet, but workers may already read. setup is copied; source, gate and trace
 * must outlive the intake. KC_ENOMEM, with *intake = NULL. */
enum kc_status kc_gpu_intake_new(struct kc_gpu_intake **intake,
                                 const struct kc_gpu_intake_setup *setup, struct kc_gate *gate,
                                 struct kc_gpu_trace *trace, struct kc_error *err);

/* Driver: allocate memory on the device, for rounds of text_nbytes (from kc_gpu_intake_plan), or of
 * what the setup has if that is less. KC_ENOMEM, KC_EDEVICE; then kc_gpu_intake_end lets the workers
 * go, as after any other use. */
enum kc_status kc_gpu_intake_attach(struct kc_gpu_intake *intake, struct kc_gpu *gpu,
                                    size_t text_nbytes, struct kc_error *err);

/* Worker: copy files to the device until the driver calls kc_gpu_intake_end. *foreign: its verdict.
 * KC_ECANCELED, KC_EDEVICE, or what source->read returns. */
enum kc_status kc_gpu_intake_read(struct kc_gpu_intake *intake, bool *foreign,
                                  struct kc_error *err);

/*
 * Driver: the next reads, complete in the order of gpu->stream; reads->nkmers = 0: there are no
 * more, either because all files were read or because of *foreign. Enqueue all work on them on
 * gpu->stream before the next call. KC_ECANCELED, KC_EDEVICE, KC_ENOMEM.
 */
enum kc_status kc_gpu_intake_take(struct kc_gpu_intake *intake, struct kc_gpu_reads *reads,
                                  bool *foreign, struct kc_error *err);

/* Driver, when it takes no more: let the workers go, and free the memory. Report to the source the
 * totals or, if foreign, that the intake gave up; *text_nbytes: the text parsed, 0 if foreign. */
enum kc_status kc_gpu_intake_end(struct kc_gpu_intake *intake, bool foreign, uint64_t *text_nbytes,
                                 struct kc_error *err);

/* No other thread may use the intake, and the device must still be open. NULL is fine. */
void kc_gpu_intake_free(struct kc_gpu_intake *intake);

#endif
