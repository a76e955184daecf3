/*
 * Passing the k-mers of a .kc file to a writer of another program's format.
 */
#ifndef APP_LIBRARY_EXPORT_H
#define APP_LIBRARY_EXPORT_H

#include "base/job.h"
#include "io/formats/export.h"
#include "io/store.h"

struct kc_export_feed {
        struct kc_store *store;
        const uint64_t *from, *to; /* bounds, both included; NULL: none */
        uint32_t count_cap;        /* higher counts are passed as this; UINT32_MAX: no cap */
        uint32_t max_count;        /* of the writer, which leaves higher counts out */
        int nthreads;       /* that read the k-mers, for one that writes them; 0: one does both */
        struct kc_job *job; /* see app/library/walking.h; may be NULL */
};

/* Fails as kc_walking_run and kc_export_put do. */
enum kc_status kc_export_feed(const struct kc_export_feed *feed, struct kc_export *writer,
                              struct kc_error *err);

#endif
