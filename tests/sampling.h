/*
 * Built with sanitizers, a test of very many cases runs some of them, so that it takes about as long
 * as without. Which ones does not change from run to run.
 */
#ifndef KC_TESTS_SAMPLING_H
#define KC_TESTS_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>

#if defined(__SANITIZE_THREAD__)
enum { CASES_A_SAMPLE = 29, WITH_THREAD_SANITIZER = 1 };
#elif defined(__SANITIZE_ADDRESS__)
enum { CASES_A_SAMPLE = 7, WITH_THREAD_SANITIZER = 0 };
#else
enum { CASES_A_SAMPLE = 1, WITH_THREAD_SANITIZER = 0 };
#endif

/* Asked once a case. */
static inline bool is_sampled(void)
{
        static size_t ncases;
        return ncases++ % CASES_A_SAMPLE == 0;
}

#endif
