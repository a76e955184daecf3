#include "app/shell.h"

#include <stdbool.h>
#include <string.h>

size_t shell_most_nbytes(const char *word)
{
        return strlen(word) * 4 + 3; /* all of them single quotes */
}

char *shell_append(char *to, const char *word)
{
        const bool quote = *word == '\0' || strpbrk(word, " \t\n'\"\\$*?;&|<>()`") != NULL;
        if (quote)
                *to++ = '\'';
        for (const char *p = word; *p != '\0'; p++)
                to = *p == '\'' ? stpcpy(to, "'\\''") : (*to = *p, to + 1);
        if (quote)
                *to++ = '\'';
        *to = '\0';
        return to;
}
