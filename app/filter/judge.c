#include "app/filter/judge.h"

#include "app/cli/size.h"

#include <string.h>

enum { NDECIMALS = 4 }; /* JUDGE_WHOLE has 100 x 10^4 */

/* Parse a percentage with up to NDECIMALS decimals, in units of the last one. */
static bool parse_share(const char *text, size_t n, uint64_t *value)
{
        int ndecimals = 0;
        size_t ndigits = 0;
        bool dot = false;
        *value = 0;
        for (size_t i = 0; i < n; i++) {
                if (text[i] == '.' && !dot) {
                        dot = true;
                        continue;
                }
                if (text[i] < '0' || text[i] > '9' || ndecimals == NDECIMALS ||
                    *value > JUDGE_WHOLE)
                        return false;
                *value = *value * 10 + (uint64_t)(text[i] - '0');
                ndecimals += dot;
                ndigits++;
        }
        for (; ndecimals < NDECIMALS; ndecimals++)
                *value *= 10;
        return ndigits > 0 && *value <= JUDGE_WHOLE;
}

bool judge_parse(const char *text, struct judge_bound *bound)
{
        const size_t n = strlen(text);
        bound->is_share = n > 0 && text[n - 1] == '%';
        return bound->is_share ? parse_share(text, n - 1, &bound->value)
                               : parse_number(text, &bound->value);
}

bool judge_is_empty(const struct judge *judge)
{
        return judge->at_least.is_share == judge->at_most.is_share &&
               judge->at_least.value > judge->at_most.value;
}

/* Compare part x JUDGE_WHOLE with share x whole, without overflow. Returns -1, 0 or 1. */
static int compare_share(uint64_t part, uint64_t share, uint64_t whole)
{
        const unsigned __int128 left = (unsigned __int128)part * JUDGE_WHOLE;
        const unsigned __int128 right = (unsigned __int128)share * whole;
        return left < right ? -1 : left > right;
}

/* How many windows are this share of all windows, rounded down. */
static uint64_t windows_of(uint64_t share, const struct kc_ask_summary *read)
{
        return (uint64_t)((unsigned __int128)share * read->nwindows / JUDGE_WHOLE);
}

/* Whether the windows in range are fewer than the bound, as many, or more: -1, 0 or 1. */
static int compare_found(const struct judge *judge, const struct judge_bound *bound,
                         const struct kc_ask_summary *read)
{
        uint64_t windows = bound->value;
        if (bound->is_share && judge->denominator == JUDGE_VALID)
                return compare_share(read->nfound, bound->value, read->nvalid);
        if (bound->is_share)
                windows = windows_of(bound->value, read);
        return read->nfound < windows ? -1 : read->nfound > windows;
}

static bool passes(const struct judge *judge, const struct kc_ask_summary *read)
{
        return read->nvalid > 0 && compare_found(judge, &judge->at_least, read) >= 0 &&
               compare_found(judge, &judge->at_most, read) <= 0;
}

/* ---- parts ---- */

enum { MORE_DIVISOR = 16, FEW = 4 };

static uint64_t nneeded(const struct judge_bound *bound, uint64_t nwindows)
{
        const unsigned __int128 windows = (unsigned __int128)bound->value * nwindows;
        if (!bound->is_share)
                return bound->value < nwindows ? bound->value : nwindows;
        return (uint64_t)((windows + JUDGE_WHOLE - 1) / JUDGE_WHOLE);
}

/* If there is an upper bound, a part can only show that it is exceeded. If nearly all windows are
 * needed, all are asked at once. */
uint64_t judge_nfirst(const struct judge *judge, uint64_t nwindows)
{
        const bool is_bounded = judge->at_most.is_share || judge->at_most.value < nwindows;
        uint64_t n = is_bounded ? nneeded(&judge->at_most, nwindows) + 1
                                : nneeded(&judge->at_least, nwindows);
        n = (n > 0 ? n : 1) + nwindows / MORE_DIVISOR;
        return n < nwindows - nwindows / FEW ? n : nwindows;
}

