/* autologger_types.h - the Win32 types that the other headers of this folder use. C17 and C++14; includes libc only.
 * WCHAR has 16 bits everywhere: wchar_t under -fshort-wchar, else char16_t (write u"text"). */
#ifndef AUTOLOGGER_TYPES_H
#define AUTOLOGGER_TYPES_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if !defined(__cplusplus) && __SIZEOF_WCHAR_T__ != 2
#include <uchar.h>
#endif

#ifdef __cplusplus
#define AUTOLOGGER_EXTERN extern "C"
#else
#define AUTOLOGGER_EXTERN extern
#endif
#define AUTOLOGGER_API AUTOLOGGER_EXTERN __attribute__((visibility("default")))

#ifndef VOID
#define VOID void
#endif
#ifndef FORCEINLINE
#define FORCEINLINE static inline __attribute__((always_inline))
#endif
#define NTAPI
#define WINAPI
#define CALLBACK

typedef uint8_t     UCHAR, BYTE, BOOLEAN, *PUCHAR, *PBYTE, *PBOOLEAN;
typedef char        CHAR, *PCHAR, *PSTR, *LPSTR;
typedef const char *PCSTR, *LPCSTR;
typedef int8_t      INT8;
typedef uint8_t     UINT8;
typedef int16_t     SHORT, INT16, *PSHORT;
typedef uint16_t    USHORT, WORD, UINT16, *PUSHORT;
typedef int32_t     INT, LONG, INT32, BOOL, HRESULT, *PLONG, *PBOOL;
typedef uint32_t    UINT, ULONG, DWORD, UINT32, *PULONG, *PDWORD;
typedef int64_t     LONGLONG, LONG64, INT64, *PLONGLONG, *PLONG64, *PINT64;
typedef uint64_t    ULONGLONG, ULONG64, DWORD64, UINT64, *PULONGLONG, *PULONG64, *PDWORD64, *PUINT64;
typedef float       FLOAT;
typedef double      DOUBLE;
typedef intptr_t    LONG_PTR, INT_PTR;
typedef uintptr_t   ULONG_PTR, UINT_PTR, DWORD_PTR;
typedef size_t      SIZE_T;
typedef void       *PVOID, *LPVOID, *HANDLE;
typedef const void *PCVOID, *LPCVOID;
#if __SIZEOF_WCHAR_T__ == 2
typedef wchar_t        WCHAR, *PWCHAR, *PWSTR, *LPWSTR;
typedef const wchar_t *PCWSTR, *LPCWSTR;
#else
typedef char16_t        WCHAR, *PWCHAR, *PWSTR, *LPWSTR;
typedef const char16_t *PCWSTR, *LPCWSTR;
#endif

#if __SIZEOF_WCHAR_T__ == 2
#define AUTOLOGGER_WIDE(text) L##text
#else
#define AUTOLOGGER_WIDE(text) u##text
#endif

#ifndef TRUE
#define TRUE 1
#define FALSE 0
#endif

#ifndef GUID_DEFINED
#define GUID_DEFINED
typedef struct _GUID {
    uint32_t Data1;
    uint16_t Data2;
    uint16_t Data3;
    uint8_t  Data4[8];
} GUID, *LPGUID;
#endif
typedef const GUID *LPCGUID;

/* Defines a GUID; definitions in several files of one program become one. It may stand in a C++ namespace, where g++
 * takes "weak" in a declaration with `extern` alone. The last declaration takes the semicolon. */
#ifdef __cplusplus
#define AUTOLOGGER_DEFINE_GUID(name, l, w1, w2, b1, b2, b3, b4, b5, b6, b7, b8) \
    extern "C" { \
    extern const GUID name __attribute__((weak)); \
    const GUID        name = {l, w1, w2, {b1, b2, b3, b4, b5, b6, b7, b8}}; \
    } \
    extern "C" const GUID name
#else
#define AUTOLOGGER_DEFINE_GUID(name, l, w1, w2, b1, b2, b3, b4, b5, b6, b7, b8) \
    extern const GUID name __attribute__((weak)); \
    const GUID        name = {l, w1, w2, {b1, b2, b3, b4, b5, b6, b7, b8}}
#endif

typedef union _LARGE_INTEGER {
    __extension__ struct {
        uint32_t LowPart;
        int32_t  HighPart;
    };
    struct {
        uint32_t LowPart;
        int32_t  HighPart;
    } u;
    int64_t QuadPart;
} LARGE_INTEGER, *PLARGE_INTEGER;
typedef struct _FILETIME {
    uint32_t dwLowDateTime;
    uint32_t dwHighDateTime;
} FILETIME, *PFILETIME, *LPFILETIME;
typedef struct _SYSTEMTIME {
    uint16_t wYear, wMonth, wDayOfWeek, wDay, wHour, wMinute, wSecond, wMilliseconds;
} SYSTEMTIME, *PSYSTEMTIME, *LPSYSTEMTIME;

#include "winerror.h"
#endif
