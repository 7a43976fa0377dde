/* Windows.h - the part of the SDK's header of this name that small programs need to write events: types, annotations,
 * the words of function declarations, and a few functions of one libc call or a few lines. GetLastError, SetLastError
 * and the functions for modules are in libautologger-trace. It is no port of Windows: nothing else is provided.
 *
 * Strings: WCHAR has 16 bits. Programs that write L"text" are compiled with -fshort-wchar (wprintf and the other
 * functions of libc for wide text take 32 bits, and must not be used then); else write u"text", or TEXT("text").
 * Include it as Windows.h or windows.h. With -std=c99 and the like libc hides what it needs: define _GNU_SOURCE, or use
 * -std=gnu99.
 * Not for: headers of this project (autologger_types.h). */
#ifndef AUTOLOGGER_WINDOWS_H
#define AUTOLOGGER_WINDOWS_H
#include "autologger_types.h"
#include "autologger_modules.h"
#include "guiddef.h"
#include "sal.h"
#include "winerror.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__GLIBC__) && !defined(__USE_MISC)
#error "Windows.h needs what -std=c99 and the like hide. Do: compile with -std=gnu11 or the like, or with -D_GNU_SOURCE"
#endif

/* ---- declarations ---- */
#ifdef __cplusplus
#define EXTERN_C extern "C"
#else
#define EXTERN_C extern
#endif
#define STDAPI EXTERN_C HRESULT
#define CONST const
#define APIENTRY
#define STDMETHODCALLTYPE
#ifndef __cdecl
#define __cdecl
#endif
#ifndef __stdcall
#define __stdcall
#endif
#ifndef __fastcall
#define __fastcall
#endif
#ifndef __forceinline
#define __forceinline FORCEINLINE
#endif
#ifndef __declspec
#define __declspec(what) AUTOLOGGER_DECLSPEC_##what
#define AUTOLOGGER_DECLSPEC_selectany __attribute__((weak))
#define AUTOLOGGER_DECLSPEC_dllexport __attribute__((visibility("default")))
#define AUTOLOGGER_DECLSPEC_dllimport
#define AUTOLOGGER_DECLSPEC_noinline __attribute__((noinline))
#define AUTOLOGGER_DECLSPEC_noreturn __attribute__((noreturn))
#define AUTOLOGGER_DECLSPEC_nothrow __attribute__((nothrow))
#define AUTOLOGGER_DECLSPEC_novtable
#define AUTOLOGGER_DECLSPEC_thread __thread
#define AUTOLOGGER_DECLSPEC_align(n) __attribute__((aligned(n)))
#define AUTOLOGGER_DECLSPEC_deprecated(text) __attribute__((deprecated(text)))
#endif
#define DECLSPEC_SELECTANY __declspec(selectany)
#define DECLSPEC_NOINLINE __declspec(noinline)
#define DECLSPEC_ALIGN(n) __declspec(align(n))
#define SYSTEM_CACHE_ALIGNMENT_SIZE 64
#define DECLSPEC_CACHEALIGN DECLSPEC_ALIGN(SYSTEM_CACHE_ALIGNMENT_SIZE)
#define UNALIGNED
#define __unaligned
#ifndef __int64
#define __int8 char
#define __int16 short
#define __int32 int
#define __int64 long long
#endif
#define UNREFERENCED_PARAMETER(x) ((void)(x))
#define DBG_UNREFERENCED_PARAMETER(x) ((void)(x))

/* ---- types beyond autologger_types.h ---- */
typedef int32_t      NTSTATUS;
typedef uint16_t     ATOM;
typedef uint64_t     DWORDLONG;
typedef int16_t     *PINT16;
typedef int32_t     *PINT, *LPINT, *LPLONG;
typedef uint32_t    *PUINT, *LPDWORD;
typedef uint16_t    *LPWORD, *PWORD;
typedef BYTE        *LPBYTE;
typedef BOOL        *LPBOOL;
typedef HANDLE      *PHANDLE, *LPHANDLE;
typedef ULONG_PTR   *PULONG_PTR, *PSIZE_T;
typedef LONG_PTR     SSIZE_T;
typedef LONG_PTR     LPARAM, LRESULT;
typedef UINT_PTR     WPARAM;
typedef HANDLE       HWND, HLOCAL;
typedef WCHAR        OLECHAR, *LPOLESTR;
typedef const WCHAR *LPCOLESTR;
typedef struct _UNICODE_STRING {
    USHORT Length; /* bytes */
    USHORT MaximumLength;
    PWSTR  Buffer;
} UNICODE_STRING, *PUNICODE_STRING;
typedef const UNICODE_STRING *PCUNICODE_STRING;
typedef struct _STRING {
    USHORT Length;
    USHORT MaximumLength;
    PSTR   Buffer;
} STRING, ANSI_STRING, *PSTRING, *PANSI_STRING;
typedef union _ULARGE_INTEGER {
    __extension__ struct {
        uint32_t LowPart;
        uint32_t HighPart;
    };
    struct {
        uint32_t LowPart;
        uint32_t HighPart;
    } u;
    uint64_t QuadPart;
} ULARGE_INTEGER, *PULARGE_INTEGER;

