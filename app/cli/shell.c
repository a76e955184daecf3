#include "app/cli/shell.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

size_t shell_most_nbytes(const char *word)
{
        return SHELL_MOST_NBYTES(strlen(word));
}

char *shell_append(char *to, const char *word)
{
        const bool quote = *word == '\0' || strpbrk(word, " \t\n'\"\\$*?;&|<>()`#~![]{}") != NULL;
        if (quote)
                *to++ = '\'';
        for (const char *p = word; *p != '\0'; p++)
                to = *p == '\'' ? stpcpy(to, "'\\''") : (*to = *p, to + 1);
        if (quote)
                *to++ = '\'';
        *to = '\0';
        return to;
}

char *shell_join(const char *const *words, size_t n)
{
        size_t nbytes = 1;
        for (size_t i = 0; i < n; i++)
                nbytes += shell_most_nbytes(words[i]) + 1;
        char *line = malloc(nbytes), *to = line;
        if (line == NULL)
                return NULL;
        *to = '\0';
        for (size_t i = 0; i < n; i++) {
                if (i > 0)
                        *to++ = ' ';
                to = shell_append(to, words[i]);
        }
        return line;
}
