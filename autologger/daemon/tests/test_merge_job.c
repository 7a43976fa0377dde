/* A merge in a process without rights: the same bytes as one with all rights; requests for foreign files are refused;
 * and a guest that dies, misbehaves, or takes too long gives a Status with a reason, after which all files still
 * exist. */
// timeout: 120
#include "autologger/daemon/end/merge_host.h"
#include "autologger/daemon/end/merge_job.h"
#include "autologger/daemon/self_start.h"
#include "autologger/etl/tests/build.h"
#include "autologger/sandbox/sandbox.h"
#include "registry-sim/base/opening.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char               folder[40], inputs[2][80], targets[2][80], secret[80];
static struct result_list rows;

static void file_save(const char *path, const void *data, size_t size, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    assert_true(fd >= 0 && write(fd, data, size) == (ssize_t)size && close(fd) == 0);
}

/* This boot's time, so that the merged file names the host. */
static uint64_t boot_time(void)
{
    struct timespec real, since;
    clock_gettime(CLOCK_REALTIME, &real);
    clock_gettime(CLOCK_BOOTTIME, &since);
    return UINT64_C(116444736000000000) + (uint64_t)(real.tv_sec - since.tv_sec) * 10000000;
}

static void input_save(const char *path, const char *name, int64_t from, uint64_t boot)
{
    struct etl_file_info info = build_info(8192);
    info.logger_name          = name;
    info.boot_time            = boot;
    struct image m            = image_start(&info);
    for (uint32_t b = 0; b < 20; b++) {
        image_buffer(&m, (uint16_t)(b % 2), 1 + b);
        for (uint32_t i = 0; i < 50; i++)
            image_event(&m, from + b * 100000 + i * 1000, i);
    }
    file_save(path, m.data, m.size, 0600); /* readable by its owner alone */
    image_free(&m);
}

static int set_up(void **state)
{
    const uint64_t boot = boot_time();
    (void)state;
    strcpy(folder, "/tmp/al-merge-job-XXXXXX"); /* 0700 */
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < 2; i++) {
        char below[60];
        snprintf(below, sizeof below, "%s/%d", folder, i);
        assert_int_equal(mkdir(below, 0700), 0);
        snprintf(inputs[i], sizeof inputs[i], "%s/in%d_um_premerge.etl", folder, i);
        snprintf(targets[i], sizeof targets[i], "%s/m.etl", below);
        input_save(inputs[i], i ? "two" : "one", 2000000 + i * 7, boot);
        struct result_row *row = result_add(&rows);
        snprintf(row->session, sizeof row->session, "%s", i ? "two" : "one");
        snprintf(row->log_path, sizeof row->log_path, "%s", inputs[i]);
        row->start = row->file_created = true;
    }
    snprintf(secret, sizeof secret, "%s/secret", folder);
    file_save(secret, "secret", 6, 0600);
    return 0;
}

static int tear_down(void **state)
{
    char below[60];
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(unlink(inputs[i]), 0); /* no failure has removed the input */
        unlink(targets[i]);
        snprintf(below, sizeof below, "%s/%d", folder, i);
        assert_int_equal(rmdir(below), 0); /* no temporary file was left */
    }
    unlink(secret);
    assert_int_equal(rmdir(folder), 0);
    result_list_finish(&rows);
    return 0;
}

static struct merge_parts parts_for(const char *target)
{
    struct merge_parts parts;
    merge_parts_select(os_linux(), &rows, &parts);
    assert_int_equal(parts.count, 2);
    snprintf(parts.target, sizeof parts.target, "%s", target);
    return parts;
}

static size_t file_load(const char *path, uint8_t **out)
{
    struct stat st;
    int         fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    *out = malloc((size_t)st.st_size);
    assert_int_equal(read(fd, *out, (size_t)st.st_size), st.st_size);
    close(fd);
    return (size_t)st.st_size;
}

/* The header event names the process that wrote the file. */
static void same_but_for_ids(const char *a, const char *b)
{
    enum { IDS_AT = 80, IDS = 8 };
    uint8_t *one, *two;
    size_t   size = file_load(a, &one);
    assert_int_equal(file_load(b, &two), size);
    memset(one + IDS_AT, 0, IDS);
    memset(two + IDS_AT, 0, IDS);
    assert_memory_equal(one, two, size);
    free(one);
    free(two);
}

