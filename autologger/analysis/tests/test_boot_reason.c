/* Why a unit's start took long: each kind of the table, from a boot made by hand. Another unit's work at the same time
 * is never the reason. */
#include "autologger/analysis/boot_reason.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define S INT64_C(1000000000)
enum { UNIT, OTHER_UNIT, PROCESSES = 64, WAITS = 16, LOOKS = 8, START = 10, END = 20 };

struct made {
    struct boot         b;
    struct boot_unit    unit[2];
    struct boot_process process[PROCESSES];
    struct boot_wait    wait[WAITS];
    struct boot_look    look[LOOKS];
};

static void begin(struct made *m, double busy)
{
    memset(m, 0, sizeof *m);
    m->unit[UNIT].name             = (char *)(uintptr_t) "slow.service";
    m->unit[OTHER_UNIT].name       = (char *)(uintptr_t) "other.service";
    m->b                           = (struct boot){.unit     = m->unit,
                                                   .units    = 2,
                                                   .process  = m->process,
                                                   .wait     = m->wait,
                                                   .look     = m->look,
                                                   .switches = true,
                                                   .cpus     = 2,
                                                   .finish   = 30 * S};
    m->b.lane[BOOT_LANE_CPU].width = S;
    for (int i = 0; i < 40; i++)
        m->b.lane[BOOT_LANE_CPU].bin[i] = busy * 2 * S;
}

static int program(struct made *m, int unit, int parent, const char *label, const char *command, double start,
                   double end)
{
    const int at = (int)m->b.processes++;
    assert_true(at < PROCESSES);
    m->process[at] = (struct boot_process){.pid     = 100 + (uint32_t)at,
                                           .unit    = unit,
                                           .parent  = parent,
                                           .exec_of = BOOT_NONE,
                                           .label   = (char *)(uintptr_t)label,
                                           .command = (char *)(uintptr_t)command,
                                           .start   = (int64_t)(start * S),
                                           .end     = (int64_t)(end * S)};
    return at;
}

static void waits(struct made *m, int process, enum boot_state state, int waker, double start, double end)
{
    assert_true(m->b.waits < WAITS);
    m->wait[m->b.waits++] = (struct boot_wait){.process = process,
                                               .waker   = waker,
                                               .thread  = m->process[process].pid,
                                               .start   = (int64_t)(start * S),
                                               .end     = (int64_t)(end * S),
                                               .state   = state,
                                               .stack   = BOOT_NONE};
    m->process[process].time[state] += (int64_t)((end - start) * S);
}

static void seen(struct made *m, int process, enum boot_look_kind kind, const char *object, double at)
{
    assert_true(m->b.looks < LOOKS);
    m->look[m->b.looks++] = (struct boot_look){.unit   = m->process[process].unit,
                                               .pid    = m->process[process].pid,
                                               .at     = (int64_t)(at * S),
                                               .kind   = kind,
                                               .object = (char *)(uintptr_t)object};
}

/* ---- one for each row of the table ---- */

