/*
 * Copies between several members, which are on several devices if there are any: in order with the
 * work on the members' streams, directly and through the host.
 */
#include "tests/gpu/links/links_support.cuh"
#include "tests/gpu/maps/map_support.cuh"

enum { NMEMBERS_MOST = 8 };

static struct kc_error error, *err = &error;

/* What member `from` holds at first for member `to`: `n` bytes, which tell both apart. */
static void add_part(std::vector<uint8_t> *parts, int from, int to, size_t n)
{
        enum { NEQUAL = 251 };
        for (size_t i = 0; i < n; i += NEQUAL)
                parts->insert(parts->end(), n - i < NEQUAL ? n - i : NEQUAL,
                              (uint8_t)(16 * from + to + i / NEQUAL));
}

static std::vector<uint8_t> parts_of(int from, int nmembers, size_t n)
{
        std::vector<uint8_t> parts;
        parts.reserve(nmembers * n);
        for (int to = 0; to < nmembers; to++)
                add_part(&parts, from, to, n);
        return parts;
}

/* All-to-all: parts [from][to] become parts [to][from]. The sources are overwritten right after the
 * copies are enqueued, which must not affect them. */
static void transpose(int nmembers, bool staged, size_t n)
{
        struct kc_links links;
        uint8_t *sources[NMEMBERS_MOST], *targets[NMEMBERS_MOST];
        std::vector<struct kc_links_copy> copies;
        const size_t all = nmembers * n;
        open_links(&links, nmembers, staged);
        for (int i = 0; i < nmembers; i++) {
                expect_ok(kc_links_use(&links, i, err), err);
                sources[i] = up(&links.gpus[i], parts_of(i, nmembers, n));
                targets[i] = up(&links.gpus[i], std::vector<uint8_t>(all, 0xff));
        }
        for (int i = 0; i < nmembers; i++)
                for (int j = 0; j < nmembers; j++)
                        copies.push_back({ i, j, sources[i] + j * n, targets[j] + i * n, n });
        expect_ok(kc_links_exchange(&links, copies.data(), (int)copies.size(), err), err);
        for (int i = 0; i < nmembers; i++) {
                expect_ok(kc_links_use(&links, i, err), err);
                expect_ok(KC_CUDA(cudaMemsetAsync(sources[i], 0, all, links.gpus[i].stream)), err);
        }
        for (int j = 0; j < nmembers; j++) {
                std::vector<uint8_t> want, got;
                want.reserve(all);
                for (int i = 0; i < nmembers; i++)
                        add_part(&want, i, j, n);
                expect_ok(kc_links_use(&links, j, err), err);
                got = down(&links.gpus[j], targets[j], all, all);
                assert_true(got == want);
                kc_gpu_delete(&links.gpus[j], sources[j], all);
        }
        close_links(&links);
}

static void transpositions(void **state)
{
        (void)state;
        for (int nmembers : { 1, 2, 3, (int)NMEMBERS_MOST })
                for (bool staged : { false, true })
                        for (size_t n : { (size_t)0, (size_t)1, (size_t)1000 })
                                transpose(nmembers, staged, n);
        for (bool staged : { false, true })
                transpose(2, staged, (size_t)31 << 20); /* many pieces */
}

/* A copy begins after the work on its sender's stream, which takes some time. */
static void wait_for_sender(struct kc_links *links, uint8_t last)
{
        const size_t n = test_size((size_t)1 << 20);
        struct kc_gpu *sender = &links->gpus[1], *receiver = &links->gpus[0];
        expect_ok(kc_links_use(links, 1, err), err);
        uint8_t *source = up(sender, std::vector<uint8_t>(n));
        for (uint8_t i = 0; i <= last; i++)
                expect_ok(KC_CUDA(cudaMemsetAsync(source, i, n, sender->stream)), err);
        expect_ok(kc_links_use(links, 0, err), err);
        uint8_t *target = up(receiver, std::vector<uint8_t>(n));
        const struct kc_links_copy copy = { 1, 0, source, target, n };
        expect_ok(kc_links_exchange(links, &copy, 1, err), err);
        assert_true(down(receiver, target, n, n) == std::vector<uint8_t>(n, last));
        kc_gpu_delete(sender, source, n);
}

static void waiting(void **state)
{
        (void)state;
        for (bool staged : { false, true }) {
                struct kc_links links;
                open_links(&links, 2, staged);
                for (uint8_t last = 30; last < 80; last++)
                        wait_for_sender(&links, last);
                close_links(&links);
        }
}

/* Pieces that a receiver copies beside its own work: each begins after the sender's work, and what
 * the receiver does behind its mark sees it. */
static void send_pieces(bool staged)
{
        const size_t n = test_size((size_t)1 << 20);
        struct kc_links links;
        open_links(&links, 2, staged);
        struct kc_gpu *sender = &links.gpus[1], *receiver = &links.gpus[0];
        expect_ok(kc_links_use(&links, 1, err), err);
        uint8_t *source = up(sender, std::vector<uint8_t>(KC_LINKS_NMARKS * n));
        expect_ok(kc_links_use(&links, 0, err), err);
        uint8_t *target = up(receiver, std::vector<uint8_t>(KC_LINKS_NMARKS * n));
        uint8_t *seen = up(receiver, std::vector<uint8_t>(KC_LINKS_NMARKS * n));
        for (int i = 0; i < KC_LINKS_NMARKS; i++) {
                const struct kc_links_copy copy = { 1, 0, source + i * n, target + i * n, n };
                expect_ok(kc_links_use(&links, 1, err), err);
                expect_ok(KC_CUDA(cudaMemsetAsync(source + i * n, i + 1, n, sender->stream)), err);
                expect_ok(kc_links_use(&links, 0, err), err);
                expect_ok(kc_links_send(&links, &copy, err), err);
                expect_ok(kc_links_mark(&links, 1, 0, i, err), err);
        }
        for (int i = 0; i < KC_LINKS_NMARKS; i++) {
                expect_ok(kc_links_await(&links, 1, 0, i, err), err);
                expect_ok(KC_CUDA(cudaMemcpyAsync(seen + i * n, target + i * n, n,
                                                  cudaMemcpyDeviceToDevice, receiver->stream)),
                          err);
        }
        std::vector<uint8_t> got = down(receiver, seen, KC_LINKS_NMARKS * n, KC_LINKS_NMARKS * n);
        for (size_t i = 0; i < got.size(); i++)
                assert_int_equal(got[i], i / n + 1);
        expect_ok(kc_links_drain(&links, 1, 0, err), err);
        kc_gpu_delete(receiver, target, KC_LINKS_NMARKS * n);
        kc_gpu_delete(sender, source, KC_LINKS_NMARKS * n);
        close_links(&links);
}

