/*
 * The parts of a page that are about the genome, from a histogram of the reads and a model of it.
 */
#ifndef APP_REPORT_PAGE_GENOME_H
#define APP_REPORT_PAGE_GENOME_H

#include "app/model/model.h"
#include "app/report/page/page.h"

struct page_genome_input {
        const struct histogram *histogram;
        const struct model *model;   /* NULL: there is none */
        enum page_refusal refusal;   /* why, then */
        const struct kc_gc_cell *gc; /* [ngc] of all k-mers of the histogram; none: not known */
        size_t ngc;
};

/* What the page points to, until page_genome_free. */
struct page_genome {
        uint64_t *counts;
        double *curves;
};

/*
 * Set spectrum, model, verdict, candidates, gc, small_k, and k and reads.nonce; the rest of
 * page->reads is set already. KC_ENOMEM. In any case, free with page_genome_free.
 */
enum kc_status page_fill_genome(struct page *page, struct page_genome *genome,
                                const struct page_genome_input *in, struct kc_error *err);
void page_genome_free(struct page_genome *genome);

/* Why model_find refuses this histogram with KC_EINPUT. */
enum page_refusal page_find_refusal(const struct histogram *histogram,
                                    const struct model_origin *origin);

#endif
