/* The bus, with a systemd on command (fake_systemd.c). */
#include "autologger/units/bus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct heard {
    unsigned units, listed, gone, jobs, finished;
    unsigned started;
    uint64_t exit_time, running;
    char     last[128], starts[128], result[32], type[32], end[32];
};
struct fake {
    pid_t pid;
    FILE *to, *from;
    char  folder[64], socket[128], address[160];
};

static void on_unit(void *ctx, const struct unit *u)
{
    struct heard *h = ctx;
    h->units++;
    h->exit_time = u->time[UNIT_PROCESS_EXIT];
    snprintf(h->last, sizeof h->last, "%s", u->name);
    snprintf(h->result, sizeof h->result, "%s", u->result ? u->result : "");
}
static void on_starts(void *ctx, const char *name)
{
    struct heard *h = ctx;
    snprintf(h->starts, sizeof h->starts, "%s", name);
    h->started++;
}

static void on_listed(void *ctx, const uint64_t marks[BUS_MARKS])
{
    ((struct heard *)ctx)->listed++;
    assert_int_equal(marks[BUS_USERSPACE], 1234567);
    assert_int_equal(marks[BUS_FINISH], 5000000);
    assert_int_equal(marks[BUS_FIRMWARE], 9000000);
}
static void on_gone(void *ctx, const char *name)
{
    assert_string_equal(name, "home.mount");
    ((struct heard *)ctx)->gone++;
}
static void on_job(void *ctx, const struct unit_job *job, const char *result)
{
    struct heard *h = ctx;
    h->jobs++;
    assert_int_equal(job->id, 5);
    assert_string_equal(job->unit, "new.service");
    assert_true(job->queued > 0 && job->queued <= (job->running ? job->running : UINT64_MAX));
    h->running = job->running;
    snprintf(h->type, sizeof h->type, "%s", job->type ? job->type : "");
    snprintf(h->end, sizeof h->end, "%s", result ? result : "");
}

static void on_finished(void *ctx, const uint64_t marks[BUS_MARKS])
{
    ((struct heard *)ctx)->finished++;
    assert_int_equal(marks[BUS_FINISH], 5000000);
}

static void say(struct fake *f, const char *text)
{
    char line[64] = "";
    fprintf(f->to, "%s\n", text);
    fflush(f->to);
    assert_non_null(fgets(line, sizeof line, f->from));
    assert_string_equal(line, "done\n");
}

