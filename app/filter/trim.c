#include "app/filter/trim.h"

struct trim trim_begin(uint64_t nbases, bool is_fastq)
{
        return (struct trim){
                .nbases = nbases, .nleft = nbases, .is_fastq = is_fastq, .at_line = true
        };
}

static bool is_space(char c)
{
        return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* A letter of a line of bases, or of qualities, some of which stay. Returns whether it stays. */
static bool step_letters(struct trim *t, char c, enum trim_place after)
{
        if (t->nleft == 0 && !is_space(c)) {
                t->place = after;
                return false;
        }
        t->nleft -= !is_space(c);
        /* the end of the last line */
        if (c == '\n' && t->nleft == 0)
                t->place = after == TRIM_CUT_BASES ? TRIM_DROPPED : TRIM_END;
        return true;
}

/* What follows the last letter: only the line's end stays. */
static bool step_cut(struct trim *t, char c, enum trim_place after)
{
        if (c == '\n')
                t->place = after;
        return is_space(c);
}

/* The first letter of a line may show that the line is not one of the sequence's. */
static void begin_line(struct trim *t, char c)
{
        const bool in_bases = t->place == TRIM_BASES || t->place == TRIM_DROPPED;
        t->comment = in_bases && !t->is_fastq && c == ';';
        if (in_bases && t->is_fastq && c == '+')
                t->place = TRIM_PLUS;
}

/* Whether the letter stays. */
static bool step(struct trim *t, char c)
{
        if (t->at_line)
                begin_line(t, c);
        t->at_line = c == '\n';
        if (t->comment)
                return t->place == TRIM_BASES;
        switch (t->place) {
        case TRIM_NAME:
                t->place = c == '\n' ? TRIM_BASES : TRIM_NAME;
                return true;
        case TRIM_BASES:
                return step_letters(t, c, TRIM_CUT_BASES);
        case TRIM_CUT_BASES:
                return step_cut(t, c, TRIM_DROPPED);
        case TRIM_PLUS:
                t->place = c == '\n' ? TRIM_QUALITIES : TRIM_PLUS;
                t->nleft = t->nbases;
                return true;
        case TRIM_QUALITIES:
                return step_letters(t, c, TRIM_CUT_QUALITIES);
        case TRIM_CUT_QUALITIES:
                return step_cut(t, c, TRIM_END);
        default:
                return false;
        }
}

enum kc_status trim_text(struct trim *trim, const char *text, size_t nbytes, filter_take *take,
                         void *ctx, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        size_t begin = 0, n = 0; /* what stays and was not passed on yet */
        for (size_t i = 0; i < nbytes; i++) {
                if (step(trim, text[i])) {
                        n++;
                        continue;
                }
                if (n > 0)
                        KC_TRY(take(ctx, text + begin, n, err));
                begin = i + 1;
                n = 0;
        }
        if (n > 0)
                KC_TRY(take(ctx, text + begin, n, err));
out:
        return status;
}
