/* Configurations and the plan or Status that each gives.
 * Proves: REG-04, REG-05, REG-06, REG-07, REG-08, REG-09 (the causes that a plan can see), REG-10, REG-11, REG-12,
 * REG-13, REG-14, REG-15, REG-20, KRN-11, KRN-12, SEC-06 (the security provider is refused: no process is protected as
 * Windows asks). */
#include "autologger/plan/plan.h"
#include "registry-sim/text/dialect.h"
#include "registry-sim/text/winpath.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GIB (1ull << 30)
#define HEADER "Windows Registry Editor Version 5.00\n\n" /* two lines: the key stands in line 3 */
#define GLOBAL \
    "[" \
    "HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\WMI\\GlobalLogger]\n"
#define SESSION \
    "[" \
    "HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\WMI\\Autologger\\web]\n"
#define PROVIDER(name) \
    "[" \
    "HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\WMI\\Autologger\\web\\" name "]\n"
#define START "\"Start\"=dword:1\n"
#define OWN_GUID "\"GUID\"=\"{11111111-2222-3333-4444-555555555555}\"\n"
#define AUTO SESSION START OWN_GUID
#define MODE(hex) "\"LogFileMode\"=dword:" hex "\n"
#define FLAGS(hex) "\"EnableKernelFlags\"=hex:" hex "\n"
#define NAME "\"FileName\"=\"c:\\\\x.etl\"\n"
#define A_GUID "{aaaaaaaa-0000-0000-0000-000000000001}"

#define PROVIDER_ON AUTO PROVIDER(A_GUID) "\"Enabled\"=dword:1\n"
#define FILTERS PROVIDER_ON PROVIDER(A_GUID "\\Filters") "\"Enabled\"=dword:1\n"
#define PART(name) PROVIDER(A_GUID "\\Filters\\" name)

struct expectation {
    const char *what, *text;
    wstatus     status;
    const char *reason; /* part of the reason */
    uint32_t    line;   /* of the failed row; 0 = not checked */
    const char *plan;   /* parts of describe(), joined by '|'; a part with '!' before it must be absent */
};

static struct plan_limits limits = {.processors  = 2,
                                    .ram_bytes   = 24 * GIB,
                                    .memory_left = 24 * GIB / 10,
                                    .log_dir     = "/logs"};

/* The plan as text, so that a table row can be compared with it. */
static char *describe(const struct plan *p)
{
    char  *text = NULL;
    size_t size;
    char   guid[GUID_TEXT_SIZE];
    FILE  *out = open_memstream(&text, &size);

    fprintf(out, "start %d; name %s; guid %s; kernel %d; ", p->start, p->name ? p->name : "-",
            guid_format(&p->guid, guid), p->kernel);
    fprintf(out, "kb %u/%u; min %u/%u; max %u/%u; memory %llu; ", p->asked.buffer_kb, p->given.buffer_kb,
            p->asked.minimum_buffers, p->given.minimum_buffers, p->asked.maximum_buffers, p->given.maximum_buffers,
            (unsigned long long)p->memory_bytes);
    fprintf(out, "clock %u; mode 0x%x; size %u; timer %u; threshold %u; files %u at %u; path %s; ", p->clock_type,
            p->log_file_mode, p->max_file_size, p->flush_timer, p->flush_threshold, p->file_max, p->file_counter,
            p->log_path ? p->log_path : "-");
    if (p->disallowed_count)
        fprintf(out, "disallowed ");
    for (unsigned i = 0; i < p->disallowed_count; i++)
        fprintf(out, "%s ", guid_format(&p->disallowed[i], guid));
    fprintf(out, "; mask %x %x; hooks %u; ", p->group_mask[0], p->group_mask[1], p->hook_count);
    for (unsigned i = 0; i < p->conditions.count; i++)
        fprintf(out, "%s %s %u @%u (%s); ", p->conditions.items[i].note ? "note" : "condition",
                p->conditions.items[i].item, p->conditions.items[i].number, p->conditions.items[i].source_line,
                p->conditions.items[i].reason);
    for (unsigned i = 0; i < p->provider_count; i++) {
        const struct plan_provider *v = &p->providers[i];
        fprintf(out, "provider %s %s status %u on %d level %u any %llx all %llx line %u (%s); ",
                guid_format(&v->guid, guid), v->name ? v->name : "-", v->status, v->enabled, v->level,
                (unsigned long long)v->match_any, (unsigned long long)v->match_all, v->source_line, v->reason.text);
        if (v->units)
            fprintf(out, "units %s; ", v->units);
        if (v->filter) {
            char words[2048];
            filter_describe(v->filter, words, sizeof words);
            fprintf(out, "property %x filters <%s>; ", v->filter->property, words);
            if (filter_check(v->filter, v->filter->size, NULL))
                fprintf(out, "which are not valid; ");
        }
        for (unsigned c = 0; c < v->conditions.count; c++)
            fprintf(out, "%s-of-provider %s %u @%u (%s); ", v->conditions.items[c].note ? "note" : "condition",
                    v->conditions.items[c].item, v->conditions.items[c].number, v->conditions.items[c].source_line,
                    v->conditions.items[c].reason);
    }
    fclose(out);
    return text;
}

#define X64 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

static bool has_parts(const char *text, const char *parts, char missing[256])
{
    for (const char *p = parts; p && *p;) {
        size_t n        = strcspn(p, "|");
        bool   negative = *p == '!';
        snprintf(missing, 256, "%.*s", (int)n, p);
        if ((strstr(text, missing + negative) != NULL) == negative)
            return false;
        p += n + (p[n] == '|');
    }
    return true;
}