static wstatus job(struct merge_parts *parts, struct merge_told *told, struct reason *why)
{
    struct merge_job j;
    wstatus          st;
    assert_int_equal(merge_job_start(&j, parts, &rows, why), W_SUCCESS);
    for (int i = 0; !merge_job_ended(&j, 1000, &st, told, why); i++)
        assert_true(i < 60);
    return st;
}

static void the_same_bytes(void **state)
{
    struct merge_parts  with = parts_for(targets[0]), without = parts_for(targets[1]);
    struct merge_counts counts;
    struct merge_told   told;
    struct reason       why;
    struct stat         st;
    (void)state;
    assert_int_equal(merge_parts_run(os_linux(), &with, &counts, &why), W_SUCCESS);
    assert_true(counts.out >= 2000 && counts.added >= 3); /* the events of both sessions and of the host */
    assert_int_equal(job(&without, &told, &why), W_SUCCESS);
    same_but_for_ids(targets[0], targets[1]);
    assert_true(stat(targets[1], &st) == 0 && st.st_uid == getuid() && (st.st_mode & 07777) == 0640);
    assert_true(told.phases.counted && told.first_user_ns && !told.first_kernel_ns);
    struct result_list known = rows;
    merge_parts_times(&without, &known);
    assert_int_equal(told.first_user_ns, known.first_user_ns);
}

/* The merge's own complaint about a file is passed on. */
static void its_own_words(void **state)
{
    struct merge_told told;
    struct reason     why;
    (void)state;
    struct merge_parts parts = parts_for(secret);
    assert_int_equal(job(&parts, &told, &why), W_ALREADY_EXISTS);
    assert_non_null(strstr(why.text, "is not an .etl file"));
}

/* ---- the rights of a guest ---- */

static struct merge_host host_of(void)
{
    static const char *paths[] = {inputs[0], inputs[1]};
    return (struct merge_host){.inputs     = paths,
                               .count      = 2,
                               .target     = targets[0],
                               .publishers = "/var/lib/autologger/publishers",
                               .bytes      = 1000000,
                               .asker_fd   = -1};
}

static int reply_to(enum merge_asked what, const char *path, const char *to, int flags)
{
    struct merge_host  h   = host_of();
    struct merge_ask   ask = {.what = what, .flags = flags, .mode = 0640};
    struct merge_reply reply;
    snprintf(ask.path, sizeof ask.path, "%s", path);
    snprintf(ask.to, sizeof ask.to, "%s", to);
    int fd = merge_host_reply(&h, &ask, &reply);
    assert_int_equal(reply.passed, fd >= 0);
    if (fd >= 0)
        close(fd);
    return reply.result < 0 ? reply.result : 0;
}

