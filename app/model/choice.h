/*
 * Which of several fits is the most plausible one.
 */
#ifndef APP_MODEL_CHOICE_H
#define APP_MODEL_CHOICE_H

#include "app/model/model.h"

/*
 * Order fits by the share of k-mers that they explain, but put the chosen one first.
 *
 * Those within 0.01 of the best are a tie, of which the lowest heterozygosity is chosen; if that is
 * about the same, the lowest ploidy. Left out of the tie are fits that take alleles for repeats:
 * they need many more repeats than another one.
 *
 * Returns the index of the runner-up: the next plausible one of the tie; 0 if there is none.
 */
int choice_rank(struct model_fit *fits, int nfits);

#endif
