/*
 * Makes reads on the device from files as they are stored (kmer/stored.h). Workers copy the files
 * to the device, portion by portion; the driver follows the chain of BGZF headers and has the
 * device inflate the blocks (gpu/inflate) and turn the text into reads (gpu/text).
 *
 *      files ──▶ pinned portions ──▶ portions on the device ──▶ rounds of text ──▶ reads
 *        workers           workers, as they are read     inflate             parse
 *
 * Several devices, each with an intake, read the parts of the source together: workers copy the
 * next part to whichever device has room, so each part is read on one device, and a device that
 * becomes ready late reads less.
 *
 * A round's blocks are inflated while the text of the previous round is parsed. What a round leaves
 * over, the beginning of a record, goes in front of the next round's text. The header of BAM is
 * skipped: the source has checked it. If anything is not sound and strict, all intakes give up
 * ("foreign"); the caller drops the reads that it has and reads the files the other way (gpu/feed).
 */
#ifndef KC_GPU_INTAKE_INTAKE_CUH
#define KC_GPU_INTAKE_INTAKE_CUH

#include "gpu/device/context.cuh"
#include "gpu/device/gate.h"
#include "gpu/device/limits.h"
#include "gpu/device/reads.cuh"
#include "kmer/stored.h"

struct kc_gpu_intake;

/* What the intakes that read a source share. Zero-initialise, and set gate, source and n. Intake 0
 * is that of the first device, whose thread is the driver; the others belong to followers. */
struct kc_gpu_intakes {
        struct kc_gate *gate;
        const struct kc_stored_source *source;
        int n; /* intakes, at most */
        /* guarded by the gate */
        struct kc_gpu_intake *reading[KC_GPU_MAX_DEVICES]; /* [n] that take part now, or NULL */
        size_t next_part;                                  /* the first that no intake has taken */
        bool foreign;                                      /* some intake gave up */
        bool over;                                         /* workers may go */
        struct kc_stored_totals totals;                    /* of intakes that have ended */
};

struct kc_gpu_intake_setup {
        struct kc_gpu_intakes *all;
        int number;         /* of this intake among all */
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

/* Does not use the device yet. setup is copied; setup->all and its source must outlive the intake.
 * KC_ENOMEM, with *intake = NULL. */
enum kc_status kc_gpu_intake_new(struct kc_gpu_intake **intake,
                                 const struct kc_gpu_intake_setup *setup, struct kc_error *err);

/* Let workers read for this intake, even before kc_gpu_intake_attach. False if reading is over, or
 * was given up: then only kc_gpu_intake_free may be called. */
bool kc_gpu_intake_join(struct kc_gpu_intake *intake);

/* The device's thread: allocate memory on the device, for rounds of text_nbytes (from
 * kc_gpu_intake_plan), or of what the setup has if that is less. KC_ENOMEM, KC_EDEVICE. Even
 * then, kc_gpu_intake_end lets the workers go, as after any other use. */
enum kc_status kc_gpu_intake_attach(struct kc_gpu_intake *intake, struct kc_gpu *gpu,
                                    size_t text_nbytes, struct kc_error *err);

/* Worker: copy files to the devices until the driver calls kc_gpu_intakes_end, or an intake gives
 * up: *foreign. KC_ECANCELED, KC_EDEVICE, or what source->read returns. */
enum kc_status kc_gpu_intakes_read(struct kc_gpu_intakes *all, int worker, bool *foreign,
                                   struct kc_error *err);

/*
 * The device's thread: the next reads, complete in the order of gpu->stream; reads->nkmers = 0:
 * there are no more for this intake, either because all parts were taken or because of *foreign.
 * Enqueue all work on them on gpu->stream before the next call. KC_ECANCELED, KC_EDEVICE,
 * KC_ENOMEM.
 */
enum kc_status kc_gpu_intake_take(struct kc_gpu_intake *intake, struct kc_gpu_reads *reads,
                                  bool *foreign, struct kc_error *err);

/* The device's thread, after kc_gpu_intake_join, when it takes no more: free the memory. Unless all
 * parts were read, kc_gpu_intakes_give_up must have been called. KC_ECANCELED. */
enum kc_status kc_gpu_intake_end(struct kc_gpu_intake *intake, struct kc_error *err);

/* Any device's thread: no intake need go on, because a part is foreign or memory is short. */
void kc_gpu_intakes_give_up(struct kc_gpu_intakes *all);

/* Driver: wait until the other intakes have ended; intakes can no longer join. *foreign: some
 * intake gave up. KC_ECANCELED. */
enum kc_status kc_gpu_intakes_wait(struct kc_gpu_intakes *all, bool *foreign, struct kc_error *err);

/* Driver, after that: let the workers go, and report the totals to the source, or that the intakes
 * gave up. */
void kc_gpu_intakes_end(struct kc_gpu_intakes *all);

/* Bytes of text that an intake has parsed. */
uint64_t kc_gpu_intake_text_nbytes(const struct kc_gpu_intake *intake);

/* No other thread may use the intake, and the device must still be open. NULL is fine. */
void kc_gpu_intake_free(struct kc_gpu_intake *intake);

#endif
