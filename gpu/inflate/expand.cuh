/*
 * Turns tokens into text, by a warp.
 *
 * 32 tokens at a time give some 250 bytes, which are made in rows of 32, one byte per lane. A lane
 * finds the token that its byte belongs to, and with it the literal or the place that the byte is
 * copied from. Several rows make a group: bytes from before the group are loaded for all its rows
 * at once; those from within it are resolved row by row.
 *
 * The latest text is also in shared memory, because reading back what was just written is slow.
 */
#ifndef KC_GPU_INFLATE_EXPAND_CUH
#define KC_GPU_INFLATE_EXPAND_CUH

#include "gpu/inflate/strips.cuh"

enum {
        KC_INFLATE_NROWS = 4, /* in a group */
        KC_INFLATE_GROUP_NBYTES = 32 * KC_INFLATE_NROWS,
        KC_INFLATE_RESOLVED = -1,
};

/* The text of a block. */
struct kc_inflate_text {
        uint8_t *bytes;
        uint8_t *ring;  /* shared */
        uint32_t n, at; /* at: bytes written so far */
};

/* 32 tokens, one per lane, and what their lanes have worked out for the bytes' lanes. */
struct kc_inflate_lot {
        uint32_t start;  /* where the token's bytes begin among the lot's */
        uint32_t what;   /* the same, and the flags below */
        uint32_t value;  /* up to three literals; of a match, what to add to a byte's place in the
                            lot to get the place in the text that it is copied from */
        uint32_t nbytes; /* of the lot */
        uint32_t nbegun; /* tokens that begin before the next row */
};

enum : uint32_t {
        KC_INFLATE_COPIES = 1u << 31,   /* the token is a match */
        KC_INFLATE_OVERLAPS = 1u << 30, /* it is longer than its distance */
        KC_INFLATE_START = KC_INFLATE_OVERLAPS - 1,
};

/* A lane's byte of a row. */
struct kc_inflate_byte {
        uint32_t value;
        uint32_t far; /* the byte, if it comes from global memory; otherwise 0 */
        int32_t from; /* where in the group it is copied from, or KC_INFLATE_RESOLVED */
};

/* Where byte i of the lot, which belongs to a match, is copied from. */
static __device__ inline uint32_t kc_inflate_source(const struct kc_inflate_text *text,
                                                    uint32_t what, uint32_t value, uint32_t i)
{
        if ((what & KC_INFLATE_OVERLAPS) == 0)
                return value + i;
        const uint32_t start = what & KC_INFLATE_START, distance = text->at - value;
        return value + start + (i - start) % distance;
}

/*
 * Byte i of the lot, given what its token's lane has worked out; `group` is where the group begins
 * in the text. Loads from global memory have a register of their own, which nothing reads or writes
 * before the next rows' loads have been issued.
 */
static __device__ inline struct kc_inflate_byte kc_inflate_load(const struct kc_inflate_text *text,
                                                                uint32_t what, uint32_t value,
                                                                uint32_t i, bool exists,
                                                                uint32_t group)
{
        enum : uint32_t { NEAR = KC_INFLATE_RING_NBYTES - KC_INFLATE_GROUP_NBYTES };
        const bool copies = what >= KC_INFLATE_COPIES && exists;
        uint32_t from = value + i;
        if (copies)
                from = kc_inflate_source(text, what, value, i);
        const uint32_t offset = from - group; /* large numbers: before the group */
        const bool is_open = copies && offset < KC_INFLATE_GROUP_NBYTES;
        const bool is_near = copies && offset >= 0 - NEAR;
        struct kc_inflate_byte byte = { copies ? 0 : value >> 8 * (i - what) % 32, 0,
                                        is_open ? (int32_t)offset : KC_INFLATE_RESOLVED };
        if (copies && !is_open && !is_near)
                byte.far = text->bytes[from];
        if (is_near)
                byte.value = text->ring[from % KC_INFLATE_RING_NBYTES];
        return byte;
}

/* This lane's byte of the row at `row` in the lot, of the group at `group`. */
static __device__ inline struct kc_inflate_byte kc_inflate_byte_of(
        const struct kc_inflate_text *text, struct kc_inflate_lot *lot, uint32_t group,
        uint32_t row)
{
        const uint32_t lane = kc_warp_lane(), into = lot->start - row;
        const uint32_t begin =
                __reduce_or_sync(UINT32_MAX, into < 32 ? 1u << into : 0); /* a bit a token */
        const uint32_t owner = lot->nbegun + (uint32_t)__popc(begin & ((2u << lane) - 1)) - 1;
        const uint32_t what = __shfl_sync(UINT32_MAX, lot->what, (int)owner);
        const uint32_t value = __shfl_sync(UINT32_MAX, lot->value, (int)owner);
        lot->nbegun += (uint32_t)__popc(begin);
        return kc_inflate_load(text, what, value, row + lane, row + lane < lot->nbytes,
                               text->at + group);
}

