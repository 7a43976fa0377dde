/* Asking the machine: a systemctl of the test's own in its own PATH, counters in a file of the test's own; the timer is
 * the real one. */
#include "autologger/daemon/end/boot_watch.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/autologger-watch-XXXXXX", stat_path[64], systemctl_path[64], asked_path[64];

static int folder_make(void **state)
{
    char path[512];
    (void)state;
    if (!mkdtemp(folder))
        return 1;
    snprintf(stat_path, sizeof stat_path, "%s/stat", folder);
    snprintf(systemctl_path, sizeof systemctl_path, "%s/systemctl", folder);
    snprintf(asked_path, sizeof asked_path, "%s/asked", folder);
    snprintf(path, sizeof path, "%s:/usr/bin:/bin", folder);
    return setenv("PATH", path, 1);
}

static int folder_remove(void **state)
{
    (void)state;
    unlink(stat_path);
    unlink(systemctl_path);
    unlink(asked_path);
    return rmdir(folder);
}

static void systemctl_put(const char *body)
{
    unlink(asked_path);
    FILE *f = fopen(systemctl_path, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\necho \"$@\" >> %s\n%s\n", asked_path, body);
    fclose(f);
    assert_int_equal(chmod(systemctl_path, 0755), 0);
}

static void stat_put(unsigned long idle, unsigned long busy)
{
    char fresh[80];
    snprintf(fresh, sizeof fresh, "%s", stat_path);
    FILE *f = fopen(fresh, "r+"); /* in place: the watch keeps it open */
    if (!f)
        f = fopen(fresh, "w");
    assert_non_null(f);
    fprintf(f, "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 %012lu 0 0 %012lu 0 0 0 0 0 0\nintr 5 6 7\ncpu9\n", busy, idle);
    fclose(f);
}

static struct boot_watch *watch(const char *systemd_dir)
{
    const struct boot_watch_options options = {systemd_dir, stat_path, .ready_ns = 77};
    struct boot_watch              *w       = NULL;
    struct reason                   why     = {0};
    assert_int_equal(boot_watch_create(os_linux(), &options, &w, &why), W_SUCCESS);
    return w;
}

/* Steps for `ms`, whenever there is something to do, and returns the number of steps. With `idle` the machine is idle
 * meanwhile. */
static unsigned run(struct boot_watch *w, unsigned ms, bool idle)
{
    static unsigned long t     = 1000;
    unsigned             steps = 0;
    uint64_t             end   = os_linux()->raw_ns(os_linux()) + ms * UINT64_C(1000000);
    for (uint64_t now; (now = os_linux()->raw_ns(os_linux())) < end;) {
        struct pollfd p = {.fd = boot_watch_fd(w), .events = POLLIN};
        if (poll(&p, 1, (int)((end - now) / 1000000 + 1)) <= 0)
            continue;
        t += 10;
        stat_put(idle ? t : 1000, idle ? 1000 : t);
        boot_watch_step(w);
        steps++;
    }
    return steps;
}

static void without_systemd_mark_one_is_where_files_were_ready(void **state)
{
    (void)state;
    stat_put(1000, 1000);
    systemctl_put("echo running");
    struct boot_watch *w = watch("/nonexistent/systemd");
    assert_int_equal(boot_watch_done(w)->target_ns, 77);
    assert_true(*boot_watch_done(w)->note);
    assert_true(run(w, 1050, true) >= 3);
    uint64_t collected = boot_watch_done(w)->collected_ns;
    assert_uint_in_range(collected, 100000000, 1100000000);
    run(w, 350, false);
    assert_uint_in_range(boot_watch_done(w)->collected_ns, collected, collected + 100000000);
    assert_int_equal(access(asked_path, F_OK), -1); /* systemctl was not called */
    char jobs[200];
    boot_watch_jobs(w, jobs, sizeof jobs);
    assert_string_equal(jobs, "");
    boot_watch_rest(w);
    run(w, 150, true);
    assert_int_equal(run(w, 300, true), 0); /* no timer runs */
    boot_watch_destroy(w);
}

