/*
 * --reader-only: read and parse as count does, but count nothing. For benchmarks: no engine can be
 * faster than this.
 */
#ifndef APP_COUNT_READER_ONLY_H
#define APP_COUNT_READER_ONLY_H

#include "io/reader.h"

/* Take all batches of the reader, with nthreads threads, and discard them. */
enum kc_status reader_only(struct kc_reader *reader, int nthreads, struct kc_error *err);

#endif
