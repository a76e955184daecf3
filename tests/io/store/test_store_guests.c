/*
 * Guests: which file they open, which bytes of it they write, and what they refuse. For whole files
 * that guests help to write, see test_store_within.c.
 */
#include "store_support.h"

#include "kmer/block_codec.h"
#include "ranks/run.h"

#include <fcntl.h>
#include <sys/stat.h>

static struct kc_store_writer *new_writer(const char *path, struct kc_store_invitation *invitation)
{
        struct kc_store_options options = { .k = 31, .replace = true };
        struct kc_store_writer *w = NULL;
        struct kc_error err = { 0 };
        assert_ok(kc_store_create(&w, path, &options, &err), err);
        assert_ok(kc_store_invite(w, invitation, &err), err);
        assert_true(invitation->valid);
        return w;
}

static struct kc_store_guest *join(const struct kc_store_invitation *invitation)
{
        struct kc_store_guest *guest;
        struct kc_error err = { 0 };
        assert_ok(kc_store_join(&guest, invitation, "s.kc", 31, &err), err);
        return guest;
}

static bool joins(const struct kc_store_invitation *invitation)
{
        struct kc_store_guest *guest = join(invitation);
        kc_store_leave(guest);
        return guest != NULL;
}

/* A guest opens the file through the process if that has it, and otherwise by its name. */
static void test_which_file(void **state)
{
        (void)state;
        struct kc_store_invitation own, other, wrong;
        struct kc_store_writer *w = new_writer("s.kc", &own), *v = new_writer("t.kc", &other);
        assert_true(joins(&own));
        assert_memory_not_equal(own.token, other.token, sizeof own.token);

        wrong = own;
        wrong.valid = false;
        assert_false(joins(&wrong));
        wrong = own;
        wrong.token[0] ^= 1;
        assert_false(joins(&wrong));
        wrong = own;
        wrong.fd = other.fd;
        assert_false(joins(&wrong));
        wrong = own;
        wrong.inode++;
        assert_false(joins(&wrong));
        wrong = own;
        wrong.pid = -1; /* as on another machine */
        strcpy(wrong.name, "nowhere.kc");
        assert_false(joins(&wrong));
        strcpy(wrong.name, "named.kc");
        write_file("named.kc", other.token, sizeof other.token);
        assert_false(joins(&wrong));
        write_file("named.kc", own.token, sizeof own.token);
        assert_true(joins(&wrong));
        assert_int_equal(chmod("named.kc", 0), 0);
        assert_int_equal(joins(&wrong), geteuid() == 0);
        unlink("named.kc");
        assert_int_equal(symlink("s.kc", "named.kc"), 0);
        assert_false(joins(&wrong));
        unlink("named.kc");
        kc_store_abort(w);
        kc_store_abort(v);
}

/* A guest writes only whole pages: other bytes keep their values, whatever the offset. */
static void test_pages(void **state)
{
        (void)state;
        enum { NWORDS = 3000, FILE_NBYTES = 40000 };
        static const size_t nwords[] = { 0, 1, 511, 512, 513, 1023, 1024, 1025, NWORDS };
        static const uint64_t offsets[] = { 128, 4088, 4096, 4104, 8184, 8192 };
        const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
        struct kc_store_invitation invitation;
        struct kc_store_writer *w = new_writer("s.kc", &invitation);
        struct kc_store_guest *guest;
        struct kc_error err = { 0 };
        uint64_t words[NWORDS], nbytes;
        static uint8_t file[FILE_NBYTES];
        memset(words, 0x55, sizeof words);
        for (size_t i = 0; i < sizeof nwords / sizeof *nwords; i++)
                for (size_t j = 0; j < sizeof offsets / sizeof *offsets; j++) {
                        const uint64_t end = offsets[j] + 8 * nwords[i];
                        memset(file, 0xaa, sizeof file);
                        assert_int_equal(pwrite(invitation.fd, file, sizeof file, 0), sizeof file);
                        assert_int_equal(pwrite(invitation.fd, invitation.token, 16, 0), 16);
                        assert_non_null(guest = join(&invitation));
                        const struct kc_run_guest *g = kc_store_guest_joint(guest)->guest;
                        assert_int_equal(g->page_nbytes, page);
                        assert_ok(g->write(g->ctx, words, nwords[i], offsets[j], &err), err);
                        assert_ok(kc_store_guest_end(guest, &nbytes, &err), err);
                        kc_store_leave(guest);
                        assert_int_equal(pread(invitation.fd, file, sizeof file, 0), sizeof file);
                        for (uint64_t at = 16; at < sizeof file; at++) {
                                const uint64_t first = at / page * page;
                                const bool inner = first >= offsets[j] && first + page <= end;
                                assert_int_equal(file[at], inner ? 0x55 : 0xaa);
                                nbytes -= inner;
                        }
                        assert_int_equal(nbytes, 0);
                }
        kc_store_abort(w);
}

/* A block whose head states another number of k-mers, or that is too long, gets no checksum. */
static void test_unsound_blocks(void **state)
{
        (void)state;
        struct pair_set s = make_set(31, false, 1024, 1);
        struct kc_store_invitation invitation;
        struct kc_store_writer *w = new_writer("s.kc", &invitation);
        struct kc_store_guest *guest = join(&invitation);
        const struct kc_run_guest *g = kc_store_guest_joint(guest)->guest;
        struct kc_block_plan plan;
        uint64_t words[4096], checksum;
        kc_block_plan(&plan, s.kmers, s.counts, s.n, 1);
        kc_block_encode(&plan, s.kmers, s.counts, 1, words);
        const uint32_t block_nwords = plan.nwords;
        struct kc_run_blocks b = { .n = 1024,
                                   .nblocks = 1,
                                   .block_nwords = &block_nwords,
                                   .words = words,
                                   .nwords = block_nwords + 1 };
        struct kc_error err = { 0 };
        assert_ok(g->seal(g->ctx, &b, &checksum, &err), err);
        assert_int_equal(words[block_nwords], checksum);
        b.nwords++;
        assert_int_equal(g->seal(g->ctx, &b, &checksum, &err), KC_EUSAGE);
        b.nwords--;
        words[0]--;
        err = (struct kc_error){ 0 };
        assert_int_equal(g->seal(g->ctx, &b, &checksum, &err), KC_EUSAGE);
        assert_string_equal(err.message, "s.kc was given invalid blocks: wrong headers");
        kc_store_leave(guest);
        kc_store_abort(w);
        free_set(&s);
}

/* A write that fails is an error of the guest, and the message has the file's own name. */
static void test_failures(void **state)
{
        (void)state;
        struct kc_store_invitation invitation;
        struct kc_store_writer *w = new_writer("s.kc", &invitation);
        struct kc_store_guest *guest = join(&invitation);
        const struct kc_run_guest *g = kc_store_guest_joint(guest)->guest;
        struct kc_error err = { 0 };
        const size_t nwords =
                2 * (size_t)sysconf(_SC_PAGESIZE) / sizeof(uint64_t); /* whole pages */
        uint64_t *words = calloc(nwords, sizeof *words);
        assert_non_null(words);
        assert_int_equal(g->write(g->ctx, words, nwords, UINT64_C(1) << 63, &err), KC_EIO);
        assert_non_null(strstr(err.message, "cannot write s.kc at offset 9223372036854775808: "));
        free(words);
        kc_store_leave(guest);
        kc_store_abort(w);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_which_file),
                cmocka_unit_test(test_pages),
                cmocka_unit_test(test_unsound_blocks),
                cmocka_unit_test(test_failures),
        };
        return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
