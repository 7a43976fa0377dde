/* Words of Windows' headers that programs with tracing use, in C and in C++: each is used for what it does, and the
 * result is compared. Needs no daemon but for "query": then EnumerateTraceGuids and the profile interval ask it. Exit:
 * 1 with the line that failed. */
#define INITGUID
#include <Windows.h>
#include <Evntrace.h>
#include <Evntcons.h>
#include <Evntprov.h>
#include <Tdh.h>
#include <TraceLoggingProvider.h>
#include <sal.h>
#include <tchar.h>

#ifdef __cplusplus
#include <algorithm>
#include <chrono>
#include <memory>
#include <regex>
#include <string>
#include <vector>
#endif
#include <specstrings.h>

#ifdef __cplusplus
#define AS_REF(guid) (guid)
#else
#define AS_REF(guid) (&(guid))
#endif
#define CHECK(x) \
    do { \
        if (!(x)) \
            return __LINE__; \
    } while (0)

typedef struct DECLSPEC_CACHEALIGN {
    unsigned __int64 wide;
    UNALIGNED USHORT narrow;
} ALIGNED;
/* declared as before 2010, and as today */
static ULONG Sum(__in_ecount(count) const ULONG *p, __in ULONG count, __out_opt ULONG *first);
static ULONG Sum(_In_reads_(count) const ULONG *p, _In_ ULONG count, _Out_opt_ ULONG *first)
{
    ULONG i, sum = 0;
    for (i = 0; i < count; i++)
        sum += p[i];
    if (first)
        *first = count ? p[0] : 0;
    return sum;
}

static int words(void)
{
    static const ULONG numbers[3] = {1, 2, 3};
    const WCHAR       *want       = AUTOLOGGER_WIDE("{68FDD900-4A3E-11D1-84F4-0000F80464E3}");
    WCHAR              text[40], small[4];
    SYSTEMTIME         day;
    FILETIME           time   = {0, 0}, back;
    ULONG64            number = 0x0102030405060708;
    PULONG64           p      = &number;
    int                i;
    CHECK(sizeof(ALIGNED) == 64 && Sum(numbers, 3, NULL) == 6);
    CHECK(_byteswap_uint64(*p) == 0x0807060504030201 && _byteswap_ulong(0x01020304) == 0x04030201 &&
          _byteswap_ushort(0x0102) == 0x0201);
    CHECK(StringFromGUID2(AS_REF(EventTraceGuid), text, 40) == 39 &&
          StringFromGUID2(AS_REF(EventTraceGuid), text, 38) == 0);
    for (i = 0; i < 39; i++)
        CHECK(text[i] == want[i]);
    CHECK(FileTimeToSystemTime(&time, &day) && day.wYear == 1601 && day.wMonth == 1 && day.wDay == 1 &&
          day.wDayOfWeek == 1);
    time.dwHighDateTime = 0x019DB1DE; /* 1970 */
    time.dwLowDateTime  = 0xD53E8000u + 12340000;
    CHECK(FileTimeToSystemTime(&time, &day) && day.wYear == 1970 && day.wSecond == 1 && day.wMilliseconds == 234);
    CHECK(SystemTimeToFileTime(&day, &back) && back.dwHighDateTime == time.dwHighDateTime &&
          back.dwLowDateTime == time.dwLowDateTime);
    day.wMonth = 2, day.wDay = 30;
    CHECK(!SystemTimeToFileTime(&day, &back));
    time.dwHighDateTime = 0x80000000u;
    CHECK(!FileTimeToSystemTime(&time, &day));
    CHECK(wcscpy_s(small, 4, AUTOLOGGER_WIDE("abc")) == 0 && small[2] == 'c' && small[3] == 0);
    CHECK(wcscpy_s(small, 4, AUTOLOGGER_WIDE("abcd")) == ERANGE && small[0] == 0 && wcscpy_s(NULL, 4, small) == EINVAL);
    CHECK(LocalFree(LocalAlloc(LPTR, 16)) == NULL);
    SetLastError(ERROR_EVT_INVALID_EVENT_DATA);
    CHECK(GetLastError() == 15005);
    CHECK(EVENT_HEADER_EXT_TYPE_MAX > EVENT_HEADER_EXT_TYPE_STACK_KEY64 && sizeof(PROCESSTRACE_HANDLE) == 8 &&
          sizeof(CONTROLTRACE_ID) == 8);
    return 0;
}

