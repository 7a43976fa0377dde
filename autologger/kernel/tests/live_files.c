/* The truth of FILE_IO, FILE_IO_INIT, FILENAME, SYSCALL and VIRT_ALLOC on this machine: a child does a known number of
 * things, and the events alone must tell exactly those. Proves: LEG-08, and the sources of issue 4. Needs CAP_PERFMON
 * and CAP_BPF; else skipped. */
// timeout: 60
#include "autologger/kernel/tests/klog_fixture.h"
#include "autologger/kernel/tests/narrow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>

enum {
    CREATE = 0x0440,
    CLEANUP,
    CLOSE,
    READ,
    WRITE,
    SETINFO,
    DELETE,
    RENAME,
    DIRENUM,
    FLUSH,
    QUERY,
    FSCONTROL,
    OPEND,
    DELETE_PATH = 0x044F,
    RENAME_PATH,
    LINK_PATH,
    NAME         = 0x0420,
    NAME_GONE    = 0x0423,
    NAME_RUNDOWN = 0x0424
};
enum { FILES = 1000, FEW = 20, MAPS = 200 };
#define NO_SUCH_NAME 0xC0000034u
#define NAME_EXISTS 0xC0000035u

static char folder[256];

static bool begin(struct collector *c, uint32_t word0, uint32_t word1, uint32_t word2, const uint16_t *hooks,
                  unsigned count)
{
    struct klog_config config = config_make(c, word0, word1);
    config.mask[2]            = word2;
    config.hook_count         = count;
    config.ring_bytes         = 8 << 20;
    if (count)
        memcpy(config.hooks, hooks, count * sizeof *hooks);
    if (start(c, &config))
        return true;
    skip();
    return false;
}

static void end(struct collector *c, struct klog_counters *n)
{
    halt(c);
    check_balance(c, n);
    if (n->lost_ring + n->lost_memory + n->withheld == 0)
        return;
    print_message("skipped: this machine is too busy now: events were lost, and counted\n");
    finish(c);
    skip();
}

/* Runs `work` in a child and returns its pid. The child's exit code tells whether its calls worked. */
static pid_t run_child(int (*work)(void))
{
    int   status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(work());
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    return pid;
}

static void folder_make(void)
{
    snprintf(folder, sizeof folder, "%s/filesXXXXXX", AL_BINARY_DIR);
    assert_non_null(mkdtemp(folder));
}

/* Offset of the thread id in the payload; 0: the payload has none */
static size_t tid_at(uint16_t hook)
{
    return hook == CREATE                  ? 16
           : hook == READ || hook == WRITE ? 32
           : hook >= CREATE && hook <= LINK_PATH && hook != OPEND
               ? (hook == CLEANUP || hook == CLOSE || hook == FLUSH || hook == DIRENUM ? 24 : 32)
               : 0;
}

static bool is_of(const struct seen *s, uint16_t hook, pid_t tid)
{
    return s->hook == hook && u32_at(s, tid_at(hook)) == (uint32_t)tid;
}

static size_t count_by(const struct collector *c, uint16_t hook, pid_t tid)
{
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++)
        n += is_of(&c->event[i], hook, tid);
    return n;
}

static const struct seen *nth_by(const struct collector *c, uint16_t hook, pid_t tid, size_t nth)
{
    for (size_t i = 0; i < c->count; i++)
        if (is_of(&c->event[i], hook, tid) && nth-- == 0)
            return &c->event[i];
    fail_msg("event 0x%04x %zu is missing", hook, nth);
    return NULL;
}

static uint64_t irp_of(const struct seen *s) { return u64_at(s, s->hook == READ || s->hook == WRITE ? 8 : 0); }

/* The end of an operation: exactly one OpEnd, after it. */
static const struct seen *end_of(const struct collector *c, const struct seen *s)
{
    const struct seen *found = NULL;
    for (size_t i = 0; i < c->count; i++)
        if (c->event[i].hook == OPEND && u64_at(&c->event[i], 0) == irp_of(s)) {
            assert_null(found);
            found = &c->event[i];
        }
    assert_non_null(found);
    assert_true(found->time > s->time);
    return found;
}

