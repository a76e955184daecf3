/*
 * When built with sanitizers, a test of very many cases runs only a sample of them, so that it
 * takes about as long as without. The sample is the same in every run.
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

/* A loop over few cases advances by this many: with ThreadSanitizer it skips some. */
enum { THREAD_STRIDE = WITH_THREAD_SANITIZER ? 3 : 1 };

/* Call once per case. */
static inline bool is_sampled(void)
{
        static size_t ncases;
        return ncases++ % CASES_A_SAMPLE == 0;
}

#endif
