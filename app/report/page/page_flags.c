#include "app/report/page/page_flags.h"

#include <math.h>

const char *const page_flag_names[PAGE_NFLAGS] = { "low QV", "second copy", "part doubled",
                                                   "unlike the genome" };

/* Even the upper limit of its QV is far below the QV of its assembly. */
static bool is_worse(const struct page *page, const struct page_sequence *s)
{
        static const double worse = 3;
        const struct page_qv *whole = &page_comparison_of(page, s->assembly)->quality.raw;
        return page_sequence_has_quality(page, s) && !s->qv.is_bound && !whole->is_bound &&
               s->qv.qv.high < whole->qv.value - worse;
}

/* Neither its GC content nor its depth is the genome's. */
static bool is_unlike(const struct page *page, const struct page_sequence *s)
{
        static const double far_percent = 10, least_times = 0.67, most_times = 1.5;
        if (s->gc_percent < 0 || page->depth <= 0 || page->gc.main_gc <= 0)
                return false;
        return fabs(s->gc_percent - 100 * page->gc.main_gc) > far_percent &&
               (s->median < least_times * page->depth || s->median > most_times * page->depth);
}

unsigned page_find_flags(const struct page *page, const struct page_sequence *s)
{
        static const double second_percent = 50, part_percent = 5;
        unsigned flags = 0;
        const enum page_refusal refusal = page_comparison_of(page, s->assembly)->quality.refusal;
        if (s->qv.nkmers <= 0 || refusal == PAGE_ARE_READS)
                return 0;
        flags |= is_worse(page, s) ? PAGE_LOW_QV : 0;
        flags |= s->extra_percent > second_percent ? PAGE_SECOND_COPY
                 : s->extra_percent > part_percent ? PAGE_PART_DOUBLED
                                                   : 0;
        flags |= is_unlike(page, s) ? PAGE_UNLIKE_GENOME : 0;
        return flags;
}