static void check_row(const struct expectation *row)
{
    struct regstore *store;
    struct diag_sink sink = {0};
    struct reason    why  = {0};
    struct plan      plan;
    char             missing[256] = "";

    assert_int_equal(regstore_open_memory(&store, &why), W_SUCCESS);
    size_t size = strlen(HEADER) + strlen(row->text) + 1;
    char  *text = malloc(size);
    snprintf(text, size, "%s%s", HEADER, row->text);
    if (reg_import(store, text, size - 1, "case.reg", 0, &sink, &why) != W_SUCCESS)
        fail_msg("%s: not imported: %s", row->what, why.text);
    bool    global = strncmp(row->text, GLOBAL, strlen(GLOBAL)) == 0;
    wstatus st = plan_from_key(store, global ? WINPATH_WMI "\\GlobalLogger" : WINPATH_WMI "\\Autologger\\web", &limits,
                               &plan, &why);
    char   *seen = describe(&plan);
    if (st != row->status)
        fail_msg("%s: Status %u, expected %u: %s\n%s", row->what, st, row->status, why.text, seen);
    if (row->reason && !strstr(why.text, row->reason))
        fail_msg("%s: reason '%s' lacks '%s'", row->what, why.text, row->reason);
    if (row->line && (plan.source_line != row->line || !plan.source_file || strcmp(plan.source_file, "case.reg") != 0))
        fail_msg("%s: place %s:%u, expected line %u", row->what, plan.source_file ? plan.source_file : "-",
                 plan.source_line, row->line);
    if (!has_parts(seen, row->plan, missing))
        fail_msg("%s: '%s' is wrong in\n%s", row->what, missing, seen);
    free(seen);
    free(text);
    plan_finish(&plan);
    regstore_close(store);
}

static const struct expectation start_and_identity[] = {
    {"no Start", SESSION OWN_GUID, 0, NULL, 0, "start 0"},
    {"Start 0, nothing else is read", SESSION "\"Start\"=dword:0\n\"BufferSize\"=\"x\"\n", 0, NULL, 0,
     "start 0|kb 0/0"},
    {"Start of another type", SESSION OWN_GUID "\"Start\"=\"1\"\n", 87, "Start is REG_SZ, it must be REG_DWORD", 5,
     NULL},
    {"Start 2", SESSION "\"Start\"=dword:2\n" OWN_GUID, 0, NULL, 0, "start 1|name web"},
    {"missing Guid", SESSION START, 87, "Guid is missing", 3, "start 1"},
    {"Guid without braces", SESSION START "\"Guid\"=\"11111111-2222-3333-4444-555555555555\"\n", 87, "not of the form",
     5, NULL},
    {"Guid that is none", SESSION START "\"Guid\"=\"{web}\"\n", 87, "'{web}'", 5, NULL},
    {"Guid of another type", SESSION START "\"Guid\"=dword:1\n", 87, "Guid is REG_DWORD, it must be REG_SZ", 5, NULL},
    {"zero Guid is made up", SESSION START "\"Guid\"=\"{00000000-0000-0000-0000-000000000000}\"\n", 0, NULL, 0,
     "!guid {00000000-0000-0000-0000-000000000000}"},
    {"defaults", AUTO, 0, NULL, 0,
     "kb 64/64; min 4/4; max 26/26; memory 1703936|clock 1; mode 0x0; size 100; timer 0; threshold 0; files 0 at 0|"
     "path /logs/c/Windows/System32/LogFiles/WMI/web.etl|kernel 0|!condition|!note"},
    {"global defaults", GLOBAL START, 0, NULL, 0,
     "name GlobalLogger; guid {e8908abc-aa84-11d2-9a93-00805f85d7c6}; kernel 0|size 100|LogFiles/WMI/GlobalLogger.etl"},
    {"GlobalLogger ignores Guid", GLOBAL START "\"Guid\"=dword:7\n", 0, NULL, 0, "guid {e8908abc-"},
    {"a value of no meaning", AUTO "\"Comment\"=\"mine\"\n", 0, NULL, 0, "!condition|!note"},
    {"a slip of the pen", AUTO "\"BuferSize\"=dword:400\n", 0, NULL, 0, "kb 64/64|note BuferSize 87 @6"},
    {"a value that nothing acts on", AUTO "\"PoolTagFilter\"=\"Abcd\"\n", 0, NULL, 0, "condition PoolTagFilter 50 @6"},
    {"an earlier start", AUTO "\"Boot\"=dword:1\n", 0, NULL, 0, "condition Boot 50 @6"},
    {"no earlier start", AUTO "\"Boot\"=dword:0\n", 0, NULL, 0, "!condition"},
    {"disallowed",
     AUTO "\"DisallowList\"=\"{5ca1ab1e-7e57-0001-8000-000000000001}{5CA1AB1E-7E57-0001-8000-000000000002}\"\n", 0,
     NULL, 0,
     "disallowed {5ca1ab1e-7e57-0001-8000-000000000001} {5ca1ab1e-7e57-0001-8000-000000000002} ;|!condition|!note"},
    {"disallowed, with blanks", AUTO "\"DisallowList\"=\" {5ca1ab1e-7e57-0001-8000-000000000001} ; \"\n", 0, NULL, 0,
     "disallowed {5ca1ab1e-7e57-0001-8000-000000000001} ;|!condition"},
    {"disallowed, wrong", AUTO "\"DisallowList\"=\"{5ca1ab1e-7e57-0001-8000-000000000001}x\"\n", 87, "DisallowList 'x'",
     6, NULL},
    {"a value of a later version, not asking", AUTO "\"Boot\"=dword:0\n", 0, NULL, 0, "!condition"},
    {"later version, wrong type", AUTO "\"Boot\"=\"1\"\n", 87, "Boot is REG_SZ", 6, NULL},
    {"not read: any type", AUTO "\"Status\"=\"x\"\n\"OwningChannel\"=dword:1\n", 0, NULL, 0, "!condition"},
    {"a short number is ignored", AUTO "\"BufferSize\"=hex(4):10,00\n", 0, NULL, 0, "kb 64/64|note BufferSize 87"},
    {"the security provider", AUTO "\"EnableSecurityProvider\"=dword:1\n", 5, "protected processes", 6, NULL},
    {"the security provider, with the modes", AUTO "\"EnableSecurityProvider\"=dword:1\n\"LogFileMode\"=dword:180\n", 5,
     "protected processes", 6, NULL},
    {"the security provider is off", AUTO "\"EnableSecurityProvider\"=dword:0\n", 0, NULL, 0, "!condition|!note"},
    {"reserved name", SESSION START "\"Guid\"=\"{54dea73a-ed1f-42a4-af71-3e63d056f174}\"\n", 0, NULL, 0,
     "name Circular Kernel Context Logger|kernel 1"},
};

