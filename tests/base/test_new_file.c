/*
 * New files, with simulated system calls: file systems without O_TMPFILE, without locks or without
 * links, folders that cannot be flushed. (The linker redirects the calls below to __wrap_NAME, see
 * CMakeLists.txt.)
 */
#include "base/file_lock.h"
#include "base/new_file.h"
#include "base/temp_file.h"
#include "io/store/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- the system ---- */

/* The errno with which a call fails; 0: it works as usual. */
static struct {
        int tmpfile, link, exchange, lock, sync_folder;
} refuse;

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __real_linkat(int from_fd, const char *from, int to_fd, const char *to, int flags);
int __wrap_linkat(int from_fd, const char *from, int to_fd, const char *to, int flags);
int __real_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);
int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __real_fsync(int fd);
int __wrap_fsync(int fd);

static int fail_with(int code)
{
        errno = code;
        return -1;
}

int __wrap_open64(const char *path, int flags, ...)
{
        va_list args;
        va_start(args, flags);
        const bool is_tmpfile = (flags & O_TMPFILE) == O_TMPFILE;
        mode_t mode = (flags & O_CREAT) != 0 || is_tmpfile ? va_arg(args, mode_t) : 0;
        va_end(args);
        if (is_tmpfile && refuse.tmpfile != 0)
                return fail_with(refuse.tmpfile);
        return __real_open64(path, flags, mode);
}

int __wrap_linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
        return refuse.link ? fail_with(refuse.link)
                           : __real_linkat(from_fd, from, to_fd, to, flags);
}

int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
        if (flags == RENAME_EXCHANGE && refuse.exchange != 0)
                return fail_with(refuse.exchange);
        return __real_renameat2(from_fd, from, to_fd, to, flags);
}

int __wrap_flock(int fd, int operation)
{
        return refuse.lock ? fail_with(refuse.lock) : __real_flock(fd, operation);
}

