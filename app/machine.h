/*
 * What the machine, as far as this process may use it, has to give.
 */
#ifndef APP_MACHINE_H
#define APP_MACHINE_H

#include <stdint.h>

/* Cores: the affinity mask, cut down to the control group's CPU quota. At least 1. */
int machine_ncores(void);

/*
 * Memory that can be had without swapping: the least of what the kernel calls available, the
 * control group's limit and the address-space limit (ulimit -v). 0 if nobody says.
 */
uint64_t machine_available_nbytes(void);

/* Most memory this process has held so far. */
uint64_t machine_peak_nbytes(void);

/* CPU time of this process. */
double machine_user_seconds(void);
double machine_system_seconds(void);

#endif
