/* Why a boot was not traced: one sentence for the first obstacle, with what to do. */
#include "tools/setup/untraced.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct obstacle {
    const char           *reason, *advice;
    bool                  failed;
    struct untraced_facts facts;
} obstacles[] = {
    {"autologger=off is on", "without autologger=off", false, {.off = true, .declared = 1, .guard = "x"}},
    {"no session is declared", "autologger apply boot", false, {.guard = "traced once in boot 6", .used_up = true}},
    {"2 sessions are declared, none with Start 1", "set Start to 1", false, {.idle = 2}},
    {"off: boot 6 did not finish",
     "starts afresh",
     true,
     {.declared = 1, .guard = "off: boot 6 did not finish", .guard_failed = true}},
    {"off: boot 6 did not finish",
     "starts afresh",
     true,
     {.declared = 1, .guard = "off: boot 6 did not finish. Do: find out why", .guard_failed = true}},
    {"neither the early program nor the daemon runs", "systemctl status", true, {.declared = 1, .begun = true}},
    {"traced once in boot 6; nothing is declared for the next boot",
     "for another boot",
     false,
     {.declared = 1, .guard = "traced once in boot 6; nothing is declared for the next boot", .used_up = true}},
    {"boot 6. Not put back: /boot is read-only",
     "autologger clean",
     false,
     {.declared = 1, .guard = "traced once in boot 6", .used_up = true, .left = "/boot is read-only. Do: x"}},
    {"the snapshot is cut",
     "seals it anew",
     true,
     {.declared = 1, .snapshot = SNAPSHOT_DAMAGED, .snapshot_reason = "the snapshot is cut"}},
    {"autologgerd is not enabled",
     "systemctl enable autologgerd",
     true,
     {.declared = 1, .systemd = true, .snapshot = SNAPSHOT_CURRENT}},
    {"never applied", "then reboot", true, {.declared = 1, .systemd = true, .daemon_enabled = true}},
    {"1 session was applied after this boot had begun",
     "reboot",
     false,
     {.declared = 1, .systemd = true, .daemon_enabled = true, .snapshot = SNAPSHOT_CURRENT, .sealed_since_boot = true}},
    {"was changed since it was applied",
     "then reboot",
     true,
     {.declared = 1, .daemon_enabled = true, .snapshot = SNAPSHOT_OLD}},
    {"has saved no row of this boot yet",
     "autologger sessions",
     false,
     {.declared = 3, .daemon_enabled = true, .daemon_runs = true, .snapshot = SNAPSHOT_CURRENT}},
    {"3 sessions are declared and applied, but the daemon started none",
     "systemctl status",
     true,
     {.declared = 3, .daemon_enabled = true, .snapshot = SNAPSHOT_CURRENT}},
};

static void the_first_obstacle_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof obstacles / sizeof *obstacles; i++) {
        struct untraced u;
        untraced_explain(&obstacles[i].facts, &u);
        if (!strstr(u.reason, obstacles[i].reason))
            print_error("%zu: \"%s\"\n", i, u.reason);
        assert_non_null(strstr(u.reason, obstacles[i].reason));
        assert_non_null(strstr(u.advice, obstacles[i].advice));
        assert_null(strstr(u.reason, "Do: ")); /* D-80: what to do is said once */
        assert_int_equal(u.failed, obstacles[i].failed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_first_obstacle_is_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
