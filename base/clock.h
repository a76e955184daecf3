/*
 * Elapsed time.
 */
#ifndef KC_BASE_CLOCK_H
#define KC_BASE_CLOCK_H

#ifdef __cplusplus
extern "C" {
#endif

/* Seconds since an arbitrary fixed point; never decreases. May be called by any thread. */
double kc_clock_seconds(void);

#ifdef __cplusplus
}
#endif

#endif
