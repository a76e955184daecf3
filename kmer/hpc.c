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