static void what_the_guest_may_have(void **state)
{
    enum { MAKE = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW };
    char own[120], other[120], link[120];
    (void)state;
    snprintf(own, sizeof own, "%s.merging-%d", targets[0], (int)getpid());
    snprintf(other, sizeof other, "%s.merging-%d", targets[0], (int)getpid() + 1);
    snprintf(link, sizeof link, "%s/link", folder);
    assert_int_equal(reply_to(MERGE_OPEN, inputs[0], "", 0), 0);
    assert_int_equal(reply_to(MERGE_STAT, inputs[1], "", 0), 0);
    assert_int_equal(reply_to(MERGE_OPEN, "/proc/sys/kernel/random/boot_id", "", 0), 0);
    assert_int_equal(reply_to(MERGE_OPEN, "/bin/true", "", 0), 0); /* an ELF file */
    assert_int_equal(reply_to(MERGE_OPEN, secret, "", 0), -EACCES);
    assert_int_equal(reply_to(MERGE_OPEN, "/etc/shadow", "", 0), -EACCES);
    assert_int_equal(reply_to(MERGE_OPEN, "/etc/passwd", "", 0), -EACCES);
    assert_int_equal(reply_to(MERGE_OPEN, "bin/true", "", 0), -EACCES);
    assert_int_equal(reply_to(MERGE_OPEN, "/dev/zero", "", 0), -EACCES);
    assert_int_equal(reply_to(MERGE_OPEN, "/proc/1/mem", "", 0), -EACCES);
    assert_int_equal(reply_to(MERGE_OPEN, "/proc/self/exe", "", 0), -EACCES);
    assert_int_equal(reply_to(MERGE_OPEN, "/proc/self/root/bin/true", "", 0), -EACCES);
    assert_int_equal(symlink("/proc/self/root/bin/true", link), 0); /* leads into another process's mounts */
    const int led = reply_to(MERGE_OPEN, link, "", 0);
    assert_int_equal(unlink(link), 0);
    assert_true(led == -ELOOP);
    /* like any missing path */
    assert_int_equal(reply_to(MERGE_OPEN, "/sys/module/a/b/notes/.note.gnu.build-id", "", 0), -ENOENT);
    assert_int_equal(reply_to(MERGE_OPEN, "/var/lib/autologger/publishers/../rights", "", 0), -ENOENT);
    assert_int_equal(reply_to(MERGE_STAT, "/etc/passwd", "", 0), -EACCES);
    assert_int_equal(reply_to(MERGE_LSTAT, secret, "", 0), -EACCES);
    assert_int_equal(reply_to(MERGE_CREATE, secret, "", O_RDWR), -EACCES);
    assert_int_equal(reply_to(MERGE_CREATE, targets[0], "", MAKE), -EACCES); /* only under the temporary name */
    assert_int_equal(reply_to(MERGE_CREATE, other, "", MAKE), -EACCES);
    assert_int_equal(reply_to(MERGE_CREATE, own, "", MAKE | O_DIRECTORY), -EACCES);
    assert_int_equal(reply_to(MERGE_RENAME, inputs[0], targets[0], 0), -EACCES);
    assert_int_equal(reply_to(MERGE_UNLINK, inputs[0], "", 0), -EACCES);
    assert_int_equal(reply_to(MERGE_UNLINK, targets[0], "", 0), -EACCES);
    assert_int_equal(reply_to(MERGE_CREATE, own, "", MAKE), 0);
    assert_int_equal(reply_to(MERGE_RENAME, own, secret, 0), -EACCES);
    assert_int_equal(reply_to(MERGE_UNLINK, own, "", 0), 0);
    assert_int_equal(reply_to(MERGE_ASKED, "", "", 0), -EINVAL);
    struct merge_host  h = host_of();
    struct merge_ask   ask;
    struct merge_reply reply;
    memset(&ask, 'a', sizeof ask); /* no NUL at all */
    ask.what = MERGE_OPEN;
    assert_true(merge_host_reply(&h, &ask, &reply) == -1 && reply.result == -EINVAL);
}

/* ---- hostile guests ---- */

static void guest_crashes(void *ctx, struct os *edge, void *answer)
{
    (void)ctx, (void)edge, (void)answer;
    signal(SIGSEGV, SIG_DFL); /* cmocka's */
    volatile int *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *page              = 1;
}

static void guest_executes(void *ctx, struct os *edge, void *answer)
{
    char *argv[] = {(char[]){"true"}, NULL};
    (void)ctx, (void)edge, (void)answer;
    execv("/bin/true", argv);
}

static void guest_hangs(void *ctx, struct os *edge, void *answer)
{
    (void)ctx, (void)edge, (void)answer;
    for (volatile unsigned i = 0;; i++)
        ;
}

/* Closes its socket first, so that it hears nothing. */
static void guest_hangs_up(void *ctx, struct os *edge, void *answer)
{
    close(3);
    guest_hangs(ctx, edge, answer);
}

static void guest_leaves(void *ctx, struct os *edge, void *answer)
{
    (void)ctx, (void)edge, (void)answer;
    _exit(0);
}

/* Its answer is the number of forbidden things that it could do. */
static void guest_tries(void *ctx, struct os *edge, void *answer)
{
    unsigned *done = answer;
    (void)ctx;
    *done = 1000;
    *done += open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0;
    *done += edge->open(edge, "/etc/shadow", O_RDONLY, 0) >= 0;
    *done += edge->open(edge, secret, O_RDWR, 0) >= 0;
    *done += edge->unlink(edge, inputs[0]) >= 0;
    *done += edge->rename(edge, inputs[0], inputs[1]) >= 0;
    *done += edge->mkdir(edge, "/tmp/al-merge-job", 0700) >= 0;
    *done += fork() >= 0;
    *done += getuid() == 0;
    *done += opening_regular("/etc/passwd") >= 0;
    *done += 1000 * (opening_regular(inputs[0]) >= 0);
    *done += 1000 * (opening_regular("/bin/true") >= 0);
}

