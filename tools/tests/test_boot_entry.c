/* The entry for the kernel phase as text: GRUB's and systemd-boot's, the exact bytes, and what is refused.
 * A separate one-shot entry; a normal one is never changed. */
#include "autologger/kernel/tables/flags.h"
#include "tools/setup/boot_entry.h"
#include "tools/setup/boot_tracepoints.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD "if [ \"${next_entry}\" ] ; then\n  set default=\"${next_entry}\"\nfi\n"
#define TAIL "if [ -f  ${config_directory}/custom.cfg ]; then\n  source ${config_directory}/custom.cfg\nfi\n"
#define NORMAL \
    "menuentry 'Debian GNU/Linux' --class debian --class gnu-linux $menuentry_id_option 'gnulinux-simple-1' {\n" \
    "\tinsmod gzio\n\tif [ x$grub_platform = xxen ]; then insmod xzio; insmod lzopio; fi\n\tinsmod ext2\n" \
    "\tlinux\t/boot/vmlinuz-6.1.0-9-amd64 root=UUID=1 ro  quiet \n\tinitrd\t/boot/initrd.img-6.1.0-9-amd64\n}\n"
#define RESCUE \
    "submenu 'Advanced' {\n\tmenuentry 'rescue' {\n\t\tlinux /boot/vmlinuz-6.1.0-9-amd64 root=UUID=1 ro single\n\t}\n"

static void grub_entry(void **state)
{
    (void)state;
    char         *out = NULL;
    struct reason why = {0};
    assert_int_equal(
        grub_entry_make(HEAD RESCUE NORMAL "}\n" TAIL, "6.1.0-9-amd64", "autologger=kernel x=y", &out, &why), 0);
    assert_string_equal(
        out,
        "menuentry 'autologger: one traced boot of Linux 6.1.0-9-amd64' --class debian --class gnu-linux --id autologger {\n"
        "\tinsmod gzio\n\tif [ x$grub_platform = xxen ]; then insmod xzio; insmod lzopio; fi\n\tinsmod ext2\n"
        "\tlinux\t/boot/vmlinuz-6.1.0-9-amd64 root=UUID=1 ro  quiet autologger=kernel x=y\n"
        "\tinitrd\t/boot/initrd.img-6.1.0-9-amd64\n}\n");
    free(out);
}

/* Words with GRUB's special characters reach the kernel unchanged: they are escaped. */
static void grub_quotes(void **state)
{
    (void)state;
    char         *out = NULL;
    struct reason why = {0};
    assert_int_equal(grub_entry_make(HEAD RESCUE NORMAL "}\n" TAIL, "6.1.0-9-amd64",
                                     "kprobe_event=p:a,f,x=+0($arg1):string;r:b,f", &out, &why),
                     0);
    assert_non_null(strstr(out, "quiet kprobe_event=p:a,f,x=+0(\\$arg1):string\\;r:b,f\n"));
    free(out);
}