static const struct expectation buffers_rows[] = {
    {"BufferSize of another type", AUTO "\"BufferSize\"=\"64\"\n", 87, "BufferSize is REG_SZ, it must be REG_DWORD", 6,
     NULL},
    {"BufferSize as QWORD", AUTO "\"BufferSize\"=hex(b):40,00,00,00,00,00,00,00\n", 87, "REG_QWORD", 6, NULL},
    {"BufferSize 0 is the default", AUTO "\"BufferSize\"=dword:0\n", 0, NULL, 0, "kb 64/64|!condition"},
    {"BufferSize too small", AUTO "\"BufferSize\"=dword:1\n", 0, NULL, 0, "kb 1/4|condition BufferSize 87 @6"},
    {"BufferSize too large", AUTO "\"BufferSize\"=dword:8000\n", 0, NULL, 0,
     "kb 32768/16384|condition BufferSize 87 @6"},
    {"BufferSize over the documented", AUTO "\"BufferSize\"=dword:800\n", 0, NULL, 0,
     "kb 2048/2048|note BufferSize 87"},
    {"Minimum below the floor", AUTO "\"MinimumBuffers\"=dword:1\n", 0, NULL, 0, "min 1/4; max 23/26|!note"},
    {"Maximum below Minimum", AUTO "\"MinimumBuffers\"=dword:20\n\"MaximumBuffers\"=dword:8\n", 0, NULL, 0,
     "min 32/32; max 8/32|note MaximumBuffers 87 @7"},
    {"Maximum absent", AUTO "\"MinimumBuffers\"=dword:20\n", 0, NULL, 0, "min 32/32; max 54/54"},
    {"huge Minimum does not wrap", AUTO "\"MinimumBuffers\"=dword:ffffffff\n", 0, NULL, 0,
     "min 4294967295/39321; max 4294967295/39321|condition MinimumBuffers 8"},
    {"one processor by mode", AUTO MODE("10000000"), 0, NULL, 0, "min 2/2; max 24/24|!condition"},
    {"one processor by mode, kernel events", GLOBAL START FLAGS("07,00,00,00") MODE("10000000"), 0, NULL, 0,
     "mode 0x10000000|condition NO_PER_PROCESSOR_BUFFERING 50"},
    {"buffering has no growth", AUTO MODE("400") "\"MinimumBuffers\"=dword:20\n\"MaximumBuffers\"=dword:40\n", 0, NULL,
     0, "min 32/32; max 64/32|path -"},
};

