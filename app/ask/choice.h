/*
 * Whether k-mers should be looked up on a device or on the CPU, where the user leaves the choice:
 * estimates from measured rates.
 */
#ifndef APP_ASK_CHOICE_H
#define APP_ASK_CHOICE_H

#include "app/library/asking.h"

#include <stdbool.h>

/*
 * Whether devices, which have to be started and to load the table, are likely to be faster than the
 * CPU, which reads the table as well.
 *   nkmers  in the table
 *   nbases  that are asked, about; KC_ASKING_UNKNOWN: then as if there were many
 */
bool asking_device_is_faster(uint64_t nkmers, uint64_t nbases, int nthreads);

#endif