static void pieces(void **state)
{
        (void)state;
        for (bool staged : { false, true })
                send_pieces(staged);
}

/* Whether each of three members has about a third of the memory that a device alone has. False
 * also if other programs took or gave back memory meanwhile. */
static bool members_divide_a_device(const int devices[3])
{
        struct kc_gpu alone;
        struct kc_links links;
        bool divide = true;
        expect_ok(kc_gpu_open(&alone, 0, 0, err), err);
        expect_ok(kc_links_open(&links, devices, 3, NULL, err), err);
        for (int i = 0; i < 3; i++) {
                divide = divide && kc_gpu_room(&links.gpus[i]) <= kc_gpu_room(&alone) / 3 &&
                         kc_gpu_room(&links.gpus[i]) > kc_gpu_room(&alone) / 4;
                for (int j = 0; j < 3; j++)
                        assert_true(kc_links_reaches(&links, i, j));
        }
        kc_links_close(&links);
        kc_gpu_close(&alone);
        return divide;
}

static void members_of_one_device(void **state)
{
        enum { MAX_TRIES = 20 };
        struct kc_links links;
        const struct kc_links_options limited = { 1 << 20, false };
        const int devices[] = { 0, 0, 0 };
        int ntries = 1;
        (void)state;
        while (!members_divide_a_device(devices))
                assert_true(ntries++ < MAX_TRIES);
        expect_ok(kc_links_open(&links, devices, 3, &limited, err), err);
        assert_int_equal(kc_gpu_room(&links.gpus[2]), 1 << 20);
        kc_links_close(&links);
}

static void refusals(void **state)
{
        struct kc_links links;
        const int devices[KC_GPU_MAX_DEVICES + 1] = { 0, 1000 };
        (void)state;
        assert_int_equal(kc_links_open(&links, devices, 0, NULL, err), KC_EUSAGE);
        kc_links_close(&links);
        assert_int_equal(kc_links_open(&links, devices, KC_GPU_MAX_DEVICES + 1, NULL, err),
                         KC_EUSAGE);
        kc_links_close(&links);
        assert_int_equal(kc_links_open(&links, devices, 2, NULL, err), KC_EDEVICE);
        kc_links_close(&links);
        links = {};
        kc_links_close(&links);
        error = {}; /* the first error stays */
}

static enum kc_status fill(void *ctx, int member, struct kc_error *err)
{
        enum kc_status status;
        struct kc_links *links = (struct kc_links *)ctx;
        int device;
        KC_TRY(KC_CUDA(cudaGetDevice(&device)));
        if (device != links->gpus[member].device)
                return kc_fail(err, KC_EDEVICE, "device %d is current", device);
        if (member == 2)
                return kc_fail(err, KC_EINPUT, "member 2");
out:
        return status;
}

static void threads(void **state)
{
        struct kc_links links;
        (void)state;
        open_links(&links, 2, false);
        expect_ok(kc_links_parallel(&links, fill, &links, err), err);
        kc_links_close(&links);
        open_links(&links, 3, false);
        assert_int_equal(kc_links_parallel(&links, fill, &links, err), KC_EINPUT);
        assert_string_equal(err->message, "member 2");
        kc_links_close(&links);
        error = {}; /* the first error stays */
}

struct visits {
        struct kc_links *links;
        std::vector<int> members;
        int failing;
};

static enum kc_status visit(void *ctx, int member, struct kc_error *err)
{
        struct visits *visits = (struct visits *)ctx;
        int device;
        expect_ok(KC_CUDA(cudaGetDevice(&device)), err);
        assert_int_equal(device, visits->links->gpus[member].device);
        visits->members.push_back(member);
        return member == visits->failing ? kc_fail(err, KC_EINPUT, "member %d", member) : KC_OK;
}

static void in_turn(void **state)
{
        struct kc_links links;
        struct visits all = { &links, {}, -1 }, some = { &links, {}, 1 };
        int device;
        (void)state;
        open_links(&links, 4, false);
        expect_ok(kc_links_in_turn(&links, visit, &all, err), err);
        assert_true((all.members == std::vector<int>{ 0, 1, 2, 3 }));
        assert_int_equal(kc_links_in_turn(&links, visit, &some, err), KC_EINPUT);
        assert_true((some.members == std::vector<int>{ 0, 1 }));
        error = {}; /* the first error stays */
        expect_ok(KC_CUDA(cudaGetDevice(&device)), err);
        assert_int_equal(device, links.gpus[0].device);
        kc_links_close(&links);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(transpositions), cmocka_unit_test(waiting),
                cmocka_unit_test(pieces),         cmocka_unit_test(members_of_one_device),
                cmocka_unit_test(refusals),       cmocka_unit_test(threads),
                cmocka_unit_test(in_turn),
        };
        need_device();
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
