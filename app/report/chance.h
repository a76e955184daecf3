/*
 * How long stretches of an assembly look collapsed by chance.
 */
#ifndef APP_REPORT_CHANCE_H
#define APP_REPORT_CHANCE_H

#include <stdint.h>

enum { CHANCE_MOST_WINDOWS = 1000 };

struct chance {
        double depth, bias; /* of the counts of k-mers that the genome has once: their mean; their
                                   variance is depth * (1 + bias) */
        double nspan;       /* windows of a read */
        uint64_t nwindows;  /* of the assembly */
};

/*
 * Counts of neighbouring windows come from the same reads, so a sequence has about one independent
 * count for each `nspan` windows. With q, the share of counts over 1.5 times the depth, about
 * nwindows / nspan * q^(n / nspan) stretches have n windows that all are. Returns the n for which
 * that is one, but at most CHANCE_MOST_WINDOWS: with long reads, those by chance are as long as
 * collapsed repeats. 0 if the depth or the reads are not known.
 */
uint64_t chance_windows(const struct chance *chance);

#endif