static const struct expectation mode_rows[] = {
    {"sequential", AUTO MODE("1"), 0, NULL, 0, "mode 0x1|!condition"},
    {"circular", AUTO MODE("2"), 0, NULL, 0, "mode 0x2; size 100"},
    {"circular without size", AUTO MODE("2") "\"MaxFileSize\"=dword:0\n", 87, "CIRCULAR needs a MaxFileSize", 6, NULL},
    {"sequential and circular", AUTO MODE("3"), 87, "exclude each other", 6, NULL},
    {"append", AUTO MODE("4"), 0, NULL, 0, "mode 0x5"},
    {"circular and append", AUTO MODE("6"), 87, "CIRCULAR and APPEND", 0, NULL},
    {"newfile", AUTO MODE("8") NAME, 87, "NEWFILE is not possible in a boot session", 6, NULL},
    {"newfile in GlobalLogger", GLOBAL START MODE("8"), 87, "NEWFILE", 5, NULL},
    {"newfile and sequential", AUTO MODE("9"), 87, "NEWFILE", 0, NULL},
    {"ms flush timer", AUTO MODE("10") "\"FlushTimer\"=dword:1f4\n", 0, NULL, 0, "timer 500|!condition"},
    {"preallocate", AUTO MODE("20"), 0, NULL, 0, "mode 0x20"},
    {"preallocate without size", AUTO MODE("20") "\"MaxFileSize\"=dword:0\n", 87, "PREALLOCATE needs", 0, NULL},
    {"preallocate and append", AUTO MODE("24"), 87, "PREALLOCATE and APPEND", 0, NULL},
    {"nonstoppable alone", AUTO MODE("40"), 87, "NONSTOPPABLE needs", 0, NULL},
    {"nonstoppable circular", AUTO MODE("42"), 0, NULL, 0, "mode 0x42"},
    {"nonstoppable buffering", AUTO MODE("440"), 0, NULL, 0, "path -"},
    {"nonstoppable real time without file", AUTO MODE("140"), 0, NULL, 0, "path -"},
    {"nonstoppable real time with file", AUTO MODE("140") NAME, 87, "only without a FileName", 0, NULL},
    {"secure", AUTO MODE("80"), 0, NULL, 0, NULL},
    {"real time has no file", AUTO MODE("100"), 0, NULL, 0, "timer 1|path -"},
    {"real time, ms", AUTO MODE("110"), 0, NULL, 0, "timer 1000"},
    {"real time with a file", AUTO MODE("100") NAME, 0, NULL, 0, "path /logs/c/x.etl"},
    {"delay open brings the default file", AUTO MODE("300"), 0, NULL, 0,
     "path /logs/c/Windows/System32/LogFiles/WMI/web.etl"},
    {"buffering with a file", AUTO MODE("400") NAME, 87, "FileName must not be given", 6, NULL},
    {"buffering and sequential", AUTO MODE("401"), 87, "BUFFERING has no file", 0, NULL},
    {"buffering and circular", AUTO MODE("402"), 87, "BUFFERING has no file", 0, NULL},
    {"buffering and append", AUTO MODE("404"), 87, "BUFFERING has no file", 0, NULL},
    {"buffering drops real time", AUTO MODE("500"), 0, NULL, 0, "mode 0x400|note LogFileMode 87"},
    {"buffering needs no timer", AUTO MODE("400") "\"FlushTimer\"=dword:5\n", 0, NULL, 0, "timer 0"},
    {"private is ignored at boot", AUTO MODE("800"), 0, NULL, 0, "condition PRIVATE_LOGGER 50"},
    {"size in KB", AUTO MODE("2000") "\"MaxFileSize\"=dword:200\n", 0, NULL, 0, "size 512|!condition"},
    {"default size in KB", AUTO MODE("2000"), 0, NULL, 0, "size 102400"},
    {"both sequences", AUTO MODE("c000"), 87, "USE_GLOBAL_SEQUENCE and USE_LOCAL_SEQUENCE", 0, NULL},
    {"global sequence", AUTO MODE("4000"), 0, NULL, 0, "mode 0x4000|!condition"},
    {"local sequence", AUTO MODE("8000"), 0, NULL, 0, "mode 0x8000|!condition"},
    {"relog", AUTO MODE("10000"), 87, "RELOG", 0, NULL},
    {"hybrid shutdown, both", AUTO MODE("c00000"), 87, "exclude each other", 0, NULL},
    {"paged", AUTO MODE("1000000"), 0, NULL, 0, "condition USE_PAGED_MEMORY 50"},
    {"paged kernel", GLOBAL START FLAGS("07,00,00,00") MODE("1000000"), 87, "kernel events", 6, NULL},
    {"paged GlobalLogger without kernel events", GLOBAL START MODE("1000000"), 0, NULL, 0, NULL},
    {"paged system logger", AUTO MODE("3000000"), 87, "USE_PAGED_MEMORY", 0, NULL},
    {"paged and debugger", AUTO MODE("1080000"), 0, NULL, 0, "mode 0x80000"},
    {"compressed alone", AUTO MODE("4000000"), 87, "COMPRESSED needs BUFFERING", 0, NULL},
    {"compressed buffering", AUTO MODE("4000400"), 0, NULL, 0, NULL},
    {"bits of no meaning", AUTO MODE("40000001"), 0, NULL, 0, "mode 0x40000001|condition LogFileMode 50"},
    {"obsolete bits", AUTO MODE("121000"), 0, NULL, 0, "mode 0x121000|!condition"},
    {"mode of another type", AUTO "\"LogFileMode\"=\"SEQUENTIAL\"\n", 87, "LogFileMode is REG_SZ", 6, NULL},
};

