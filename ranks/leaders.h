/*
 * Which of several ranks counts for others. One process with all cores of a machine counts faster
 * than several, and ranks that see the same devices would be in each other's way. So the first rank
 * of a machine, or the first of those that see the same devices, is the leader of the others: it
 * drives these devices, with the cores of all of them.
 */
#ifndef KC_RANKS_LEADERS_H
#define KC_RANKS_LEADERS_H

#include <sched.h>
#include <stdint.h>

enum { KC_RANKS_HOST_NBYTES = 64 };

/* What ranks tell each other when they meet: where each one runs, and what it runs. */
struct kc_rank_place {
        char host[KC_RANKS_HOST_NBYTES]; /* zeros after the name */
        uint64_t devices;                /* which ones it sees (kc_visible_devices) */
        uint64_t line;                   /* a hash of its command line */
        cpu_set_t cores; /* that it may use; if bound unasked, those that its launcher may */
};

/*
 * A number that stands for a set of devices.
 *   list  their names, separated by commas, in any order, as in CUDA_VISIBLE_DEVICES; NULL: all
 */
uint64_t kc_visible_devices(const char *list);

/* Elect leaders.
 *   leaders  out [nranks] the leader of each rank, which may be that rank itself */
void kc_leaders_elect(const struct kc_rank_place *places, int nranks, int *leaders);

/* What a leader has to count with, for itself and for other ranks. */
struct kc_leader_share {
        int nranks;      /* that it counts for, itself included */
        cpu_set_t cores; /* those that any of them may use */
        int nthreads;    /* at least 1; leaders that may use the same cores divide them equally */
};

struct kc_leader_share kc_leader_share(const struct kc_rank_place *places, int nranks,
                                       const int *leaders, int leader);

#endif