static void path_at(const struct seen *s, size_t at, char out[1024])
{
    static const char volume[] = "\\Device\\HarddiskVolume1";
    char              text[1024];
    assert_true(at + 2 <= s->size && s->payload[s->size - 1] == 0 && s->payload[s->size - 2] == 0);
    utf16le_to_utf8(s->payload + at, s->size - at - 2, text, sizeof text);
    const char *from = strncmp(text, volume, sizeof volume - 1) == 0 ? text + sizeof volume - 1 : text;
    for (size_t i = 0; (out[i] = from[i] == '\\' ? '/' : from[i]); i++)
        ;
}

/* The name of a key at a time, by the events before it. */
static void name_of(const struct collector *c, uint64_t key, uint64_t time, char out[1024])
{
    *out = 0;
    for (size_t i = 0; i < c->count && c->event[i].time < time; i++)
        if (c->event[i].hook == NAME && u64_at(&c->event[i], 0) == key)
            path_at(&c->event[i], 8, out);
}

static void expect_path(const char *is, const char *format, int number)
{
    char   should[1024];
    size_t n = (size_t)snprintf(should, sizeof should, "%s/", folder);
    snprintf(should + n, sizeof should - n, format, number);
    assert_string_equal(is, should);
}

/* ---- FILE_IO and FILE_IO_INIT: a thousand of each ---- */

static int thousand_files(void)
{
    char buffer[4096] = "", name[512], other[64];
    if (chdir(folder) < 0)
        return 1;
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "%s/a%d", folder, i);
        int fd = (int)syscall(SYS_openat, AT_FDCWD, name, O_CREAT | O_EXCL | O_WRONLY, 0600);
        if (fd < 0 || syscall(SYS_write, fd, buffer, 100 + i) != 100 + i || syscall(SYS_close, fd) < 0)
            return 2;
        snprintf(name, sizeof name, "a%d", i); /* relative to the working folder */
        fd = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY);
        if (fd < 0 || syscall(SYS_pread64, fd, buffer, sizeof buffer, 50L) != 50 + i || syscall(SYS_close, fd) < 0)
            return 3;
        snprintf(other, sizeof other, "b%d", i);
        if (syscall(SYS_renameat2, AT_FDCWD, name, AT_FDCWD, other, 0) < 0)
            return 4;
        if (syscall(SYS_openat, AT_FDCWD, name, O_RDONLY) >= 0 || errno != ENOENT)
            return 5;
        if (syscall(SYS_unlinkat, AT_FDCWD, other, 0) < 0)
            return 6;
    }
    return 0;
}

