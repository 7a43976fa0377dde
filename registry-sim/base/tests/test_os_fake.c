/* The fake edge keeps its promises, and behaves as the real one does where both can be asked.
 * Proves: what other tests rest on: disk full, read-only, no file created. */
#include "registry-sim/base/os_fake.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* The same calls on any edge, below an empty folder; every result goes into a line of `out`. */
static void walk(struct os *os, const char *folder, char *out)
{
    char           a[128], b[128], below[128], dir[128], data[16];
    struct os_stat st;
    snprintf(a, sizeof a, "%s/a", folder);
    snprintf(b, sizeof b, "%s/b", folder);
    snprintf(dir, sizeof dir, "%s/d/e", folder);
    snprintf(below, sizeof below, "%s/a/x", folder);
#define LOG(call) out += sprintf(out, "%s=%d\n", #call, (int)(call))
    LOG(os->open(os, a, O_RDONLY, 0));
    int fd = os->open(os, a, O_RDWR | O_CREAT | O_EXCL, 0600);
    LOG(fd >= 0);
    LOG(os->open(os, a, O_RDWR | O_CREAT | O_EXCL, 0600));
    LOG(os->pwrite(os, fd, "hello", 5, 3));
    LOG(os->pread(os, fd, data, 16, 0));
    LOG(memcmp(data, "\0\0\0hello", 8));
    LOG(os->pread(os, fd, data, 16, 8));
    LOG(os->ftruncate(os, fd, 4));
    LOG(os->stat(os, a, &st) == 0 && st.size == 4 && S_ISREG(st.mode));
    LOG(os->fsync(os, fd));
    LOG(os->mkdir(os, dir, 0700));
    LOG(os_mkdir_parents(os, dir, 0700));
    LOG(os->mkdir(os, dir, 0700));
    LOG(os->mkdir(os, dir, 0700));
    LOG(os->mkdir(os, below, 0700));
    LOG(os->open(os, below, O_RDWR | O_CREAT, 0600));
    LOG(os->stat(os, below, &st));
    LOG(os->open(os, dir, O_RDWR, 0));
    LOG(os->open(os, a, O_RDONLY | O_DIRECTORY, 0));
    LOG(os->rename(os, a, b));
    LOG(os->rename(os, a, b));
    LOG(os->unlink(os, b));
    LOG(os->unlink(os, b));
    LOG(os->unlink(os, dir));
    LOG(os->pwrite(os, fd, "x", 1, 0)); /* unlinked, but open */
    LOG(os->close(os, fd));
    LOG(os->close(os, fd));
    LOG(os->lstat(os, b, &st));
#undef LOG
}

static void it_behaves_as_the_real_one(void **state)
{
    char            fake_log[4000], real_log[4000], folder[] = "/tmp/al-os-XXXXXX", path[64];
    struct os_fake *f = os_fake_create();
    (void)state;
    assert_int_equal(os_fake_put_folder(f, "/w"), 0);
    walk(&f->os, "/w", fake_log);
    assert_int_equal(os_fake_open_files(f), 0);
    assert_non_null(mkdtemp(folder));
    walk(os_linux(), folder, real_log);
    snprintf(path, sizeof path, "%s/d/e", folder);
    rmdir(path);
    path[strlen(path) - 2] = 0;
    rmdir(path);
    assert_int_equal(rmdir(folder), 0);
    assert_string_equal(fake_log, real_log);
    assert_int_equal(f->created_count, 3);
    assert_string_equal(f->created[0], "/w/a");
    assert_string_equal(f->created[2], "/w/d/e");
    os_fake_destroy(f);
}

static void a_full_disk(void **state)
{
    struct os_fake        *f = os_fake_create();
    struct os_fake_volume *v = os_fake_mount(f, "/small", 10, false);
    struct os_space        space;
    size_t                 size;
    (void)state;
    int fd = f->os.open(&f->os, "/small/x", O_WRONLY | O_CREAT, 0600);
    assert_int_equal(f->os.pwrite(&f->os, fd, "0123456789AB", 7, 0), 7);
    assert_int_equal(f->os.pwrite(&f->os, fd, "0123456789AB", 7, 7), 3); /* short, then full */
    assert_int_equal(f->os.pwrite(&f->os, fd, "x", 1, 10), -ENOSPC);
    assert_int_equal(os_pwrite_all(&f->os, fd, "01234567", 8, 5), -ENOSPC);
    assert_int_equal(f->os.pwrite(&f->os, fd, "y", 1, 2), 1); /* in place is fine */
    assert_int_equal(f->os.space(&f->os, "/small", &space), 0);
    assert_true(space.free_bytes == 0 && space.total_bytes == 10);
    v->capacity = 20;
    assert_int_equal(os_pwrite_all(&f->os, fd, "01234567", 8, 10), 0);
    assert_non_null(os_fake_bytes(f, "/small/x", &size));
    assert_int_equal(size, 18);
    f->os.unlink(&f->os, "/small/x");
    f->os.close(&f->os, fd);
    assert_int_equal(v->used, 0);
    os_fake_destroy(f);
}