#ifdef UNICODE
typedef WCHAR   TCHAR, *PTCHAR;
typedef LPWSTR  LPTSTR, PTSTR;
typedef LPCWSTR LPCTSTR, PCTSTR;
#define TEXT(text) AUTOLOGGER_WIDE(text)
#else
typedef CHAR   TCHAR, *PTCHAR;
typedef LPSTR  LPTSTR, PTSTR;
typedef LPCSTR LPCTSTR, PCTSTR;
#define TEXT(text) text
#endif
#define _T(text) TEXT(text)

#define MAX_PATH 260
#define INFINITE 0xFFFFFFFFu
#define INVALID_HANDLE_VALUE ((HANDLE)(LONG_PTR)-1)
#define ARRAYSIZE(a) (sizeof(a) / sizeof((a)[0]))
#define RTL_NUMBER_OF(a) ARRAYSIZE(a)
#ifndef _countof
#define _countof(a) ARRAYSIZE(a)
#endif
#define FIELD_OFFSET(type, field) ((LONG)offsetof(type, field))
#define MAKEWORD(low, high) ((WORD)(((BYTE)(low)) | ((WORD)((BYTE)(high))) << 8))
#define MAKELONG(low, high) ((LONG)(((WORD)(low)) | ((DWORD)((WORD)(high))) << 16))
#define LOWORD(x) ((WORD)((DWORD_PTR)(x)&0xFFFF))
#define HIWORD(x) ((WORD)((DWORD_PTR)(x) >> 16 & 0xFFFF))
#define LOBYTE(x) ((BYTE)((DWORD_PTR)(x)&0xFF))
#define HIBYTE(x) ((BYTE)((DWORD_PTR)(x) >> 8 & 0xFF))
#define ZeroMemory(p, n) memset((p), 0, (n))
#define FillMemory(p, n, byte) memset((p), (byte), (n))
#define CopyMemory(to, from, n) memcpy((to), (from), (n))
#define MoveMemory(to, from, n) memmove((to), (from), (n))
#define RtlZeroMemory ZeroMemory
#define RtlCopyMemory CopyMemory
#define _stricmp strcasecmp
#define _strnicmp strncasecmp
#define sprintf_s snprintf

/* ---- functions ---- */
FORCEINLINE DWORD GetCurrentProcessId(VOID) { return (DWORD)getpid(); }
FORCEINLINE DWORD GetCurrentThreadId(VOID) { return (DWORD)syscall(SYS_gettid); }
FORCEINLINE VOID  Sleep(DWORD ms)
{
    struct timespec t = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}