static void FILE_IO_and_FILE_IO_INIT(void **state)
{
    static struct collector c;
    struct klog_counters    n;
    (void)state;
    folder_make();
    if (!begin(&c, 0x6000000, 0, 0, NULL, 0))
        return;
    pid_t pid = run_child(thousand_files);
    end(&c, &n);
    assert_int_equal(c.conditions, 0);
    size_t creates = count_by(&c, CREATE, pid);
    print_message("  creates %zu cleanups %zu closes %zu reads %zu writes %zu renames %zu deletes %zu\n", creates,
                  count_by(&c, CLEANUP, pid), count_by(&c, CLOSE, pid), count_by(&c, READ, pid),
                  count_by(&c, WRITE, pid), count_by(&c, RENAME, pid), count_by(&c, DELETE, pid));
    assert_int_equal(creates, 3 * FILES);
    assert_int_equal(count_by(&c, WRITE, pid), FILES);
    assert_int_equal(count_by(&c, READ, pid), FILES);
    assert_int_equal(count_by(&c, CLEANUP, pid), 2 * FILES);
    assert_int_equal(count_by(&c, CLOSE, pid), 2 * FILES);
    assert_int_equal(count_by(&c, RENAME, pid), FILES);
    assert_int_equal(count_by(&c, RENAME_PATH, pid), FILES);
    assert_int_equal(count_by(&c, DELETE, pid), FILES);
    assert_int_equal(count_by(&c, DELETE_PATH, pid), FILES);
    for (int i = 0; i < FILES; i += 111) { /* every field */
        char               path[1024];
        const struct seen *create  = nth_by(&c, CREATE, pid, (size_t)i * 3),
                          *again   = nth_by(&c, CREATE, pid, (size_t)i * 3 + 1),
                          *missing = nth_by(&c, CREATE, pid, (size_t)i * 3 + 2), *w = nth_by(&c, WRITE, pid, (size_t)i),
                          *r = nth_by(&c, READ, pid, (size_t)i), *cleanup = nth_by(&c, CLEANUP, pid, (size_t)i * 2),
                          *closed     = nth_by(&c, CLOSE, pid, (size_t)i * 2),
                          *renamed    = nth_by(&c, RENAME, pid, (size_t)i),
                          *renamed_to = nth_by(&c, RENAME_PATH, pid, (size_t)i),
                          *gone       = nth_by(&c, DELETE, pid, (size_t)i),
                          *gone_path  = nth_by(&c, DELETE_PATH, pid, (size_t)i);
        assert_true(create->version == 3 && create->header_type == ETL_PERFINFO64);
        path_at(create, 32, path);
        expect_path(path, "a%d", i);
        assert_int_equal(u32_at(create, 20), 2u << 24); /* disposition: create */
        assert_int_equal(u32_at(create, 28), 7);
        path_at(again, 32, path);
        expect_path(path, "a%d", i);
        assert_int_equal(u32_at(again, 20), 1u << 24);
        assert_int_equal(u32_at(end_of(&c, create), 16), 0);
        assert_int_equal(u32_at(end_of(&c, again), 16), 0);
        assert_int_equal(u32_at(end_of(&c, missing), 16), NO_SUCH_NAME);
        /* the object is the open's, the key is the file's */
        assert_true(w->size == 48 && u64_at(w, 16) == u64_at(create, 8) && u64_at(r, 16) == u64_at(again, 8) &&
                    u64_at(w, 16) != u64_at(r, 16));
        assert_true(u64_at(w, 24) == u64_at(r, 24) && u64_at(w, 24) >> 63);
        assert_true(u64_at(w, 0) == 0 && u32_at(w, 36) == 100u + (unsigned)i &&
                    u64_at(end_of(&c, w), 8) == 100u + (unsigned)i);
        assert_true(u64_at(r, 0) == 50 && u32_at(r, 36) == 4096 && u64_at(end_of(&c, r), 8) == 50u + (unsigned)i);
        name_of(&c, u64_at(w, 24), w->time, path);
        expect_path(path, "a%d", i);
        assert_true(cleanup->size == 28 && u64_at(cleanup, 8) == u64_at(create, 8) &&
                    u64_at(cleanup, 16) == u64_at(w, 24));
        assert_true(u64_at(closed, 8) == u64_at(create, 8) && closed->time > cleanup->time);
        end_of(&c, cleanup);
        end_of(&c, closed);
        assert_true(renamed->size == 40 && u64_at(renamed, 16) == u64_at(w, 24) &&
                    irp_of(renamed) == irp_of(renamed_to));
        path_at(renamed_to, 40, path);
        expect_path(path, "b%d", i);
        assert_true(u64_at(gone, 16) == u64_at(w, 24) && u32_at(end_of(&c, gone), 16) == 0 &&
                    u32_at(end_of(&c, renamed), 16) == 0);
        path_at(gone_path, 40, path);
        expect_path(path, "b%d", i);
        name_of(&c, u64_at(gone, 16), gone->time, path);
        expect_path(path, "b%d", i);
    }
    finish(&c);
    rmdir(folder);
}

/* ---- one of each kind ---- */

