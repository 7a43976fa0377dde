/* Pids of a process in several namespaces (D-06), as /proc tells them; and the threads of this process, by its own ids.
 * Proves: COR-08. */
#include "autologger/control/foreign.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

static void levels(void **state)
{
    uint32_t inner = 0;
    (void)state;
    assert_int_equal(foreign_levels("Name:\tx\nNSpid:\t812\nNSpgid:\t812\n", &inner), 1);
    assert_int_equal(inner, 812);
    assert_int_equal(foreign_levels("Name:\tx\nNSpid:\t812\t17\t1\nNSpgid:\t812\t17\t1\n", &inner), 3);
    assert_int_equal(inner, 1);
    assert_int_equal(foreign_levels("Name:\tx\nNSpid:\t812\t17", &inner), 2); /* cut */
    assert_int_equal(inner, 17);
    inner = 5;
    assert_int_equal(foreign_levels("", &inner), 0);
    assert_int_equal(foreign_levels("Name:\tNSpid: 4\n", &inner), 0); /* the process' name */
    assert_int_equal(foreign_levels("\nNSpid:\n", &inner), 0);
    assert_int_equal(inner, 5);
}

static struct foreign_threads known;
static pthread_barrier_t      both;
static void                  *thread(void *tid)
{
    *(uint32_t *)tid = (uint32_t)syscall(SYS_gettid);
    pthread_barrier_wait(&both);
    pthread_barrier_wait(&both);
    return NULL;
}

static void threads(void **state)
{
    const uint32_t pid = (uint32_t)getpid();
    uint32_t       tid, inner = 0;
    pthread_t      t;
    (void)state;
    pthread_barrier_init(&both, NULL, 2);
    assert_int_equal(pthread_create(&t, NULL, thread, &tid), 0);
    pthread_barrier_wait(&both);
    assert_true(foreign_process(0, pid, &inner) >= 1); /* more in a container */
    for (uint32_t near = 0; near < 3; near++) {
        const uint32_t hint[] = {0, pid, tid + 5};
        assert_int_equal(foreign_thread(0, pid, inner == pid ? tid : 0, hint[near], &known), inner == pid ? tid : 0);
    }
    assert_int_equal(foreign_thread(0, pid, 1u << 30, pid, &known), 0);
    assert_int_equal(foreign_thread(0, 0, tid, 0, &known), 0);
    assert_int_equal(foreign_process(0, 0, &inner), 0);
    pthread_barrier_wait(&both);
    pthread_join(t, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(levels), cmocka_unit_test(threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