static void systemd_says_when(void **state)
{
    (void)state;
    stat_put(1000, 1000);
    systemctl_put("sleep 0.4; echo degraded; exit 1");
    struct boot_watch *w = watch(folder);
    assert_int_equal(run(w, 200, true), 0); /* a child waits, nothing else runs */
    assert_int_equal(boot_watch_done(w)->target_ns, 0);
    run(w, 1500, true);
    assert_true(boot_watch_done(w)->target_ns > 77);
    assert_true(strstr(boot_watch_done(w)->note, "degraded") != NULL);
    assert_true(boot_watch_done(w)->collected_ns > 0);
    boot_watch_destroy(w);
    char  line[100] = "";
    FILE *f         = fopen(asked_path, "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    assert_string_equal(line, "is-system-running --wait\n");
    assert_null(fgets(line, sizeof line, f)); /* asked once */
    fclose(f);
}

static void a_systemctl_that_fails_is_asked_three_times(void **state)
{
    (void)state;
    stat_put(1000, 1000);
    systemctl_put("echo 'Failed to connect to bus' >&2; exit 1");
    struct boot_watch *w = watch(folder);
    run(w, 2600, true);
    assert_int_equal(boot_watch_done(w)->target_ns, 77);
    assert_non_null(strstr(boot_watch_done(w)->note, "systemctl"));
    boot_watch_destroy(w);
}

static void a_missing_systemctl_is_a_note(void **state)
{
    char path[600], *old = strdup(getenv("PATH"));
    (void)state;
    snprintf(path, sizeof path, "%s/nothing", folder);
    setenv("PATH", path, 1);
    stat_put(1000, 1000);
    struct boot_watch *w = watch(folder);
    run(w, 2600, true);
    assert_int_equal(boot_watch_done(w)->target_ns, 77);
    boot_watch_destroy(w);
    setenv("PATH", old, 1);
    free(old);
}

static void a_rest_still_hears_of_mark_one(void **state)
{
    (void)state;
    stat_put(1000, 1000);
    systemctl_put("sleep 0.3; echo running");
    struct boot_watch *w = watch(folder);
    boot_watch_rest(w);
    run(w, 1500, true);
    assert_true(boot_watch_done(w)->target_ns > 77);
    assert_int_equal(boot_watch_done(w)->collected_ns, 0);
    assert_int_equal(run(w, 300, true), 0);
    boot_watch_destroy(w);
}

static void what_a_predecessor_found_holds(void **state)
{
    const struct boot_watch_options options = {folder, stat_path, .ready_ns = 77, .target_ns = 88};
    struct boot_watch              *w;
    struct reason                   why;
    (void)state;
    stat_put(1000, 1000);
    systemctl_put("echo running");
    assert_int_equal(boot_watch_create(os_linux(), &options, &w, &why), W_SUCCESS);
    assert_int_equal(boot_watch_done(w)->target_ns, 88);
    run(w, 1000, true);
    assert_true(boot_watch_done(w)->collected_ns > 0);
    assert_int_equal(access(asked_path, F_OK), -1);
    boot_watch_destroy(w);
}

static void jobs_are_named(void **state)
{
    char text[200];
    (void)state;
    boot_jobs_text("", text, sizeof text);
    assert_string_equal(text, "");
    boot_jobs_text("12 a.service start running\n13 multi-user.target start waiting\n 4 b.mount stop running\n", text,
                   sizeof text);
    assert_string_equal(text, "systemd is still starting a.service");
    boot_jobs_text(
        "1 a.service start running\n2 b.service start running\n3 c.service start running\n4 d.service start running\n"
        "5 e.service start running",
        text, sizeof text);
    assert_string_equal(text, "systemd is still starting a.service, b.service, c.service and 2 more");
    boot_jobs_text("1 a-long-name.service start running\n2 b.service start running\n", text, 30);
    assert_int_equal(strlen(text), 29);

    systemctl_put("echo '7 slow.service start running'");
    stat_put(1000, 1000);
    struct boot_watch *w = watch(folder);
    boot_watch_jobs(w, text, sizeof text);
    assert_string_equal(text, "systemd is still starting slow.service");
    boot_watch_destroy(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_systemd_mark_one_is_where_files_were_ready),
        cmocka_unit_test(systemd_says_when),
        cmocka_unit_test(a_systemctl_that_fails_is_asked_three_times),
        cmocka_unit_test(a_missing_systemctl_is_a_note),
        cmocka_unit_test(a_rest_still_hears_of_mark_one),
        cmocka_unit_test(what_a_predecessor_found_holds),
        cmocka_unit_test(jobs_are_named),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