static int one_of_each(void)
{
    char        buffer[8192];
    struct stat st;
    char        part[2][8] = {"abc", "defg"};
    struct {
        void  *base;
        size_t length;
    } vector[2] = {{part[0], 3}, {part[1], 4}};
    if (chdir(folder) < 0)
        return 1;
    for (int i = 0; i < FEW; i++) {
        int dir = (int)syscall(SYS_openat, AT_FDCWD, ".", O_RDONLY | O_DIRECTORY);
        if (dir < 0 || syscall(SYS_mkdirat, dir, "sub", 0700) < 0 || syscall(SYS_mkdirat, dir, "sub", 0700) >= 0)
            return 2;
        int fd = (int)syscall(SYS_openat, dir, "sub/file", O_CREAT | O_RDWR | O_TRUNC | O_SYNC, 0600);
        if (fd < 0 || syscall(SYS_writev, fd, vector, 2) != 7 || syscall(SYS_fsync, fd) < 0 ||
            syscall(SYS_ftruncate, fd, 4096L) < 0 || syscall(SYS_fchmod, fd, 0640) < 0)
            return 3;
        int copy = (int)syscall(SYS_dup, fd), sockets = (int)syscall(SYS_eventfd2, 1, 0);
        if (copy < 0 || sockets < 0 || syscall(SYS_fstat, fd, &st) < 0 || syscall(SYS_read, sockets, buffer, 8L) != 8)
            return 4;
        syscall(SYS_ioctl, fd, 0x5401, buffer); /* TCGETS: a file is no terminal */
        syscall(SYS_close, fd);
        syscall(SYS_close, copy); /* the last descriptor of this open file */
        syscall(SYS_close, sockets);
        if (syscall(SYS_linkat, dir, "sub/file", dir, "link", 0) < 0 ||
            syscall(SYS_newfstatat, dir, "link", &st, 0) < 0 ||
            syscall(SYS_getdents64, dir, buffer, sizeof buffer) <= 0)
            return 5;
        if (syscall(SYS_unlinkat, dir, "link", 0) < 0 || syscall(SYS_unlinkat, dir, "sub/file", 0) < 0 ||
            syscall(SYS_unlinkat, dir, "sub", AT_REMOVEDIR) < 0)
            return 6;
        syscall(SYS_close, dir);
    }
    return 0;
}

static void one_of_each_kind(void **state)
{
    static struct collector c;
    struct klog_counters    n;
    char                    path[1024];
    (void)state;
    folder_make();
    if (!begin(&c, 0x6000000, 0, 0, NULL, 0))
        return;
    pid_t pid = run_child(one_of_each);
    end(&c, &n);
    static const struct {
        uint16_t hook;
        unsigned each;
    } should[] = {{CREATE, 4},  {WRITE, 1}, {READ, 0},    {FLUSH, 1},  {SETINFO, 3},     {QUERY, 2},     {FSCONTROL, 1},
                  {CLEANUP, 3}, {CLOSE, 2}, {DIRENUM, 1}, {DELETE, 3}, {DELETE_PATH, 3}, {LINK_PATH, 1}, {RENAME, 0}};
    for (size_t i = 0; i < sizeof should / sizeof *should; i++)
        if (count_by(&c, should[i].hook, pid) != should[i].each * FEW)
            fail_msg("0x%04x: %zu times, not %u", should[i].hook, count_by(&c, should[i].hook, pid),
                     should[i].each * FEW);
    const struct seen *open_folder = nth_by(&c, CREATE, pid, 0), *make = nth_by(&c, CREATE, pid, 1),
                      *make_again = nth_by(&c, CREATE, pid, 2), *create = nth_by(&c, CREATE, pid, 3),
                      *w = nth_by(&c, WRITE, pid, 0), *list = nth_by(&c, DIRENUM, pid, 0);
    assert_int_equal(u32_at(open_folder, 20), 1u << 24 | 1);
    assert_int_equal(u32_at(make, 20), 2u << 24 | 1);
    assert_int_equal(u32_at(end_of(&c, make_again), 16), NAME_EXISTS);
    assert_int_equal(u32_at(create, 20), 5u << 24 | 2);
    path_at(create, 32, path);
    expect_path(path, "sub/file", 0);
    assert_true(u32_at(w, 36) == 7 && u64_at(end_of(&c, w), 8) == 7); /* the sum of two parts */
    assert_true(u32_at(nth_by(&c, SETINFO, pid, 0), 36) == 20 && u64_at(nth_by(&c, SETINFO, pid, 0), 24) == 4096);
    assert_int_equal(u32_at(nth_by(&c, SETINFO, pid, 1), 36), 4);
    assert_int_equal(u32_at(nth_by(&c, QUERY, pid, 0), 36), 18);
    assert_int_equal(u32_at(nth_by(&c, FSCONTROL, pid, 0), 36), 0x5401);
    assert_int_equal(u32_at(end_of(&c, nth_by(&c, FSCONTROL, pid, 0)), 16), 0xC0000010);
    path_at(nth_by(&c, LINK_PATH, pid, 0), 40, path);
    expect_path(path, "link", 0);
    assert_true(u32_at(list, 28) == 8192 && u64_at(end_of(&c, list), 8) > 0 &&
                u64_at(list, 8) == u64_at(open_folder, 8));
    name_of(&c, u64_at(list, 16), list->time, path);
    assert_string_equal(path, folder);
    /* two descriptors of one open file: two Cleanups, and one Close at the second */
    const struct seen *first = nth_by(&c, CLEANUP, pid, 0), *second = nth_by(&c, CLEANUP, pid, 1),
                      *closed = nth_by(&c, CLOSE, pid, 0);
    assert_true(u64_at(first, 8) == u64_at(create, 8) && u64_at(second, 8) == u64_at(create, 8) &&
                u64_at(closed, 8) == u64_at(create, 8));
    assert_true(closed->time > second->time);
    /* all remaining names at the end */
    assert_true(count_of(&c, NAME) > 0 && count_of(&c, NAME_GONE) > 0 && count_of(&c, NAME_RUNDOWN) > 0);
    finish(&c);
    rmdir(folder);
}

