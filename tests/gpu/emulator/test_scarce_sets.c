/*
 * Set operations and joint histograms when memory runs out, tried at each allocation: they give the
 * whole result or fail with KC_ENOMEM; all memory is released; and the sink is not called before
 * the work begins.
 */
#include "scarcity.h"

#include "tests/gpu/engine/gpu_joint.h"

/* Two files of several runs, with tombstones. */
static struct pair_set models[MAX_FILES];
static struct kc_store *stores[MAX_FILES];
static const struct kc_set set = { stores + 2, 2, KC_SET_UNION, KC_RULE_MAX };

static const uint32_t most[] = { 5, 0 };
static struct cells wanted;

/* Write the union; compare the files. */
static enum kc_status do_combine(struct device *device, struct kc_error *err)
{
        const enum kc_status status = combine(device, &set, "device.kc", 1, UINT32_MAX, err);
        if (status == KC_OK)
                assert_same_files("host.kc", "device.kc");
        return status;
}

static enum kc_status do_compare(struct device *device, struct kc_error *err)
{
        struct cells cells;
        const enum kc_status status =
                find_cells(device, set.stores, set.nstores, most, &cells, err);
        if (status == KC_OK)
                assert_same_cells(&cells, &wanted);
        free(cells.all);
        return status;
}

typedef enum kc_status work(struct device *device, struct kc_error *err);

/* False if there were no more than n allocations of that kind. */
static bool try_once(work *run, enum kc_scarcity kind, long n, int *nlost)
{
        struct device device = { .params = { .memory_nbytes = 64 << 20 }, .nthreads = 2 };
        struct kc_error err = { 0 };
        kc_emulator_scarcity(kind, n);
        enum kc_status status = run(&device, &err);
        bool met = kc_emulator_was_scarce();
        kc_emulator_scarcity(KC_SCARCITY_NONE, 0);
        assert_int_equal(kc_emulator_device_nbytes(), 0);
        assert_int_equal(kc_emulator_npinned(), 0);
        if (status != KC_OK)
                assert_int_equal(status, met ? KC_ENOMEM : KC_OK);
        *nlost += status != KC_OK && device.report.began;
        return met;
}

/* The number of times that the work failed after it had begun. */
static int try_all(work *run, enum kc_scarcity kind)
{
        int nlost = 0;
        for (long n = 0; try_once(run, kind, n, &nlost); n++)
                assert_in_range(n, 0, 1000);
        return nlost;
}

static void no_device_memory(void **state)
{
        (void)state;
        assert_true(try_all(do_combine, KC_SCARCITY_DEVICE) > 0);
        assert_true(try_all(do_compare, KC_SCARCITY_DEVICE) > 0);
}

static void device_memory_taken_by_others(void **state)
{
        (void)state;
        try_all(do_combine, KC_SCARCITY_TAKEN);
        try_all(do_compare, KC_SCARCITY_TAKEN);
}

static void no_pinned_memory(void **state)
{
        (void)state;
        try_all(do_combine, KC_SCARCITY_PINNED);
        try_all(do_compare, KC_SCARCITY_PINNED);
}

static int write_all(void **state)
{
        enter_folder(state);
        write_files(models, stores, 31, 1500, 1);
        run_set_into(&set, "host.kc", 1, 1, UINT32_MAX);
        wanted = host_cells(set.stores, set.nstores, most);
        return 0;
}

static int close_all(void **state)
{
        close_files(models, stores);
        free(wanted.all);
        unlink("host.kc");
        unlink("device.kc");
        return leave_folder(state);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(no_device_memory),
                cmocka_unit_test(device_memory_taken_by_others),
                cmocka_unit_test(no_pinned_memory),
        };
        return cmocka_run_group_tests(tests, write_all, close_all);
}
