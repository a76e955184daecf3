/*
 * Mappings that change during copies: a device copies from the pool of another one, whose thread
 * meanwhile makes that pool grow and shrink, and opens and closes further pools. If there is only
 * one device, it plays both roles.
 */
#include "gpu/device/link.cuh"
#include "tests/gpu/maps/map_support.cuh"
#include "tests/gpu/support.cuh"

#include <atomic>
#include <thread>

struct scene {
        struct kc_gpu owner, user;
        struct kc_gpu_link link; /* from the owner's pool */
        uint8_t *source, *target;
        size_t nbytes, ncopies;
        std::atomic<bool> over;
};

static std::vector<uint8_t> pattern(size_t nbytes)
{
        std::vector<uint8_t> bytes(nbytes);
        for (size_t i = 0; i < nbytes; i++)
                bytes[i] = (uint8_t)(i * 31 + i / 251);
        return bytes;
}

static void open_scene(struct scene *s, struct kc_error *err)
{
        int ndevices;
        expect_ok(kc_gpu_devices(NULL, 0, &ndevices, err), err);
        s->nbytes = test_size((size_t)16 << 20);
        expect_ok(kc_gpu_open(&s->owner, 0, (size_t)4 << 30, all_devices(), err), err);
        s->source = up(&s->owner, pattern(s->nbytes));
        expect_ok(KC_CUDA(cudaStreamSynchronize(s->owner.stream)), err);
        expect_ok(kc_gpu_open(&s->user, ndevices - 1, (size_t)1 << 30, all_devices(), err), err);
        expect_ok(kc_gpu_new(&s->user, &s->target, s->nbytes, err), err);
        expect_ok(kc_gpu_link_open(&s->link, &s->owner, &s->user, err), err);
}

static void close_scene(struct scene *s)
{
        kc_gpu_link_close(&s->link);
        kc_gpu_close(&s->user);
        (void)cudaSetDevice(s->owner.device);
        kc_gpu_delete(&s->owner, s->source, s->nbytes);
        kc_gpu_close(&s->owner);
}

/* The user's thread: copy again and again, at least a few times. */
static enum kc_status copy_until_over(struct scene *s, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaSetDevice(s->user.device)));
        do {
                KC_TRY(kc_gpu_link_copy(&s->link, s->target, s->source, s->nbytes, s->user.stream,
                                        err));
                KC_TRY(KC_CUDA(cudaStreamSynchronize(s->user.stream)));
                s->ncopies++;
        } while (!s->over || s->ncopies < 3);
out:
        return status;
}

/* Take memory in two pieces and give the first one back to the device, then the second one. */
static enum kc_status grow_and_shrink(struct kc_gpu *gpu, size_t nbytes, struct kc_error *err)
{
        enum kc_status status;
        uint8_t *first = NULL, *second = NULL;
        KC_TRY(kc_gpu_new(gpu, &first, nbytes, err));
        KC_TRY(kc_gpu_new(gpu, &second, nbytes / 2, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(second, 0, nbytes / 2, gpu->stream)));
        kc_gpu_delete(gpu, first, nbytes);
        first = NULL;
        KC_TRY(KC_CUDA(cudaStreamSynchronize(gpu->stream)));
        KC_TRY(KC_CUDA(cudaMemPoolTrimTo(gpu->pool, 0)));
out:
        kc_gpu_delete(gpu, first, nbytes);
        kc_gpu_delete(gpu, second, nbytes / 2);
        return status;
}

static enum kc_status open_and_close_another(const struct kc_gpu *gpu, size_t nbytes,
                                             struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu another;
        KC_TRY(kc_gpu_open(&another, gpu->device, (size_t)1 << 30, all_devices(), err));
        KC_TRY(grow_and_shrink(&another, nbytes, err));
out:
        kc_gpu_close(&another);
        return status;
}

static void mappings_change(void **state)
{
        struct kc_error err = {}, copying = {};
        struct scene s = {};
        const size_t ntimes = test_small() ? 3 : 200;
        enum kc_status status = KC_OK;
        (void)state;
        open_scene(&s, &err);
        std::thread user([&] { (void)copy_until_over(&s, &copying); });
        (void)cudaSetDevice(s.owner.device);
        for (size_t i = 0; i < ntimes && status == KC_OK; i++) {
                const size_t nbytes = test_size((1 + i % 7) * ((size_t)40 << 20));
                status = grow_and_shrink(&s.owner, nbytes, &err);
                if (status == KC_OK && i % 4 == 0)
                        status = open_and_close_another(&s.owner, nbytes, &err);
        }
        s.over = true;
        user.join();
        expect_ok(copying.status, &copying);
        expect_ok(status, &err);
        (void)cudaSetDevice(s.user.device);
        assert_true(down(&s.user, s.target, s.nbytes, s.nbytes) == pattern(s.nbytes));
        close_scene(&s);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(mappings_change),
        };
        need_device();
        return cmocka_run_group_tests(tests, NULL, NULL);
}
