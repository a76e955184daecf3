/*
 * Copies files over the bus and turns them into packed reads, in rounds: a round is copied while
 * earlier ones are inflated and parsed, as in gpu/intake, but from pinned memory and without
 * records that cross rounds.
 */
#ifndef KC_BENCH_INFLATE_STREAM_CUH
#define KC_BENCH_INFLATE_STREAM_CUH

#include "bench/gpu/stage.cuh"
#include "bench/inflate/sample.cuh"

/*
 * Time parsing and packing of text on the device, the bus, and text and BGZF sent over it, and
 * print the times. Nothing is printed if the sample is neither FASTQ nor FASTA.
 *   round_nbytes  of a round's text, about: a round has whole copies of the sample
 *   total_nbytes  of all text, about
 * KC_EDEVICE, KC_ENOMEM, KC_EINPUT if the text is not of the strict form.
 */
enum kc_status bench_streams(struct bench *bench, const struct sample *sample, const char *name,
                             size_t round_nbytes, size_t total_nbytes, struct kc_error *err);

#endif
