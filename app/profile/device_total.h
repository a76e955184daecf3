/*
 * The total of all sequences, found on a device, where neither names nor order matter: so the files
 * are read as for counting (io/reader.h), by the device itself if it can inflate and parse them.
 */
#ifndef APP_PROFILE_DEVICE_TOTAL_H
#define APP_PROFILE_DEVICE_TOTAL_H

#include "app/profile/profile.h"

/* Find the total of the request's inputs on its device. Fails like kc_gpu_ask_tally and
 * kc_reader_open.
 *   done  out: false: nothing was read that cannot be read again, and an asker must find the total:
 *         the table does not fit, so it takes turns; or so little is asked that no table is loaded;
 *         or the user leaves the choice, and the CPU is likely to be faster or the device failed at
 *         the start: then request->device->cuda is false, and a line on stderr has said why */
enum kc_status device_total(const struct profile_request *request, struct profile_total *total,
                            bool *done, struct kc_error *err);

#endif