/*
 * Each remaining window that turns out to be in range raises the number found and its share of the
 * valid windows; each one that is valid but out of range lowers that share. Therefore only the two
 * extremes need judging: all remaining windows are in range, or all are valid but out of range.
 */
static bool is_settled(const struct judge *judge, const struct kc_ask_summary *part, uint64_t nleft)
{
        struct kc_ask_summary least = *part, most;
        if (nleft == 0)
                return true;
        least.nwindows += nleft;
        least.nvalid += nleft;
        most = least;
        most.nfound += nleft;
        const bool passes_anyway = part->nvalid > 0 &&
                                   compare_found(judge, &judge->at_least, &least) >= 0 &&
                                   compare_found(judge, &judge->at_most, &most) <= 0;
        return passes_anyway || compare_found(judge, &judge->at_least, &most) < 0 ||
               compare_found(judge, &judge->at_most, &least) > 0;
}

static void settle_pooled(const struct judge *judge, struct kc_asked_part *first,
                          struct kc_asked_part *second)
{
        struct kc_ask_summary pooled = first->summary;
        kc_ask_summary_append(&pooled, &second->summary);
        first->is_settled = second->is_settled =
                is_settled(judge, &pooled, first->nleft + second->nleft);
}

/* Whether the part is settled in the way that settles the pair: one mate that passes is enough, or
 * one that does not if both must. */
static bool settles_pair(const struct judge *judge, const struct kc_asked_part *part)
{
        return part->is_settled && passes(judge, &part->summary) == (judge->pairs == JUDGE_ANY);
}

void judge_settle(const struct judge *judge, struct kc_asked_part *first,
                  struct kc_asked_part *second)
{
        if (second != NULL && judge->pairs == JUDGE_POOLED) {
                settle_pooled(judge, first, second);
                return;
        }
        first->is_settled |= is_settled(judge, &first->summary, first->nleft);
        if (second == NULL)
                return;
        second->is_settled = is_settled(judge, &second->summary, second->nleft);
        if (settles_pair(judge, first) || settles_pair(judge, second))
                first->is_settled = second->is_settled = true;
}

bool judge_keeps(const struct judge *judge, const struct kc_ask_summary *read)
{
        return passes(judge, read) != judge->drops;
}

void judge_add(const struct judge *judge, struct judge_group *group,
               const struct kc_ask_summary *read)
{
        const bool passed = passes(judge, read);
        group->has_passed |= passed;
        group->has_failed |= !passed;
        if (judge->pairs == JUDGE_POOLED)
                kc_ask_summary_append(&group->pooled, read);
}

static bool group_passes(const struct judge *judge, const struct judge_group *group)
{
        switch (judge->pairs) {
        case JUDGE_BOTH:
                return group->has_passed && !group->has_failed;
        case JUDGE_POOLED:
                return passes(judge, &group->pooled);
        default:
                return group->has_passed;
        }
}

bool judge_keeps_group(const struct judge *judge, const struct judge_group *group)
{
        return group_passes(judge, group) != judge->drops;
}

bool judge_keeps_pair(const struct judge *judge, const struct kc_ask_summary *first,
                      const struct kc_ask_summary *second)
{
        struct judge_group pair = JUDGE_NO_READS;
        judge_add(judge, &pair, first);
        judge_add(judge, &pair, second);
        return judge_keeps_group(judge, &pair);
}

uint64_t judge_trim(struct kc_ask_summary *read, int k, uint64_t nbases)
{
        const uint64_t nlead = read->nlead;
        const bool is_whole = nlead == read->nwindows;
        read->nwindows = read->nvalid = read->nfound = nlead;
        if (nlead == 0)
                return 0;
        return is_whole ? nbases : nlead + (uint64_t)k - 1;
}
