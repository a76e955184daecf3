/*
 * Repair: copy what is left of a damaged .kc file to a new file.
 */
#ifndef KC_IO_RESCUE_H
#define KC_IO_RESCUE_H

#include "io/store.h"

/*
 * Open a file as kc_store_open does. If that fails, or may not have found the newest state, open
 * the newest state that any sound footer leads to, even if the header is damaged. kc_store_warning
 * then reports what the state leaves out. The caller frees *store with kc_store_close.
 * KC_ECORRUPT if nothing can be found; KC_EIO; KC_ENOMEM.
 */
enum kc_status kc_store_open_rescue(struct kc_store **store, const char *path,
                                    struct kc_error *err);

/* A part of the file that cannot be read: a block, or an index page with all its blocks. */
struct kc_loss {
        const char *why; /* names the file and the offset */
        uint32_t run;    /* from 0 on */
        bool tombstones;
        uint64_t nkmers;
        const uint64_t *from, *to; /* the k-mers lie in [from, to); to NULL: no upper end */
};

struct kc_rescue_report {
        void (*lose)(void *ctx, const struct kc_loss *loss); /* called for each loss, in order, in
                                                                the caller's thread; the loss is
                                                                valid during the call */
        void *ctx;
};

/* What was lost from all runs. */
struct kc_rescue_totals {
        uint64_t nkmers, sum; /* distinct k-mers of runs of counts, and their counts */
        uint64_t ntombstones; /* the k-mers that they removed may reappear */
        bool misses_newest;   /* the store lacks what was added last */
};

/*
 * Write all runs of store without the damaged blocks, and commit. What a run of counts has lost is
 * recorded as dropped, so that the new file's totals add up. A damaged part is reported, and is not
 * a failure. KC_ECORRUPT if the totals cannot be made to add up; KC_EIO; KC_ENOMEM;
 * KC_ECANCELED.
 *   writer  new, with the same k and strands and no filter; always freed
 *   job     may be NULL; cancel is honoured, done and total count index pages
 */
enum kc_status kc_store_rescue(struct kc_store *store, struct kc_store_writer *writer,
                               struct kc_job *job, const struct kc_rescue_report *report,
                               struct kc_rescue_totals *totals, struct kc_error *err);

#endif
