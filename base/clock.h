/*
 * Time that passes.
 */
#ifndef KC_BASE_CLOCK_H
#define KC_BASE_CLOCK_H

#ifdef __cplusplus
extern "C" {
#endif

/* Seconds since some moment in the past; never goes back. Any thread. */
double kc_clock_seconds(void);

#ifdef __cplusplus
}
#endif

#endif
