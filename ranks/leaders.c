#include "ranks/leaders.h"

#include <stdbool.h>
#include <string.h>
#include <xxhash.h>

uint64_t kc_visible_devices(const char *list)
{
        uint64_t devices = 0;
        if (list == NULL)
                return UINT64_MAX;
        while (*list != '\0') {
                const size_t length = strcspn(list, ",");
                devices += XXH3_64bits(list, length); /* the same in any order */
                list += length + (list[length] == ',');
        }
        return devices;
}

static bool is_here(const struct kc_rank_place *a, const struct kc_rank_place *b)
{
        return memcmp(a->host, b->host, sizeof a->host) == 0;
}

void kc_leaders_elect(const struct kc_rank_place *places, int nranks, int *leaders)
{
        for (int i = 0; i < nranks; i++) {
                leaders[i] = 0;
                while (!is_here(&places[leaders[i]], &places[i]) ||
                       places[leaders[i]].devices != places[i].devices)
                        leaders[i]++;
        }
}

static cpu_set_t cores_of(const struct kc_rank_place *places, int nranks, const int *leaders,
                          int leader)
{
        cpu_set_t cores;
        CPU_ZERO(&cores);
        for (int i = 0; i < nranks; i++)
                if (leaders[i] == leader)
                        CPU_OR(&cores, &cores, &places[i].cores);
        return cores;
}

struct kc_leader_share kc_leader_share(const struct kc_rank_place *places, int nranks,
                                       const int *leaders, int leader)
{
        struct kc_leader_share share = { .cores = cores_of(places, nranks, leaders, leader) };
        int nusers[CPU_SETSIZE] = { 0 }; /* leaders that may use a core */
        double ncores = 0;
        for (int i = 0; i < nranks; i++) {
                share.nranks += leaders[i] == leader;
                if (leaders[i] != i || !is_here(&places[i], &places[leader]))
                        continue;
                const cpu_set_t cores = cores_of(places, nranks, leaders, i);
                for (int core = 0; core < CPU_SETSIZE; core++)
                        nusers[core] += CPU_ISSET(core, &cores);
        }
        for (int core = 0; core < CPU_SETSIZE; core++)
                if (CPU_ISSET(core, &share.cores))
                        ncores += 1.0 / nusers[core];
        share.nthreads = ncores < 1 ? 1 : (int)(ncores + 1e-6);
        return share;
}