int __wrap_fsync(int fd)
{
        struct stat st;
        if (refuse.sync_folder && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
                return fail_with(refuse.sync_folder);
        return __real_fsync(fd);
}

/* ---- a folder of its own ---- */

static int set_up(void **state)
{
        char *folder = strdup("/tmp/kcount-new-file-XXXXXX");
        *state = folder;
        memset(&refuse, 0, sizeof refuse);
        return folder == NULL || mkdtemp(folder) == NULL || chdir(folder) != 0;
}

static int nnames(void)
{
        int n = 0;
        DIR *folder = opendir(".");
        assert_non_null(folder);
        for (struct dirent *e; (e = readdir(folder)) != NULL;)
                n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
        closedir(folder);
        return n;
}

static int tear_down(void **state)
{
        DIR *folder = opendir(".");
        for (struct dirent *e; (e = readdir(folder)) != NULL;)
                unlink(e->d_name);
        closedir(folder);
        int code = chdir("/") != 0 || rmdir(*state) != 0;
        free(*state);
        return code;
}

static void write_file(const char *path, const char *text)
{
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(text, file);
        assert_int_equal(fclose(file), 0);
}

static void expect_text(const char *path, const char *text)
{
        char got[64] = "";
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        size_t n = fread(got, 1, sizeof got - 1, file);
        fclose(file);
        got[n] = '\0';
        assert_string_equal(got, text);
}

/* ---- a guard that records its calls ---- */

static struct {
        bool held;
        int nholds, ntemporaries;
        char temporary[512]; /* added last */
} guarded;

static bool guard(int step, const char *temporary)
{
        assert_int_equal(guarded.held, step != KC_NAMES_HOLD);
        if (step == KC_NAMES_HOLD || step == KC_NAMES_RELEASE)
                guarded.held = step == KC_NAMES_HOLD;
        guarded.nholds += step == KC_NAMES_HOLD;
        if (step == KC_NAMES_DROP) {
                guarded.ntemporaries--;
                guarded.temporary[0] = '\0';
        }
        if (step == KC_NAMES_ADD) {
                guarded.ntemporaries++;
                snprintf(guarded.temporary, sizeof guarded.temporary, "%s", temporary);
                /* the name that the guard removes if the process dies exists */
                assert_int_equal(access(temporary, F_OK), 0);
        }
        return true;
}

static const struct kc_new_file_options anew = { .guard = guard };
static const struct kc_new_file_options instead = { .replace = true, .guard = guard };

static enum kc_status create(struct kc_new_file *file, const char *path,
                             const struct kc_new_file_options *options, struct kc_error *err)
{
        *err = (struct kc_error){ 0 };
        memset(&guarded, 0, sizeof guarded);
        enum kc_status status = kc_new_file_create(file, path, options, err);
        if (status == KC_OK)
                assert_int_equal(write(file->fd, "new", 3), 3);
        return status;
}

static enum kc_status commit(struct kc_new_file *file, struct kc_error *err)
{
        *err = (struct kc_error){ 0 };
        enum kc_status status = kc_new_file_commit(file, err);
        kc_new_file_discard(file);
        assert_false(guarded.held);
        assert_string_equal(guarded.temporary, "");
        assert_int_equal(guarded.ntemporaries, 0);
        return status;
}

static void make(const char *path, const struct kc_new_file_options *options)
{
        struct kc_new_file file;
        struct kc_error err;
        assert_int_equal(create(&file, path, options, &err), KC_OK);
        assert_int_equal(commit(&file, &err), KC_OK);
        expect_text(path, "new");
}

/* First a system that supports everything, then each missing feature, with every errno that reports
 * it. */
static const struct {
        int tmpfile, link;
} systems[] = { { 0, 0 },      { EOPNOTSUPP, 0 }, { EISDIR, 0 },
                { EINVAL, 0 }, { ENOENT, 0 },     { ENOSYS, 0 },
                { 0, EPERM },  { 0, EACCES },     { EOPNOTSUPP, EPERM } };
enum { NSYSTEMS = sizeof systems / sizeof *systems };

static void act_as_system(int i)
{
        refuse.tmpfile = systems[i].tmpfile;
        refuse.link = systems[i].link;
}

/* ---- tests ---- */

static void test_names(void **state)
{
        (void)state;
        struct kc_new_file file;
        struct kc_error err;
        for (int i = 0; i < NSYSTEMS; i++) {
                act_as_system(i);
                const bool named = refuse.tmpfile || refuse.link;
                assert_int_equal(create(&file, "a", &anew, &err), KC_OK);
                if (named || file.temporary != NULL) { /* or the real file system lacks it */
                        assert_int_equal(nnames(), 1);
                        assert_string_equal(guarded.temporary, file.temporary);
                } else {
                        assert_int_equal(nnames(), 0);
                }
                assert_true(!named || file.temporary != NULL);
                kc_new_file_discard(&file);
                assert_int_equal(nnames(), 0);
                assert_string_equal(guarded.temporary, "");
                make("a", &anew);
                assert_int_equal(nnames(), 1);
                make("a", &instead);
                make("a", &instead);
                assert_int_equal(nnames(), 1);
                unlink("a");
        }
}

static void test_modes(void **state)
{
        (void)state;
        struct stat st;
        mode_t old = umask(027);
        for (int i = 0; i < 2; i++) {
                act_as_system(i);
                make("a", &anew);
                assert_int_equal(stat("a", &st), 0);
                assert_int_equal(st.st_mode & 07777, 0640);
                assert_int_equal(chmod("a", 0604), 0);
                make("a", &instead);
                assert_int_equal(stat("a", &st), 0);
                assert_int_equal(st.st_mode & 07777, 0604);
                /* a file appears, or its mode changes, while the new one is written */
                struct kc_new_file file;
                struct kc_error err;
                for (int exists = 1; exists >= 0; exists--) {
                        assert_int_equal(create(&file, "a", &instead, &err), KC_OK);
                        write_file("a", "old");
                        assert_int_equal(chmod("a", 0600), 0);
                        assert_int_equal(commit(&file, &err), KC_OK);
                        expect_text("a", "new");
                        assert_int_equal(stat("a", &st), 0);
                        assert_int_equal(st.st_mode & 07777, 0600);
                        unlink("a");
                }
        }
        umask(old);
}

/* A file appears under the name before commit. */
static void test_name_taken(void **state)
{
        (void)state;
        struct kc_new_file file;
        struct kc_error err;
        for (int i = 0; i < NSYSTEMS; i++) {
                act_as_system(i);
                assert_int_equal(create(&file, "a", &anew, &err), KC_OK);
                write_file("a", "old");
                assert_int_equal(commit(&file, &err), KC_EEXIST);
                expect_text("a", "old");
                assert_int_equal(create(&file, "a", &anew, &err), KC_EEXIST);
                kc_new_file_discard(&file);
                unlink("a");
                assert_int_equal(create(&file, "a", &instead, &err), KC_OK);
                write_file("a", "old");
                assert_int_equal(commit(&file, &err), KC_OK);
                expect_text("a", "new");
                assert_int_equal(nnames(), 1);
                unlink("a");
        }
}

static bool is_locked(const char *path)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        bool locked = __real_flock(fd, LOCK_EX | LOCK_NB) != 0;
        close(fd);
        return locked;
}

