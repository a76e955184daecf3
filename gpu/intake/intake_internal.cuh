/*
 * Private to gpu/intake: an intake and its memory (intake.cu), portions of files on their way to
 * the device (portions.cu), and rounds of text (rounds.cu).
 */
#ifndef KC_GPU_INTAKE_INTAKE_INTERNAL_CUH
#define KC_GPU_INTAKE_INTAKE_INTERNAL_CUH

#include "gpu/inflate/inflate.cuh"
#include "gpu/intake/intake.cuh"
#include "gpu/text/text.cuh"

enum {
        NPORTIONS = 6,              /* enough for the workers not to wait for the driver */
        NROUNDS = 2,                /* one is inflated, one parsed */
        MARGIN_NBYTES = 64 << 10,   /* before a portion: a block that began in the previous one */
        MAX_SLICE_NBYTES = 1 << 20, /* what a worker reads at a time */
        MAX_BLOCKS = 16 << 10,      /* of a round */
};

/* Where the next portion begins. */
struct intake_place {
        const struct kc_stored_part *part; /* NULL: take the next part */
        uint64_t offset;                   /* in the part */
};

/* A stretch of a part. In memory: | margin | stretch | padding |. */
struct intake_portion {
        uint8_t *host, *device; /* [MARGIN_NBYTES + portion_nbytes + KC_INFLATE_PADDING] */
        const struct kc_stored_part *part;
        size_t nbytes;
        uint64_t offset; /* in the file */
        bool ends_part;
        bool filling; /* from the first slice until the driver is done with it */
        size_t nslices, nclaimed, ncopied;
        bool is_short; /* the file ended early */
};

/* Text on the device: | what the previous round left | this round's |, the first right-aligned in
 * carry_nbytes. */
struct intake_round {
        uint8_t *text;                  /* device: where this round's text begins */
        size_t nbytes;                  /* of this round's text */
        struct intake_portion *portion; /* to be given back after the round; or NULL */
        const struct kc_stored_part *part;
        bool ends_part;
        bool no_end_block; /* the file ends with the round, but not with BGZF's empty block */
        /* BGZF */
        struct kc_bgzf_block *host_blocks, *blocks; /* [MAX_BLOCKS] pinned, device */
        uint32_t *status;                           /* [MAX_BLOCKS] device */
        unsigned long long *refused, *host_refused; /* device, pinned */
        cudaEvent_t inflated, parsed;
};

struct kc_gpu_intake {
        struct kc_gpu_intake_setup setup;
        struct kc_gpu_intakes *all;
        const struct kc_stored_source *source;
        struct kc_gate *gate;
        enum kc_gate_bell bell; /* of the device's thread */
        struct kc_gpu *gpu;     /* NULL: not attached */
        size_t portion_nbytes, slice_nbytes, carry_nbytes;
        uint8_t *memory; /* all portions on the host */
        bool pinned;
        /* guarded by the gate */
        struct intake_portion portions[NPORTIONS]; /* used in turn */
        struct intake_place next;                  /* of the workers */
        uint64_t nbegun;                           /* portions that workers began */
        int nreading;                              /* workers that have a slice */
        bool attached, over;
        /* the device's thread's */
        cudaStream_t inflating;
        cudaEvent_t copied;
        uint64_t ntaken;                 /* portions */
        struct intake_portion *portion;  /* the current one; NULL: take the next */
        size_t at;                       /* in it, from the beginning of the margin */
        size_t ntail;                    /* bytes in front of it that belong to it */
        uint64_t last_block_text_nbytes; /* of the last block found */
        struct intake_round rounds[NROUNDS];
        uint64_t nrounds, nparsed; /* begun, finished */
        size_t carry;              /* bytes that the last parse left */
        size_t done;               /* of carry and round, parsed already */
        uint64_t skipped;          /* bytes of text passed over before the part's first record */
        bool takes_all;       /* the next piece is all that is left: its first record is long */
        uint64_t part_nbases; /* that the current part has had so far */
        uint32_t noverlap;
        struct kc_gpu_text *text;
        struct kc_gpu_text_out out;
        struct kc_stored_totals totals;
};

/* The longest text that certainly has at most nbases bases. */
size_t kc_intake_most_text(const struct kc_stored_source *source, uint64_t nbases);

/* ---- portions.cu ---- */

/* Allocate the portions' memory on the host; unpin it, if it is pinned, and free it. */
enum kc_status kc_intake_map(struct kc_gpu_intake *intake, struct kc_error *err);
void kc_intake_unmap(struct kc_gpu_intake *intake);

/* The device's thread: take the next portion, once its copies are enqueued; *portion = NULL if
 * there are no more, or if an intake gave up. KC_ECANCELED. */
enum kc_status kc_intake_next_portion(struct kc_gpu_intake *intake, struct intake_portion **portion,
                                      struct kc_error *err);

/* The device's thread: the workers may use the portion's memory again. */
void kc_intake_give_back(struct kc_gpu_intake *intake, struct intake_portion *portion);

#endif