/* ---- names whose page is not in memory when the call begins ---- */

static int names_not_in_memory(void)
{
    char name[64];
    if (chdir(folder) < 0)
        return 1;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "names", O_CREAT | O_RDWR, 0600);
    if (fd < 0 || syscall(SYS_pwrite64, fd, "missing-file\0other-name", 24L, 100L) != 24)
        return 2;
    for (int i = 0; i < FEW; i++) {
        char *page = (void *)syscall(SYS_mmap, NULL, 4096L, PROT_READ, MAP_PRIVATE, fd, 0L);
        if (page == MAP_FAILED || syscall(SYS_openat, AT_FDCWD, page + 100, O_RDONLY) >= 0 ||
            syscall(SYS_munmap, page, 4096L) < 0)
            return 3;
        page = (void *)syscall(SYS_mmap, NULL, 4096L, PROT_READ, MAP_PRIVATE, fd, 0L);
        if (page == MAP_FAILED || syscall(SYS_linkat, AT_FDCWD, page + 100, AT_FDCWD, page + 113, 0) >= 0 ||
            syscall(SYS_munmap, page, 4096L) < 0)
            return 4;
    }
    snprintf(name, sizeof name, "names");
    return syscall(SYS_close, fd) == 0 && syscall(SYS_unlinkat, AT_FDCWD, name, 0) == 0 ? 0 : 5;
}

static void late_names(void **state)
{
    static struct collector c;
    struct klog_counters    n;
    char                    path[1024];
    (void)state;
    folder_make();
    if (!begin(&c, 0x6000000, 0, 0, NULL, 0))
        return;
    pid_t pid = run_child(names_not_in_memory);
    end(&c, &n);
    assert_int_equal(count_by(&c, CREATE, pid), 1 + FEW);
    assert_int_equal(count_by(&c, LINK_PATH, pid), FEW);
    for (int i = 0; i < FEW; i++) {
        const struct seen *missing = nth_by(&c, CREATE, pid, 1 + (size_t)i);
        path_at(missing, 32, path);
        expect_path(path, "missing-file", 0);
        assert_int_equal(u32_at(end_of(&c, missing), 16), NO_SUCH_NAME);
        path_at(nth_by(&c, LINK_PATH, pid, (size_t)i), 40, path);
        expect_path(path, "other-name", 0);
    }
    finish(&c);
    rmdir(folder);
}

/* ---- FILENAME: disk events within a call on a file name it ---- */

enum { BLOCK = 65536 };
static int direct_writes(void)
{
    char *page =
        (void *)syscall(SYS_mmap, NULL, (long)BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
    if (chdir(folder) < 0 || page == MAP_FAILED)
        return 1;
    memset(page, 'd', BLOCK);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "direct", O_CREAT | O_RDWR | O_DIRECT, 0600);
    if (fd < 0)
        return errno == EINVAL ? 0 : 2; /* a file system without direct writes: nothing to prove here */
    for (int i = 0; i < FEW; i++)
        if (syscall(SYS_pwrite64, fd, page, (long)BLOCK, (long)i * BLOCK) != BLOCK)
            return 3;
    return syscall(SYS_close, fd) == 0 && syscall(SYS_unlinkat, AT_FDCWD, "direct", 0) == 0 ? 0 : 4;
}