static void running(struct made *m)
{
    begin(m, 0.5);
    const int p                      = program(m, UNIT, BOOT_NONE, "counts", "counts --all", START, END);
    m->process[p].time[BOOT_RUNNING] = 9 * S;
}
static void shared(struct made *m)
{
    begin(m, 1.0);
    const int p                       = program(m, UNIT, BOOT_NONE, "counts", "counts", START, END);
    m->process[p].time[BOOT_RUNNABLE] = 8 * S;
}
static void quota(struct made *m)
{
    begin(m, 0.2);
    const int p                       = program(m, UNIT, BOOT_NONE, "counts", "counts", START, END);
    m->process[p].time[BOOT_RUNNABLE] = 8 * S;
}
static void disk(struct made *m)
{
    begin(m, 0.2);
    waits(m, program(m, UNIT, BOOT_NONE, "reads", "reads /big", START, END), BOOT_DISK, BOOT_NONE, START, END - 1);
}
static void lock(struct made *m)
{
    begin(m, 0.2);
    const int holder = program(m, OTHER_UNIT, BOOT_NONE, "holder", "holder", 0, END);
    waits(m, program(m, UNIT, BOOT_NONE, "flock", "flock x true", START, END), BOOT_LOCK, holder, START, END - 1);
}
static void socket(struct made *m)
{
    begin(m, 0.2);
    const int server = program(m, OTHER_UNIT, BOOT_NONE, "named", "named", 0, 30);
    waits(m, program(m, UNIT, BOOT_NONE, "asks", "asks host", START, END), BOOT_NETWORK, server, START, END - 1);
}
static void sleeps(struct made *m) /* the shell's wait for the child is the weaker reason */
{
    begin(m, 0.2);
    const int shell = program(m, UNIT, BOOT_NONE, "sh", "sh -c 'sleep 9'", START, END),
              p     = program(m, UNIT, shell, "sleep", "sleep 9", START, END - 1);
    waits(m, shell, BOOT_CHILD, p, START, END - 1);
    waits(m, p, BOOT_SLEEP, BOOT_NONE, START, END - 1);
}
static void polls(struct made *m)
{
    begin(m, 0.2);
    const int shell = program(m, UNIT, BOOT_NONE, "sh", "sh -c 'until ...'", START, END);
    for (int i = 0; i < 9; i++)
        program(m, UNIT, shell, "sleep", "sleep 0.9", START + i, START + i + 0.9);
}
static void programs(struct made *m)
{
    begin(m, 0.5);
    const int shell = program(m, UNIT, BOOT_NONE, "sh", "sh loop", START, END);
    for (int i = 0; i < 50; i++)
        program(m, UNIT, shell, "true", "true", START + i * 0.2, START + i * 0.2 + 0.2);
}
static void systemctl(struct made *m)
{
    begin(m, 0.2);
    program(m, UNIT, BOOT_NONE, "systemctl", "systemctl start other.service", START, END);
    program(m, OTHER_UNIT, BOOT_NONE, "sleep", "sleep 9", START, END);
}
static void woken(struct made *m)
{
    begin(m, 0.2);
    const int other = program(m, OTHER_UNIT, BOOT_NONE, "worker", "worker", 0, 30);
    waits(m, program(m, UNIT, BOOT_NONE, "waits", "waits", START, END), BOOT_OTHER, other, START, END - 1);
}
static void unknown(struct made *m)
{
    begin(m, 0.2);
    waits(m, program(m, UNIT, BOOT_NONE, "waits", "waits", START, END), BOOT_OTHER, BOOT_NONE, START, END - 1);
}
static void named(struct made *m, enum boot_look_kind kind, const char *object)
{
    begin(m, 0.2);
    const int p = program(m, UNIT, BOOT_NONE, "waits", "waits", START, END);
    waits(m, p, BOOT_OTHER, BOOT_NONE, START, END - 1);
    seen(m, p, kind, object, START + 1);
    seen(m, p, kind, object, START + 3);
}
static void connects(struct made *m) { named(m, LOOK_CONNECT, "10.0.0.1:80"); }
static void asks_names(struct made *m) { named(m, LOOK_DNS, "10.0.0.2:53"); }
static void a_thing(struct made *m) { named(m, LOOK_FILE, "/dev/ttyS9"); }
static void no_program(struct made *m)
{
    begin(m, 0.2);
    program(m, OTHER_UNIT, BOOT_NONE, "loud", "loud", START, END);
    program(m, UNIT, BOOT_NONE, "early", "early", 1, START); /* ended before the start */
}

static void children(struct made *m)
{
    begin(m, 0.2);
    const int shell = program(m, UNIT, BOOT_NONE, "sh", "sh", START, END);
    waits(m, shell, BOOT_CHILD, program(m, UNIT, shell, "insmod", "insmod a.ko", START, START + 5), START, START + 5);
    waits(m, shell, BOOT_CHILD, program(m, UNIT, shell, "insmod", "insmod b.ko", START + 5, END), START + 5, END);
}

