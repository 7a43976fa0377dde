/* The kinds of mounts, by lines of mountinfo; a helper's answers about mappings, what it inherits, and the fate of
 * questions when it hangs. */
#include "autologger/kernel/source/elf_helper.h"
#include "autologger/kernel/source/mounts.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static int proc;

static void types_of_mounts(void **state)
{
    static const struct {
        const char     *line;
        uint32_t        id;
        enum mount_kind kind;
    } rows[]                       = {{"27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n", 27, MOUNT_LOCAL},
                                      {"4294967295 1 0:5 / /a rw shared:1 master:2 - tmpfs none rw", 4294967295u, MOUNT_LOCAL},
                                      {"1 2 0:6 / /b rw - overlay overlay rw,lowerdir=/x\n", 1, MOUNT_STACKED},
                                      {"1 2 0:6 / /b\\040-\\040ext4 rw - fuse.sshfs a:/ rw\n", 1, MOUNT_PROGRAM},
                                      {"1 2 0:6 / /b rw - fuse /dev/fuse rw", 1, MOUNT_PROGRAM},
                                      {"1 2 8:1 / /b rw - fuseblk /dev/sda1 rw", 1, MOUNT_PROGRAM},
                                      {"1 2 0:6 / /b rw - nfs4 a:/ rw", 1, MOUNT_OTHER},
                                      {"1 2 0:6 / /b rw - ext4x a rw", 1, MOUNT_OTHER},
                                      {"1 2 0:6 / /b rw - extfuse. a rw", 1, MOUNT_OTHER}};
    static const char *const bad[] = {"",
                                      "x 1 0:1 / / rw - ext4 a rw",
                                      "27",
                                      "27 1 0:1 / / rw",
                                      "4294967296 1 0:1 / / rw - ext4 a rw",
                                      "27 1 0:1 / / rw - "};
    struct mount_row         r;
    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(mount_row_parse(rows[i].line, &r));
        assert_int_equal(r.id, rows[i].id);
        assert_int_equal(r.kind, rows[i].kind);
    }
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(mount_row_parse(bad[i], &r));
}

/* The question for the mapping of this program's own code. */
static struct elf_question own_code(char path[4096])
{
    struct elf_question q = {.pid = (uint32_t)getpid()};
    struct proc_mapping m;
    char                line[4400];
    FILE               *f = fopen("/proc/self/maps", "re");
    assert_non_null(f);
    *path = 0;
    while (!*path && fgets(line, sizeof line, f))
        if (proc_mapping_parse(line, false, &m) && strstr(m.path, "test_elf_helper")) {
            snprintf(path, 4096, "%s", m.path);
            q.start = m.start;
            q.end   = m.end;
            q.inode = m.inode;
        }
    fclose(f);
    assert_true(*path == '/');
    return q;
}

static bool answer_within(struct elf_helper *h, int ms, uint64_t *key, struct elf_info *out)
{
    for (int i = 0; i < ms; i++) {
        if (elf_answer(h, key, out))
            return true;
        elf_helper_wait(h, 1);
    }
    return false;
}

/* The only child, or 0. */
static pid_t child_of_ours(void)
{
    char  path[64];
    int   pid = 0;
    FILE *f;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    f = fopen(path, "re");
    if (f && fscanf(f, "%d", &pid) != 1)
        pid = 0;
    if (f)
        fclose(f);
    return pid;
}