static void FILENAME(void **state)
{
    static struct collector c;
    struct klog_counters    n;
    uint64_t                bytes = 0, elsewhere = 0, key = 0;
    struct stat             st;
    (void)state;
    folder_make();
    /* a file system in memory takes direct writes, too, but no disk sees them */
    bool disk = stat(folder, &st) == 0 && major(st.st_dev) != 0;
    if (!disk)
        print_message("the test's folder lies on no disk of its own: that disk events name it is not proved here\n");
    if (!begin(&c, 0x6000300, 0, 0, NULL, 0))
        return;
    pid_t pid = run_child(direct_writes);
    end(&c, &n);
    if (count_by(&c, WRITE, pid))
        key = u64_at(nth_by(&c, WRITE, pid, 0), 24);
    for (size_t i = 0; i < c.count; i++) {
        const struct seen *s = &c.event[i];
        if (s->hook != 0x010B)
            continue;
        bytes += u64_at(s, 24) == key ? u32_at(s, 8) : 0;
        elsewhere += u64_at(s, 24) == key && u32_at(s, 48) != (uint32_t)pid;
    }
    print_message("  %llu bytes of disk writes are of the file\n", (unsigned long long)bytes);
    if (disk && count_by(&c, WRITE, pid) && requests_told())
        assert_uint_in_range(bytes, 1, FEW * BLOCK);
    assert_int_equal(elsewhere, 0);
    finish(&c);
    rmdir(folder);
}

/* ---- SYSCALL ---- */

static int thousand_calls(void)
{
    for (int i = 0; i < FILES; i++)
        if (syscall(SYS_getppid) <= 0 || syscall(SYS_close, 777777) >= 0)
            return 1;
    return 0;
}

static uint64_t symbol(const char *wanted)
{
    char     line[512], name[256];
    uint64_t address = 0;
    FILE    *f       = fopen("/proc/kallsyms", "re");
    while (f && !address && fgets(line, sizeof line, f))
        if (sscanf(line, "%lx %*c %255s", &address, name) != 2 || strcmp(name, wanted) != 0)
            address = 0;
    if (f)
        fclose(f);
    return address;
}

static void SYSCALL(void **state)
{
    static struct collector c;
    struct klog_counters    n;
    unsigned                enters = 0, exits = 0, failures = 0, closes = 0, all = 0;
    (void)state;
    if (!begin(&c, 0, 0, 0x40, NULL, 0))
        return;
    pid_t pid = run_child(thousand_calls);
    end(&c, &n);
#if defined __aarch64__
    uint64_t getppid_at = symbol("__arm64_sys_getppid"), close_at = symbol("__arm64_sys_close");
#else
    uint64_t getppid_at = symbol("__x64_sys_getppid"), close_at = symbol("__x64_sys_close");
#endif
    for (size_t i = 0; i < c.count; i++) {
        const struct seen *s = &c.event[i];
        all += s->hook == 0x0F33;
        if (s->tid != (uint32_t)pid || (s->hook != 0x0F33 && s->hook != 0x0F34))
            continue;
        assert_int_equal(s->pid, pid);
        enters += s->hook == 0x0F33 && u64_at(s, 0) == getppid_at;
        closes += s->hook == 0x0F33 && u64_at(s, 0) == close_at;
        exits += s->hook == 0x0F34 && u32_at(s, 0) == 0;
        failures += s->hook == 0x0F34 && u32_at(s, 0) == 0xC0000008; /* STATUS_INVALID_HANDLE */
    }
    print_message("  getppid %u, close %u, success %u, bad handle %u, of %u calls in all\n", enters, closes, exits,
                  failures, all);
    assert_true(getppid_at && close_at);
    assert_int_equal(enters, FILES);
    assert_int_equal(closes, FILES);
    assert_int_equal(failures, FILES);
    assert_uint_in_range(exits, FILES, FILES + 20); /* and the few of the child's own start */
    finish(&c);
}

/* ---- VIRT_ALLOC ---- */