static void test_locks(void **state)
{
        (void)state;
        struct kc_new_file file;
        struct kc_error err;
        for (int i = 0; i < 2; i++) {
                int fd = -1;
                act_as_system(i);
                write_file("a", "old");
                assert_int_equal(create(&file, "a", &instead, &err), KC_OK);
                assert_true(is_locked("a"));
                assert_int_equal(kc_file_lock(&fd, "a", &err), KC_EIO);
                assert_int_equal(link("a", "old"), 0);
                assert_int_equal(commit(&file, &err), KC_OK);
                assert_false(is_locked("a"));
                assert_false(is_locked("old"));
                /* another process holds the lock, at creation or at commit */
                err = (struct kc_error){ 0 };
                assert_int_equal(kc_file_lock(&fd, "a", &err), KC_OK);
                assert_int_equal(create(&file, "a", &instead, &err), KC_EIO);
                assert_non_null(strstr(err.message, "being changed by another process"));
                kc_new_file_discard(&file);
                assert_int_equal(rename("a", "b"), 0);
                assert_int_equal(create(&file, "a", &instead, &err), KC_OK);
                assert_int_equal(rename("b", "a"), 0);
                assert_int_equal(commit(&file, &err), KC_EIO);
                assert_non_null(strstr(err.message, "being changed by another process"));
                close(fd);
                assert_int_equal(nnames(), 2);
                unlink("a");
                unlink("old");
        }
}

static void test_file_systems_without_locks(void **state)
{
        (void)state;
        static const int codes[] = { ENOTSUP, ENOLCK, ENOSYS, EINVAL, EBADF };
        int fd;
        struct kc_error err = { 0 };
        for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
                refuse.lock = codes[i];
                make("a", &anew);
                make("a", &instead);
                assert_int_equal(kc_file_lock(&fd, "a", &err), KC_OK);
                close(fd);
                unlink("a");
        }
}