static const struct expectation file_rows[] = {
    {"a Windows path", AUTO "\"FileName\"=\"C:\\\\Logs\\\\a.etl\"\n", 0, NULL, 0, "path /logs/c/Logs/a.etl"},
    {"expand string", AUTO "\"FileName\"=hex(2):63,00,3a,00,5c,00,61,00,00,00\n", 0, NULL, 0, "path /logs/c/a;"},
    {"system root", AUTO "\"FileName\"=\"%SystemRoot%\\\\a.etl\"\n", 0, NULL, 0, "path /logs/c/Windows/a.etl"},
    {"system root alone", AUTO "\"FileName\"=\"%systemroot%\"\n", 0, NULL, 0, "LogFiles/WMI/web.etl"},
    {"system root folder", AUTO "\"FileName\"=\"%SystemRoot%\\\\logs\\\\\"\n", 0, NULL, 0,
     "path /logs/c/Windows/logs/web;"},
    {"driver data", AUTO "\"FileName\"=\"%DriverData%\\\\a.etl\"\n", 0, NULL, 0,
     "path /logs/c/Windows/System32/Drivers/DriverData/a.etl"},
    {"another variable", AUTO "\"FileName\"=\"%TEMP%\\\\a.etl\"\n", 0, NULL, 0, "note FileName 87"},
    {"out of the folder", AUTO "\"FileName\"=\"C:\\\\..\\\\a.etl\"\n", 123, NULL, 6, NULL},
    {"a kernel GlobalLogger without a name", GLOBAL START FLAGS("07,00,00,00"), 0, NULL, 0, "WMI/NT Kernel Logger.etl"},
    {"first of the numbered files", AUTO NAME "\"FileMax\"=dword:3\n", 0, NULL, 0,
     "files 3 at 1; path /logs/c/x.etl.001"},
    {"next of the numbered files", AUTO NAME "\"FileMax\"=dword:3\n\"FileCounter\"=dword:2\n", 0, NULL, 0,
     "at 3; path /logs/c/x.etl.003"},
    {"numbers start again", AUTO NAME "\"FileMax\"=dword:3\n\"FileCounter\"=dword:3\n", 0, NULL, 0, "x.etl.001"},
    {"a counter beyond all", AUTO NAME "\"FileMax\"=dword:3\n\"FileCounter\"=dword:ffffffff\n", 0, NULL, 0,
     "x.etl.001"},
    {"at most 16", AUTO NAME "\"FileMax\"=dword:64\n\"FileCounter\"=dword:10\n", 0, NULL, 0,
     "files 16 at 1; path /logs/c/x.etl.001|note FileMax 87"},
    {"the last of 16", AUTO NAME "\"FileMax\"=dword:64\n\"FileCounter\"=dword:f\n", 0, NULL, 0, "x.etl.016"},
    {"the counter moves though the session fails", SESSION START "\"FileMax\"=dword:3\n\"FileCounter\"=dword:1\n", 87,
     "Guid is missing", 0, "files 3 at 2"},
    {"no FileMax, no number", AUTO NAME "\"FileCounter\"=dword:2\n", 0, NULL, 0, "files 0 at 0; path /logs/c/x.etl;"},
    {"clock", AUTO "\"ClockType\"=dword:2\n", 0, NULL, 0, "clock 2|!note"},
    {"unknown clock", AUTO "\"ClockType\"=dword:9\n", 0, NULL, 0, "clock 1|note ClockType 87"},
    {"threshold", AUTO "\"FlushThreshold\"=dword:64\n", 0, NULL, 0, "threshold 100|!condition|!note"},
    {"threshold beside a timer", AUTO "\"FlushThreshold\"=dword:5\n\"FlushTimer\"=dword:1\n", 0, NULL, 0,
     "threshold 5|!condition|!note"},
    {"threshold out of range", AUTO "\"FlushThreshold\"=dword:80000000\n", 0, NULL, 0, "threshold 0"},
};

static const struct expectation kernel_rows[] = {
    {"kernel GlobalLogger", GLOBAL START FLAGS("07,07,00,00,86,02,00,00"), 0, NULL, 0,
     "name NT Kernel Logger|kernel 1|mask 707 286|!note|!condition"},
    {"one word", GLOBAL START FLAGS("07,33,03,00"), 0, NULL, 0, "mask 33307 0|condition REGISTRY 50|!note"},
    {"the group Base", GLOBAL START FLAGS("07,23,00,00,02,00,88,00"), 0, NULL, 0, "mask 2307 880002|!condition"},
    {"stacks of faults", GLOBAL START FLAGS("07,30,00,00") "\"StackWalkingFilter\"=hex:0b,02,00,00,20,02,00,00\n", 0,
     NULL, 0, "hooks 2|!condition"},
    {"aliases", GLOBAL START FLAGS("17,00,00,01"), 0, NULL, 0, "mask 7 6|!condition"},
    {"file names alone", GLOBAL START FLAGS("07,02,00,00"), 0, NULL, 0, "condition FILENAME 50"},
    {"compact context switches", GLOBAL START FLAGS("07,00,00,00,04,01,00,00"), 0, NULL, 0, "!note|!condition"},
    {"unknown bits", GLOBAL START FLAGS("07,00,00,08,00,00,00,40"), 0, NULL, 0,
     "mask 8000007 40000000|condition MASK0:0x08000000 50 @5|condition MASK1:0x40000000 50"},
    {"40 bytes",
     GLOBAL START FLAGS("07,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,"
                        "00,"
                        "00,00,00,00,00,00,00,00"),
     0, NULL, 0, "mask 7 0"},
    {"41 bytes",
     GLOBAL START FLAGS("07,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,00,"
                        "00,"
                        "00,00,00,00,00,00,00,00,00"),
     1784, "41 bytes", 5, NULL},
    {"flags of another type", GLOBAL START "\"EnableKernelFlags\"=dword:7\n", 87, "REG_DWORD, it must be REG_BINARY", 5,
     NULL},
    {"empty flags are none", GLOBAL START "\"EnableKernelFlags\"=hex:\n", 0, NULL, 0, "name GlobalLogger|kernel 0"},
    {"flags under an Autologger", AUTO FLAGS("07,00,00,00"), 0, NULL, 0,
     "kernel 0|mask 0 0|name web|condition EnableKernelFlags 50 @6"},
    {"flags of a system logger", AUTO MODE("2000000") FLAGS("07,00,00,00"), 0, NULL, 0,
     "kernel 1|mask 7 0|name web|!condition"},
    {"the NT Kernel Logger's own GUID",
     SESSION START "\"Guid\"=\"{9e814aad-3204-11d2-9a82-006008a86939}\"\n" FLAGS("07,00,00,00"), 0, NULL, 0,
     "name NT Kernel Logger|kernel 1|mask 7 0"},
    {"three stacks",
     GLOBAL START FLAGS("07,07,00,00,86,02,00,00") "\"StackWalkingFilter\"=hex:2e,0f,00,00,24,05,00,00,32,05,00,00\n",
     0, NULL, 0, "hooks 3|!condition"},
    {"a stack on an event that is off", GLOBAL START FLAGS("07,00,00,00") "\"StackWalkingFilter\"=hex:2e,0f,00,00\n", 0,
     NULL, 0, "hooks 1|note Profile 87 @6"},
    {"stacks where disk I/O begins",
     GLOBAL START FLAGS("07,07,00,00") "\"StackWalkingFilter\"=hex:0c,01,00,00,0d,01,00,00,0f,01,00,00\n", 0, NULL, 0,
     "hooks 3|!condition|!note Disk"},
    {"a stack of a later version", GLOBAL START FLAGS("07,00,00,00") "\"StackWalkingFilter\"=hex:01,05,00,00\n", 0,
     NULL, 0, "condition ThreadCreate 50 @6"},
    {"stacks without modules", GLOBAL START FLAGS("00,00,00,00,02,00,00,00") "\"StackWalkingFilter\"=hex:2e,0f,00,00\n",
     0, NULL, 0, "note StackWalkingFilter 87"},
    {"stacks under an Autologger", AUTO "\"StackWalkingFilter\"=hex:2e,0f,00,00\n", 0, NULL, 0,
     "hooks 0|condition StackWalkingFilter 50 @6"},
};

