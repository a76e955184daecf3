#include "app/cli/shell.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static char *append_text(char *to, const char *end, const char *text)
{
        while (*text != '\0' && to + 1 < end)
                *to++ = *text++;
        *to = '\0';
        return to;
}

char *shell_append(char *to, const char *end, const char *word)
{
        const bool quote = *word == '\0' || strpbrk(word, " \t\n'\"\\$*?;&|<>()`#~![]{}") != NULL;
        to = append_text(to, end, quote ? "'" : "");
        for (; *word != '\0'; word++)
                to = append_text(to, end, *word == '\'' ? "'\\''" : (char[]){ *word, '\0' });
        return append_text(to, end, quote ? "'" : "");
}

char *shell_append_next(char *to, const char *end, const char *word)
{
        return shell_append(append_text(to, end, " "), end, word);
}

static void join(const char *const *words, size_t n, char *to, const char *end)
{
        *to = '\0';
        for (size_t i = 0; i < n; i++)
                to = i == 0 ? shell_append(to, end, words[i])
                            : shell_append_next(to, end, words[i]);
}

const char *shell_line(const char *const *words, size_t n, char line[SHELL_LINE_NBYTES])
{
        join(words, n, line, line + SHELL_LINE_NBYTES);
        return line;
}

const char *shell_word(const char *word, char line[SHELL_LINE_NBYTES])
{
        return shell_line(&word, 1, line);
}

char *shell_join(const char *const *words, size_t n)
{
        enum {
                MOST_EACH = 4,
                MOST_ADDED = 3
        }; /* a letter may be a quote; two quotes and a blank */
        size_t nbytes = 1;
        for (size_t i = 0; i < n; i++)
                nbytes += MOST_EACH * strlen(words[i]) + MOST_ADDED;
        char *line = malloc(nbytes);
        if (line != NULL)
                join(words, n, line, line + nbytes);
        return line;
}
