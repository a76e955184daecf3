#include "app/filter/mates.h"

#include <string.h>

size_t mates_word(const char *name, size_t n)
{
        const char *end = memchr(name, ' ', n);
        n = end != NULL ? (size_t)(end - name) : n;
        end = memchr(name, '\t', n);
        return end != NULL ? (size_t)(end - name) : n;
}

size_t mates_stem(const char *name, size_t n)
{
        n = mates_word(name, n);
        if (n >= 2 && name[n - 2] == '/' && (name[n - 1] == '1' || name[n - 1] == '2'))
                n -= 2;
        return n;
}

bool mates_match(const char *a, size_t na, const char *b, size_t nb)
{
        na = mates_stem(a, na);
        nb = mates_stem(b, nb);
        return na == nb && memcmp(a, b, na) == 0;
}
