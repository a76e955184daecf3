#include "base/numa.h"

#include <linux/mempolicy.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

int kc_numa_node(const void *address)
{
        int node;
        if (syscall(SYS_get_mempolicy, &node, NULL, 0UL, address,
                    (unsigned long)(MPOL_F_NODE | MPOL_F_ADDR)) != 0)
                return -1;
        return node;
}