static const struct {
    enum boot_reason_kind kind;
    void (*make)(struct made *m);
    const char *text;
} rows[] = {
    {REASON_RUNNING, running, "\"counts --all\" ran for 9.0 s on a processor"},
    {REASON_SHARED, shared, "\"counts\" waited 8.0 s for a processor that others had"},
    {REASON_QUOTA, quota, "\"counts\" was ready and got no processor for 8.0 s, while processors were idle"},
    {REASON_DISK, disk, "\"reads /big\" waited 9.0 s for a disk"},
    {REASON_LOCK, lock, "\"flock x true\" waited 9.0 s for a lock that holder (other.service) held"},
    {REASON_SOCKET, socket, "\"asks host\" waited 9.0 s for an answer of named (other.service)"},
    {REASON_CONNECT, connects, "\"waits\" waited 9.0 s for a connection to 10.0.0.1:80, and nobody answered"},
    {REASON_NAME_SERVER, asks_names, "\"waits\" waited 9.0 s for the name server 10.0.0.2:53"},
    {REASON_THING, a_thing, "\"waits\" waited 9.0 s for /dev/ttyS9"},
    {REASON_SLEEPS, sleeps, "\"sleep 9\" slept for 9.0 s"},
    {REASON_POLLS, polls, "it looked for something again and again, and ran \"sleep 0.9\" 9 times meanwhile"},
    {REASON_PROGRAMS, programs, "it ran 50 programs one after another, 0.0 s of it on a processor"},
    {REASON_CHILDREN, children, "it waited 10.0 s for 2 programs, the longest: \"insmod a.ko\", 5.0 s"},
    {REASON_SYSTEMCTL, systemctl, "it waited 10.0 s for \"systemctl start other.service\""},
    {REASON_WOKEN, woken, "\"waits\" waited 9.0 s, until worker (other.service) woke it"},
    {REASON_UNKNOWN, unknown, "\"waits\" waited 9.0 s"},
    {REASON_NO_PROGRAM, no_program, "no program of it ran meanwhile"},
};
_Static_assert(sizeof rows / sizeof *rows == REASONS, "a row for each reason");

static void each_reason(void **state)
{
    static struct made m;
    struct boot_reason r;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rows[i].make(&m);
        assert_true(boot_reason_find(&m.b, UNIT, START * S, END * S, &r));
        assert_string_equal(r.text, rows[i].text);
        assert_int_equal(r.kind, rows[i].kind);
        assert_non_null(r.next);
    }
}

/* Each row of the words is said with its object; a kind without words leaves the reason as it was. */
static void each_look(void **state)
{
    static struct made m;
    struct boot_reason r;
    static const struct {
        enum boot_look_kind kind;
        const char         *text;
    } words[] = {
#define L(kind, reason, text) {LOOK_##kind, text},
#include "autologger/analysis/boot_looks.def"
#undef L
    };
    (void)state;
    for (int kind = 0; kind < LOOK_KINDS; kind++) {
        const char *text = NULL, *hole = NULL;
        for (size_t i = 0; i < sizeof words / sizeof *words && !text; i++)
            if ((int)words[i].kind == kind)
                text = words[i].text;
        named(&m, (enum boot_look_kind)kind, "THING");
        assert_true(boot_reason_find(&m.b, UNIT, START * S, END * S, &r));
        if (kind == LOOK_CHILD)
            assert_string_equal(r.text, "\"waits\" waited 9.0 s for a program that it started");
        else if (!text)
            assert_string_equal(r.text, "\"waits\" waited 9.0 s");
        else if ((hole = strstr(text, "%s")))
            assert_true(strstr(r.text, "THING") && strstr(r.text, hole + 2));
        else
            assert_non_null(strstr(r.text, text));
        named(&m, (enum boot_look_kind)kind, ""); /* an unknown object leaves no hole in the sentence */
        assert_true(boot_reason_find(&m.b, UNIT, START * S, END * S, &r));
        assert_null(strstr(r.text, "%"));
        assert_null(strstr(r.text, "  "));
    }
}

/* Each row of the services has its words behind the address, in each kind of look with an address; other addresses and
 * ports have none. */