/* The caller has locked the file that it read: no other file may be replaced. */
static void test_lock_given(void **state)
{
        (void)state;
        struct kc_new_file file;
        struct kc_error err = { 0 };
        for (int i = 0; i < 6; i++) {
                int lock = -1;
                act_as_system(i % 2);
                write_file("a", "old");
                assert_int_equal(kc_file_lock(&lock, "a", &err), KC_OK);
                const struct kc_new_file_options given = { .replace = true, .lock = &lock };
                assert_int_equal(create(&file, "a", &given, &err), KC_OK);
                if (i / 2 == 1) {
                        write_file("b", "other");
                        assert_int_equal(rename("b", "a"), 0);
                }
                if (i / 2 == 2)
                        unlink("a");
                assert_int_equal(commit(&file, &err), i / 2 == 0 ? KC_OK : KC_EIO);
                if (i / 2 == 1)
                        expect_text("a", "other");
                if (i / 2 == 2) {
                        assert_int_equal(create(&file, "a", &given, &err), KC_EIO);
                        kc_new_file_discard(&file);
                }
                assert_int_equal(nnames(), i / 2 == 2 ? 0 : 1);
                close(lock);
                unlink("a");
        }
}

static void test_folder_is_flushed(void **state)
{
        (void)state;
        struct kc_new_file file;
        struct kc_error err;
        const struct kc_new_file_options lasting = { .flush = true, .guard = guard };
        const struct {
                const char *name;
                const struct kc_new_file_options *options;
        } flushed[] = { { "a", &instead }, { "a", &instead }, { "c", &lasting } };
        refuse.sync_folder = EIO;
        make("a", &anew); /* nothing is replaced */
        make("b", &instead);
        for (int i = 0; i < 3; i++) {
                assert_int_equal(create(&file, flushed[i].name, flushed[i].options, &err), KC_OK);
                assert_int_equal(commit(&file, &err), KC_EIO);
                assert_non_null(strstr(err.message, "is complete, but its folder cannot be "
                                                    "flushed"));
        }
        refuse.sync_folder = EINVAL; /* a file system that cannot flush folders */
        make("a", &instead);
}

static void test_links(void **state)
{
        (void)state;
        struct kc_new_file file;
        struct kc_error err;
        struct stat st;
        assert_int_equal(symlink("b", "a"), 0);
        assert_int_equal(symlink("loop", "loop"), 0);
        assert_int_equal(symlink("no/such/folder", "lost"), 0);
        for (int i = 0; i < NSYSTEMS; i++) {
                act_as_system(i);
                make("a", &anew);
                make("a", &instead);
                assert_int_equal(lstat("a", &st), 0);
                assert_true(S_ISLNK(st.st_mode));
                expect_text("b", "new");
                unlink("b");
                assert_int_equal(create(&file, "loop", &instead, &err), KC_EIO);
                assert_non_null(strstr(err.message, "loop: Too many levels"));
                kc_new_file_discard(&file);
                assert_int_equal(create(&file, "lost", &instead, &err), KC_EIO);
                assert_non_null(strstr(err.message, "no/such/folder, where the link lost leads"));
                kc_new_file_discard(&file);
                assert_int_equal(nnames(), 3);
        }
}