static void a_file_behind_a_mapping(void **state)
{
    struct elf_helper  *h = elf_helper_create(proc);
    char                path[4096];
    struct elf_question q = own_code(path);
    struct elf_info     got, own = {0};
    uint64_t            key = 0;
    int                 fd  = open(path, O_RDONLY | O_CLOEXEC);
    (void)state;
    struct stat st;
    assert_true(elf_read(fd, &own) && fstat(fd, &st) == 0);
    close(fd);

    q.key = 7;
    assert_true(elf_ask(h, &q, path));
    assert_true(answer_within(h, 5000, &key, &got));
    assert_int_equal(key, 7);
    assert_true(got.valid && got.high == own.high && got.execs == own.execs && got.owner == st.st_uid);
    assert_memory_equal(got.build_id, own.build_id, sizeof own.build_id);

    q.key = 8; /* the mapping is gone, and the path has another file */
    q.start += 4096;
    q.inode++;
    assert_true(elf_ask(h, &q, path));
    assert_true(answer_within(h, 5000, &key, &got));
    assert_true(key == 8 && !got.valid);

    q.key   = 9; /* found by its build id, though the process is gone */
    q.pid   = UINT32_MAX;
    q.inode = 0;
    memcpy(q.build_id, own.build_id, q.build_id_size = own.build_id_size);
    assert_true(elf_ask(h, &q, path));
    assert_true(answer_within(h, 5000, &key, &got));
    assert_true(key == 9 && got.valid == (own.build_id_size > 0));
    assert_false(elf_ask(h, &q, "no/path"));
    assert_int_equal(elf_unanswered(h), 0);
    assert_false(elf_answer(h, &key, &got));
    elf_helper_destroy(h);
    assert_int_equal(child_of_ours(), 0);
}

static unsigned descriptors_of(pid_t pid)
{
    char     path[64];
    unsigned count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
        count += *e->d_name != '.';
    if (dir)
        closedir(dir);
    return count;
}

static void it_has_nothing_of_its_maker(void **state)
{
    struct elf_helper  *h = elf_helper_create(proc);
    char                path[4096], line[4400];
    struct elf_question q = own_code(path);
    struct elf_info     got;
    uint64_t            key;
    int                 shared = memfd_create("session_memory", MFD_CLOEXEC);
    (void)state;
    assert_int_equal(ftruncate(shared, 1 << 20), 0);
    void *at = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
    assert_true(at != MAP_FAILED);
    assert_true(elf_ask(h, &q, path) && answer_within(h, 5000, &key, &got));
    pid_t child = child_of_ours();
    assert_true(child > 0);
    assert_in_range(descriptors_of(child), 2, 3); /* /proc, the socket, its mountinfo */
    snprintf(line, sizeof line, "/proc/%d/maps", (int)child);
    FILE *f = fopen(line, "re");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        assert_null(strstr(line, "session_memory"));
    fclose(f);
    munmap(at, 1 << 20);
    close(shared);
    elf_helper_destroy(h);
}

/* A stopped helper stands for one that hangs in a file system: its question gets no answer, and its successor answers
 * the others. */
static void one_that_hangs_is_left_behind(void **state)
{
    struct elf_helper  *h = elf_helper_create(proc);
    char                path[4096];
    struct elf_question q = own_code(path);
    struct elf_info     got;
    uint64_t            key;
    struct timespec     from, to;
    (void)state;
    assert_true(elf_ask(h, &q, path) && answer_within(h, 5000, &key, &got));
    pid_t child = child_of_ours();
    assert_true(child > 0);
    assert_int_equal(kill(child, SIGSTOP), 0);
    q.key = 1;
    assert_true(elf_ask(h, &q, path));
    q.key = 2;
    assert_true(elf_ask(h, &q, path));
    clock_gettime(CLOCK_MONOTONIC, &from);
    assert_true(answer_within(h, 5000, &key, &got) && key == 1 && !got.valid);
    clock_gettime(CLOCK_MONOTONIC, &to);
    double waited = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
    assert_true(waited > 0.05 && waited < 4);
    assert_true(answer_within(h, 5000, &key, &got) && key == 2 && got.valid);
    elf_helper_destroy(h);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no wait() of the program finds a helper */
    assert_int_equal(child_of_ours(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(types_of_mounts), cmocka_unit_test(a_file_behind_a_mapping),
                                       cmocka_unit_test(it_has_nothing_of_its_maker),
                                       cmocka_unit_test(one_that_hangs_is_left_behind)};
    proc                            = proc_open(0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