static void each_service(void **state)
{
    static struct made       m;
    struct boot_reason       r;
    char                     at[80], said[120];
    static const char *const none[] = {
        "10.0.0.1:80", "10.0.0.1:6", "10.0.0.1:671", "169.254.169.25:80", "169.254.169.2540:80", "67", ":", ""};
    const enum boot_look_kind kinds[] = {LOOK_CONNECT, LOOK_TCP, LOOK_UDP};
    static const struct {
        const char *address;
        int         port;
        const char *words;
    } services[] = {
#define SERVICE(address, port, words) {address, port, words},
#include "autologger/analysis/boot_services.def"
#undef SERVICE
    };
    (void)state;
    for (size_t i = 0; i < sizeof services / sizeof *services; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            snprintf(at, sizeof at, "%s:%d", *services[i].address ? services[i].address : "10.0.0.1",
                     services[i].port ? services[i].port : 80);
            snprintf(said, sizeof said, "%s (%s)", at, services[i].words);
            named(&m, kinds[k], at);
            assert_true(boot_reason_find(&m.b, UNIT, START * S, END * S, &r));
            assert_non_null(strstr(r.text, said));
        }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        named(&m, LOOK_TCP, none[i]);
        assert_true(boot_reason_find(&m.b, UNIT, START * S, END * S, &r));
        assert_null(strchr(r.text, '('));
    }
}

/* The look at the longest wait counts, for as long as that was seen; looks at another process or unit, before the
 * start, or at waits of another state do not. The holder is the process that had the id at that time. */
static void the_look_that_counts(void **state)
{
    static struct made m;
    struct boot_reason r;
    (void)state;
    begin(&m, 0.2);
    const int old      = program(&m, OTHER_UNIT, BOOT_NONE, "old", "old", 0, 5),
              p        = program(&m, UNIT, BOOT_NONE, "waits", "waits", START, END);
    const int holder   = program(&m, OTHER_UNIT, BOOT_NONE, "holder", "holder", 8, END),
              other    = program(&m, OTHER_UNIT, BOOT_NONE, "loud", "loud", START, END);
    m.process[old].pid = m.process[holder].pid;
    waits(&m, p, BOOT_OTHER, BOOT_NONE, START, START + 2);
    waits(&m, p, BOOT_OTHER, other, START + 2, END - 1);
    seen(&m, p, LOOK_TCP, "10.0.0.1:80", START + 1);
    seen(&m, p, LOOK_TCP, "10.0.0.1:80", START + 1.5);
    seen(&m, p, LOOK_LOCK, "/run/x", START + 3);
    m.look[2].holder = m.process[holder].pid;
    seen(&m, other, LOOK_DNS, "10.0.0.2:53", START + 4);
    seen(&m, p, LOOK_DNS, "10.0.0.3:53", START - 1);
    assert_true(boot_reason_find(&m.b, UNIT, START * S, END * S, &r));
    assert_string_equal(r.text, "\"waits\" waited 7.0 s for a lock on /run/x that holder (other.service) held");
    m.b.looks = 2; /* seen in 2 of 9 s: the rest is unknown */
    assert_true(boot_reason_find(&m.b, UNIT, START * S, END * S, &r));
    assert_string_equal(r.text, "\"waits\" waited 9.0 s, until loud (other.service) woke it");
    seen(&m, p, LOOK_TCP, "10.0.0.1:80", START + 5);
    m.look[2].guessed = true;
    assert_true(boot_reason_find(&m.b, UNIT, START * S, END * S, &r));
    assert_string_equal(
        r.text,
        "\"waits\" waited 9.0 s for an answer of 10.0.0.1:80 over TCP, the likeliest of what it watched, until loud (other.service) woke it");
    m.look[2].kind    = LOOK_PIPE;
    m.look[2].guessed = false;
    assert_true(boot_reason_find(&m.b, UNIT, START * S, END * S, &r));
    assert_string_equal(r.text,
                        "\"waits\" waited 7.0 s for the other end of a pipe, until loud (other.service) woke it");
    m.look[2].kind = LOOK_FUTEX; /* the waker says more than a futex */
    assert_true(boot_reason_find(&m.b, UNIT, START * S, END * S, &r));
    assert_string_equal(r.text, "\"waits\" waited 9.0 s, until loud (other.service) woke it");
    m.look[2].kind     = LOOK_PIPE;
    m.process[p].start = (START + 6) * S; /* at that time the id belonged to another program */
    assert_true(boot_reason_find(&m.b, UNIT, START * S, END * S, &r));
    assert_null(strstr(r.text, "pipe"));
}