/* A link in /proc to a file that has lost its name. */
static void test_link_to_nothing(void **state)
{
        (void)state;
        struct kc_new_file file;
        struct kc_error err;
        char path[64];
        int fd = open("a", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        unlink("a");
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        assert_int_equal(create(&file, path, &instead, &err), KC_EIO);
        kc_new_file_discard(&file);
        close(fd);
        assert_int_equal(nnames(), 0);
}

static void test_long_names(void **state)
{
        (void)state;
        char name[256], letters[256];
        memset(name, 'n', 255);
        for (int i = 0; i < 254; i += 2)
                memcpy(letters + i, "\xc3\xa4", 2);
        name[255] = letters[254] = '\0';
        for (int i = 0; i < NSYSTEMS; i++) {
                struct kc_new_file file;
                struct kc_error err;
                act_as_system(i);
                make(name, &anew);
                make(name, &instead);
                make(letters, &instead);
                make(letters, &instead);
                assert_int_equal(nnames(), 2);
                unlink(name);
                assert_int_equal(create(&file, letters, &instead, &err), KC_OK);
                if (file.temporary != NULL) { /* a long name is not cut inside a two-byte letter */
                        const char *dot = strchr(file.temporary, '.');
                        assert_int_equal((dot - file.temporary) % 2, 0);
                        assert_in_range(strlen(file.temporary), 100, 143);
                }
                kc_new_file_discard(&file);
                unlink(letters);
        }
}

static void test_no_regular_file(void **state)
{
        (void)state;
        static const char *const paths[] = { ".", "/dev/null", "fifo", "no/such/folder" };
        struct kc_new_file file;
        struct kc_error err;
        assert_int_equal(mkfifo("fifo", 0666), 0);
        for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
                assert_int_equal(create(&file, paths[i], &instead, &err), KC_EIO);
                assert_non_null(strstr(err.message, paths[i]));
                kc_new_file_discard(&file);
        }
        /* the file has appeared in the meantime */
        assert_int_equal(create(&file, "a", &instead, &err), KC_OK);
        assert_int_equal(rename("fifo", "a"), 0);
        assert_int_equal(commit(&file, &err), KC_EIO);
        assert_non_null(strstr(err.message, "not a regular file"));
        assert_int_equal(nnames(), 1);
}

/* A file that never has a name, on whatever file system. */
static void test_nameless(void **state)
{
        (void)state;
        struct kc_new_file file;
        struct kc_error err = { 0 };
        char text[4] = "";
        int fd;
        for (int i = 0; i < NSYSTEMS; i++) {
                act_as_system(i);
                assert_int_equal(create(&file, "a", &anew, &err), KC_OK);
                assert_int_equal(pwrite(file.fd, "new", 3, 0), 3);
                assert_int_equal(kc_new_file_take(&file, &fd, &err), KC_OK);
                kc_new_file_discard(&file);
                assert_int_equal(nnames(), 0);
                assert_string_equal(guarded.temporary, "");
                assert_int_equal(pread(fd, text, 3, 0), 3);
                assert_string_equal(text, "new");
                assert_int_equal(close(fd), 0);
        }
}

/* An append to a file whose name another file has since taken. */
static void test_append(void **state)
{
        (void)state;
        struct kc_output output;
        struct kc_error err = { 0 };
        for (int i = 0; i < 3; i++) {
                write_file("a", "old");
                assert_int_equal(kc_output_append(&output, "a", &err), KC_OK);
                assert_int_equal(kc_output_pwrite(&output, "new", 3, 3, &err), KC_OK);
                output.is_final = true;
                if (i == 1) {
                        write_file("b", "other");
                        assert_int_equal(rename("b", "a"), 0);
                }
                if (i == 2)
                        unlink("a");
                assert_int_equal(kc_output_commit(&output, &err), i == 0 ? KC_OK : KC_EIO);
                kc_output_discard(&output);
                if (i == 0)
                        expect_text("a", "oldnew");
                else
                        assert_non_null(strstr(err.message, "is lost"));
        }
}

static void test_temporary_files(void **state)
{
        (void)state;
        char text[6] = "";
        int fd;
        for (int i = 0; i < NSYSTEMS; i++) {
                struct kc_error err = { 0 };
                act_as_system(i);
                assert_int_equal(kc_temp_file_open(".", &fd, &err), KC_OK);
                assert_int_equal(nnames(), 0);
                assert_int_equal(kc_temp_file_write(".", fd, "hello", 5, 1000, &err), KC_OK);
                assert_int_equal(kc_temp_file_read(".", fd, text, 5, 1000, &err), KC_OK);
                assert_string_equal(text, "hello");
                assert_int_equal(kc_temp_file_read(".", fd, text, 5, 1003, &err), KC_EIO);
                assert_non_null(strstr(err.message, "it has become shorter"));
                close(fd);
                err = (struct kc_error){ 0 };
                assert_int_equal(kc_temp_file_open("no/such", &fd, &err), KC_EIO);
                assert_non_null(strstr(err.message, "no/such: No such file or directory"));
                err = (struct kc_error){ 0 };
                assert_int_equal(kc_temp_file_open("/proc", &fd, &err), KC_EIO);
                assert_non_null(strstr(err.message, "/proc: no file can be created there"));
        }
}

