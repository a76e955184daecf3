/*
 * BAM records, made field by field.
 */
#ifndef KC_TESTS_GPU_TEXT_BAM_SUPPORT_CUH
#define KC_TESTS_GPU_TEXT_BAM_SUPPORT_CUH

#include <cstdint>
#include <string>

/* The lowest bytes of x, the lowest first. */
static std::string number(uint64_t x, size_t nbytes = 4)
{
        return std::string((const char *)&x, nbytes);
}

struct record {
        uint32_t ref = UINT32_MAX, next_ref = UINT32_MAX, flag = 4, nbases = 0;
        std::string name = std::string("r", 2), cigar, bases, qualities, tags;
};

static inline std::string text_of(const struct record &r)
{
        const std::string body = number(r.ref) + number(UINT32_MAX) + number(r.name.size(), 1) +
                                 number(60, 1) + number(4680, 2) + number(r.cigar.size() / 4, 2) +
                                 number(r.flag, 2) + number(r.nbases) + number(r.next_ref) +
                                 number(UINT32_MAX) + number(0) + r.name + r.cigar + r.bases +
                                 r.qualities + r.tags;
        return number(body.size()) + body;
}

#endif
