/*
 * When built with sanitizers or for an emulated processor (KC_TEST_EMULATED), a test of very many
 * cases runs only a sample of them, so that it takes about as long as without. The sample is the
 * same in every run.
 */
#ifndef KC_TESTS_SAMPLING_H
#define KC_TESTS_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>

#if defined(__SANITIZE_THREAD__) || defined(KC_TEST_EMULATED)
enum { CASES_A_SAMPLE = 29, FEW_CASES = 1 };
#elif defined(__SANITIZE_ADDRESS__)
enum { CASES_A_SAMPLE = 7, FEW_CASES = 0 };
#else
enum { CASES_A_SAMPLE = 1, FEW_CASES = 0 };
#endif

/* A loop over few cases advances by this many. */
enum { THREAD_STRIDE = FEW_CASES ? 3 : 1 };

/* The same for a loop over cuts, changes or sizes of chunks, of which each case starts the same
 * threads. */
enum { CUT_STRIDE = FEW_CASES ? 23 : 1 };

/* For an oracle, which has one thread: ThreadSanitizer's checks of it would take most of a test's
 * time. */
#if defined(__SANITIZE_THREAD__)
#define ONE_THREAD __attribute__((no_sanitize("thread")))
#else
#define ONE_THREAD
#endif

/* Call once per case. tests/builds.cmake lists the tests that do. */
static inline bool is_sampled(void)
{
        static size_t ncases;
        return ncases++ % CASES_A_SAMPLE == 0;
}

#endif
