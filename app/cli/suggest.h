/*
 * "Did you mean ...?": the name that is nearest to a mistyped one. It is only suggested: kcount
 * accepts only full names.
 */
#ifndef APP_CLI_SUGGEST_H
#define APP_CLI_SUGGEST_H

#include <stddef.h>

struct suggestion {
        const char *typed; /* [nbytes] */
        size_t nbytes;
        size_t unlikeness; /* of the nearest name, or of one that would be too far away */
        const char *name;  /* the nearest one so far; NULL: none is near enough */
};

struct suggestion suggestion_begin(const char *typed, size_t nbytes);

/* Suggest name if typed is nearer to like, which may be another word for it, than to any word that
 * was offered before. */
void suggestion_offer(struct suggestion *s, const char *like, const char *name);

enum { SUGGESTION_NBYTES = 80 };

/* "; did you mean 'count'?", or "" if there is no name. */
const char *suggestion_text(const struct suggestion *s, char text[SUGGESTION_NBYTES]);

/* suggestion_text for a word that is no command. */
const char *suggest_command(const char *word, char text[SUGGESTION_NBYTES]);

#endif
