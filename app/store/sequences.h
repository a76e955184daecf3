/*
 * Sequences whose k-mers query and remove ask for: arguments, and files of FASTA, FASTQ or lines
 * that one thread reads. Threads that share a file use io/records.h itself.
 */
#ifndef APP_STORE_SEQUENCES_H
#define APP_STORE_SEQUENCES_H

#include "io/records.h"

/* Open the file for one thread; with hpc, the caller compresses its records (kc_record_compress).
 * If a sequence comes in pieces, each of its k-mers is in exactly one of them. Fails like
 * kc_records_open. */
enum kc_status sequences_open(struct kc_records **records, const char *path, int k, bool hpc,
                              struct kc_error *err);

/*
 * Copy sequences and compress their homopolymers, for a file of homopolymer-compressed reads.
 * KC_EUSAGE if one of them is then shorter than k.
 *   compressed  out [n], freed by sequences_free
 */
enum kc_status sequences_compress(const char *const *sequences, size_t n, int k, char ***compressed,
                                  struct kc_error *err);
void sequences_free(char **compressed, size_t n);

/* Make room for n letters. The old content is lost. KC_ENOMEM. */
enum kc_status sequences_reserve(char **letters, size_t *cap, size_t n, struct kc_error *err);

/* Whether the record ends here, with fewer than k bases in all. */
bool sequences_is_short(const struct kc_seq_record *record, int k);

/* Report on standard error how many sequences were shorter than k and how many letters were skipped
 * because they are not bases, if any. */
void sequences_report_skipped(int k, uint64_t nshort, uint64_t nskipped);

#endif
