/*
 * CRC32 of a text, computed by a warp.
 *
 * The text is read in rows of 32 words. Lane j takes word j of each row, and its state advances by
 * a whole row from one to the next; multiplying by powers of x then brings the states of all lanes
 * to the end of the text. All sums and products are those of polynomials over GF(2), modulo
 * CRC32's; bit 31 is the coefficient of x^0.
 */
#ifndef KC_GPU_INFLATE_CRC_CUH
#define KC_GPU_INFLATE_CRC_CUH

#include "gpu/device/warp.cuh"

enum : uint32_t {
        KC_CRC_POLYNOMIAL = 0xedb88320,
        KC_CRC_ONE = 1u << 31,
        KC_CRC_ROW_NBYTES = 128,
};

static __host__ __device__ constexpr uint32_t kc_crc_times_x(uint32_t a)
{
        return a >> 1 ^ ((0 - a % 2) & KC_CRC_POLYNOMIAL);
}

static constexpr uint32_t kc_crc_over_x(uint32_t a)
{
        return a >> 31 != 0 ? (a ^ KC_CRC_POLYNOMIAL) << 1 | 1 : a << 1;
}

struct kc_crc_tables {
        uint32_t advance[8][16]; /* [i][v]: v << 4 * i, advanced by a row */
        uint32_t powers[256];    /* [i]: x^(8 * (i - 127)) */
};

static constexpr kc_crc_tables kc_crc_make_tables()
{
        kc_crc_tables tables = {};
        for (uint32_t i = 0; i < 8; i++)
                for (uint32_t v = 0; v < 16; v++) {
                        uint32_t a = v << 4 * i;
                        for (uint32_t bit = 0; bit < 8 * KC_CRC_ROW_NBYTES; bit++)
                                a = kc_crc_times_x(a);
                        tables.advance[i][v] = a;
                }
        uint32_t power = KC_CRC_ONE;
        for (int bit = 0; bit < 8 * 127; bit++)
                power = kc_crc_over_x(power);
        for (int i = 0; i < 256; i++) {
                tables.powers[i] = power;
                for (int bit = 0; bit < 8; bit++)
                        power = kc_crc_times_x(power);
        }
        return tables;
}

static __device__ const kc_crc_tables kc_crc_table = kc_crc_make_tables();

static __device__ inline uint32_t kc_crc_multiply(uint32_t a, uint32_t b)
{
        uint32_t product = 0;
        for (int i = 31; i >= 0; i--) {
                product ^= (a >> i) % 2 != 0 ? b : 0;
                b = kc_crc_times_x(b);
        }
        return product;
}

/* The words that a text's bytes are in; the first and the last one may have other bytes, too. */
struct kc_crc_words {
        const uint32_t *words;
        uint32_t n, head, tail; /* bytes before the text in the first word; after it, from the
                                   beginning of the last one: 0 if it is whole */
};

static __device__ inline uint32_t kc_crc_low_bytes(uint32_t nbytes)
{
        return (1u << 8 * nbytes) - 1;
}

/* Word i as if all bytes around the text were zeros. The first four bytes of the text are inverted,
 * which is the same as beginning with a state of ones. */
static __device__ inline uint32_t kc_crc_word(const struct kc_crc_words *text, uint32_t i)
{
        if (i >= text->n)
                return 0;
        uint32_t word = text->words[i];
        const uint32_t head = kc_crc_low_bytes(text->head);
        if (i == text->n - 1 && text->tail > 0)
                word &= kc_crc_low_bytes(text->tail);
        if (i == 0)
                word = (word & ~head) ^ ~head;
        return i == 1 ? word ^ head : word;
}

static __device__ inline uint32_t kc_crc_advance(const uint32_t *advance, uint32_t state)
{
        uint32_t sum = 0;
#pragma unroll
        for (int i = 0; i < 8; i++)
                sum ^= advance[16 * i + (state >> 4 * i) % 16];
        return sum;
}

/* Bit by bit; for texts of less than four bytes. */
static __device__ inline uint32_t kc_crc_slow(const uint8_t *text, uint32_t n)
{
        uint32_t state = UINT32_MAX;
        for (uint32_t i = 0; i < n; i++) {
                state ^= text[i];
                for (int bit = 0; bit < 8; bit++)
                        state = kc_crc_times_x(state);
        }
        return ~state;
}

/* The state of a lane after all rows. */
static __device__ inline uint32_t kc_crc_of_lane(const struct kc_crc_words *text, uint32_t nrows,
                                                 const uint32_t *advance)
{
        enum { AHEAD = 8 };
        const uint32_t lane = kc_warp_lane();
        uint32_t state = 0;
        for (uint32_t row = 0; row < nrows; row += AHEAD) {
                uint32_t words[AHEAD];
                const bool is_inner = row > 0 && row + AHEAD < nrows;
#pragma unroll
                for (uint32_t i = 0; i < AHEAD; i++) {
                        const uint32_t at = 32 * (row + i) + lane;
                        words[i] = is_inner ? text->words[at] : kc_crc_word(text, at);
                }
#pragma unroll
                for (uint32_t i = 0; i < AHEAD; i++)
                        if (row + i < nrows)
                                state = kc_crc_advance(advance, state) ^ words[i];
        }
        return state;
}

/* CRC32 of n bytes. scratch: [128] shared */
static __device__ inline uint32_t kc_crc32(const uint8_t *bytes, uint32_t n, uint32_t *scratch)
{
        const uint32_t lane = kc_warp_lane(), head = (uint32_t)((uintptr_t)bytes % 4);
        if (n < 4)
                return kc_crc_slow(bytes, n);
        for (uint32_t i = lane; i < 128; i += 32)
                scratch[i] = kc_crc_table.advance[i / 16][i % 16];
        __syncwarp();
        const struct kc_crc_words text = { (const uint32_t *)(bytes - head), (head + n + 3) / 4,
                                           head, (head + n) % 4 };
        const uint32_t nrows = (text.n + 31) / 32;
        const uint32_t padding = nrows * KC_CRC_ROW_NBYTES - head - n; /* after the text */
        uint32_t sum =
                kc_crc_multiply(kc_crc_of_lane(&text, nrows, scratch),
                                kc_crc_table.powers[127 + KC_CRC_ROW_NBYTES - 4 * lane - padding]);
        for (int d = 16; d > 0; d /= 2)
                sum ^= __shfl_xor_sync(UINT32_MAX, sum, d);
        return ~sum;
}

#endif
