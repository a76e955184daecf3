/*
 * For the tests of inflate on the device: blocks to inflate, zlib's verdict on them, and texts.
 */
#ifndef KC_TESTS_GPU_INFLATE_INFLATE_SUPPORT_CUH
#define KC_TESTS_GPU_INFLATE_INFLATE_SUPPORT_CUH

#include "tests/gpu/inflate/deflate_support.cuh"
#include "tests/gpu/open_gpu.cuh"

#include "gpu/inflate/inflate.cuh"
#include "io/input/bgzf_blocks.h"

#include <algorithm>
#include <string>
#include <vector>

enum { GUARD = 0x5e, MAX_TEXT = KC_BGZF_MAX_NBYTES };

/* ---- what to inflate: deflate data one after the other, with texts of a stated length ---- */

struct set_of_blocks {
        bytes data;
        std::vector<struct kc_bgzf_block> blocks;
        uint64_t text_nbytes = 0;

        /* Offsets vary, so that blocks and texts begin at all places in a word. */
        void add(const bytes &deflated, uint32_t ntext, uint32_t crc)
        {
                const size_t number = blocks.size();
                data.insert(data.end(), 1 + number % 3, GUARD);
                struct kc_bgzf_block block = {};
                block.at = data.size();
                block.text_at = text_nbytes + 1 + number / 3 % 4;
                block.nbytes = (uint32_t)deflated.size();
                block.text_nbytes = ntext;
                block.crc = crc;
                text_nbytes = block.text_at + ntext;
                data.insert(data.end(), deflated.begin(), deflated.end());
                blocks.push_back(block);
        }

        /* Data, and the text that they should give. */
        void add(const bytes &deflated, const bytes &text)
        {
                add(deflated, (uint32_t)text.size(),
                    (uint32_t)crc32(0, text.data(), (uInt)text.size()));
        }
};

struct result {
        bytes text; /* and, after it, guard bytes */
        std::vector<uint32_t> status;
        unsigned long long refused;
};

template <class T> static T *upload(const T *from, size_t n, size_t room)
{
        struct kc_error error = {}, *err = &error;
        T *to;
        expect_ok(kc_gpu_new(&gpu, &to, room, err), err);
        if (n > 0)
                expect_ok(KC_CUDA(cudaMemcpyAsync(to, from, n * sizeof *to, cudaMemcpyHostToDevice,
                                                  gpu.stream)),
                          err);
        expect_ok(KC_CUDA(cudaStreamSynchronize(gpu.stream)), err);
        return to;
}

static struct result inflate_on_device(const struct set_of_blocks &set)
{
        struct kc_error error = {}, *err = &error;
        struct result result = {};
        const size_t n = set.blocks.size();
        const size_t nbytes = set.data.size() + KC_INFLATE_PADDING;
        result.text.assign(set.text_nbytes + KC_INFLATE_PADDING, GUARD);
        result.status.assign(n, UINT32_MAX);
        uint8_t *data = upload(set.data.data(), set.data.size(), nbytes);
        uint8_t *text = upload(result.text.data(), result.text.size(), result.text.size());
        struct kc_bgzf_block *blocks = upload(set.blocks.data(), n, n);
        uint32_t *status = upload(result.status.data(), n, n);
        unsigned long long *refused = upload(&result.refused, 1, 1);
        const struct kc_inflate inflate = { data, set.data.size(),         blocks, n,
                                            text, (size_t)set.text_nbytes, status };
        expect_ok(kc_gpu_inflate({ &gpu, gpu.stream }, &inflate, refused, err), err);
        expect_ok(kc_gpu_read(&gpu, result.text.data(), text, result.text.size(), err), err);
        if (n > 0)
                expect_ok(kc_gpu_read(&gpu, result.status.data(), status, n, err), err);
        expect_ok(kc_gpu_read(&gpu, &result.refused, refused, 1, err), err);
        kc_gpu_delete(&gpu, refused, 1);
        kc_gpu_delete(&gpu, status, n);
        kc_gpu_delete(&gpu, blocks, n);
        kc_gpu_delete(&gpu, text, result.text.size());
        kc_gpu_delete(&gpu, data, nbytes);
        return result;
}

/* ---- zlib's verdict ---- */

/* Whether zlib finds exactly this block in the bytes. */
static bool is_sound(const struct set_of_blocks &set, const struct kc_bgzf_block &block,
                     bytes *text)
{
        z_stream z = {};
        text->assign(block.text_nbytes + 1, 0);
        z.next_in = (Bytef *)set.data.data() + block.at;
        z.avail_in = block.nbytes;
        z.next_out = text->data();
        z.avail_out = block.text_nbytes + 1;
        assert_int_equal(inflateInit2(&z, -15), Z_OK);
        const int code = inflate(&z, Z_FINISH);
        const bool whole =
                code == Z_STREAM_END && z.avail_in == 0 && z.total_out == block.text_nbytes;
        inflateEnd(&z);
        return whole && crc32(0, text->data(), block.text_nbytes) == block.crc;
}

