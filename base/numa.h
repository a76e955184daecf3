/*
 * Where memory is, on a machine with several NUMA nodes.
 */
#ifndef KC_BASE_NUMA_H
#define KC_BASE_NUMA_H

#ifdef __cplusplus
extern "C" {
#endif

/* The node that has the page at this address, which must have been touched; -1 if the system does
 * not say, for example in a container that may not ask. Any thread may call this. */
int kc_numa_node(const void *address);

#ifdef __cplusplus
}
#endif
#endif
