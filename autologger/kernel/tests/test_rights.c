/* What is missing is named, with what to do: each right on a made-up machine. Proves: missing privilege named; D-33. */
#include "autologger/kernel/source/rights.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define ALL "000001ffffffffff"
#define NONE "0000000000000000"
#define PERFMON "0000004000000000"
#define FIRST "         0          0 4294967295\n"

struct machine {
    const char *capabilities, *uid_map, *paranoid, *lockdown, *cmdline;
};
/* The kernel's release and the limit of locked memory, where a row has them. */
static const char *release, *limit;

static void file(const char *root, const char *path, const char *text)
{
    char full[256];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        mkdir(full, 0755);
        *p = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static struct source_rights made_up(const struct machine *m)
{
    char                 root[] = "/tmp/autologger-rights-XXXXXX", text[128];
    struct source_rights r;
    assert_non_null(mkdtemp(root));
    snprintf(text, sizeof text, "Name:\tx\nCapPrm:\t%s\nCapEff:\t%s\n", ALL, m->capabilities);
    file(root, "/proc/self/status", text);
    file(root, "/proc/self/uid_map", m->uid_map);
    if (m->paranoid)
        file(root, "/proc/sys/kernel/perf_event_paranoid", m->paranoid);
    if (release)
        file(root, "/proc/sys/kernel/osrelease", release);
    if (limit) {
        snprintf(text, sizeof text,
                 "Limit   Soft Limit  Hard Limit  Units\nMax locked memory         %s     65536     bytes\n", limit);
        file(root, "/proc/self/limits", text);
    }
    if (m->lockdown)
        file(root, "/sys/kernel/security/lockdown", m->lockdown);
    if (m->cmdline)
        file(root, "/proc/cmdline", m->cmdline);
    rights_read(root, &r);
    snprintf(text, sizeof text, "rm -rf '%s'", root);
    assert_int_equal(system(text), 0);
    return r;
}

static void each_is_named_with_what_to_do(void **state)
{
    static const struct {
        struct machine machine;
        int            error;
        wstatus        status;
        const char    *what, *advice;
    } rows[] = {
        {{NONE, FIRST, "2\n", "[none] integrity confidentiality\n", NULL},
         EACCES,
         W_PRIVILEGE_NOT_HELD,
         "CAP_PERFMON is missing (perf_event_paranoid is 2)",
         "Do: run as root or with CAP_PERFMON; or set kernel.perf_event_paranoid to -1"},
        {{NONE, FIRST, "4\n", NULL, NULL}, EPERM, W_PRIVILEGE_NOT_HELD, "perf_event_paranoid is 4", "Do: run as root"},
        {{NONE, FIRST, NULL, NULL, NULL}, EACCES, W_PRIVILEGE_NOT_HELD, "perf_event_paranoid is ?", "Do: run as root"},
        {{ALL, FIRST, "2\n", "none integrity [confidentiality]\n", NULL},
         EPERM,
         W_PRIVILEGE_NOT_HELD,
         "locked down (confidentiality)",
         "Do: boot without lockdown=confidentiality"},
        {{PERFMON, FIRST, "2\n", NULL, "quiet lockdown=confidentiality\n"},
         EPERM,
         W_PRIVILEGE_NOT_HELD,
         "locked down (confidentiality)",
         "Do: boot without"},
        {{ALL, "0 100000 65536\n", "2\n", NULL, NULL},
         EACCES,
         W_PRIVILEGE_NOT_HELD,
         "CAP_PERFMON is held in a user namespace alone",
         "Do: run outside of the container"},
        {{ALL, FIRST, "2\n", "none [integrity] confidentiality\n", NULL},
         EPERM,
         W_PRIVILEGE_NOT_HELD,
         "although CAP_PERFMON is held",
         "Do: allow perf_event_open"},
        {{ALL, FIRST, "2\n", NULL, NULL}, ENOSYS, W_NOT_SUPPORTED, "CONFIG_PERF_EVENTS", ""},
        {{ALL, FIRST, "2\n", NULL, NULL}, EMFILE, W_NOT_ENOUGH_MEMORY, "Too many open files", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct source_rights r   = made_up(&rows[i].machine);
        struct reason        why = {0};
        assert_int_equal(rights_refused(&r, rows[i].error, &why), rows[i].status);
        if (!strstr(why.text, rows[i].what) || !strstr(why.text, rows[i].advice))
            fail_msg("row %zu: %s", i, why.text);
    }
}

static void tracefs_too(void **state)
{
    struct source_rights locked =
        made_up(&(struct machine){ALL, FIRST, "2\n", "none integrity [confidentiality]\n", NULL});
    struct source_rights poor   = made_up(&(struct machine){PERFMON, FIRST, "2\n", NULL, NULL});
    struct source_rights inside = made_up(&(struct machine){ALL, "0 100000 65536\n", "2\n", NULL, NULL});
    const char          *advice = NULL;
    char                 reason[160];
    (void)state;
    assert_true(rights_tracefs(&locked, EPERM, reason, sizeof reason, &advice));
    assert_true(strstr(reason, "locked down") && strstr(advice, "lockdown=integrity"));
    assert_true(rights_tracefs(&poor, EACCES, reason, sizeof reason, &advice));
    assert_true(strstr(reason, "CAP_SYS_ADMIN is missing") && strstr(advice, "root"));
    assert_true(rights_tracefs(&inside, EPERM, reason, sizeof reason, &advice));
    assert_true(strstr(reason, "user namespace") && strstr(advice, "container"));
    assert_true(rights_tracefs(&locked, ENOENT, reason, sizeof reason, &advice)); /* D-33: its tracefs is empty */
    assert_true(strstr(reason, "locked down") && strstr(advice, "lockdown=integrity"));
    /* a kernel without tracefs: not a matter of rights */
    assert_false(rights_tracefs(&poor, ENOENT, reason, sizeof reason, &advice));
}

/* Why a BPF program was refused: EPERM has four causes, and a lockdown gives errors that do not name it. */
static void bpf_too(void **state)
{
    /* clang-format off */
    static const struct {
        struct machine machine;
        const char    *release, *locked;
        int            error;
        wstatus        status;
        const char    *what, *advice;
    } rows[] = {
        {{ALL, FIRST, "3\n", NULL, "quiet\n"}, "5.10.0-32-amd64\n", "65536", EPERM, W_NOT_ENOUGH_MEMORY,
         "it fails: this kernel counts it as locked memory, of which 64 KB are allowed",
         "raise RLIMIT_MEMLOCK (LimitMEMLOCK=infinity)"},
        {{ALL, FIRST, "3\n", NULL, "quiet\n"}, "4.19.0\n", "65536", EPERM, W_NOT_ENOUGH_MEMORY, "64 KB",
         "RLIMIT_MEMLOCK"},
        {{ALL, FIRST, "3\n", NULL, "quiet\n"}, "5.10.0\n", "unlimited", EPERM, W_PRIVILEGE_NOT_HELD,
         "although CAP_BPF is held", "seccomp filter"},
        {{ALL, FIRST, "3\n", NULL, "quiet\n"}, "5.11.0\n", "65536", EPERM, W_PRIVILEGE_NOT_HELD,
         "although CAP_BPF is held", "security module"},
        {{ALL, FIRST, "3\n", NULL, "quiet\n"}, "6.1.0\n", "65536", EPERM, W_PRIVILEGE_NOT_HELD,
         "although CAP_BPF is held", "allow bpf"},
        {{NONE, FIRST, "3\n", NULL, NULL}, "5.10.0\n", "65536", EPERM, W_PRIVILEGE_NOT_HELD,
         "CAP_BPF and CAP_PERFMON are missing", "run with both, or as root"},
        {{PERFMON, FIRST, "3\n", NULL, NULL}, "6.1.0\n", "65536", EACCES, W_PRIVILEGE_NOT_HELD,
         "CAP_BPF and CAP_PERFMON are missing", "as root"},
        {{ALL, "0 100000 65536\n", "3\n", NULL, NULL}, "6.1.0\n", NULL, EPERM, W_PRIVILEGE_NOT_HELD,
         "user namespace alone", "outside of the container"},
        {{ALL, FIRST, "3\n", "none integrity [confidentiality]\n", NULL}, "6.1.0\n", "65536", E2BIG,
         W_PRIVILEGE_NOT_HELD,
         "locked down (confidentiality), which forbids it even to root (Argument list too long)",
         "boot without lockdown=confidentiality"},
        {{ALL, FIRST, "3\n", NULL, "lockdown=confidentiality\n"}, "5.10.0\n", "65536", EPERM, W_PRIVILEGE_NOT_HELD,
         "locked down", "lockdown=integrity"},
        {{ALL, FIRST, "3\n", "none [integrity] confidentiality\n", NULL}, "6.1.0\n", "65536", E2BIG, W_NOT_SUPPORTED,
         "it fails: Argument list", "else"},
        {{ALL, FIRST, "3\n", NULL, NULL}, "5.10.0\n", "unlimited", E2BIG, W_NOT_SUPPORTED,
         "it fails: this kernel is too old for it", "use Linux 5.17 or newer"},
        {{ALL, FIRST, "3\n", NULL, NULL}, "5.10.0\n", "65536", ENOMEM, W_NOT_ENOUGH_MEMORY,
         "it fails: Cannot allocate memory", "else"},
    };
    /* clang-format on */
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        release                  = rows[i].release;
        limit                    = rows[i].locked;
        struct source_rights r   = made_up(&rows[i].machine);
        struct reason        why = {0};
        assert_int_equal(rights_bpf(&r, rows[i].error, "it fails", &why), rows[i].status);
        const char *advice = rights_advice(&why, "else");
        if (!strstr(why.text, rows[i].what) || !strstr(advice, rows[i].advice) || strstr(why.text, "Do: "))
            fail_msg("row %zu: %s | %s", i, why.text, advice);
    }
    release = limit = NULL;
}

static void this_machine_has_some(void **state)
{
    struct source_rights r;
    (void)state;
    rights_read("", &r);
    assert_true(geteuid() != 0 || r.capabilities != 0);
    assert_string_not_equal(r.paranoid, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_is_named_with_what_to_do), cmocka_unit_test(tracefs_too),
                                       cmocka_unit_test(bpf_too), cmocka_unit_test(this_machine_has_some)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
