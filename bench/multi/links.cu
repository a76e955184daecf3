#include "bench/multi/multi.cuh"

#include <vector>

static const size_t SIZES[] = { (size_t)1 << 20, (size_t)16 << 20, (size_t)256 << 20,
                                (size_t)1 << 30 }; /* bytes that each member sends in all */

namespace
{

struct work {
        struct kc_links links;
        std::vector<struct kc_links_copy> copies;
        char *sources[KC_GPU_MAX_DEVICES], *targets[KC_GPU_MAX_DEVICES];
        size_t nbytes;
};

} // namespace

static enum kc_status exchange(void *ctx, struct kc_error *err)
{
        struct work *work = (struct work *)ctx;
        return kc_links_exchange(&work->links, work->copies.data(), (int)work->copies.size(), err);
}

/* Each member sends the same number of bytes to each other one. */
static enum kc_status prepare(struct work *work, size_t nbytes, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_links *links = &work->links;
        const size_t piece = kc_round_up(nbytes / (size_t)(links->n - 1), 256);
        work->nbytes = piece * (size_t)links->n;
        work->copies.clear();
        for (int i = 0; i < links->n; i++) {
                struct kc_gpu *gpu = &links->gpus[i];
                KC_TRY(kc_links_use(links, i, err));
                KC_TRY(kc_gpu_new(gpu, &work->sources[i], work->nbytes, err));
                KC_TRY(kc_gpu_new(gpu, &work->targets[i], work->nbytes, err));
                KC_TRY(KC_CUDA(cudaMemsetAsync(work->sources[i], i, work->nbytes, gpu->stream)));
        }
        for (int i = 0; i < links->n; i++)
                for (int j = 0; j < links->n; j++)
                        if (i != j)
                                work->copies.push_back({ i, j, work->sources[i] + (size_t)j * piece,
                                                         work->targets[j] + (size_t)i * piece,
                                                         piece });
out:
        return status;
}

static void release(struct work *work)
{
        for (int i = 0; i < work->links.n; i++) {
                kc_gpu_delete(&work->links.gpus[i], work->sources[i], work->nbytes);
                kc_gpu_delete(&work->links.gpus[i], work->targets[i], work->nbytes);
                work->sources[i] = work->targets[i] = NULL;
        }
}

/* Check the last byte that each member got from each other one. */
static enum kc_status check(struct multi_bench *b, const struct work *work, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (const struct kc_links_copy &copy : work->copies) {
                char last;
                KC_TRY(kc_links_use(&work->links, copy.to, err));
                KC_TRY(KC_CUDA(cudaMemcpy(&last, (char *)copy.target + copy.nbytes - 1, 1,
                                          cudaMemcpyDeviceToHost)));
                multi_expect(b, "a byte from a member", (uint64_t)last, (uint64_t)copy.from);
        }
out:
        return status;
}

static enum kc_status time_links(struct multi_bench *b, int nmembers, bool staged,
                                 struct kc_error *err)
{
        enum kc_status status;
        struct work work = {};
        KC_TRY(multi_open(b, &work.links, nmembers, staged, err));
        for (size_t nbytes : SIZES) {
                struct multi_row row = {};
                KC_TRY(prepare(&work, std::max(nbytes >> b->shift, (size_t)256), err));
                row.part = "links";
                row.what = "exchange";
                row.way = kc_links_reaches(&work.links, 0, nmembers - 1) ? "direct"
                                                                         : "through the host";
                row.unit = "bytes";
                for (const struct kc_links_copy &copy : work.copies)
                        row.n += copy.nbytes;
                KC_TRY(multi_time(b, &work.links, &row, NULL, exchange, &work, err));
                KC_TRY(check(b, &work, err));
                release(&work);
        }
out:
        release(&work);
        kc_links_close(&work.links);
        return status;
}

enum kc_status multi_links(struct multi_bench *b, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int n = 2; n <= b->ndevices; n++)
                for (bool staged : { false, true })
                        KC_TRY(time_links(b, n, staged, err));
out:
        return status;
}
