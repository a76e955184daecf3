/*
 * The resources of the machine that this process may use.
 */
#ifndef APP_LIBRARY_MACHINE_H
#define APP_LIBRARY_MACHINE_H

#include <stdint.h>

/* The number of threads that the user wants, or all cores if 0: those in the affinity mask, limited
 * by the control group's CPU quota, and at least 1. */
int kc_machine_nthreads(uint64_t wanted);

/*
 * Bytes of memory that can be allocated without swapping: the least of what the kernel calls
 * available, the control group's limit and the address-space limit (ulimit -v). 0 if unknown.
 */
uint64_t kc_machine_available_nbytes(void);

/* Peak memory of this process so far, in bytes. */
uint64_t kc_machine_peak_nbytes(void);

/* CPU time of this process. */
void kc_machine_cpu_seconds(double *user, double *system);

/* Raise this process's limit on open files (ulimit -n) as far as the system allows. Returns the
 * limit. */
uint64_t kc_machine_raise_open_files(void);

#endif