static void read_only_and_links(void **state)
{
    struct os_fake        *f = os_fake_create();
    struct os_fake_volume *v = os_fake_mount(f, "/ro", 1000, true);
    struct os_stat         st;
    (void)state;
    os_fake_put(f, "/ro/there", "x", 1);
    os_fake_put_link(f, "/link", "/ro/there");
    os_fake_put_link(f, "/loop", "/loop");
    assert_int_equal(f->os.open(&f->os, "/ro/new", O_WRONLY | O_CREAT, 0600), -EROFS);
    assert_int_equal(f->os.open(&f->os, "/ro/there", O_WRONLY, 0), -EROFS);
    assert_int_equal(f->os.mkdir(&f->os, "/ro/d", 0700), -EROFS);
    assert_int_equal(f->os.unlink(&f->os, "/ro/there"), -EROFS);
    assert_int_equal(f->created_count, 0);
    v->read_only = false; /* the file system is ready */
    int fd       = f->os.open(&f->os, "/ro/new", O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    f->os.close(&f->os, fd);
    assert_int_equal(f->created_count, 1);
    assert_int_equal(f->os.stat(&f->os, "/link", &st), 0);
    assert_true(S_ISREG(st.mode) && st.size == 1);
    assert_int_equal(f->os.lstat(&f->os, "/link", &st), 0);
    assert_true(S_ISLNK(st.mode));
    assert_int_equal(f->os.open(&f->os, "/link", O_RDONLY | O_NOFOLLOW, 0), -ELOOP);
    assert_int_equal(f->os.open(&f->os, "/loop", O_RDONLY, 0), -ELOOP);
    os_fake_destroy(f);
}

static void calls_fail_when_told(void **state)
{
    struct os_fake *f = os_fake_create();
    (void)state;
    os_fake_put(f, "/x", "abc", 3);
    int fd                  = f->os.open(&f->os, "/x", O_RDWR, 0);
    f->fail[FAKE_PWRITE].at = 2, f->fail[FAKE_PWRITE].error = EIO;
    assert_int_equal(f->os.pwrite(&f->os, fd, "x", 1, 0), 1);
    assert_int_equal(f->os.pwrite(&f->os, fd, "x", 1, 0), -EIO);
    assert_int_equal(f->os.pwrite(&f->os, fd, "x", 1, 0), 1);
    f->fail[FAKE_FSYNC].at = 1, f->fail[FAKE_FSYNC].error = EDQUOT, f->fail[FAKE_FSYNC].forever = true;
    assert_int_equal(f->os.fsync(&f->os, fd), -EDQUOT);
    assert_int_equal(f->os.fsync(&f->os, fd), -EDQUOT);
    f->fail[FAKE_OPEN].at = 1, f->fail[FAKE_OPEN].error = EMFILE;
    assert_int_equal(f->os.open(&f->os, "/x", O_RDONLY, 0), -EMFILE);
    f->max_write = 2;
    assert_int_equal(f->os.pwrite(&f->os, fd, "xyz", 3, 0), 2);
    assert_int_equal(os_pwrite_all(&f->os, fd, "xyz", 3, 0), 0);
    assert_int_equal(f->calls[FAKE_PWRITE], 6);
    f->os.close(&f->os, fd);
    os_fake_destroy(f);
}

static void the_machine_is_settable(void **state)
{
    struct os_fake *f = os_fake_create();
    (void)state;
    f->realtime_ns = 1000, f->raw_ns = 10, f->step_ns = 5, f->cpu_count = 64, f->ram_bytes = 1 << 20;
    assert_int_equal(f->os.realtime_ns(&f->os), 1005);
    assert_int_equal(f->os.raw_ns(&f->os), 20);
    f->realtime_ns = 1; /* the clock jumps back */
    assert_int_equal(f->os.realtime_ns(&f->os), 6);
    assert_int_equal(f->os.cpu_count(&f->os), 64);
    assert_int_equal(f->os.ram_bytes(&f->os), 1 << 20);
    f->shm_bytes = 8192;
    int fd       = f->os.shm_create(&f->os, "s", 1 << 20, 8000);
    assert_true(fd >= 0);
    assert_int_equal(f->os.shm_create(&f->os, "s", 1 << 20, 8000), -ENOMEM);
    assert_int_equal(f->os.close(&f->os, fd), 0);
    os_fake_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_behaves_as_the_real_one), cmocka_unit_test(a_full_disk),
        cmocka_unit_test(read_only_and_links),        cmocka_unit_test(calls_fail_when_told),
        cmocka_unit_test(the_machine_is_settable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
