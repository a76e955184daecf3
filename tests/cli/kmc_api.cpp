/*
 * A program over KMC's library (libkmc-dev): what it finds in a database.
 *
 *      kmc_api DATABASE            all k-mers and counts, one after the other
 *      kmc_api DATABASE random     the count of each k-mer on standard input, 0 if it is absent
 *      kmc_api DATABASE reads      the counts of all k-mers of each line of standard input
 */
#include <cstring>
#include <iostream>
#include <kmc/kmc_file.h>

static void list(CKMCFile &database)
{
        CKmerAPI kmer(database.KmerLength());
        uint32 count;
        while (database.ReadNextKmer(kmer, count))
                std::cout << kmer.to_string() << '\t' << count << '\n';
}

static void find_kmers(CKMCFile &database)
{
        CKmerAPI kmer(database.KmerLength());
        for (std::string text; std::getline(std::cin, text);) {
                uint32 count = 0;
                if (!kmer.from_string(text) || !database.CheckKmer(kmer, count))
                        count = 0;
                std::cout << text << '\t' << count << '\n';
        }
}

static void find_reads(CKMCFile &database)
{
        for (std::string text; std::getline(std::cin, text);) {
                std::vector<uint32> counts;
                database.GetCountersForRead(text, counts);
                for (uint32 count : counts)
                        std::cout << count << ' ';
                std::cout << '\n';
        }
}

int main(int argc, char **argv)
{
        CKMCFile database;
        if (argc < 2 || argc > 3)
                return 2;
        if (argc == 2 ? !database.OpenForListing(argv[1]) : !database.OpenForRA(argv[1]))
                return 1;
        if (argc == 2)
                list(database);
        else if (strcmp(argv[2], "random") == 0)
                find_kmers(database);
        else
                find_reads(database);
        std::cout.flush();
        return database.Close() && std::cout ? 0 : 1;
}
