/*
 * An asker (kmer/ask.h) that looks every k-mer up in the .kc file by itself. It loads nothing, so
 * it is the one for few k-mers; for many, cpu/ask is faster.
 */
#ifndef APP_LIBRARY_LOOKUP_ASKER_H
#define APP_LIBRARY_LOOKUP_ASKER_H

#include "io/store.h"
#include "kmer/ask.h"

/* Open an asker over the store, which must outlive it. KC_ENOMEM. */
enum kc_status kc_lookup_asker_open(struct kc_asker *asker, struct kc_store *store,
                                    const struct kc_ask_setup *setup, struct kc_error *err);

#endif
