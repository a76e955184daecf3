#include "bench/inflate/sample.cuh"

#include "base/parallel.h"
#include "bench/bgzf.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <thread>
#include <zlib.h>

enum { READ_NBYTES = 1 << 24, PIECE_NBYTES = 1 << 20, LEAST_BLOCK_NBYTES = 26 };

static enum kc_status fail_to_read(const char *path, struct kc_error *err)
{
        return kc_fail(err, KC_EIO, "%s: %s", path, errno != 0 ? strerror(errno) : "damaged");
}

static enum kc_status read_packed(std::vector<uint8_t> *bytes, const char *path,
                                  struct kc_error *err)
{
        FILE *file = fopen(path, "rb");
        bool good = file != NULL;
        for (size_t n = 0, got = 1; good && got > 0; n += got) {
                bytes->resize(n + READ_NBYTES);
                got = fread(bytes->data() + n, 1, READ_NBYTES, file);
                bytes->resize(n + got);
                good = !ferror(file);
        }
        if (file != NULL)
                fclose(file);
        return good ? KC_OK : fail_to_read(path, err);
}

/* Read the text of a file: any number of gzip members, or plain. */
static enum kc_status read_text(std::vector<uint8_t> *text, const char *path, struct kc_error *err)
{
        gzFile file = gzopen(path, "rb");
        int got = file != NULL ? 1 : -1;
        for (size_t n = 0; got > 0; n = text->size()) {
                text->resize(n + READ_NBYTES);
                got = gzread(file, text->data() + n, READ_NBYTES);
                text->resize(n + (size_t)std::max(got, 0));
        }
        if (file != NULL && gzclose(file) != Z_OK)
                got = -1;
        return got == 0 ? KC_OK : fail_to_read(path, err);
}

/* False if the sample is not BGZF from end to end. */
static bool find_blocks(struct sample *sample)
{
        const std::vector<uint8_t> &packed = sample->packed;
        std::vector<struct kc_bgzf_block> &blocks = sample->blocks;
        size_t at = 0;
        blocks.resize(packed.size() / LEAST_BLOCK_NBYTES);
        struct kc_bgzf_table table = { blocks.data(), blocks.size(), 0, UINT64_MAX, 0 };
        const enum kc_bgzf_stop stop = kc_bgzf_find(&table, packed.data(), packed.size(), &at);
        const auto is_empty = [](const struct kc_bgzf_block &b) { return b.text_nbytes == 0; };
        blocks.resize(table.n);
        blocks.erase(std::remove_if(blocks.begin(), blocks.end(), is_empty), blocks.end());
        return stop == KC_BGZF_END && table.text_nbytes == sample->text.size();
}

namespace
{

struct packing {
        const std::vector<uint8_t> *text;
        int level;
        std::vector<std::vector<uint8_t>> pieces;
        std::atomic<size_t> next;
};

} // namespace

static enum kc_status pack_worker(void *ctx, int, struct kc_error *err)
{
        struct packing *p = (struct packing *)ctx;
        struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(p->level);
        if (compressor == NULL)
                return kc_fail(err, KC_ENOMEM, "no compressor of level %d", p->level);
        for (size_t i; (i = p->next++) < p->pieces.size();) {
                const size_t at = i * PIECE_NBYTES;
                const size_t n = std::min((size_t)PIECE_NBYTES, p->text->size() - at);
                const char *text = (const char *)p->text->data() + at;
                p->pieces[i].resize(bgzf_room_nbytes(n));
                p->pieces[i].resize(bgzf_deflate(compressor, text, n, p->pieces[i].data()));
        }
        libdeflate_free_compressor(compressor);
        return KC_OK;
}

static enum kc_status pack(struct sample *sample, int level, struct kc_error *err)
{
        struct packing p = { &sample->text, level, {}, {} };
        p.pieces.resize((sample->text.size() + PIECE_NBYTES - 1) / PIECE_NBYTES);
        const int nthreads = (int)std::max(1u, std::thread::hardware_concurrency());
        const enum kc_status status = kc_parallel(nthreads, pack_worker, NULL, &p, err);
        sample->packed.clear();
        for (const auto &piece : p.pieces)
                sample->packed.insert(sample->packed.end(), piece.begin(), piece.end());
        return status;
}

enum kc_status sample_load(struct sample *sample, const char *path, int level, struct kc_error *err)
{
        enum kc_status status;
        *sample = {};
        KC_TRY(read_packed(&sample->packed, path, err));
        KC_TRY(read_text(&sample->text, path, err));
        if (!find_blocks(sample))
                KC_TRY(pack(sample, level, err));
        if (!find_blocks(sample) || sample->blocks.empty())
                status = kc_fail(err, KC_EINPUT, "%s: no text", path);
out:
        return status;
}

std::vector<struct kc_bgzf_block> sample_blocks(const struct sample *sample, size_t n)
{
        std::vector<struct kc_bgzf_block> blocks;
        for (size_t copy = 0; copy < n; copy++)
                for (struct kc_bgzf_block block : sample->blocks) {
                        block.at += copy * sample->packed.size();
                        block.text_at += copy * sample->text.size();
                        blocks.push_back(block);
                }
        return blocks;
}
