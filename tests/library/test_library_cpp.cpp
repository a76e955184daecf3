// Whether C++ programs can use include/kcount.h. Calls all functions that read, for the file named
// by the argument, and expects consistent results.
#include "include/kcount.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace
{

void check(bool condition, const char *what)
{
        if (condition)
                return;
        std::fprintf(stderr, "wrong: %s\n", what);
        std::exit(1);
}

void done(kcount_status status, kcount_error *error)
{
        if (status != KCOUNT_OK)
                std::fprintf(stderr, "%s (%s) %s\n", kcount_error_message(error),
                             kcount_error_file(error), kcount_error_advice(error));
        check(status == KCOUNT_OK, "status");
}

void check_numbers()
{
        const int k = 40;
        const std::string text(k, 'T');
        std::vector<uint64_t> kmer(static_cast<size_t>(kcount_nwords(k)));
        std::string letters(k, '?');
        check(kcount_encode(k, text.c_str(), 1, kmer.data()) == 1, "encode");
        kcount_reverse_complement(k, kmer.data(), 1);
        kcount_reverse_complement(k, kmer.data(), 1);
        kcount_decode(k, kmer.data(), 1, &letters[0]);
        check(letters == text, "decode");
        kcount_canonical(k, kmer.data(), 1);
        check(kmer[0] == 0 && kmer[1] == 0, "canonical");
}

// The histogram and a walk give the same sum of counts, and the walk's k-mers are found.
void check_counts(kcount_counts *counts)
{
        kcount_error *error = nullptr;
        kcount_info info = {};
        info.size = sizeof info;
        kcount_get_info(counts, &info);
        kcount_row *rows = nullptr;
        uint64_t *bounds = nullptr, total = 0;
        size_t nrows = 0, nbounds = 0, n = 0;
        done(kcount_histogram(counts, nullptr, &rows, &nrows, &error), error);
        for (size_t i = 0; i < nrows; i++)
                total += rows[i].count * rows[i].number;
        check(total == info.total, "histogram");
        kcount_free(rows);
        done(kcount_split(counts, 4, &bounds, &nbounds, &error), error);
        check(nbounds < 4, "split");
        kcount_free(bounds);

        kcount_ask_options options = KCOUNT_ASK_OPTIONS_INIT;
        options.nthreads = 1;
        kcount_asker *asker = nullptr;
        kcount_cursor *cursor = nullptr;
        done(kcount_asker_open(&asker, counts, &options, &error), error);
        done(kcount_cursor_open(&cursor, counts, nullptr, nullptr, &error), error);
        const size_t cap = 1000;
        std::vector<uint64_t> kmers(cap * static_cast<size_t>(kcount_nwords(info.k)));
        std::vector<uint32_t> numbers(cap), found(cap);
        std::string letters(static_cast<size_t>(info.k), '?');
        for (total = 0;;) {
                done(kcount_cursor_next(cursor, kmers.data(), numbers.data(), cap, &n, &error),
                     error);
                if (n == 0)
                        break;
                done(kcount_ask(asker, kmers.data(), n, found.data(), &error), error);
                for (size_t i = 0; i < n; i++) {
                        check(found[i] == numbers[i], "ask");
                        total += numbers[i];
                }
        }
        check(total == info.total, "cursor");
        kcount_decode(info.k, kmers.data(), 1, &letters[0]);
        bool valid = false;
        done(kcount_ask_sequence(asker, letters.c_str(), letters.size(), found.data(), &valid,
                                 &error),
             error);
        check(valid, "ask_sequence");
        kcount_cursor_close(cursor);
        kcount_asker_close(asker);
}

} // namespace

int main(int argc, char **argv)
{
        kcount_counts *counts = nullptr;
        kcount_error *error = nullptr;
        check(argc == 2, "arguments");
        check(std::strlen(kcount_version()) > 0, "version");
        check_numbers();
        check(kcount_open(&counts, "/nothing.kc", &error) == KCOUNT_EIO, "open");
        check(kcount_error_status(error) == KCOUNT_EIO, "error");
        kcount_error_free(error);
        error = nullptr;
        done(kcount_open(&counts, argv[1], &error), error);
        check(std::strlen(kcount_warning(counts)) == 0, "warning");
        check_counts(counts);
        kcount_close(counts);
}