/* A program that wakes each second was looked at a few times: the same answer each time stands for all of its waits;
 * two different answers give none. */
static void many_waits_and_few_looks(void **state)
{
    static struct made m;
    struct boot_reason r;
    (void)state;
    begin(&m, 0.2);
    const int p = program(&m, UNIT, BOOT_NONE, "waits", "waits", START, END);
    for (int i = 0; i < 10; i++)
        waits(&m, p, BOOT_OTHER, BOOT_NONE, START + i, START + i + 0.9);
    seen(&m, p, LOOK_DNS, "10.0.0.1:53", START + 1.5);
    seen(&m, p, LOOK_DNS, "10.0.0.1:53", START + 3.5);
    assert_true(boot_reason_find(&m.b, UNIT, START * S, END * S, &r));
    assert_string_equal(r.text, "\"waits\" waited 9.0 s for the name server 10.0.0.1:53");
    seen(&m, p, LOOK_TCP, "10.0.0.1:80", START + 6.5);
    assert_true(boot_reason_find(&m.b, UNIT, START * S, END * S, &r));
    assert_string_equal(r.text, "\"waits\" waited 9.0 s");
}

/* One long program behind many short ones: the long one is the reason. */
static void a_long_one_behind_short_ones(void **state)
{
    static struct made m;
    struct boot_reason r;
    (void)state;
    begin(&m, 0.2);
    const int shell = program(&m, UNIT, BOOT_NONE, "sh", "sh", START, END);
    for (int i = 0; i < 45; i++)
        program(&m, UNIT, shell, "true", "true", START + i * 0.02, START + i * 0.02 + 0.02);
    waits(&m, program(&m, UNIT, shell, "nap", "nap 9", START + 1, END), BOOT_SLEEP, BOOT_NONE, START + 1, END);
    assert_true(boot_reason_find(&m.b, UNIT, START * S, END * S, &r));
    assert_string_equal(r.text, "\"nap 9\" slept for 9.0 s");
}

/* The waker that ended a wait of another kind is not the holder of the lock. */
static void the_waker_is_of_the_wait_that_counts(void **state)
{
    static struct made m;
    struct boot_reason r;
    (void)state;
    begin(&m, 0.2);
    const int holder = program(&m, OTHER_UNIT, BOOT_NONE, "holder", "holder", 0, END),
              p      = program(&m, UNIT, BOOT_NONE, "waits", "waits", START, END);
    waits(&m, p, BOOT_OTHER, BOOT_NONE, START, START + 3);
    for (int i = 0; i < 3; i++)
        waits(&m, p, BOOT_LOCK, holder, START + 3 + 2 * i, START + 5 + 2 * i);
    assert_true(boot_reason_find(&m.b, UNIT, START * S, END * S, &r));
    assert_string_equal(r.text, "\"waits\" waited 6.0 s for a lock that holder (other.service) held");
}

static void a_trace_without_switches_tells_none(void **state)
{
    static struct made m;
    struct boot_reason r;
    (void)state;
    running(&m);
    m.b.switches = false;
    assert_false(boot_reason_find(&m.b, UNIT, START * S, END * S, &r));
    m.b.switches = true;
    assert_false(boot_reason_find(&m.b, UNIT, START * S, START * S, &r));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_reason),
                                       cmocka_unit_test(each_look),
                                       cmocka_unit_test(each_service),
                                       cmocka_unit_test(the_look_that_counts),
                                       cmocka_unit_test(many_waits_and_few_looks),
                                       cmocka_unit_test(a_long_one_behind_short_ones),
                                       cmocka_unit_test(the_waker_is_of_the_wait_that_counts),
                                       cmocka_unit_test(a_trace_without_switches_tells_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
