/* autologger_modules.h - GetProcAddress and its relatives, for programs that look for a function of tracing before they
 * call it. Windows.h includes it. The modules are the Windows names of the libraries with these functions, in any case,
 * with or without a path and ".dll": advapi32, tdh, mintdh, sechost, and api-ms-win-eventing-*. The functions are those
 * that libautologger and libautologger-trace export. Other names are no modules here: dlopen() takes libraries of
 * Linux. These calls load nothing but the two libraries, which stay loaded, and unload nothing. Threads: any. Link with
 * -lautologger-trace. */
#ifndef AUTOLOGGER_MODULES_H
#define AUTOLOGGER_MODULES_H
#include "autologger_types.h"

typedef HANDLE HINSTANCE, HMODULE;
#ifdef __cplusplus
extern "C" {
#endif
typedef INT_PTR(WINAPI *FARPROC)(void);
#ifdef __cplusplus
}
#endif
#define GET_MODULE_HANDLE_EX_FLAG_PIN 0x1
#define GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT 0x2
#define GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS 0x4 /* ERROR_NOT_SUPPORTED */

/* NULL or FALSE on failure, and then GetLastError: ERROR_MOD_NOT_FOUND: no such module, or its library is not
 * installed; ERROR_PROC_NOT_FOUND: it has no such function; ERROR_INVALID_PARAMETER; ERROR_NOT_SUPPORTED. */
AUTOLOGGER_API BOOL    GetModuleHandleExW(DWORD Flags, LPCWSTR ModuleName, HMODULE *Module);
AUTOLOGGER_API BOOL    GetModuleHandleExA(DWORD Flags, LPCSTR ModuleName, HMODULE *Module);
AUTOLOGGER_API HMODULE GetModuleHandleW(LPCWSTR ModuleName);
AUTOLOGGER_API HMODULE GetModuleHandleA(LPCSTR ModuleName);
AUTOLOGGER_API HMODULE LoadLibraryExW(LPCWSTR FileName, HANDLE File, DWORD Flags);
AUTOLOGGER_API HMODULE LoadLibraryExA(LPCSTR FileName, HANDLE File, DWORD Flags);
AUTOLOGGER_API HMODULE LoadLibraryW(LPCWSTR FileName);
AUTOLOGGER_API HMODULE LoadLibraryA(LPCSTR FileName);
AUTOLOGGER_API FARPROC GetProcAddress(HMODULE Module, LPCSTR ProcName);
/* TRUE; FALSE and ERROR_INVALID_HANDLE when Module is none. */
AUTOLOGGER_API BOOL FreeLibrary(HMODULE Module);

AUTOLOGGER_API DWORD GetLastError(VOID);
AUTOLOGGER_API VOID  SetLastError(DWORD Error);

#ifdef UNICODE
#define GetModuleHandleEx GetModuleHandleExW
#define GetModuleHandle GetModuleHandleW
#define LoadLibraryEx LoadLibraryExW
#define LoadLibrary LoadLibraryW
#else
#define GetModuleHandleEx GetModuleHandleExA
#define GetModuleHandle GetModuleHandleA
#define LoadLibraryEx LoadLibraryExA
#define LoadLibrary LoadLibraryA
#endif
#endif