static const struct expectation provider_rows[] = {
    {"a bare subkey does nothing", AUTO PROVIDER(A_GUID), 0, NULL, 0, "provider " A_GUID " - status 0 on 0"},
    {"enabled", AUTO PROVIDER(A_GUID) "\"Enabled\"=dword:1\n\"ProviderFriendlyName\"=\"One\"\n", 0, NULL, 0,
     "provider " A_GUID " One status 0 on 1 level 0 any 0 all 0"},
    {"level and keywords",
     AUTO PROVIDER(A_GUID) "\"Enabled\"=dword:1\n\"EnableLevel\"=dword:4\n"
                           "\"MatchAnyKeyword\"=hex(b):40,00,00,00,00,00,00,80\n\"MatchAllKeyword\"=hex(b):40,00,00,00,"
                           "00,00,00,00\n",
     0, NULL, 0, "on 1 level 4 any 8000000000000040 all 40"},
    {"only 8 bits of the level", AUTO PROVIDER(A_GUID) "\"Enabled\"=dword:1\n\"EnableLevel\"=dword:104\n", 0, NULL, 0,
     "level 4|note-of-provider EnableLevel 87 @8"},
    {"flags become the keyword", AUTO PROVIDER(A_GUID) "\"Enabled\"=dword:1\n\"EnableFlags\"=dword:ff\n", 0, NULL, 0,
     "any ff"},
    {"flags beside a keyword",
     AUTO PROVIDER(A_GUID) "\"Enabled\"=dword:1\n\"EnableFlags\"=dword:ff\n"
                           "\"MatchAnyKeyword\"=hex(b):01,00,00,00,00,00,00,00\n",
     0, NULL, 0, "any 1 |note-of-provider EnableFlags 87"},
    {"properties", AUTO PROVIDER(A_GUID) "\"Enabled\"=dword:1\n\"EnableProperty\"=dword:1004\n", 0, NULL, 0,
     "status 0|property 4 filters <>|!STACK_TRACE|condition-of-provider EnableProperty 50 @8"},
    {"properties that there are not here", AUTO PROVIDER(A_GUID) "\"Enabled\"=dword:1\n\"EnableProperty\"=dword:28\n",
     0, NULL, 0, "status 0|condition-of-provider PSM_KEY 50 @8|!property"},
    {"properties that are flags", AUTO PROVIDER(A_GUID) "\"Enabled\"=dword:1\n\"EnableProperty\"=dword:450\n", 0, NULL,
     0, "status 0|!property|!of-provider"},
    {"D-67: a keyword as a REG_DWORD",
     AUTO PROVIDER(A_GUID) "\"Enabled\"=dword:1\n\"MatchAnyKeyword\"=dword:80000021\n\"MatchAllKeyword\"=dword:20\n", 0,
     NULL, 0, "status 0 on 1 level 0 any 80000021 all 20|!of-provider"},
    {"D-67: a keyword of another type", AUTO PROVIDER(A_GUID) "\"Enabled\"=dword:1\n\"MatchAnyKeyword\"=\"0x21\"\n", 0,
     NULL, 0,
     "status 87 on 0|MatchAnyKeyword is REG_SZ, it must be REG_QWORD. Do: write it as hex(b):21,00,00,00,00,00,00,00|line 8"},
    {"D-67: a level of another type",
     AUTO PROVIDER(A_GUID) "\"Enabled\"=dword:1\n\"EnableLevel\"=hex(b):05,00,00,00,00,00,00,00\n", 0, NULL, 0,
     "status 87 on 0|EnableLevel is REG_QWORD, it must be REG_DWORD. Do: write it as dword:00000005"},
    {"D-67: a level that is no number", AUTO PROVIDER(A_GUID) "\"Enabled\"=dword:1\n\"EnableLevel\"=\"high\"\n", 0,
     NULL, 0, "status 87 on 0|Do: write it as dword:00000040"},
    {"D-67: flags as a number", GLOBAL START "\"EnableKernelFlags\"=dword:707\n", 87,
     "REG_DWORD, it must be REG_BINARY. Do: write it as hex:07,07,00,00,", 5, NULL},
    {"D-67: the name of old pages", AUTO "\"MaximumFileSize\"=dword:5\n", 0, NULL, 0, "MaximumFileSize 87 @6"},
    {"a subkey that is no GUID", AUTO PROVIDER("one") "\"Enabled\"=dword:1\n", 0, NULL, 0,
     "status 87 on 0|line 6|'one' is not a GUID in braces"},
    {"GUID without braces", AUTO PROVIDER("aaaaaaaa-0000-0000-0000-000000000001") "\"Enabled\"=dword:1\n", 0, NULL, 0,
     "status 87"},
    {"filters that say nothing",
     AUTO PROVIDER(A_GUID) "\"Enabled\"=dword:1\n" PROVIDER(A_GUID "\\Filters") "\"Enabled\"=dword:1\n", 0, NULL, 0,
     "status 0|!filters|!of-provider"},
    {"filters of programs",
     FILTERS "\"ExeFilter\"=\"a;b\"\n\"PackageIdFilter\"=\"web.service\"\n\"PackageRelativeAppIdFilter\"=\"web\"\n"
             "\"ContainerFilter\"=\"0123456789ab\"\n",
     0, NULL, 0,
     "status 0|filters <programs a;b; packages web.service; package applications web; container 0123456789ab>|!of-provider|!not valid"},
    {"filters of ids", FILTERS "\"EventIds\"=hex:07,00,64,00\n\"EventIdFilterIn\"=dword:1\n", 0, NULL, 0,
     "filters <event ids 7, 100>|!not valid"},
    {"ids are kept out unless said otherwise", FILTERS "\"EventIds\"=hex:07,00\n", 0, NULL, 0,
     "filters <event ids not 7>"},
    {"ids of half a number", FILTERS "\"EventIds\"=hex:07,00,64\n", 0, NULL, 0,
     "status 87 on 0|line 10|no ids of 16 bits"},
    {"ids of another type", FILTERS "\"EventIds\"=dword:7\n", 0, NULL, 0,
     "status 87 on 0|line 10|EventIds is REG_DWORD"},
    {"stacks of ids",
     PROVIDER_ON
     "\"EnableProperty\"=dword:4\n" PROVIDER(A_GUID "\\Filters") "\"Enabled\"=dword:1\n\"StackWalkIds\"=hex:07,00\n"
                                                                 "\"StackWalkFilterIn\"=dword:1\n",
     0, NULL, 0, "property 4 filters <stacks of ids 7>|!of-provider"},
    {"stacks that nothing takes", FILTERS "\"StackWalkIds\"=hex:07,00\n", 0, NULL, 0,
     "filters <stacks of ids not 7>|note-of-provider EnableProperty 87"},
    {"names",
     FILTERS PART(
         "EventNameFilter") "\"Names\"=\"Begin;End\"\n\"FilterIn\"=dword:1\n\"NameCount\"=dword:2\n\"Level\"=dword:4\n"
                            "\"MatchAnyKeyword\"=hex(b):40,00,00,00,00,00,00,00\n",
     0, NULL, 0, "filters <event names Begin, End level 4 keywords 0x40>|!of-provider|!not valid"},
    {"names that are not as many", FILTERS PART("EventNameFilter") "\"Names\"=\"Begin;End\"\n\"NameCount\"=dword:3\n",
     0, NULL, 0, "status 87 on 0|line 12|Names has 2 names, NameCount says 3"},
    {"no names", FILTERS PART("EventNameFilter") "\"FilterIn\"=dword:1\n", 0, NULL, 0,
     "status 87 on 0|Names has 0 names"},
    {"stacks of names and levels",
     PROVIDER_ON "\"EnableProperty\"=dword:4\n" PROVIDER(A_GUID "\\Filters") "\"Enabled\"=dword:1\n" PART(
         "StackNameFilter") "\"Names\"=\"End\"\n" PART("StackLevelKwFilter") "\"FilterIn\"=dword:1\n\"Level\"=dword:2\n",
     0, NULL, 0, "filters <stacks of names not End; stacks of level 2>|!of-provider|!not valid"},
    {"a filter that the provider knows", FILTERS "\"SchematizedFilters\"=hex:01,02\n", 0, NULL, 0,
     "filters <provider's own filter of 2 bytes>"},
    {"filters of tracepoints",
     AUTO PROVIDER(A_GUID) "\"Enabled\"=dword:1\n\"Tracepoint\"=\"sched:*\"\n" PROVIDER(
         A_GUID "\\Filters") "\"Enabled\"=dword:1\n\"EventIds\"=hex:07,00\n",
     0, NULL, 0, "status 0 on 1|note-of-provider Filters 50 @10|!filters <"},
    {"a slip in a filter", FILTERS "\"ExeFiltr\"=\"a\"\n", 0, NULL, 0, "note-of-provider ExeFiltr 87 @10"},
    {"filters that are off",
     AUTO PROVIDER(A_GUID) "\"Enabled\"=dword:1\n" PROVIDER(A_GUID "\\Filters") "\"ExeFilter\"=\"a\"\n", 0, NULL, 0,
     "note-of-provider Filters 50"},
    {"unit", AUTO PROVIDER(A_GUID) "\"Enabled\"=dword:1\n\"Unit\"=\"web.service\"\n", 0, NULL, 0,
     "status 0 on 1|units web.service; |!of-provider"},
    {"units that are too many", AUTO PROVIDER(A_GUID) "\"Enabled\"=dword:1\n\"Unit\"=\"" X64 X64 X64 X64 "\"\n", 0,
     NULL, 0, "status 87 on 0|line 8|Unit has 256 bytes"},
    {"sorted by name",
     AUTO PROVIDER("{cccccccc-0000-0000-0000-000000000001}") PROVIDER("{BBBBBBBB-0000-0000-0000-000000000001}")
         PROVIDER(A_GUID),
     0, NULL, 0,
     "provider " A_GUID " - status 0 on 0 level 0 any 0 all 0 line 8 (); provider "
     "{bbbbbbbb-0000-0000-0000-000000000001} - status 0 "
     "on 0 level 0 any 0 all 0 line 7 (); provider {cccccccc-"},
    {"below GlobalLogger",
     GLOBAL START "[HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\WMI\\GlobalLogger\\" A_GUID "]\n"
                  "\"Flags\"=dword:1\n",
     0, NULL, 0, "note " A_GUID " 50|!provider {"},
};