static int set_up(void **state)
{
    struct fake *f = calloc(1, sizeof *f);
    int          to[2], from[2];
    char         line[64] = "";

    strcpy(f->folder, "/tmp/autologger-bus-XXXXXX");
    if (!mkdtemp(f->folder) || pipe(to) < 0 || pipe(from) < 0)
        return -1;
    snprintf(f->socket, sizeof f->socket, "%s/bus", f->folder);
    snprintf(f->address, sizeof f->address, "unix:path=%s", f->socket);
    if ((f->pid = fork()) == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        close(to[1]);
        close(from[0]);
        execl(AL_BINARY_DIR "/tests/fake_systemd", "fake_systemd", f->socket, AL_TEST_DIR "/units-debian12.txt",
              (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    f->to   = fdopen(to[1], "w");
    f->from = fdopen(from[0], "r");
    *state  = f;
    return fgets(line, sizeof line, f->from) && strcmp(line, "listening\n") == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fake *f = *state;
    fclose(f->to);
    kill(f->pid, SIGKILL);
    waitpid(f->pid, NULL, 0);
    fclose(f->from);
    unlink(f->socket);
    rmdir(f->folder);
    free(f);
    return 0;
}

/* Turns until `done` or an end, at most about 10 s. Returns the Status of bus_step. */
static wstatus turn_until(struct bus *b, bool (*done)(const struct heard *), const struct heard *h, struct reason *why)
{
    wstatus st = W_SUCCESS;
    for (int i = 0; i < 1000 && !st && !(done && done(h)); i++) {
        struct pollfd p = {.fd = bus_fd(b), .events = POLLIN};
        poll(&p, 1, bus_waits(b) ? 0 : 10);
        st = bus_step(b, why);
    }
    return st;
}

static bool is_listed(const struct heard *h) { return h->listed; }
static bool changed_once(const struct heard *h) { return h->exit_time == 99; }
static bool job_ended(const struct heard *h) { return *h->end; }
static bool unit_gone(const struct heard *h) { return h->gone; }
static bool boot_finished(const struct heard *h) { return h->finished; }

static void list_changes_and_jobs(void **state)
{
    struct fake          *f    = *state;
    struct heard          h    = {0};
    const struct bus_sink sink = {&h, on_unit, on_starts, on_listed, on_gone, on_job, on_finished};
    struct bus           *b;
    struct reason         why;

    assert_int_equal(bus_open(f->address, &sink, true, &b, &why), W_SUCCESS);
    assert_int_equal(turn_until(b, is_listed, &h, &why), W_SUCCESS);
    assert_int_equal(h.listed, 1);
    assert_int_equal(h.units, 5); /* once each */

    say(f, "new new.service");
    say(f,
        "set new.service\nResult=exit-code\nExecMainExitTimestampMonotonic=99\nInactiveEnterTimestampMonotonic=100\n");
    assert_int_equal(turn_until(b, changed_once, &h, &why), W_SUCCESS);
    assert_string_equal(h.last, "new.service");
    assert_string_equal(h.result, "exit-code");

    say(f, "job 5 new.service restart");
    say(f, "run 5");
    say(f, "end 5 done");
    assert_int_equal(turn_until(b, job_ended, &h, &why), W_SUCCESS);
    assert_true(h.running > 0 && h.jobs >= 2);
    assert_string_equal(h.end, "done");
    say(f, "gone home.mount");
    assert_int_equal(turn_until(b, unit_gone, &h, &why), W_SUCCESS);
    assert_int_equal(h.finished, 0);
    say(f, "finished");
    assert_int_equal(turn_until(b, boot_finished, &h, &why), W_SUCCESS);
    bus_close(b);
}

static bool told_again(const struct heard *h) { return h->units >= 6; }
static bool passed(const struct heard *h) { return h->gone >= 2; }

/* Time for all answers, and for further questions. */
static void turn_for_all(struct bus *b)
{
    struct reason why;
    for (int i = 0; i < 20; i++) {
        struct pollfd p = {.fd = bus_fd(b), .events = POLLIN};
        poll(&p, 1, bus_waits(b) ? 0 : 10);
        assert_int_equal(bus_step(b, &why), W_SUCCESS);
    }
}

/* A daemon-reload removes all units and brings them back: nothing is asked or told again, and changes are. */
static void a_reload_is_no_news(void **state)
{
    struct fake          *f    = *state;
    struct heard          h    = {0};
    const struct bus_sink sink = {&h, on_unit, on_starts, on_listed, on_gone, on_job, NULL};
    struct bus           *b;
    struct reason         why;

    assert_int_equal(bus_open(f->address, &sink, true, &b, &why), W_SUCCESS);
    assert_int_equal(turn_until(b, is_listed, &h, &why), W_SUCCESS);
    const unsigned units = h.units;
    say(f, "reload");
    say(f, "reload");
    turn_for_all(b);
    say(f, "expect 5");
    assert_int_equal(h.units, units);
    assert_int_equal(h.gone, 0);
    say(f, "gone home.mount");
    assert_int_equal(turn_until(b, unit_gone, &h, &why), W_SUCCESS);
    say(f, "new home.mount");
    turn_for_all(b);
    assert_true(h.units > units);
    assert_string_equal(h.last, "home.mount");
    bus_close(b);
}

/* A question for a unit by its path loads the unit: a unit that existed for a moment must not be asked for
 * repeatedly. */
static void a_unit_that_passes_is_left_alone(void **state)
{
    struct fake          *f    = *state;
    struct heard          h    = {0};
    const struct bus_sink sink = {&h, on_unit, on_starts, on_listed, on_gone, on_job, NULL};
    struct bus           *b;
    struct reason         why;

    assert_int_equal(bus_open(f->address, &sink, true, &b, &why), W_SUCCESS);
    assert_int_equal(turn_until(b, is_listed, &h, &why), W_SUCCESS);
    say(f, "gone home.mount");
    assert_int_equal(turn_until(b, unit_gone, &h, &why), W_SUCCESS);
    say(f, "pass home.mount");
    assert_int_equal(turn_until(b, passed, &h, &why), W_SUCCESS);
    turn_for_all(b);
    say(f, "expect 5"); /* the units of the list */
    assert_int_equal(h.units, 5);

    say(f, "new home.mount"); /* it is back, and stays */
    assert_int_equal(turn_until(b, told_again, &h, &why), W_SUCCESS);
    assert_string_equal(h.last, "home.mount");
    say(f, "expect 6");
    bus_close(b);
}

static void on_listed_later(void *ctx, const uint64_t marks[BUS_MARKS])
{
    (void)marks;
    ((struct heard *)ctx)->listed++;
}

static unsigned now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned)(t.tv_sec * 1000 + t.tv_nsec / 1000000);
}

/* While systemd starts units there is a pause after each question for a unit, 30 times as long as the answer took;
 * after the boot all units are asked for. */
static void a_boot_is_not_held_up(void **state)
{
    struct fake          *f    = *state;
    struct heard          h    = {0};
    const struct bus_sink sink = {&h, on_unit, NULL, on_listed_later, on_gone, on_job, on_finished};
    struct bus           *b;
    struct reason         why;

    say(f, "unfinished");
    say(f, "slow 10");
    const unsigned from = now_ms();
    char           expect[32];
    assert_int_equal(bus_open(f->address, &sink, true, &b, &why), W_SUCCESS);
    while (h.units < 2) {
        const int     wait = bus_wait_ms(b);
        struct pollfd p    = {.fd = bus_fd(b), .events = POLLIN};
        assert_true(wait <= 251 && now_ms() - from < 10000);
        poll(&p, 1, wait < 0 ? 10 : wait);
        assert_int_equal(bus_step(b, &why), W_SUCCESS);
    }
    snprintf(expect, sizeof expect, "expect %u", 1 + (now_ms() - from) / 250); /* at most one question a pause */
    say(f, expect);
    assert_true(now_ms() - from >= 250 && h.units == 2 && h.listed == 0);
    assert_true(bus_answers(b) >= 6); /* marks, list, and both interfaces of a unit, twice */

    say(f, "finished");
    assert_int_equal(turn_until(b, is_listed, &h, &why), W_SUCCESS);
    assert_int_equal(h.units, 5);
    assert_int_equal(h.listed, 1);
    assert_int_equal(bus_wait_ms(b), -1);
    bus_close(b);
}

static void who_is_not_there_is_named(void **state)
{
    struct bus_sink sink = {0};
    struct bus     *b;
    struct reason   why;
    (void)state;
    assert_int_equal(bus_open("unix:path=/nowhere/at/all", &sink, true, &b, &why), W_FILE_NOT_FOUND);
    assert_non_null(strstr(why.text, "/nowhere/at/all"));
    assert_int_not_equal(bus_open("nonsense", &sink, true, &b, &why), W_SUCCESS);
}

static void a_refusal_and_an_end_are_told(void **state)
{
    struct fake          *f    = *state;
    struct heard          h    = {0};
    const struct bus_sink sink = {&h, on_unit, on_starts, on_listed, on_gone, on_job, NULL};
    struct bus           *b;
    struct reason         why;

    assert_int_equal(bus_open(f->address, &sink, true, &b, &why), W_SUCCESS);
    assert_int_equal(turn_until(b, is_listed, &h, &why), W_SUCCESS);
    say(f, "die");
    assert_int_equal(turn_until(b, NULL, &h, &why), W_NOT_FOUND);
    assert_non_null(strstr(why.text, "closed"));
    bus_close(b);

    say(f, "refuse");
    assert_int_equal(bus_open(f->address, &sink, true, &b, &why), W_SUCCESS);
    assert_int_equal(turn_until(b, NULL, &h, &why), W_ACCESS_DENIED);
    assert_int_equal(h.listed, 1);
    bus_close(b);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(list_changes_and_jobs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_unit_that_passes_is_left_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reload_is_no_news, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_boot_is_not_held_up, set_up, tear_down),
        cmocka_unit_test(who_is_not_there_is_named),
        cmocka_unit_test_setup_teardown(a_refusal_and_an_end_are_told, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