static void grub_refused(void **state)
{
    (void)state;
    static const struct {
        const char *cfg, *kernel, *reason;
    } rows[] = {
        {HEAD NORMAL, "6.1.0-9-amd64", "does not read custom.cfg"},
        {NORMAL TAIL, "6.1.0-9-amd64", "no entry for one boot"},
        {HEAD NORMAL TAIL, "6.1.0-9", "no entry for the kernel 6.1.0-9."},
        {HEAD NORMAL TAIL, "", "no entry for the kernel (none)"},
        {HEAD RESCUE "}\n" TAIL, "6.1.0-9-amd64", "no entry for the kernel"},
        {HEAD "menuentry 'x' {\n\tinsmod lvm\n\tlinux /vmlinuz-6.1.0-9-amd64 root=/dev/a/b\n}\n" TAIL, "6.1.0-9-amd64",
         "lies on lvm"},
        {HEAD "menuentry 'x' {\n\tlinux /vmlinuz-6.1.0-9-amd64 root=/dev/a/b\n" TAIL, "6.1.0-9-amd64",
         "no entry for the kernel"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char         *out = NULL;
        struct reason why = {0};
        assert_int_equal(grub_entry_make(rows[i].cfg, rows[i].kernel, "a", &out, &why), W_NOT_SUPPORTED);
        assert_null(out);
        assert_non_null(strstr(why.text, rows[i].reason));
        assert_non_null(strstr(why.text, " Do: "));
    }
}

static void custom_file(void **state)
{
    (void)state;
    static const char own[] = "menuentry 'mine' {\n}"; /* without a line end */
    char             *with  = grub_custom_make(own, "entry {\n}\n");
    assert_true(!strncmp(with, own, strlen(own)) && strstr(with, "}\n# autologger: one traced boot") &&
                strstr(with, "\nentry {\n}\n# autologger: end\n"));
    char *again = grub_custom_make(with, "entry {\n}\n"); /* replaced, not added */
    assert_string_equal(again, with);
    char *without = grub_custom_make(again, NULL);
    assert_string_equal(without, "menuentry 'mine' {\n}\n");
    char *alone = grub_custom_make(NULL, "entry {\n}\n"), *none = grub_custom_make(alone, NULL);
    assert_string_equal(none, "");
    /* our end mark is missing: what follows may be another's, and stays */
    char *end = strstr(with, "# autologger: end");
    *end      = 0;
    char *cut = grub_custom_make(with, NULL);
    assert_non_null(strstr(cut, "entry {\n}\n"));
    free(with), free(again), free(without), free(alone), free(none), free(cut);
}

static void systemd_entry(void **state)
{
    (void)state;
    char         *out = NULL;
    struct reason why = {0};
    assert_int_equal(
        systemd_entry_make(
            "# c\ntitle  Debian\nsort-key debian\nversion 6.1\noptions root=UUID=1 ro\nlinux /m/6.1/linux\ninitrd /m/6.1/initrd\n",
            "autologger=kernel a=b", &out, &why),
        0);
    assert_string_equal(
        out,
        "# made by 'autologger apply', taken away by 'autologger clean'\ntitle autologger: one traced boot\nversion 6.1\n"
        "options root=UUID=1 ro autologger=kernel a=b\nlinux /m/6.1/linux\ninitrd /m/6.1/initrd\n");
    free(out);
    assert_int_equal(systemd_entry_make("title x\nefi /EFI/Linux/a.efi\n", "a", &out, &why), W_NOT_SUPPORTED);
    assert_null(out);
    assert_int_equal(systemd_entry_make("linux /l", "a=b", &out, &why), 0); /* no options yet, no line end */
    assert_non_null(strstr(out, "linux /l\noptions a=b\n"));
    free(out);
}

static void arguments(void **state)
{
    (void)state;
    uint32_t mask[GROUP_MASK_WORDS];
    char     text[512];
    assert_int_equal(group_mask_parse("PROC_THREAD+CSWITCH+DISK_IO_INIT", mask, NULL), 0);
    static const uint16_t switches = 0x0524;
    size_t                length   = boot_entry_arguments(mask, NULL, 0, false, text, sizeof text);
    assert_int_equal(length, strlen(text));
    assert_string_equal(
        text,
        "autologger=kernel trace_event=initcall:*,sched:sched_process_exec,sched:sched_switch,block:block_rq_insert,"
        "block:block_rq_issue,sched:sched_process_fork,sched:sched_process_exit,task:task_newtask,"
        "module:module_load,block:block_rq_requeue trace_buf_size=8M trace_clock=perf");
    length = boot_entry_arguments(mask, &switches, 1, false, text, sizeof text);
    assert_string_equal(text + length - 25, " trace_options=stacktrace");
    memset(mask, 0, sizeof mask);
    boot_entry_arguments(mask, NULL, 0, false, text, sizeof text);
    assert_string_equal(text, "autologger=kernel trace_event=initcall:* trace_buf_size=8M trace_clock=perf");
    assert_int_equal(boot_entry_arguments(mask, NULL, 0, false, text, 20), 0);
    assert_int_equal(boot_entry_arguments(mask, NULL, 0, true, text, sizeof text), 0); /* they do not fit */
    char long_text[1024];
    length = boot_entry_arguments(mask, NULL, 0, true, long_text, sizeof long_text);
    assert_int_equal(length, strlen(long_text));
    const char *probes =
        strstr(long_text, " kprobe_event=p:autologger/probe,really_probe,dev=+0(+0($arg1)):string,drv=");
    assert_non_null(probes);
    assert_non_null(strstr(probes, ";r100:autologger/probed,really_probe,ret=$retval:s32;p:autologger/deferred,"));
    assert_null(strpbrk(probes + 1, " \n"));
}

/* Whether this machine lets us read tracefs or not: names come out as they are. */
static void tracepoints_are_armed_too(void **state)
{
    char one[] = "task:task_rename, task:task_newtask;task:task_rename", filtered[] = "sched:sched_switch",
         filter[] = "prev_pid == 1", bad[] = "task:task_rename\" init=/bin/sh";
    struct plan_provider    p[3] = {{.enabled = true, .tracepoint = one, .tracepoint_stacks = true},
                                    {.enabled = true, .tracepoint = filtered, .tracepoint_filter = filter},
                                    {.enabled = false, .tracepoint = filtered}};
    struct plan             plan = {.guid = {0xABCD1234, 1, 2, {3}}, .providers = p, .provider_count = 3};
    struct boot_tracepoints t[2];
    char                    text[400];
    (void)state;
    assert_true(boot_tracepoints_find(&plan, &t[0]));
    assert_string_equal(t[0].events, "task:task_rename,task:task_newtask");
    assert_string_equal(t[0].instance, "autologger-abcd1234");
    assert_true(boot_tracepoints_main(&t[0], text, sizeof text));
    assert_string_equal(
        text,
        "autologger=kernel trace_event=task:task_rename,task:task_newtask trace_buf_size=8M trace_clock=perf trace_options=stacktrace");
    assert_false(boot_tracepoints_main(&t[0], text, 40));
    t[1] = t[0];
    snprintf(text, sizeof text, "x trace_clock=perf y");
    assert_true(boot_tracepoints_instances(t, 0, text, sizeof text));
    assert_string_equal(text, "x trace_clock=perf y");
    assert_true(boot_tracepoints_instances(t, 2, text, sizeof text)); /* one clock for the main buffer, too */
    assert_string_equal(
        text,
        "x trace_clock=local y trace_options=stacktrace trace_instance=autologger-abcd1234,task:task_rename,task:task_newtask"
        " trace_instance=autologger-abcd1234,task:task_rename,task:task_newtask");
    t[0].stacks = false;
    snprintf(text, sizeof text, "x trace_clock=perf trace_options=stacktrace");
    assert_true(boot_tracepoints_instances(&t[1], 1, text, sizeof text));
    assert_string_equal(
        text,
        "x trace_clock=local trace_options=stacktrace trace_instance=autologger-abcd1234,task:task_rename,task:task_newtask");
    snprintf(text, sizeof text, "x");
    assert_true(boot_tracepoints_instances(t, 1, text, sizeof text));
    assert_string_equal(text, "x trace_instance=autologger-abcd1234,task:task_rename,task:task_newtask");
    assert_false(boot_tracepoints_instances(t, 2, text, 100));
    snprintf(text, sizeof text, "x trace_buf_size=8M y");
    /* an eighth: as it was */
    assert_int_equal(boot_tracepoints_sizes(4, UINT64_C(256) << 20, text, sizeof text), 32 << 20);
    assert_string_equal(text, "x trace_buf_size=8M y");
    assert_int_equal(boot_tracepoints_sizes(16, UINT64_C(512) << 20, text, sizeof text), 64 << 20);
    assert_string_equal(text, "x trace_buf_size=4M y");
    snprintf(text, sizeof text, "x trace_buf_size=8M");
    assert_int_equal(boot_tracepoints_sizes(256, UINT64_C(1) << 30, text, sizeof text), 128 << 20);
    assert_string_equal(text, "x trace_buf_size=512K");
    snprintf(text, sizeof text, "x trace_buf_size=8M");
    /* more than that: check_memory says so */
    assert_int_equal(boot_tracepoints_sizes(1024, UINT64_C(1) << 30, text, sizeof text), 256 << 20);
    assert_string_equal(text, "x trace_buf_size=256K");
    p[0].tracepoint = bad; /* only plain names get onto a command line */
    if (boot_tracepoints_find(&plan, &t[0]))
        assert_null(strpbrk(t[0].events, "\" =/"));
    p[0].enabled = false;
    assert_false(boot_tracepoints_find(&plan, &t[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(grub_entry),
                                       cmocka_unit_test(grub_quotes),
                                       cmocka_unit_test(grub_refused),
                                       cmocka_unit_test(custom_file),
                                       cmocka_unit_test(systemd_entry),
                                       cmocka_unit_test(arguments),
                                       cmocka_unit_test(tracepoints_are_armed_too)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
