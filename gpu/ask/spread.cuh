/*
 * A table that is spread over several devices: each holds the k-mers that it owns, in the WarpDrive
 * map for several devices (gpu/maps/warpdrive/several.cuh). All devices have to look up together,
 * so flights wait until one of the threads that wait for them looks up all that have been started.
 */
#ifndef KC_GPU_ASK_SPREAD_CUH
#define KC_GPU_ASK_SPREAD_CUH

#include "gpu/ask.h"
#include "gpu/ask/flight.cuh"

template <class Key> struct kc_ask_spread;

/* Open the devices of the options, without k-mers. NULL on failure. */
template <class Key>
enum kc_status kc_ask_spread_open(struct kc_ask_spread<Key> **spread,
                                  const struct kc_gpu_ask_options *options, struct kc_error *err);

/* Nobody may use it any more, and all flights must be closed. NULL is fine. */
template <class Key> void kc_ask_spread_close(struct kc_ask_spread<Key> *spread);

/* One of the devices. Flights may be opened there once the spread table is open. */
template <class Key>
struct kc_gpu *kc_ask_spread_gpu(struct kc_ask_spread<Key> *spread, int device);

/*
 * Load a table.
 *   rules     how flights are answered; must outlive the spread table
 *   nflights  that may be under way on a device
 * KC_ENOMEM if the parts of the table do not fit; otherwise as kc_ask_load_by.
 */
template <class Key>
enum kc_status kc_ask_spread_load(struct kc_ask_spread<Key> *spread,
                                  const struct kc_gpu_ask_table *table,
                                  const struct kc_ask_rules *rules, size_t nflights,
                                  struct kc_error *err);

/* Have a flight looked up that was opened on this device. Several threads may call it at the same
 * time. */
template <class Key>
void kc_ask_spread_start(struct kc_ask_spread<Key> *spread, int device,
                         struct kc_ask_flight<Key> *flight);

/* Wait until the flight's answers are back. KC_ENOMEM, KC_EDEVICE: also if other threads' flights
 * fail. */
template <class Key>
enum kc_status kc_ask_spread_wait(struct kc_ask_spread<Key> *spread,
                                  struct kc_ask_flight<Key> *flight, struct kc_error *err);

#endif
