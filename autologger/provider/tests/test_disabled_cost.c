/* Proves: API-07 TLG-09 TLG-10 TLG-11 TLG-16: what a disabled event costs, counted in the machine code: EventWrite and
 * the other calls run at most 8 instructions and return; TraceLoggingWrite is at most 3 (load, compare, branch not
 * taken), without a call. The metadata lies in the section "autologger_tlg". Optimised builds on x86-64 only. */
#include "autologger/include/TraceLoggingProvider.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

TRACELOGGING_DEFINE_PROVIDER(g_probe, "Probe", (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
void                           probe_event(int value);
__attribute__((noinline)) void probe_event(int value)
{
    TraceLoggingWrite(g_probe, "ProbeEvent", TraceLoggingLevel(4), TraceLoggingKeyword(0x40),
                      TraceLoggingInt32(value, "v"));
}

enum { LINES = 400 };
static char     line[LINES][160];
static unsigned lines;
static char     self_path[256];

/* The instructions of `function` in `file`, as objdump prints them; false when there is no objdump. */
static bool disassemble(const char *file, const char *function)
{
    char command[512], text[512];
    lines = 0;
    snprintf(command, sizeof command, "objdump -d --no-show-raw-insn --disassemble=%s %s 2>/dev/null", function, file);
    FILE *p      = popen(command, "r");
    bool  inside = false;
    while (p && fgets(text, sizeof text, p)) {
        char *tab = strchr(text, '\t');
        if (strstr(text, ">:"))
            inside = strstr(text, function) != NULL;
        /* endbr64 marks a jump target, and does nothing */
        if (inside && tab && lines < LINES && strncmp(tab + 1, "endbr64", 7) != 0)
            snprintf(line[lines++], sizeof *line, "%s", tab + 1);
    }
    return p && pclose(p) == 0 && lines > 0;
}
static bool is(unsigned i, const char *mnemonic) { return strncmp(line[i], mnemonic, strlen(mnemonic)) == 0; }

static bool countable(void)
{
#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return false;
#endif
#endif
    return true;
#else
    return false;
#endif
}

static void test_calls(void **state)
{
    static const char *const functions[] = {"EventWrite", "EventWriteTransfer", "EventWriteString", "EventEnabled",
                                            "EventProviderEnabled"};
    (void)state;
    if (!countable() || !disassemble(AL_BINARY_DIR "/libautologger.so.0", "EventWrite")) {
        print_message("no optimised x86-64 build with a shared library, or no objdump\n");
        skip();
    }
    for (unsigned f = 0; f < sizeof functions / sizeof *functions; f++) {
        /* moves between registers: newer compilers save arguments this way, and they need no execution unit */
        unsigned n = 0, moves = 0;
        assert_true(disassemble(AL_BINARY_DIR "/libautologger.so.0", functions[f]));
        while (n < lines && !is(n, "ret")) {
            assert_false(is(n, "call"));
            assert_false(is(n, "jmp"));
            assert_false(is(n, "push")); /* a straight path without a stack frame */
            moves += is(n, "mov") && !strchr(line[n], '(');
            n++;
        }
        print_message("%s: %u instructions when disabled, %u of them moves between registers\n", functions[f], n + 1,
                      moves);
        assert_true(n < lines && n + 1 - moves <= 7 && moves <= 3);
    }
}

static void test_macro(void **state)
{
    (void)state;
    if (!countable() || !disassemble(self_path, "probe_event")) {
        print_message("no optimised x86-64 build, or no objdump\n");
        skip();
    }
    unsigned at = 0, load;
    while (at < lines && !is(at, "cmp"))
        at++;
    assert_true(at + 1 < lines);
    load = at > 0 && is(at - 1, "mov") && strstr(line[at - 1], "(%rip)") ? at - 1 : at; /* or compared in memory */
    unsigned branch = at + 1;
    assert_true(is(branch, "j") && !is(branch, "jmp"));
    print_message("TraceLoggingWrite: %u instructions when disabled\n", branch - load + 1);
    assert_true(branch - load + 1 <= 3);
    for (unsigned i = branch + 1; i < lines && !is(i, "ret"); i++)
        assert_false(is(i, "call")); /* branch not taken: straight to the end, without the event's code */
}

static void test_section(void **state)
{
    char  text[512];
    bool  found = false, constant = false;
    FILE *p;
    (void)state;
    if (!disassemble(self_path, "probe_event"))
        skip();
    snprintf(text, sizeof text, "objdump -h %s 2>/dev/null", self_path);
    p = popen(text, "r");
    while (p && fgets(text, sizeof text, p)) {
        if (found && strstr(text, "READONLY"))
            constant = true;
        found = strstr(text, " autologger_tlg ") != NULL;
    }
    if (p)
        pclose(p);
    assert_true(constant);
    unsigned seen = 0;
    snprintf(text, sizeof text, "objdump -s -j autologger_tlg %s 2>/dev/null | cut -c43-", self_path);
    p              = popen(text, "r");
    char all[4096] = "";
    while (p && fgets(text, sizeof text, p)) {
        text[strcspn(text, "\n")] = 0;
        strncat(all, text, sizeof all - strlen(all) - 1);
    }
    if (p)
        pclose(p);
    seen = (strstr(all, "ProbeEvent") != NULL) + (strstr(all, "Probe.") != NULL);
    assert_int_equal(seen, 2); /* a program's file lists all its events */
}

int main(void)
{
    if (readlink("/proc/self/exe", self_path, sizeof self_path - 1) < 0)
        return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_calls), cmocka_unit_test(test_macro),
                                       cmocka_unit_test(test_section)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
