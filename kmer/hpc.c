#include "kmer/hpc.h"

size_t kc_hpc_compress(uint8_t *letters, size_t n)
{
        size_t nleft = 0;
        int last = -1;
        for (size_t i = 0; i < n; i++) {
                const int code = kc_base_code(letters[i]);
                letters[nleft] = letters[i];
                nleft += code < 0 || code != last;
                last = code;
        }
        return nleft;
}

bool kc_hpc_is_compressed(const uint64_t *kmer, int k)
{
        const uint64_t low_bits = UINT64_C(0x5555555555555555);
        for (int begin = 0; begin < k - 1; begin += 32) {
                const int i = begin / 32, npairs = k - 1 - begin;
                const uint64_t above = begin + 32 < k ? kmer[i + 1] << 62 : 0;
                const uint64_t differs = kmer[i] ^ (kmer[i] >> 2 | above);
                const uint64_t equal = ~(differs | differs >> 1) & low_bits;
                if (npairs >= 32 ? equal : equal & ((UINT64_C(1) << 2 * npairs) - 1))
                        return false;
        }
        return true;
}