#define RUN(rows) \
    static void rows##_hold(void **state) \
    { \
        (void)state; \
        for (size_t i = 0; i < sizeof(rows) / sizeof *(rows); i++) \
            check_row(&(rows)[i]); \
    }
RUN(start_and_identity)
RUN(buffers_rows)
RUN(mode_rows)
RUN(file_rows)
RUN(kernel_rows)
RUN(provider_rows)

static void memory_ceiling(void **state)
{
    static const char one_mb[] = AUTO "\"BufferSize\"=dword:400\n\"MinimumBuffers\"=dword:12c\n\"MaximumBuffers\"="
                                      "dword:258\n";
    static const struct {
        uint64_t           mib_left;
        struct expectation e;
    } rows[] = {
        {600, {"fits exactly", one_mb, 0, NULL, 0, "min 300/300; max 600/600|!condition"}},
        {599, {"Maximum is lowered", one_mb, 0, NULL, 0, "min 300/300; max 600/599|condition MaximumBuffers 8 @8"}},
        {100,
         {"then Minimum", one_mb, 0, NULL, 0, "min 300/100; max 600/100|memory 104857600|condition MaximumBuffers 8"}},
        {4, {"the floor fits", one_mb, 0, NULL, 0, "min 300/4; max 600/4"}},
        {3,
         {"the floor does not fit", one_mb, 8, "2 x 2 processors x 1024 KB = 4096 KB, but 3072 KB are left", 6, NULL}},
        {0, {"nothing is left", AUTO, 8, "2 x 2 processors x 64 KB = 256 KB, but 0 KB are left", 0, NULL}},
    };
    uint64_t before = limits.memory_left;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        limits.memory_left = rows[i].mib_left << 20;
        check_row(&rows[i].e);
    }
    limits.memory_left = before;
    assert_int_equal(plan_memory_ceiling(24 * GIB), 24 * GIB / 10);
}