enum { LENGTH = 3 * 4096 };
static int maps_and_unmaps(void)
{
    for (int i = 0; i < MAPS; i++) {
        char *p =
            (void *)syscall(SYS_mmap, NULL, (long)LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
        if (p == MAP_FAILED || syscall(SYS_madvise, p, 4096L, MADV_DONTNEED) < 0 ||
            syscall(SYS_munmap, p, (long)LENGTH) < 0)
            return 1;
    }
    char *grown = (void *)syscall(SYS_mmap, NULL, 4096L, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
    grown       = (void *)syscall(SYS_mremap, grown, 4096L, 5 * 4096L, MREMAP_MAYMOVE);
    long heap   = syscall(SYS_brk, 0L);
    if (grown == MAP_FAILED || syscall(SYS_brk, heap + (1 << 20)) != heap + (1 << 20) || syscall(SYS_brk, heap) != heap)
        return 2;
    return 0;
}

/* ---- programs of 32 bits ---- */

static int narrow_program(void)
{
    if (chdir(folder) == 0)
        execl(AL_BINARY_DIR "/tests/narrow_files", "narrow_files", (char *)NULL);
    return 77;
}

/* Calls of 32-bit programs have numbers and registers of their own, and long offsets come in halves. */
static void FILE_IO_of_32_bits(void **state)
{
    enum { TIMES = 10 };
    static struct collector c;
    struct klog_counters    n;
    size_t                  seen[FSCONTROL + 2 - CREATE] = {0}, far = 0, cut = 0, parts = 0, gone = 0;
    char                    path[1024];
    (void)state;
    if (!narrow_calls_here())
        skip();
    if (access(AL_BINARY_DIR "/tests/narrow_files", X_OK) != 0) {
        print_message("skipped: the compiler makes no programs of 32 bits\n");
        skip();
    }
    folder_make();
    if (!begin(&c, 0x06000000, 0, 0, NULL, 0))
        return;
    uint32_t pid = (uint32_t)run_child(narrow_program);
    end(&c, &n);
    for (size_t i = 0; i < c.count; i++) {
        const struct seen *s = &c.event[i];
        if (s->hook < CREATE || s->hook > RENAME_PATH ||
            u32_at(s, s->hook == CREATE                                           ? 16
                      : s->hook == READ || s->hook == WRITE || s->hook == SETINFO ? 32
                      : s->hook == RENAME_PATH                                    ? 32
                                                                                  : 24) != pid)
            continue;
        if (s->hook <= FSCONTROL)
            seen[s->hook - CREATE]++;
        if (s->hook == CREATE && i) {
            path_at(s, 32, path);
            if (strstr(path, "/narrow") == NULL)
                seen[0]--; /* a file that starting a program opens */
            else
                gone += u32_at(end_of(&c, s), 16) == 0xC0000034;
        }
        far += s->hook == WRITE && u64_at(s, 0) == 0x100000010 && u32_at(s, 36) == 5;
        parts += s->hook == WRITE && u32_at(s, 36) == 70;
        cut += s->hook == SETINFO && u64_at(s, 24) == 0x100000020 && u32_at(s, 36) == 20;
        if (s->hook == RENAME_PATH) {
            path_at(s, 40, path);
            assert_non_null(strstr(path, "/other"));
        }
    }
    print_message(
        "  create %zu (%zu of what is gone) write %zu (beyond 4 GB %zu, in parts %zu) cut %zu read %zu cleanup %zu\n",
        seen[0], gone, seen[WRITE - CREATE], far, parts, cut, seen[READ - CREATE], seen[CLEANUP - CREATE]);
    assert_int_equal(seen[0], 3 * TIMES);
    assert_int_equal(gone, TIMES);
    assert_true(far == TIMES && parts == TIMES && cut == TIMES && seen[WRITE - CREATE] == 3 * TIMES);
    assert_true(seen[READ - CREATE] >= TIMES && seen[CLEANUP - CREATE] >= 2 * TIMES);
    rmdir(folder);
    finish(&c);
}

static void VIRT_ALLOC(void **state)
{
    static struct collector c;
    struct klog_counters    n;
    unsigned                count[5] = {0}, whole = 0;
    uint64_t                heap = 0, last = 0;
    (void)state;
    if (!begin(&c, 0, 0x8000, 0, NULL, 0))
        return;
    pid_t pid = run_child(maps_and_unmaps);
    end(&c, &n);
    for (size_t i = 0; i < c.count; i++) {
        const struct seen *s = &c.event[i];
        if ((s->hook != 0x0262 && s->hook != 0x0263) || u32_at(s, 16) != (uint32_t)pid)
            continue;
        assert_int_equal(s->size, 24);
        uint64_t size  = u64_at(s, 8);
        uint32_t flags = u32_at(s, 20);
        count[0] += s->hook == 0x0262 && size == LENGTH && flags == 0x3000;
        count[1] += s->hook == 0x0263 && size == LENGTH && flags == 0x8000;
        count[2] += s->hook == 0x0263 && size == 4096 && flags == 0x4000;
        count[3] += s->hook == 0x0262 && size == 4096 && flags == 0x2000; /* reserved, not committed */
        count[4] += size == 1 << 20;
        if (s->hook == 0x0263 && flags == 0x8000 && size == LENGTH)
            whole += u64_at(s, 0) == last; /* what was just allocated */
        if (s->hook == 0x0262 && size == LENGTH)
            last = u64_at(s, 0);
        if (size == 1 << 20) {
            assert_true(s->hook == (heap ? 0x0263 : 0x0262) && (!heap || heap == u64_at(s, 0)));
            heap = u64_at(s, 0);
        }
    }
    print_message("  allocated %u freed %u given back %u reserved %u heap %u\n", count[0], count[1], count[2], count[3],
                  count[4]);
    assert_true(count[0] == MAPS && count[1] == MAPS && count[2] == MAPS && whole == MAPS && count[3] == 1 &&
                count[4] == 2);
    klog_sources(c.k, show_source, NULL);
    finish(&c);
}

/* ---- stacks are those of the caller ---- */

static __attribute__((noinline, used, aligned(128))) long closes_in_f(long fd)
{
    long r;
#if defined __x86_64__
    __asm__ volatile("syscall" : "=a"(r) : "0"((long)SYS_close), "D"(fd) : "rcx", "r11", "memory");
#else
    r = syscall(SYS_close, fd);
#endif
    __asm__ volatile("" ::: "memory");
    return r;
}

static int closes_in_child(void)
{
    for (int i = 0; i < FEW; i++) {
        int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || closes_in_f(fd) != 0)
            return 1;
    }
    return 0;
}

static void stacks_of_calls(void **state)
{
    static struct collector c;
    static const uint16_t   hooks[] = {CLEANUP, 0x0F33};
    struct klog_counters    n;
    unsigned                of_file = 0, of_call = 0;
    (void)state;
    if (!begin(&c, 0x7 | 0x4000000, 0, 0x40, hooks, 2))
        return;
    pid_t pid = run_child(closes_in_child);
    end(&c, &n);
    assert_int_equal(c.conditions, 0);
    for (size_t i = 0; i < c.count; i++) {
        const struct seen *s = &c.event[i], *t = NULL;
        bool               in_f = false;
        if (s->hook != 0x1820 || u32_at(s, 12) != (uint32_t)pid)
            continue;
        for (size_t at = 16; at + 8 <= s->size; at += 8)
            in_f |= u64_at(s, at) - (uintptr_t)closes_in_f < 128;
        for (size_t back = 1; back <= i && back < 5000 && !t; back++)
            if (c.event[i - back].time == u64_at(s, 0) && c.event[i - back].cpu == s->cpu &&
                c.event[i - back].hook != 0x1820)
                t = &c.event[i - back];
        assert_non_null(t);
        of_file += in_f && t->hook == CLEANUP;
        of_call += in_f && t->hook == 0x0F33;
    }
    print_message("  stacks through the caller: %u of cleanups, %u of system calls\n", of_file, of_call);
    assert_int_equal(of_file, FEW);
    assert_int_equal(of_call, FEW);
    finish(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(FILE_IO_and_FILE_IO_INIT),
        cmocka_unit_test(one_of_each_kind),
        cmocka_unit_test(late_names),
        cmocka_unit_test(FILENAME),
        cmocka_unit_test(SYSCALL),
        cmocka_unit_test(FILE_IO_of_32_bits),
        cmocka_unit_test(VIRT_ALLOC),
        cmocka_unit_test(stacks_of_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
