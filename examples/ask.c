/* Print the counts of k-mers:  ask COUNTS.kc KMER... */
#include <kcount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(struct kcount_error *error)
{
        fprintf(stderr, "ask: %s. %s\n", kcount_error_message(error), kcount_error_advice(error));
        kcount_error_free(error);
        return 1;
}

int main(int argc, char **argv)
{
        struct kcount_info info = { .size = sizeof info };
        struct kcount_counts *counts;
        struct kcount_asker *asker;
        struct kcount_error *error;
        if (argc < 3 || kcount_open(&counts, argv[1], &error) != KCOUNT_OK)
                return argc < 3 ? 2 : fail(error);
        kcount_get_info(counts, &info);
        const size_t n = (size_t)argc - 2;
        const size_t nwords = (size_t)kcount_nwords(info.k);
        uint64_t *kmers = calloc(n, nwords * sizeof *kmers);
        uint32_t *found = calloc(n, sizeof *found);
        if (kmers == NULL || found == NULL)
                return 1;
        for (size_t i = 0; i < n; i++)
                if (strlen(argv[i + 2]) != (size_t)info.k ||
                    kcount_encode(info.k, argv[i + 2], 1, kmers + i * nwords) == 0) {
                        fprintf(stderr, "ask: %s is no %d-mer\n", argv[i + 2], info.k);
                        return 2;
                }
        if (kcount_asker_open(&asker, counts, NULL, &error) != KCOUNT_OK ||
            kcount_ask(asker, kmers, n, found, &error) != KCOUNT_OK)
                return fail(error);
        for (size_t i = 0; i < n; i++)
                printf("%s\t%u\n", argv[i + 2], found[i]);
        kcount_asker_close(asker);
        kcount_close(counts);
        free(kmers);
        free(found);
        return 0;
}