/* ENB-06: each limit of the facts, one below and one above it. */
static void filter_limits(void **state)
{
    static const struct {
        const char *what, *before, *unit, *after, *say;
        unsigned    least; /* the first count that is too many */
    } rows[] = {
        {"ids", FILTERS "\"EventIds\"=hex:00,00", ",01,00", "\n", "EventIds has 65 ids, at most 64", 64},
        {"stacks", FILTERS "\"StackWalkIds\"=hex:00,00", ",01,00", "\n", "StackWalkIds has 65 ids, at most 64", 64},
        {"programs", FILTERS "\"ExeFilter\"=\"a", "b", "\"\n", "ExeFilter has 1026 bytes, at most 1024", 511},
        {"container", FILTERS "\"ContainerFilter\"=\"a", "b", "\"\n", "ContainerFilter has 1026 bytes", 511},
        {"provider's own", FILTERS "\"SchematizedFilters\"=hex:00", ",01", "\n", "SchematizedFilters has 1025 bytes",
         1024},
        {"names", FILTERS PART("EventNameFilter") "\"Names\"=\"a", "b", "\"\n", "Names has 4097 bytes, at most 4096",
         4075},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (unsigned over = 0; over < 2; over++) {
            const unsigned units = rows[i].least - 1 + over;
            char          *text  = calloc(1, strlen(rows[i].before) + units * strlen(rows[i].unit) + 16), parts[256];
            strcpy(text, rows[i].before);
            for (unsigned n = 0; n < units; n++)
                strcat(text, rows[i].unit);
            strcat(text, rows[i].after);
            snprintf(parts, sizeof parts, over ? "status 87 on 0|%s" : "status 0 on 1|filters <|!not valid|!%s",
                     rows[i].say);
            const struct expectation row = {rows[i].what, text, 0, NULL, 0, parts};
            check_row(&row);
            free(text);
        }
}

static void stack_filter_limit(void **state)
{
    char text[8192]                    = GLOBAL START FLAGS("07,00,00,00") "\"StackWalkingFilter\"=hex:00";
    struct expectation             row = {"1025 bytes", text, 1784, "1025 bytes", 6, NULL};
    (void)state;
    for (unsigned i = 0; i < 1023; i++)
        strcat(text, ",00");
    strcat(text, "\n");
    struct expectation fits = {"1024 bytes", text, 0, NULL, 0, "hooks 256"};
    check_row(&fits);
    text[strlen(text) - 1] = '\0';
    strcat(text, ",00\n");
    check_row(&row);
}

static void other_keys_are_refused(void **state)
{
    struct regstore *store;
    struct plan      plan;
    struct reason    why;
    (void)state;
    assert_int_equal(regstore_open_memory(&store, NULL), W_SUCCESS);
    assert_int_equal(plan_from_key(store, WINPATH_WMI "\\Autologger\\gone", &limits, &plan, &why), W_FILE_NOT_FOUND);
    plan_finish(&plan);
    assert_int_equal(plan_from_key(store, WINPATH_WMI "\\Autologger", &limits, &plan, &why), W_INVALID_PARAMETER);
    plan_finish(&plan);
    assert_int_equal(plan_from_key(store, "HKLM\\SOFTWARE\\x", &limits, &plan, &why), W_INVALID_PARAMETER);
    plan_finish(&plan);
    regstore_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_and_identity_hold), cmocka_unit_test(buffers_rows_hold),
        cmocka_unit_test(mode_rows_hold),          cmocka_unit_test(file_rows_hold),
        cmocka_unit_test(kernel_rows_hold),        cmocka_unit_test(provider_rows_hold),
        cmocka_unit_test(memory_ceiling),          cmocka_unit_test(stack_filter_limit),
        cmocka_unit_test(filter_limits),           cmocka_unit_test(other_keys_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
