/*
 * Report what .kc files hold, for tests/cli/power.py: one process examines thousands of files.
 * Each line of standard input is a command, which is answered by one line on standard output.
 *
 *      know PATH   remember the k-mers of an intact file, to compare those of others with them
 *      look PATH   read the whole file
 *      grow PATH   append a run of one k-mer, then verify the file and read all of it
 *
 * The answer to each is
 *
 *      OUTCOME PAIRS HISTOGRAM TIDY NWRONG MESSAGE
 *
 * OUTCOME is ok, refused (the file could not be opened), partly (some of it could not be read), or
 * failed (it could not be grown or verified). PAIRS and HISTOGRAM are hashes, "-" where the library
 * refused to read them. NWRONG is the number of k-mers for which a lookup gave a count other than
 * the known one; failed lookups are not included.
 */
#include "io/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { LOOKUP_EVERY = 97 };

struct known {
        uint64_t *kmers; /* [n * nwords] */
        uint32_t *counts;
        size_t n, nwords;
};

struct answer {
        uint64_t pairs, histogram;
        bool has_pairs, has_histogram, tidy;
        unsigned nwrong;
};

static void forget(struct known *known)
{
        free(known->kmers);
        free(known->counts);
        *known = (struct known){ 0 };
}

static enum kc_status remember(struct known *known, const uint64_t *kmers, const uint32_t *counts,
                               size_t n, struct kc_error *err)
{
        const size_t kmer_nbytes = known->nwords * sizeof *kmers;
        void *more_kmers = realloc(known->kmers, (known->n + n) * kmer_nbytes);
        if (more_kmers != NULL)
                known->kmers = more_kmers;
        void *more_counts = realloc(known->counts, (known->n + n) * sizeof *counts);
        if (more_counts != NULL)
                known->counts = more_counts;
        if (more_kmers == NULL || more_counts == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        memcpy(known->kmers + known->n * known->nwords, kmers, n * kmer_nbytes);
        memcpy(known->counts + known->n, counts, n * sizeof *counts);
        known->n += n;
        return KC_OK;
}

/* Read all pairs: *hash is theirs; if known is not NULL, it receives the pairs themselves. */
static enum kc_status walk(struct kc_store *store, size_t nwords, uint64_t *hash,
                           struct known *known, struct kc_error *err)
{
        enum kc_status status;
        struct kc_cursor *cursor = NULL;
        const uint64_t *kmers;
        const uint32_t *counts;
        size_t n;
        XXH3_state_t *state = XXH3_createState();
        if (state == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        XXH3_64bits_reset(state);
        KC_TRY(kc_cursor_open(&cursor, store, NULL, NULL, err));
        for (;;) {
                KC_TRY(kc_cursor_next(cursor, &kmers, &counts, &n, err));
                if (n == 0)
                        break;
                for (size_t i = 0; i < n; i++) { /* pair by pair: the pieces' sizes may differ */
                        XXH3_64bits_update(state, kmers + i * nwords, nwords * sizeof *kmers);
                        XXH3_64bits_update(state, counts + i, sizeof *counts);
                }
                if (known != NULL)
                        KC_TRY(remember(known, kmers, counts, n, err));
        }
        *hash = XXH3_64bits_digest(state);
out:
        kc_cursor_close(cursor);
        XXH3_freeState(state);
        return status;
}

static unsigned count_wrong(struct kc_store *store, const struct known *known, size_t nwords)
{
        struct kc_error ignored = { 0 };
        struct kc_lookup *lookup = NULL;
        uint32_t count;
        unsigned nwrong = 0;
        if (known->nwords != nwords || kc_lookup_open(&lookup, store, &ignored) != KC_OK)
                return 0;
        for (size_t i = 0; i < known->n; i += LOOKUP_EVERY)
                if (kc_lookup_count(lookup, known->kmers + i * nwords, &count, &ignored) == KC_OK)
                        nwrong += count != known->counts[i];
        kc_lookup_close(lookup);
        return nwrong;
}

static bool hash_histogram(struct kc_store *store, uint64_t *hash)
{
        struct kc_error ignored = { 0 };
        struct kc_histogram_row *rows;
        size_t nrows;
        if (kc_store_histogram(store, 1, NULL, &rows, &nrows, &ignored) != KC_OK)
                return false;
        *hash = XXH3_64bits(rows, nrows * sizeof *rows);
        free(rows);
        return true;
}

static const char *look(const char *path, struct known *known, bool learn, struct answer *answer,
                        struct kc_error *err)
{
        struct kc_store *store;
        struct kc_store_info info;
        if (kc_store_open(&store, path, err) != KC_OK)
                return "refused";
        kc_store_get_info(store, &info);
        const size_t nwords = (size_t)kc_kmer_nwords(info.k);
        if (learn) {
                forget(known);
                known->nwords = nwords;
        }
        answer->has_pairs = walk(store, nwords, &answer->pairs, learn ? known : NULL, err) == KC_OK;
        answer->has_histogram = hash_histogram(store, &answer->histogram);
        answer->tidy = kc_store_is_tidy(store);
        answer->nwrong = count_wrong(store, known, nwords);
        kc_store_close(store);
        return answer->has_pairs ? "ok" : "partly";
}

/* A run that holds AAA... twice. */
static enum kc_status append(const char *path, struct kc_error *err)
{
        static const uint64_t kmer[KC_MAX_WORDS];
        static const uint32_t twice = 2;
        static const char *const names[] = { "grown" };
        const struct kc_store_origin origin = { .names = names, .nnames = 1, .nkmers = twice };
        struct kc_store_writer *writer;
        bool stranded;
        int k;
        enum kc_status status = kc_store_append(&writer, path, false, &k, &stranded, err);
        if (status != KC_OK)
                return status;
        const struct kc_run_pairs pairs = { .last = true, .kmers = kmer, .counts = &twice, .n = 1 };
        struct kc_run_sink sink = kc_store_sink(writer);
        status = sink.put(sink.ctx, &pairs, err);
        if (status == KC_OK)
                return kc_store_commit(writer, &origin, NULL, err);
        kc_store_abort(writer);
        return status;
}

static enum kc_status verify(const char *path, struct kc_error *err)
{
        struct kc_store *store;
        enum kc_status status = kc_store_open(&store, path, err);
        if (status != KC_OK)
                return status;
        status = kc_store_check(store, 1, NULL, err);
        kc_store_close(store);
        return status;
}

static void answer_order(const char *order, const char *path, struct known *known)
{
        struct kc_error err = { 0 };
        struct answer answer = { 0 };
        const char *outcome = "failed";
        if (strcmp(order, "grow") != 0)
                outcome = look(path, known, strcmp(order, "know") == 0, &answer, &err);
        else if (append(path, &err) == KC_OK && verify(path, &err) == KC_OK)
                outcome = look(path, known, false, &answer, &err);
        char pairs[32] = "-", histogram[32] = "-";
        if (answer.has_pairs)
                snprintf(pairs, sizeof pairs, "%016" PRIx64, answer.pairs);
        if (answer.has_histogram)
                snprintf(histogram, sizeof histogram, "%016" PRIx64, answer.histogram);
        printf("%s %s %s %d %u %s\n", outcome, pairs, histogram, answer.tidy, answer.nwrong,
               err.message);
        fflush(stdout);
}

int main(void)
{
        char line[8192];
        struct known known = { 0 };
        while (fgets(line, sizeof line, stdin) != NULL) {
                line[strcspn(line, "\n")] = '\0';
                char *path = strchr(line, ' ');
                if (path == NULL)
                        return EXIT_FAILURE;
                *path++ = '\0';
                answer_order(line, path, &known);
        }
        forget(&known);
        return EXIT_SUCCESS;
}
