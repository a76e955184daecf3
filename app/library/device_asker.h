/*
 * An asker (kmer/ask.h) that loads a .kc file into the memory of a device, and answers there.
 */
#ifndef APP_LIBRARY_DEVICE_ASKER_H
#define APP_LIBRARY_DEVICE_ASKER_H

#include "gpu/ask.h"
#include "io/store.h"

/* A table of what the store holds now. The store must outlive it. Reading it fails like kc_set_run
 * if the file is damaged. */
struct kc_gpu_ask_table kc_device_table(struct kc_store *store);

/* Open an asker for what the store holds now. *way: as in kc_gpu_ask_open. Fails like that, or as
 * kc_set_run if the file is damaged. */
enum kc_status kc_device_asker_open(struct kc_asker *asker, struct kc_store *store,
                                    const struct kc_gpu_ask_options *options,
                                    const struct kc_ask_setup *setup, enum kc_gpu_ask_way *way,
                                    struct kc_error *err);

#endif