typedef ULONG(WINAPI *REGISTER)(LPCGUID, PENABLECALLBACK, PVOID, PREGHANDLE);
static int modules(void)
{
    static const char *const name[] = {"advapi32", "ADVAPI32.dll", "C:\\Windows\\System32\\advapi32.dll",
                                       "api-ms-win-eventing-provider-l1-1-0.dll"};
    TLG_PENABLECALLBACK      none   = NULL;
    HMODULE                  module = NULL;
    REGHANDLE                handle = 0;
    REGISTER                 call;
    FARPROC                  found;
    unsigned                 i;
    for (i = 0; i < ARRAYSIZE(name); i++) {
        CHECK((module = LoadLibraryA(name[i])) != NULL);
        CHECK((found = GetProcAddress(module, "EventRegister")) != NULL);
        memcpy(&call, &found, sizeof call);
        CHECK(call == EventRegister); /* the very function that is linked */
        CHECK(call(&EventTraceGuid, none, NULL, &handle) == ERROR_SUCCESS && EventUnregister(handle) == ERROR_SUCCESS);
        CHECK(FreeLibrary(module));
    }
    CHECK(GetModuleHandleExW(0, AUTOLOGGER_WIDE("Tdh.dll"), &module) &&
          GetProcAddress(module, "TdhGetEventInformation") != NULL);
    CHECK(GetProcAddress(module, "EventRegister") == NULL && GetLastError() == ERROR_PROC_NOT_FOUND);
    CHECK(GetProcAddress(module, "malloc") == NULL && GetProcAddress(module, (LPCSTR)(ULONG_PTR)7) == NULL);
    CHECK(GetModuleHandleA("user32.dll") == NULL && GetLastError() == ERROR_MOD_NOT_FOUND);
    CHECK(!GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, "tdh", &module) &&
          GetLastError() == ERROR_NOT_SUPPORTED);
    CHECK(!FreeLibrary((HMODULE)&i) && GetLastError() == ERROR_INVALID_HANDLE &&
          GetProcAddress((HMODULE)&i, "x") == NULL);
    return 0;
}

/* {5EA7C0DE-000E-4A5B-8C6D-111111111111}, which the test has enabled with level 3 and 0x5 in session `id` */
static const GUID known = {0x5ea7c0de, 0x000e, 0x4a5b, {0x8c, 0x6d, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11}};
static int        query(void)
{
    static TRACE_GUID_PROPERTIES row[64];
    PTRACE_GUID_PROPERTIES       at[64];
    TRACE_PROFILE_INTERVAL       interval = {0, 0};
    ULONG                        count = 0, length = 0, i;
    unsigned                     found = 0;
    for (i = 0; i < 64; i++)
        at[i] = &row[i];
    CHECK(EnumerateTraceGuids(at, 64, &count) == ERROR_SUCCESS && count >= 1 && count <= 64);
    for (i = 0; i < count; i++)
        if (IsEqualGUID(AS_REF(row[i].Guid), AS_REF(known))) {
            CHECK(row[i].IsEnable && row[i].EnableLevel == 3 && row[i].EnableFlags == 5);
            found++;
        }
    CHECK(found == 1);
    CHECK(EnumerateTraceGuids(NULL, 1, &count) == ERROR_INVALID_PARAMETER &&
          EnumerateTraceGuids(at, 0, &count) == ERROR_INVALID_PARAMETER);
    CHECK(TraceQueryInformation(0, TraceSampledProfileIntervalInfo, &interval, sizeof interval, &length) ==
          ERROR_SUCCESS);
    CHECK(length == sizeof interval && interval.Interval == 10000);
    CHECK(TraceSetInformation(0, TraceSampledProfileIntervalInfo, &interval, sizeof interval) == ERROR_SUCCESS);
    interval.Interval = 1221;
    CHECK(TraceSetInformation(0, TraceSampledProfileIntervalInfo, &interval, sizeof interval) == ERROR_NOT_SUPPORTED);
    CHECK(TraceSetInformation(0, TraceSampledProfileIntervalInfo, &interval, 4) == ERROR_BAD_LENGTH);
    interval.Source = 2;
    CHECK(TraceQueryInformation(0, TraceSampledProfileIntervalInfo, &interval, sizeof interval, &length) ==
          ERROR_INVALID_PARAMETER);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = words();
    failed     = failed ? failed : modules();
    failed     = failed || argc < 2 || strcmp(argv[1], "query") != 0 ? failed : query();
    if (failed)
        printf("line %d\n", failed);
    return failed != 0;
}