/* ---- several files ---- */

enum { NFILES = 4 };
static const char *const several[NFILES] = { "a", "b", "c", "d" };

/* b and d exist and may be replaced; a may not. */
static void create_several(struct kc_new_file *files, struct kc_new_file **pointers)
{
        struct kc_error err = { 0 };
        memset(&guarded, 0, sizeof guarded);
        write_file("b", "old b");
        write_file("d", "old d");
        for (int i = 0; i < NFILES; i++) {
                pointers[i] = &files[i];
                assert_int_equal(
                        kc_new_file_create(&files[i], several[i], i == 0 ? &anew : &instead, &err),
                        KC_OK);
                assert_int_equal(write(files[i].fd, several[i], 1), 1);
        }
}

static void discard_several(struct kc_new_file *files)
{
        for (int i = 0; i < NFILES; i++)
                kc_new_file_discard(&files[i]);
        assert_false(guarded.held);
        assert_int_equal(guarded.ntemporaries, 0);
}

/* All files get their names at once. */
static void test_several(void **state)
{
        (void)state;
        struct kc_new_file files[NFILES], *pointers[NFILES];
        struct kc_error err = { 0 };
        for (int i = 0; i < 2 * NSYSTEMS; i++) {
                act_as_system(i / 2);
                refuse.exchange = i % 2 ? EINVAL : 0;
                create_several(files, pointers);
                const int nholds = guarded.nholds;
                assert_int_equal(kc_new_files_commit(pointers, NFILES, &err), KC_OK);
                assert_int_equal(guarded.nholds, nholds + 1);
                discard_several(files);
                assert_int_equal(nnames(), NFILES);
                for (int f = 0; f < NFILES; f++) {
                        expect_text(several[f], several[f]);
                        unlink(several[f]);
                }
        }
}

/* The last file cannot get its name, or the first: then none has. */
static void test_all_or_none(void **state)
{
        (void)state;
        struct kc_new_file files[NFILES], *pointers[NFILES], *swapped;
        struct kc_error err;
        for (int i = 0; i < 4 * NSYSTEMS; i++) {
                act_as_system(i / 4);
                refuse.exchange = i % 2 ? ENOSYS : 0;
                create_several(files, pointers);
                if (i & 2) {
                        swapped = pointers[0];
                        pointers[0] = pointers[NFILES - 1];
                        pointers[NFILES - 1] = swapped;
                }
                write_file("a", "taken");
                err = (struct kc_error){ 0 };
                assert_int_equal(kc_new_files_commit(pointers, NFILES, &err), KC_EEXIST);
                discard_several(files);
                expect_text("a", "taken");
                const bool kept = refuse.exchange == 0 || refuse.link == 0 || (i & 2) == 0;
                expect_text("b", kept ? "old b" : "b"); /* either way there is a whole file */
                expect_text("d", kept ? "old d" : "d");
                assert_int_equal(access("c", F_OK), -1);
                for (int f = 0; f < NFILES; f++)
                        unlink(several[f]);
                assert_int_equal(nnames(), 0);
        }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        const struct CMUnitTest tests[] = {
                TEST(test_names),
                TEST(test_modes),
                TEST(test_name_taken),
                TEST(test_locks),
                TEST(test_file_systems_without_locks),
                TEST(test_lock_given),
                TEST(test_folder_is_flushed),
                TEST(test_links),
                TEST(test_link_to_nothing),
                TEST(test_long_names),
                TEST(test_no_regular_file),
                TEST(test_nameless),
                TEST(test_append),
                TEST(test_temporary_files),
                TEST(test_several),
                TEST(test_all_or_none),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
