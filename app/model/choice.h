/*
 * Which of several fits is the most plausible one.
 */
#ifndef APP_MODEL_CHOICE_H
#define APP_MODEL_CHOICE_H

#include "app/model/model.h"

/* Whether the fit explains 90 % of the k-mers. */
bool choice_is_good(const struct model_fit *fit);

/* Whether the heterozygosity is at most 10 %, as in all known genomes. */
bool choice_is_plausible(const struct model_fit *fit);

/*
 * Order fits by the share of k-mers that they explain, but put the chosen one first.
 *
 * The fits within 0.01 of the best one are tied. If any plausible fit is good, only plausible ones
 * count. Of these, the one with the lowest heterozygosity
 * is chosen; if two have about the same, the one with the lower ploidy. A fit that needs many more
 * repeats than another tied fit takes alleles for repeats, and is neither chosen nor the runner-up.
 *
 * Returns the index of the runner-up, the next plausible fit of the tie; 0 if there is none.
 */
int choice_rank(struct model_fit *fits, int nfits);

#endif
