#include "app/library/counter.h"
#include "io/input/input.h"

#include <stdarg.h>
#include <stdio.h>

enum {
        MOST_WARNINGS = 10,
        WARNING_NBYTES = 8192
}; /* the first: of each kind, for one input each */

struct warning {
        void (*warn)(void *ctx, const char *text);
        void *ctx;
};

static void warn(const struct warning *w, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

static void warn(const struct warning *w, const char *format, ...)
{
        char text[WARNING_NBYTES];
        va_list args;
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        w->warn(w->ctx, text);
}

/* Warn about each input whose marks among those in `mask` are `wanted`.
 *   what   the text about one input, after its name
 *   other  the text about inputs that are not named, after their number */
static void warn_of_marks(const struct kc_counter *c, const uint8_t *marks, unsigned mask,
                          unsigned wanted, const struct warning *w, const char *what,
                          const char *other)
{
        const char *const *names;
        const size_t n = kc_reader_names(c->reader, &names);
        size_t nfound = 0;
        for (size_t i = 0; i < n; i++)
                if ((marks[i] & mask) == wanted && ++nfound <= MOST_WARNINGS)
                        warn(w, "%s %s", kc_input_name(names[i]), what);
        if (nfound > MOST_WARNINGS)
                warn(w, "%zu more inputs %s", nfound - MOST_WARNINGS, other);
}

/* Warn about inputs that may hold proteins. */
static void warn_of_letters(const struct kc_counter *c, const struct warning *w)
{
        const char *const *names;
        const size_t n = kc_reader_names(c->reader, &names);
        size_t nfound = 0;
        for (size_t i = 0; i < n; i++) {
                const unsigned percent = kc_reader_percent_other(c->reader, i);
                if (percent > 0 && ++nfound <= MOST_WARNINGS)
                        warn(w,
                             "%u%% of the first letters in %s are not A, C, G, T, U or N; is this "
                             "protein?",
                             percent, kc_input_name(names[i]));
        }
        if (nfound > MOST_WARNINGS)
                warn(w, "%zu more inputs may hold proteins", nfound - MOST_WARNINGS);
}

void kc_counter_warn(const struct kc_counter *c, const uint8_t *marks,
                     void (*to)(void *ctx, const char *text), void *ctx)
{
        const struct warning w = { to, ctx };
        warn_of_marks(c, marks, KC_INPUT_NO_END_BLOCK, KC_INPUT_NO_END_BLOCK, &w,
                      "ends without BGZF's end-of-file block: it was counted, but whole records "
                      "may be missing at its end",
                      "end without BGZF's end-of-file block");
        warn_of_marks(c, marks, KC_INPUT_HAS_BASES, 0, &w,
                      "holds no sequence: no k-mer was counted in it", "hold no sequence");
        warn_of_letters(c, &w);
}