FORCEINLINE ULONGLONG GetTickCount64(VOID)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (ULONGLONG)t.tv_sec * 1000u + (ULONGLONG)t.tv_nsec / 1000000u;
}
FORCEINLINE DWORD GetTickCount(VOID) { return (DWORD)GetTickCount64(); }
FORCEINLINE BOOL  QueryPerformanceFrequency(LARGE_INTEGER *frequency)
{
    frequency->QuadPart = 1000000000;
    return TRUE;
}
FORCEINLINE BOOL QueryPerformanceCounter(LARGE_INTEGER *count)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    count->QuadPart = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    return TRUE;
}
FORCEINLINE VOID GetSystemTimeAsFileTime(LPFILETIME time)
{
    struct timespec t;
    uint64_t        ticks;
    clock_gettime(CLOCK_REALTIME, &t);
    ticks                = ((uint64_t)t.tv_sec + UINT64_C(11644473600)) * 10000000u + (uint64_t)t.tv_nsec / 100u;
    time->dwLowDateTime  = (uint32_t)ticks;
    time->dwHighDateTime = (uint32_t)(ticks >> 32);
}
FORCEINLINE VOID GetSystemTime(LPSYSTEMTIME time)
{
    struct timespec t;
    struct tm       utc;
    clock_gettime(CLOCK_REALTIME, &t);
    gmtime_r(&t.tv_sec, &utc);
    time->wYear         = (uint16_t)(utc.tm_year + 1900);
    time->wMonth        = (uint16_t)(utc.tm_mon + 1);
    time->wDayOfWeek    = (uint16_t)utc.tm_wday;
    time->wDay          = (uint16_t)utc.tm_mday;
    time->wHour         = (uint16_t)utc.tm_hour;
    time->wMinute       = (uint16_t)utc.tm_min;
    time->wSecond       = (uint16_t)utc.tm_sec;
    time->wMilliseconds = (uint16_t)(t.tv_nsec / 1000000);
}
/* FALSE: the time is after the year 30827, as in Windows. */
FORCEINLINE BOOL FileTimeToSystemTime(const FILETIME *from, LPSYSTEMTIME time)
{
    const uint64_t ticks = (uint64_t)from->dwHighDateTime << 32 | from->dwLowDateTime;
    const time_t   s     = (time_t)(ticks / 10000000u) - (time_t)INT64_C(11644473600);
    struct tm      utc;
    if (ticks >> 63 || !gmtime_r(&s, &utc))
        return FALSE;
    time->wYear         = (uint16_t)(utc.tm_year + 1900);
    time->wMonth        = (uint16_t)(utc.tm_mon + 1);
    time->wDayOfWeek    = (uint16_t)utc.tm_wday;
    time->wDay          = (uint16_t)utc.tm_mday;
    time->wHour         = (uint16_t)utc.tm_hour;
    time->wMinute       = (uint16_t)utc.tm_min;
    time->wSecond       = (uint16_t)utc.tm_sec;
    time->wMilliseconds = (uint16_t)(ticks / 10000u % 1000u);
    return TRUE;
}
/* FALSE: no such date, or before 1601. */
FORCEINLINE BOOL SystemTimeToFileTime(const SYSTEMTIME *from, LPFILETIME time)
{
    struct tm utc, back;
    time_t    s;
    memset(&utc, 0, sizeof utc);
    utc.tm_year = from->wYear - 1900;
    utc.tm_mon  = from->wMonth - 1;
    utc.tm_mday = from->wDay;
    utc.tm_hour = from->wHour;
    utc.tm_min  = from->wMinute;
    utc.tm_sec  = from->wSecond;
    s           = timegm(&utc); /* timegm makes 31 February a day of March */
    if (from->wYear < 1601 || from->wMilliseconds > 999 || !gmtime_r(&s, &back) || back.tm_mday != from->wDay ||
        back.tm_mon + 1 != from->wMonth || back.tm_hour != from->wHour || back.tm_min != from->wMinute ||
        back.tm_sec != from->wSecond)
        return FALSE;
    const uint64_t ticks = (uint64_t)(s + (time_t)INT64_C(11644473600)) * 10000000u + from->wMilliseconds * 10000u;
    time->dwLowDateTime  = (uint32_t)ticks;
    time->dwHighDateTime = (uint32_t)(ticks >> 32);
    return TRUE;
}
/* Writes "{...}" in capital letters. Returns the characters with the NUL, or 0: `room` is below 39. */
FORCEINLINE int StringFromGUID2(REFGUID guid, LPOLESTR text, int room)
{
#ifdef __cplusplus
    const GUID *g = &guid;
#else
    const GUID *g = guid;
#endif
    char bytes[40];
    int  i;
    if (room < 39)
        return 0;
    snprintf(bytes, sizeof bytes, "{%08X-%04X-%04X-%02X%02X-%02X%02X%02X%02X%02X%02X}", (unsigned)g->Data1,
             (unsigned)g->Data2, (unsigned)g->Data3, g->Data4[0], g->Data4[1], g->Data4[2], g->Data4[3], g->Data4[4],
             g->Data4[5], g->Data4[6], g->Data4[7]);
    for (i = 0; i < 39; i++)
        text[i] = (WCHAR)bytes[i];
    return 39;
}
/* 0; EINVAL for NULL, ERANGE when it does not fit: then only a NUL is written. */
FORCEINLINE int AutologgerCopyWide(WCHAR *to, size_t room, const WCHAR *from)
{
    size_t n = 0;
    if (!to || !room)
        return EINVAL;
    while (from && n < room && from[n])
        n++;
    if (!from || n == room) {
        to[0] = 0;
        return from ? ERANGE : EINVAL;
    }
    memcpy(to, from, (n + 1) * sizeof *to);
    return 0;
}
#ifdef __cplusplus
inline int wcscpy_s(WCHAR *to, size_t room, const WCHAR *from) { return AutologgerCopyWide(to, room, from); }
template <size_t N> int wcscpy_s(WCHAR (&to)[N], const WCHAR *from) { return AutologgerCopyWide(to, N, from); }
#else
#define wcscpy_s AutologgerCopyWide
#endif
#define LMEM_FIXED 0x0000
#define LMEM_ZEROINIT 0x0040
#define LPTR (LMEM_FIXED | LMEM_ZEROINIT)
FORCEINLINE HLOCAL LocalAlloc(UINT flags, SIZE_T bytes)
{
    return flags & LMEM_ZEROINIT ? calloc(1, bytes ? bytes : 1) : malloc(bytes ? bytes : 1);
}
FORCEINLINE HLOCAL LocalFree(HLOCAL memory)
{
    free(memory);
    return NULL;
}
#define _byteswap_ushort(x) __builtin_bswap16(x)
#define _byteswap_ulong(x) __builtin_bswap32(x)
#define _byteswap_uint64(x) __builtin_bswap64(x)
FORCEINLINE LONG InterlockedIncrement(volatile LONG *x) { return __atomic_add_fetch(x, 1, __ATOMIC_SEQ_CST); }
FORCEINLINE LONG InterlockedDecrement(volatile LONG *x) { return __atomic_sub_fetch(x, 1, __ATOMIC_SEQ_CST); }
FORCEINLINE LONG InterlockedExchange(volatile LONG *x, LONG value)
{
    return __atomic_exchange_n(x, value, __ATOMIC_SEQ_CST);
}
FORCEINLINE LONG InterlockedCompareExchange(volatile LONG *x, LONG value, LONG comparand)
{
    __atomic_compare_exchange_n(x, &comparand, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return comparand;
}
#endif
