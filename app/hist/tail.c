#include "app/hist/tail.h"

size_t tail_fold(struct kc_histogram_row *rows, size_t nrows, uint64_t last, bool by_sum)
{
        uint64_t tail = 0;
        size_t n = 0;
        for (; n < nrows && rows[n].count < last; n++)
                ;
        for (size_t i = n; i < nrows; i++)
                tail += rows[i].ndistinct * (by_sum ? rows[i].count : 1);
        if (by_sum)
                tail /= last;
        if (tail > 0)
                rows[n++] = (struct kc_histogram_row){ last, tail };
        return n;
}