/* Resolve a row's bytes; the group's earlier rows, of nbytes in all, are in the ring. */
static __device__ inline void kc_inflate_resolve(const struct kc_inflate_text *text, uint32_t group,
                                                 int32_t nbytes, struct kc_inflate_byte *byte)
{
        if (byte->from != KC_INFLATE_RESOLVED && byte->from < nbytes) {
                byte->value = text->ring[(group + (uint32_t)byte->from) % KC_INFLATE_RING_NBYTES];
                byte->from = KC_INFLATE_RESOLVED;
        }
        uint32_t open = __ballot_sync(UINT32_MAX, byte->from != KC_INFLATE_RESOLVED);
        while (open != 0) {
                const uint32_t from = (uint32_t)byte->from % 32;
                const uint32_t value = __shfl_sync(UINT32_MAX, byte->value, (int)from);
                if (byte->from != KC_INFLATE_RESOLVED && (open >> from) % 2 == 0) {
                        byte->value = value;
                        byte->from = KC_INFLATE_RESOLVED;
                }
                open = __ballot_sync(UINT32_MAX, byte->from != KC_INFLATE_RESOLVED);
        }
}

/* Write the group at `group` in the lot. */
static __device__ inline void kc_inflate_put_group(const struct kc_inflate_text *text,
                                                   struct kc_inflate_lot *lot, uint32_t group)
{
        const uint32_t first = group + kc_warp_lane(), at = text->at + first;
        uint8_t *to = text->bytes + at;
        struct kc_inflate_byte bytes[KC_INFLATE_NROWS];
        int32_t all = KC_INFLATE_RESOLVED;
#pragma unroll
        for (int r = 0; r < KC_INFLATE_NROWS; r++) {
                if (group + 32 * r >= lot->nbytes)
                        continue;
                bytes[r] = kc_inflate_byte_of(text, lot, group, group + 32 * r);
                all &= bytes[r].from;
        }
        const bool is_open = __any_sync(UINT32_MAX, all != KC_INFLATE_RESOLVED);
#pragma unroll
        for (int r = 0; r < KC_INFLATE_NROWS; r++) {
                if (group + 32 * r >= lot->nbytes)
                        continue;
                bytes[r].value |= bytes[r].far;
                if (is_open) {
                        __syncwarp();
                        kc_inflate_resolve(text, text->at + group, 32 * r, &bytes[r]);
                }
                if (first + 32 * r < lot->nbytes) {
                        to[32 * r] = (uint8_t)bytes[r].value;
                        text->ring[(at + 32 * r) % KC_INFLATE_RING_NBYTES] =
                                (uint8_t)bytes[r].value;
                }
        }
        __syncwarp();
}

/* Token number i of all lanes' lists, `first` of which precede this lane's; 0 if there are not that
 * many. */
static __device__ inline uint32_t kc_inflate_token(const uint32_t *tokens, uint32_t first,
                                                   uint32_t ntokens, uint32_t i)
{
        uint32_t list = 0;
        for (uint32_t step = 16; step > 0; step /= 2)
                if (__shfl_sync(UINT32_MAX, first, (int)(list + step)) <= i)
                        list += step;
        const uint32_t before = __shfl_sync(UINT32_MAX, first, (int)list);
        return i < ntokens ? tokens[list * KC_INFLATE_NTOKENS + i - before] : 0;
}

/* Make a lot of these tokens, one per lane. False if a distance reaches back before the text. */
static __device__ inline bool kc_inflate_make_lot(const struct kc_inflate_text *text,
                                                  struct kc_inflate_lot *lot, uint32_t token)
{
        const uint32_t nbytes = kc_inflate_token_nbytes(token), sum = kc_warp_scan(nbytes);
        const uint32_t distance = kc_inflate_token_distance(token);
        const bool copies = token % 4 == 0 && token != 0;
        lot->start = sum - nbytes;
        lot->what = lot->start | (copies ? KC_INFLATE_COPIES : 0) |
                    (copies && distance < nbytes ? KC_INFLATE_OVERLAPS : 0);
        lot->value = copies ? text->at - distance : token >> 8;
        lot->nbytes = __shfl_sync(UINT32_MAX, sum, 31);
        lot->nbegun = 0;
        return !__any_sync(UINT32_MAX, copies && distance > text->at + lot->start);
}

/* Write the text of a window: n tokens of each lane. The text has room for all their bytes. False
 * if a distance reaches back before the text. */
static __device__ inline bool kc_inflate_expand(struct kc_inflate_text *text,
                                                const uint32_t *tokens, uint32_t n)
{
        const uint32_t end = kc_warp_scan(n), ntokens = __shfl_sync(UINT32_MAX, end, 31);
        for (uint32_t i = 0; i < ntokens; i += 32) {
                const uint32_t token =
                        kc_inflate_token(tokens, end - n, ntokens, i + kc_warp_lane());
                struct kc_inflate_lot lot;
                if (!kc_inflate_make_lot(text, &lot, token))
                        return false;
                for (uint32_t group = 0; group < lot.nbytes; group += KC_INFLATE_GROUP_NBYTES)
                        kc_inflate_put_group(text, &lot, group);
                text->at += lot.nbytes;
        }
        return true;
}

#endif
