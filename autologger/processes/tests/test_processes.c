/* The parts of autologger-processes without the machine's whole side band: the table of processes and what /proc says
 * of one, and this process' own children, from perf where the machine allows it. Proves: LEG-11 (its parts). */
#include "autologger/processes/exits.h"
#include "autologger/processes/living.h"
#include "autologger/processes/sideband.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void ids_that_come_back(void **state)
{
    static struct living l;
    (void)state;
    struct process *first = living_add(&l, 7), *other = living_add(&l, 7 + LIVING_BUCKETS);
    assert_non_null(first);
    assert_non_null(other);
    const uint64_t number = first->number;
    assert_ptr_equal(living_find(&l, 7), first);
    assert_ptr_equal(living_find(&l, 7 + LIVING_BUCKETS), other);
    struct process *again = living_add(&l, 7); /* the first one's end was missed */
    assert_non_null(again);
    assert_true(again->number > number && again->number != other->number);
    living_remove(&l, 7);
    assert_null(living_find(&l, 7));
    living_remove(&l, 7);
    assert_ptr_equal(living_find(&l, 7 + LIVING_BUCKETS), other);
    living_finish(&l);
    assert_null(living_find(&l, 7 + LIVING_BUCKETS));
}

/* Names with brackets and spaces, a line that is cut, a folder that is no process, one without exe. */
static void what_proc_says(void **state)
{
    static struct living l;
    static const struct {
        const char *pid, *stat;
        bool        known;
        uint32_t    parent, threads;
    } cases[] = {
        {"11", "11 (a) b (c) S 4 11 11 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 3 0 200 0 0", true, 4, 3},
        {"4", "4 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0", true, 0, 1},
        {"12", "12 (cut) S 4 11", false, 0, 0},
        {"13", "13 no brackets", false, 0, 0},
        {"net", "14 (x) S 4 11 11 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 3 0 200 0 0", false, 0, 0},
    };
    char folder[] = "/tmp/autologger-living-XXXXXX", path[128];
    (void)state;

    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, cases[i].pid);
        assert_int_equal(mkdir(path, 0700), 0);
        snprintf(path, sizeof path, "%s/%s/stat", folder, cases[i].pid);
        FILE *f = fopen(path, "we");
        assert_non_null(f);
        fputs(cases[i].stat, f);
        fclose(f);
    }
    assert_true(living_read(&l, folder, 1000000000000u));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct process *p = living_find(&l, (uint32_t)atoi(cases[i].pid));
        assert_int_equal(p != NULL, cases[i].known);
        if (p) {
            assert_int_equal(p->parent, cases[i].parent);
            assert_int_equal(p->threads, cases[i].threads);
            assert_non_null(p->image);
        }
        snprintf(path, sizeof path, "%s/%s/stat", folder, cases[i].pid);
        unlink(path);
        *strrchr(path, '/') = 0;
        rmdir(path);
    }
    assert_string_equal(living_find(&l, 11)->image, "a) b (c");
    assert_true(living_find(&l, 11)->parent_number == living_find(&l, 4)->number);
    living_finish(&l);
    rmdir(folder);
    assert_false(living_read(&l, folder, 0));
}

enum { CHILDREN = 300 };
struct seen {
    uint32_t pid[CHILDREN];
    unsigned count, forks, exits, execs, images, wrong;
    uint64_t last_ns;
};

static void on_record(void *ctx, const struct sideband_record *r)
{
    struct seen *s = ctx;
    s->wrong += r->time_ns < s->last_ns;
    s->last_ns = r->time_ns;
    for (unsigned i = 0; i < s->count; i++)
        if (r->pid == s->pid[i]) {
            s->forks += r->kind == SIDEBAND_FORK && r->parent == (uint32_t)getpid();
            s->exits += r->kind == SIDEBAND_EXIT;
            s->execs += r->kind == SIDEBAND_EXEC && strcmp(r->text, "true") == 0;
            s->images += r->kind == SIDEBAND_CODE && r->text[0] == '/' && strstr(r->text, "/true");
        }
}

enum { CPUS_HERE = 64, OTHER_BYTES = 3 * 4096 };
struct other {
    int   fd[CPUS_HERE];
    void *map[CPUS_HERE];
};
/* Another program's event on each CPU, which asks for build ids; its ring is overwritten all the time. */
static void other_open(struct other *o)
{
    for (int cpu = 0; cpu < CPUS_HERE; cpu++) {
        struct perf_event_attr attr = {.type     = PERF_TYPE_SOFTWARE,
                                       .size     = sizeof attr,
                                       .config   = PERF_COUNT_SW_DUMMY,
                                       .mmap     = 1,
                                       .mmap2    = 1,
                                       .build_id = 1};
        o->fd[cpu]                  = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
        o->map[cpu] = o->fd[cpu] < 0 ? MAP_FAILED : mmap(NULL, OTHER_BYTES, PROT_READ, MAP_SHARED, o->fd[cpu], 0);
    }
}

static void other_close(struct other *o)
{
    for (int cpu = 0; cpu < CPUS_HERE; cpu++) {
        if (o->map[cpu] != MAP_FAILED)
            munmap(o->map[cpu], OTHER_BYTES);
        if (o->fd[cpu] >= 0)
            close(o->fd[cpu]);
    }
}

/* More records than one ring holds, taken in several passes. Other programs' events beside it change nothing. */
static void children_of_this_process(void **state)
{
    static struct seen  seen;
    static struct exits exits;
    static struct other before, after;
    struct sideband    *s;
    struct reason       why = {0};
    struct timespec     t;
    unsigned            codes = 0;
    (void)state;

    other_open(&before);
    if (sideband_open(&s, &why)) {
        printf("skipped: %s\n", why.text);
        other_close(&before);
        skip();
    }
    other_open(&after);
    exits_open(&exits);
    for (unsigned i = 0; i < CHILDREN; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            execl("/bin/true", "true", NULL);
            _exit(1);
        }
        seen.pid[seen.count++] = (uint32_t)pid;
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        if (i % 100 == 50) { /* takes the records so far, but for the newest */
            clock_gettime(CLOCK_MONOTONIC_RAW, &t);
            sideband_wait(s, -1, 0);
            sideband_take(s, (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec - SIDEBAND_HOLD_NS, on_record,
                          &seen);
        }
    }
    sideband_take(s, UINT64_MAX, on_record, &seen);
    for (unsigned i = 0; exits.fd >= 0 && i < CHILDREN; i++) {
        uint32_t code = 99;
        codes += exits_take(&exits, seen.pid[i], &code) && code == 0;
    }
    printf("%u forks, %u execs, %u images, %u exits, %u codes\n", seen.forks, seen.execs, seen.images, seen.exits,
           codes);
    assert_int_equal(seen.forks, CHILDREN);
    assert_int_equal(seen.execs, CHILDREN);
    assert_int_equal(seen.images, CHILDREN);
    assert_int_equal(seen.exits, CHILDREN);
    assert_int_equal(seen.wrong, 0);
    if (exits.fd >= 0)
        assert_int_equal(codes, CHILDREN);
    exits_close(&exits);
    sideband_close(s);
    other_close(&before);
    other_close(&after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ids_that_come_back), cmocka_unit_test(what_proc_says),
                                       cmocka_unit_test(children_of_this_process)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
