/*
 * The loops of pack.h, included once for each instruction set with
 *   TARGET        function attributes
 *   NAME(x)       name of this variant's x
 *   PACK64        (const uint8_t *seq, uint64_t words[2]) -> uint64_t: pack 64 letters, mask of
 *                 those that are valid
 *   LINES64       (const uint8_t *text, bool *binary) -> line ends in 64 bytes
 *   OTHERS64      (const uint8_t *text) -> uint64_t: mask of those of 64 bytes that are not from
 *                 '@' to '~'
 */

TARGET static size_t NAME(pack)(const uint8_t *seq, size_t n, uint64_t *words)
{
        size_t i = 0;
        uint64_t breaks = 0;
        while (i < n) {
                breaks = ~PACK64(seq + i, words);
                if (breaks != 0 || n - i < 64)
                        break;
                i += 64;
                words += 2;
        }
        if (i >= n)
                return n;
        size_t left = n - i < 64 ? n - i : 64;
        size_t valid = breaks != 0 ? (size_t)__builtin_ctzll(breaks) : 64;
        if (valid > left)
                valid = left;
        keep_bases(words, valid);
        return i + valid;
}

TARGET static size_t NAME(count_lines)(const uint8_t *text, size_t n, bool *binary)
{
        size_t nlines = 0, i = 0;
        bool found = false;
        for (; i + 64 <= n; i += 64)
                nlines += LINES64(text + i, &found);
        for (; i < n; i++) {
                nlines += text[i] == '\n';
                found |= text[i] < 9;
        }
        *binary |= found;
        return nlines;
}

TARGET static size_t NAME(skip_letters)(const uint8_t *text, size_t n)
{
        for (size_t i = 0; i < n; i += 64) {
                uint64_t others = OTHERS64(text + i);
                if (others == 0)
                        continue;
                i += (size_t)__builtin_ctzll(others);
                return i < n ? i : n;
        }
        return n;
}

TARGET static size_t NAME(mask_quality)(uint8_t *seq, const uint8_t *qual, size_t n, uint8_t min)
{
        size_t nlow = 0;
        for (size_t i = 0; i < n; i++) {
                uint8_t letter = seq[i] & 0xdf;
                bool valid = (letter == 'A') | (letter == 'C') | (letter == 'G') | (letter == 'T') |
                             (letter == 'U');
                bool low = valid & (qual[i] < min);
                seq[i] = low ? KC_CHUNK_LOW_QUALITY : seq[i];
                nlow += low;
        }
        return nlow;
}

static const struct kc_kernels NAME(kernels) = {
        .name = VARIANT,
        .pack = NAME(pack),
        .count_lines = NAME(count_lines),
        .skip_letters = NAME(skip_letters),
        .mask_quality = NAME(mask_quality),
};

#undef TARGET
#undef NAME
#undef VARIANT
#undef PACK64
#undef LINES64
#undef OTHERS64
