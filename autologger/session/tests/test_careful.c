/* Paths of users are walked by hand (careful.c): the same answers as the system's own calls give, for files, folders
 * and links of all kinds, and no descriptor stays open; but a link of /proc leads nowhere. With file systems of
 * programs: boot-tests/e2e/stuck_files.py. */
#include "autologger/session/careful.h"
#include "autologger/session/tests/fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static char folder[64];

static int setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/al-careful-XXXXXX");
    if (!mkdtemp(folder) || chdir(folder) < 0)
        return -1;
    char long_link[300];
    memset(long_link, 'a', sizeof long_link);
    long_link[299] = 0;
    int r          = mkdir("a", 0755) | mkdir("a/b", 0755) | symlink("a/b", "near") | symlink(".//a/../a/b/", "odd") |
            symlink("c1", "c2") | symlink("c2", "c1") | symlink("nowhere", "broken") | symlink("b/file", "a/tofile") |
            mkdir("shut", 0) | symlink(long_link, "toolong");
    char far[100];
    snprintf(far, sizeof far, "%s/a", folder);
    r |= symlink(far, "far");
    int fd = open("a/b/file", O_WRONLY | O_CREAT, 0600);
    return r | (fd < 0) | close(fd);
}

static int teardown(void **state)
{
    char command[100];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return chdir("/") | system(command);
}

static unsigned descriptors(void)
{
    unsigned n = 0;
    DIR     *d = opendir("/proc/self/fd");
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static const char *const paths[] = {
    "",           "/a",         "/a/b/file",   "/a//b///file",
    "/near/file", "/odd/file",  "/far/b/file", "/far/tofile",
    "/a/tofile",  "/c1",        "/c1/x",       "/broken",
    "/broken/x",  "/none",      "/none/x",     "/a/b/file/x",
    "/toolong",   "/toolong/x", "/a/b/new",    "/near/new",
    "/far/b/new", "/shut/x",    "/near",       "/a/./b/../b/file",
};

static void full(char out[500], const char *path) { snprintf(out, 500, "%s%s", folder, path); }

static void it_opens_what_open_opens(void **state)
{
    static const int flags[] = {O_RDONLY, O_RDWR, O_RDWR | O_NOFOLLOW, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
                                O_RDONLY | O_NOFOLLOW | O_NONBLOCK};
    struct os       *os      = careful_os(os_linux());
    struct os_stat   first;
    (void)state;
    assert_int_equal(os->lstat(os, "/", &first), 0); /* the mount table stays open from now on */
    const unsigned before = descriptors();
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        for (size_t k = 0; k < sizeof flags / sizeof *flags; k++) {
            char        path[500];
            struct stat a, b;
            full(path, paths[i]);
            const int by_hand = os->open(os, path, flags[k], 0600);
            if (flags[k] & O_CREAT && by_hand >= 0)
                assert_int_equal(unlink(path), 0);
            int plain = open(path, flags[k] | O_CLOEXEC | O_NOFOLLOW, 0600);
            plain     = plain < 0 ? -errno : plain;
            if (flags[k] & O_CREAT && plain >= 0)
                assert_int_equal(unlink(path), 0);
            if (plain < 0 || by_hand < 0) {
                if (plain != by_hand)
                    print_message("%s, flags %o: %d, not %d\n", paths[i], flags[k], by_hand, plain);
                assert_int_equal(by_hand, plain);
                continue;
            }
            assert_int_equal(fstat(by_hand, &a) | fstat(plain, &b), 0);
            assert_true(flags[k] & O_CREAT || (a.st_ino == b.st_ino && a.st_dev == b.st_dev));
            close(by_hand);
            close(plain);
        }
    assert_int_equal(descriptors(), before);
}

static void it_sees_what_stat_sees(void **state)
{
    struct os     *os = careful_os(os_linux()), *plain = os_linux();
    const unsigned before = descriptors();
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char            path[500];
        struct os_stat  a = {0}, b = {0};
        struct os_space s, t;
        full(path, paths[i]);
        assert_int_equal(os->lstat(os, path, &a), plain->lstat(plain, path, &b));
        assert_memory_equal(&a, &b, sizeof a);
        assert_int_equal(os->stat(os, path, &a), plain->stat(plain, path, &b));
        if (plain->space(plain, path, &t) == 0) {
            assert_int_equal(os->space(os, path, &s), 0);
            assert_int_equal(s.total_bytes, t.total_bytes);
        }
    }
    assert_int_equal(descriptors(), before);
}

static void it_makes_renames_and_unlinks(void **state)
{
    struct os     *os = careful_os(os_linux());
    char           a[500], b[500];
    const unsigned before = descriptors();
    (void)state;
    full(a, "/near/made"), full(b, "/far/moved");
    assert_int_equal(os->mkdir(os, a, 0700), 0);
    assert_int_equal(os->mkdir(os, a, 0700), -EEXIST);
    assert_int_equal(os->rename(os, a, b), 0);
    assert_int_equal(os->unlink(os, b), -EISDIR);
    assert_int_equal(rmdir(b), 0);
    full(a, "/odd/file"), full(b, "/far/other");
    assert_int_equal(os->rename(os, a, b), 0);
    assert_int_equal(os->rename(os, b, a), 0);
    full(a, "/far/tofile");
    assert_int_equal(os->unlink(os, a), 0); /* the link */
    assert_int_equal(os->unlink(os, a), -ENOENT);
    full(a, "/none/x");
    assert_int_equal(os->rename(os, b, a), -ENOENT);
    assert_int_equal(os->mkdir(os, "relative", 0700), -EINVAL);
    assert_int_equal(descriptors(), before);
}

static void proc_leads_nowhere(void **state)
{
    static const char *const links[] = {"/proc/self/root", "/proc/self/cwd", "/proc/thread-self/root",
                                        "/proc/self/fd/0", "/proc/self/exe"};
    struct os               *os      = careful_os(os_linux());
    const unsigned           before  = descriptors();
    struct os_stat           st;
    (void)state;
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        char path[200];
        snprintf(path, sizeof path, "%s/tmp", links[i]);
        assert_int_equal(os->open(os, path, O_RDONLY, 0), -ELOOP);
        assert_int_equal(os->lstat(os, path, &st), -ELOOP);
    }
    assert_int_equal(descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_opens_what_open_opens, setup, teardown),
        cmocka_unit_test_setup_teardown(it_sees_what_stat_sees, setup, teardown),
        cmocka_unit_test_setup_teardown(it_makes_renames_and_unlinks, setup, teardown),
        cmocka_unit_test(proc_leads_nowhere),
    };
    return cmocka_run_group_tests_name("careful", tests, NULL, NULL);
}