/* Inflate the set, and compare everything. Returns how many blocks are sound. */
static size_t check(const struct set_of_blocks &set)
{
        const struct result got = inflate_on_device(set);
        unsigned long long refused = 0;
        size_t nsound = 0, end = 0;
        bytes text;
        for (size_t b = 0; b < set.blocks.size(); b++) {
                const struct kc_bgzf_block &block = set.blocks[b];
                const bool sound = is_sound(set, block, &text);
                if (sound != (got.status[b] == KC_INFLATE_SOUND))
                        fail_msg("block %zu of %zu: status %u, but zlib finds it %s", b,
                                 set.blocks.size(), got.status[b], sound ? "sound" : "damaged");
                if (sound && block.text_nbytes > 0)
                        assert_memory_equal(&got.text[block.text_at], text.data(),
                                            block.text_nbytes);
                for (; end < block.text_at; end++)
                        assert_int_equal(got.text[end], GUARD);
                end = block.text_at + block.text_nbytes;
                if (!sound && refused == 0)
                        refused = set.blocks.size() - b;
                nsound += sound;
        }
        for (; end < got.text.size(); end++)
                assert_int_equal(got.text[end], GUARD);
        assert_int_equal(got.refused, refused);
        return nsound;
}

static void check_all_sound(const struct set_of_blocks &set)
{
        assert_int_equal(check(set), set.blocks.size());
}

/* ---- texts ---- */

/* OUT_OF_STEP: its fixed codes have nine bits each, so decoding from a wrong bit stays wrong. */
enum shape {
        READS,
        LONG_READS,
        RANDOM,
        OUT_OF_STEP,
        EQUAL,
        FEW_LETTERS,
        FAR_COPIES,
        SHORT_PERIODS,
        NSHAPES
};

static uint8_t letter_of(uint64_t random, unsigned n)
{
        return (uint8_t)("ACGTNIFH#,:5"[random % n]);
}

/* Four-line FASTQ: letters, and qualities that mostly stay the same. */
static void put_read(bytes *text, size_t length, uint64_t *rng)
{
        const std::string name = "@sim." + std::to_string(text->size()) + "/1\n";
        text->insert(text->end(), name.begin(), name.end());
        for (size_t i = 0; i < length; i++)
                text->push_back(letter_of(next_random(rng) >> 8, 4));
        text->insert(text->end(), { '\n', '+', '\n' });
        uint8_t quality = 'I';
        for (size_t i = 0; i < length; i++) {
                if (next_random(rng) % 16 == 0)
                        quality = (uint8_t)(35 + next_random(rng) % 40);
                text->push_back(quality);
        }
        text->push_back('\n');
}

static void put_copy(bytes *text, size_t distance, size_t length)
{
        for (size_t i = 0; i < length; i++)
                text->push_back((*text)[text->size() - distance]);
}

static bytes make_text(enum shape shape, size_t n, uint64_t seed)
{
        bytes text;
        uint64_t rng = seed;
        while (text.size() < n) {
                const uint64_t r = next_random(&rng);
                if (shape == READS || shape == LONG_READS)
                        put_read(&text, shape == READS ? 100 : 5000, &rng);
                else if (shape == EQUAL)
                        text.push_back('I');
                else if (shape == OUT_OF_STEP)
                        text.push_back((uint8_t)(144 + (r >> 8) % 112));
                else if (shape == FEW_LETTERS)
                        text.push_back(letter_of(r >> 8, 1 + r % 12));
                else if (shape == RANDOM || text.size() < 64 || r % 8 == 0)
                        text.push_back((uint8_t)(r >> 8));
                else if (shape == FAR_COPIES)
                        put_copy(&text, 1 + (r >> 8) % std::min(text.size(), (size_t)32768),
                                 3 + (r >> 40) % 300);
                else
                        put_copy(&text, 1 + (r >> 8) % 40, 3 + (r >> 40) % 90);
        }
        text.resize(n);
        return text;
}

/* Add a text whose data fit in a block. Stored data may not fit; then add half of the text. */
static void add_text(struct set_of_blocks *set, bytes text, const struct way &way)
{
        bytes out = deflate_with(text, way);
        if (out.size() > KC_BGZF_MAX_NBYTES) {
                text.resize(text.size() / 2);
                out = deflate_with(text, way);
        }
        set->add(out, text);
}

#endif
