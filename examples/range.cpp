// Print the k-mers that begin with some letters, with their counts:  range COUNTS.kc PREFIX
#include <cstdio>
#include <kcount.h>
#include <memory>
#include <string>
#include <vector>

static int fail(kcount_error *error)
{
        std::fprintf(stderr, "range: %s. %s\n", kcount_error_message(error),
                     kcount_error_advice(error));
        kcount_error_free(error);
        return 1;
}

int main(int argc, char **argv)
{
        kcount_counts *opened;
        kcount_error *error;
        if (argc != 3)
                return 2;
        if (kcount_open(&opened, argv[1], &error) != KCOUNT_OK)
                return fail(error);
        std::unique_ptr<kcount_counts, decltype(&kcount_close)> counts(opened, kcount_close);
        kcount_info info = {};
        info.size = sizeof info;
        kcount_get_info(counts.get(), &info);

        // The range from the first k-mer with this prefix to the last one.
        const std::string prefix = argv[2];
        const size_t k = static_cast<size_t>(info.k), nwords = kcount_nwords(info.k);
        if (prefix.size() > k)
                return 2;
        const std::string first = prefix + std::string(k - prefix.size(), 'A');
        const std::string last = prefix + std::string(k - prefix.size(), 'T');
        std::vector<uint64_t> bounds(2 * nwords);
        if (kcount_encode(info.k, (first + last).data(), 2, bounds.data()) != 2)
                return 2;
        kcount_cursor *begun;
        if (kcount_cursor_open(&begun, counts.get(), bounds.data(), bounds.data() + nwords,
                               &error) != KCOUNT_OK)
                return fail(error);
        std::unique_ptr<kcount_cursor, decltype(&kcount_cursor_close)> cursor(begun,
                                                                              kcount_cursor_close);

        const size_t cap = 1000;
        std::vector<uint64_t> kmers(cap * nwords);
        std::vector<uint32_t> numbers(cap);
        std::string letters(cap * k, ' ');
        size_t n;
        do {
                if (kcount_cursor_next(cursor.get(), kmers.data(), numbers.data(), cap, &n,
                                       &error) != KCOUNT_OK)
                        return fail(error);
                kcount_decode(info.k, kmers.data(), n, &letters[0]);
                for (size_t i = 0; i < n; i++)
                        std::printf("%.*s\t%u\n", info.k, &letters[i * k], numbers[i]);
        } while (n > 0);
}
