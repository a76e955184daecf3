#include "app/cli/suggest.h"

#include "app/cli/command.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MAX_LENGTH = 32 }; /* of a word that is compared */

enum {
        COST = 2,             /* of a mistake */
        SHORTENED = COST + 1, /* of a word whose end is missing: one mistake is more likely */
};

struct suggestion suggestion_begin(const char *typed, size_t nbytes)
{
        const size_t nmistakes = nbytes <= 4 ? 1 : nbytes <= 8 ? 2 : 3;
        return (struct suggestion){ .typed = typed,
                                    .nbytes = nbytes,
                                    .unlikeness = SHORTENED + COST * (nmistakes - 1) + 1 };
}

static bool are_alike(char a, char b)
{
        return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t least(size_t a, size_t b)
{
        return a < b ? a : b;
}

/* How many letters must be inserted, deleted, replaced, or exchanged with the next one, to turn
 * a into b. Both have at most MAX_LENGTH letters. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
        size_t d[MAX_LENGTH + 1][MAX_LENGTH + 1];
        for (size_t i = 0; i <= na; i++) {
                for (size_t j = 0; j <= nb; j++) {
                        if (i == 0 || j == 0) {
                                d[i][j] = i + j;
                                continue;
                        }
                        d[i][j] = least(least(d[i - 1][j], d[i][j - 1]) + 1,
                                        d[i - 1][j - 1] + !are_alike(a[i - 1], b[j - 1]));
                        if (i > 1 && j > 1 && are_alike(a[i - 1], b[j - 2]) &&
                            are_alike(a[i - 2], b[j - 1]))
                                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
                }
        }
        return d[na][nb];
}

void suggestion_offer(struct suggestion *s, const char *like, const char *name)
{
        const size_t length = strlen(like);
        if (s->nbytes == 0 || s->nbytes > MAX_LENGTH || length > MAX_LENGTH)
                return;
        const bool shortened =
                s->nbytes > 1 && s->nbytes < length && strncasecmp(s->typed, like, s->nbytes) == 0;
        size_t unlikeness = COST * distance(s->typed, s->nbytes, like, length);
        if (shortened)
                unlikeness = least(unlikeness, SHORTENED);
        if (unlikeness < s->unlikeness) {
                s->unlikeness = unlikeness;
                s->name = name;
        }
}

/* What other programs call their commands, and what a user may expect. A name is printed between
 * quotes. */
static const struct synonym {
        const char *word, *name;
} synonyms[] = {
        { "histo", "hist" },
        { "plot", "hist --plot" },
        { "histogram", "hist" },
        { "stats", "info" },
        { "summary", "info" },
        { "distinct", "info" },
        { "list", "info" },
        { "view", "dump" },
        { "print", "dump" },
        { "cat", "dump" },
        { "transform", "dump' or 'export" },
        { "lookup", "query" },
        { "search", "query" },
        { "find", "query" },
        { "verify", "check" },
        { "validate", "check" },
        { "repair", "check" },
        { "append", "add" },
        { "delete", "remove" },
        { "rm", "remove" },
        { "join", "merge" },
        { "sum", "merge" },
        { "reduce", "merge --min" },
        { "diff", "subtract" },
        { "sub", "subtract" },
        { "comp", "compare" },
        { "gcp", "hist --gc" },
        { "simple", "intersect', 'union' or 'subtract" },
        { "kmers_subtract", "subtract" },
        { "counters_subtract", "subtract" },
        { "intersection", "intersect" },
        { "convert", "export" },
        { "usage", "help" },
        { "version", "--version" },
};

const char *suggestion_text(const struct suggestion *s, char text[SUGGESTION_NBYTES])
{
        text[0] = '\0';
        if (s->name != NULL)
                snprintf(text, SUGGESTION_NBYTES, "; did you mean '%s'?", s->name);
        return text;
}

const char *suggest_command(const char *word, char text[SUGGESTION_NBYTES])
{
        struct suggestion s = suggestion_begin(word, strlen(word));
        for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++)
                suggestion_offer(&s, synonyms[i].word, synonyms[i].name);
        for (const struct command *const *c = command_table; *c; c++)
                suggestion_offer(&s, (*c)->name, (*c)->name);
        return suggestion_text(&s, text);
}
