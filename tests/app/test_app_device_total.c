/* The total of all sequences if a device cannot find it: what does it instead, and that a device
 * that has failed is not tried again. */
#include "app/ask/choice.h"
#include "app/cli/command.h"
#include "app/cli/fall_back.h"
#include "app/profile/device_total.h"
#include "tests/io/store/store_sets.h"

#include "base/job.h"

/* What the pieces of app/cli refer to; no command is run. */
const struct command *const command_table[] = { NULL };

/* What the device does in place of kc_gpu_ask_tally. */
static struct {
        enum kc_status status;
        bool began;
        int ntried, nlines; /* how often it was tried, and a line was printed */
} device;

enum kc_status __wrap_kc_gpu_ask_tally(const struct kc_gpu_ask_table *table,
                                       const struct kc_gpu_ask_options *options,
                                       const struct kc_gpu_ask_reads *reads,
                                       const struct kc_ask_tally *tally, bool *began,
                                       struct kc_error *err);
bool __wrap_asking_device_is_faster(uint64_t ndistinct, uint64_t nkmers, int nthreads);
uint64_t __wrap_kc_lookup_few(const struct kc_store_info *info);
bool __wrap_fall_back_to_cpu(const struct kc_error *reason, const char *doing, bool quiet);
bool __real_fall_back_to_cpu(const struct kc_error *reason, const char *doing, bool quiet);

enum kc_status __wrap_kc_gpu_ask_tally(const struct kc_gpu_ask_table *table,
                                       const struct kc_gpu_ask_options *options,
                                       const struct kc_gpu_ask_reads *reads,
                                       const struct kc_ask_tally *tally, bool *began,
                                       struct kc_error *err)
{
        (void)table;
        (void)options;
        assert_true(reads->read_ahead); /* the input is a file */
        device.ntried++;
        *began = device.began;
        assert_int_equal(tally->put(tally->ctx, 3, 5, err), KC_OK);
        return device.status == KC_OK ? KC_OK : kc_fail(err, device.status, "it has failed");
}

bool __wrap_asking_device_is_faster(uint64_t ndistinct, uint64_t nkmers, int nthreads)
{
        return ndistinct > 0 && nkmers > 0 && nthreads > 0;
}

uint64_t __wrap_kc_lookup_few(const struct kc_store_info *info)
{
        return info->ndistinct > 0;
}

bool __wrap_fall_back_to_cpu(const struct kc_error *reason, const char *doing, bool quiet)
{
        assert_false(quiet);
        const bool may = __real_fall_back_to_cpu(reason, doing, true);
        device.nlines += may;
        return may;
}

static void write_reads(const char *path)
{
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fprintf(file, ">a\nACGTACGTACGTACGTACGTACGTACGTACGT\n");
        assert_int_equal(fclose(file), 0);
}

struct expected {
        enum kc_status status;
        bool done, cuda; /* cuda: devices may be tried again */
        int nlines;
};

static void check(enum kc_status failure, bool began, bool may_fall_back,
                  const struct expected *want)
{
        struct kc_store *store = open_store("t.kc");
        struct kc_job job = { 0 };
        struct device_answers answers = { .cuda = true,
                                          .may_fall_back = may_fall_back,
                                          .options = { .ndevices = 1 } };
        struct kc_inputs inputs = { 0 };
        const char *const paths[] = { "a.fa" };
        struct kc_error err = { 0 };
        struct profile_total total = { 0 };
        bool done;
        assert_ok(kc_inputs_resolve(&inputs, paths, 1, &err), err);
        const struct profile_request request = { .store = store,
                                                 .inputs = &inputs,
                                                 .min_count = 1,
                                                 .max_count = UINT32_MAX,
                                                 .nthreads = 1,
                                                 .memory_nbytes = 1 << 30,
                                                 .device = &answers,
                                                 .job = &job };
        device.status = failure;
        device.began = began;
        device.ntried = device.nlines = 0;
        assert_int_equal(device_total(&request, &total, &done, &err), want->status);
        assert_int_equal(device.ntried, 1);
        assert_int_equal(device.nlines, want->nlines);
        if (want->status == KC_OK) {
                assert_int_equal(done, want->done);
                assert_int_equal(answers.used, want->done);
                assert_int_equal(answers.cuda, want->cuda);
        }
        kc_inputs_free(&inputs);
        kc_store_close(store);
}

static void test_failures(void **state)
{
        (void)state;
        const struct expected found = { KC_OK, true, true, 0 }, turns = { KC_OK, false, true, 0 },
                              cpu = { KC_OK, false, false, 1 };
        struct pair_set set = make_set(11, false, 100, 1);
        write_set(&set, "t.kc", 1, 700, 1);
        write_reads("a.fa");
        for (int may = 0; may < 2; may++) {
                check(KC_OK, true, may, &found);
                check(KC_ENOMEM, false, may, &turns);
                check(KC_EINPUT, false, may, &(struct expected){ KC_EINPUT, false, true, 0 });
                check(KC_EDEVICE, true, may, &(struct expected){ KC_EDEVICE, false, true, 0 });
        }
        check(KC_EDEVICE, false, false, &(struct expected){ KC_EDEVICE, false, true, 0 });
        check(KC_EDEVICE, false, true, &cpu);
        check(KC_ENODEVICE, false, true, &cpu);
        unlink("t.kc");
        unlink("a.fa");
        free_set(&set);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_failures, enter_folder, leave_folder),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