static wstatus guest(void (*run)(void *ctx, struct os *edge, void *answer), unsigned seconds, unsigned *answer,
                     struct reason *why, unsigned *layers)
{
    struct merge_host h = host_of();
    h.guest             = run;
    h.answer            = answer;
    h.size              = sizeof *answer;
    h.seconds           = seconds;
    wstatus st          = merge_host_run(&h, why);
    *layers             = h.layers;
    return st;
}

static void a_guest_that_fails(void **state)
{
    static const struct {
        void (*run)(void *ctx, struct os *edge, void *answer);
        wstatus     status;
        const char *words;
    } cases[] = {
        {guest_crashes, W_CANCELLED, "was ended by the signal 11 (Segmentation fault)"},
        {guest_executes, W_CANCELLED, "it made a system call that no merge makes"},
        {guest_hangs, W_TIMEOUT, "it took longer than 1 s"},
        {guest_hangs_up, W_TIMEOUT, "it took longer than 1 s"},
        {guest_leaves, W_CANCELLED, "ended before it was done"},
    };
    struct reason why;
    unsigned      answer, layers;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(guest(cases[i].run, 1, &answer, &why, &layers), cases[i].status);
        assert_non_null(strstr(why.text, cases[i].words));
        assert_non_null(strstr(why.text, targets[0]));
    }
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
}

static void a_guest_that_tries(void **state)
{
    struct reason why;
    unsigned      answer = 0, layers;
    (void)state;
    assert_int_equal(guest(guest_tries, 20, &answer, &why, &layers), W_SUCCESS);
    assert_int_equal(answer, 3000);
    assert_int_equal(layers & (SANDBOX_LIMITS | SANDBOX_CAPABILITIES | SANDBOX_NO_NEW_PRIVILEGES | SANDBOX_PARENT),
                     SANDBOX_LIMITS | SANDBOX_CAPABILITIES | SANDBOX_NO_NEW_PRIVILEGES | SANDBOX_PARENT);
    assert_int_equal(layers | sandbox_possible(SANDBOX_PARSER), layers);
}

/* The host has ended: the guest ends, too, however busy it is. */
static void nobody_wants_it(void **state)
{
    struct merge_host h = host_of();
    struct reason     why;
    unsigned          answer;
    int               pair[2];
    struct timespec   from, to;
    (void)state;
    h.guest = guest_hangs_up, h.answer = &answer, h.size = sizeof answer, h.seconds = 60;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    h.asker_fd = pair[0];
    close(pair[1]);
    clock_gettime(CLOCK_MONOTONIC, &from);
    assert_int_not_equal(merge_host_run(&h, &why), W_SUCCESS);
    clock_gettime(CLOCK_MONOTONIC, &to);
    assert_true(to.tv_sec - from.tv_sec < 30);
    close(pair[0]);
}

/* A job that is ended leaves no target and no temporary (tear_down looks), and a new job succeeds. */
static void a_job_that_is_ended(void **state)
{
    struct merge_parts parts = parts_for(targets[1]);
    struct merge_told  told;
    struct merge_job   j;
    struct reason      why;
    (void)state;
    unlink(targets[1]);
    assert_int_equal(merge_job_start(&j, &parts, &rows, &why), W_SUCCESS);
    merge_job_finish(&j);
    assert_false(j.runs);
    assert_int_equal(job(&parts, &told, &why), W_SUCCESS);
}

/* An invalid order ends the process. */
static void what_is_no_order(void **state)
{
    static const size_t sizes[] = {1, 8, 100, 4096, 60000};
    static char         bytes[60000];
    struct pollfd       p = {.events = POLLIN};
    (void)state;
    memset(bytes, 0xff, sizeof bytes);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        p.fd = self_start(MERGE_WORD);
        assert_true(p.fd >= 0);
        assert_int_equal(send(p.fd, bytes, sizes[i], MSG_NOSIGNAL), sizes[i]);
        assert_int_equal(poll(&p, 1, 30000), 1);
        assert_true(recv(p.fd, bytes, 1, MSG_DONTWAIT) <= 0);
        memset(bytes, 0xff, sizeof bytes);
        close(p.fd);
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], MERGE_WORD) == 0)
        return merge_job_run();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_bytes),          cmocka_unit_test(its_own_words),
        cmocka_unit_test(what_the_guest_may_have), cmocka_unit_test(a_guest_that_fails),
        cmocka_unit_test(a_guest_that_tries),      cmocka_unit_test(nobody_wants_it),
        cmocka_unit_test(a_job_that_is_ended),     cmocka_unit_test(what_is_no_order),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
