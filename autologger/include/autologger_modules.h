/* autologger_modules.h - GetProcAddress and its relatives, for programs that look for a function of tracing before they
 * call it. Windows.h includes it. The modules are those names of Windows under which these libraries' functions are
 * known, in any case, with a path and ".dll" or without: advapi32, tdh, mintdh, sechost, and api-ms-win-eventing-*.
 * Functions are those that libautologger and libautologger-trace export. Other names are no modules here: dlopen()
 * takes libraries of Linux. Nothing is loaded or let go of by these calls that was not there before, but for the two
 * libraries, which stay. Threads: any. Link with -lautologger-trace. */
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
#define GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS 0x4 /* not here: 50 */

/* NULL or FALSE on failure, and then GetLastError: 126 no such module, or its library is not installed; 127 it has no
 * such function; 87; 50. */
AUTOLOGGER_API BOOL    GetModuleHandleExW(DWORD Flags, LPCWSTR ModuleName, HMODULE *Module);
AUTOLOGGER_API BOOL    GetModuleHandleExA(DWORD Flags, LPCSTR ModuleName, HMODULE *Module);
AUTOLOGGER_API HMODULE GetModuleHandleW(LPCWSTR ModuleName);
AUTOLOGGER_API HMODULE GetModuleHandleA(LPCSTR ModuleName);
AUTOLOGGER_API HMODULE LoadLibraryExW(LPCWSTR FileName, HANDLE File, DWORD Flags);
AUTOLOGGER_API HMODULE LoadLibraryExA(LPCSTR FileName, HANDLE File, DWORD Flags);
AUTOLOGGER_API HMODULE LoadLibraryW(LPCWSTR FileName);
AUTOLOGGER_API HMODULE LoadLibraryA(LPCSTR FileName);
AUTOLOGGER_API FARPROC GetProcAddress(HMODULE Module, LPCSTR ProcName);
/* TRUE; FALSE and 6 for what is no module. */
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
