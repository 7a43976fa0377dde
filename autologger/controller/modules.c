/* modules.c - autologger_modules.h: Windows' module names as our two libraries. A handle is the address of a table row,
 * so that any value from a program can be checked.
 * Threads: any; the libraries are opened once. Not for: other libraries (dlopen). */
#include "autologger/include/autologger_modules.h"
#include "registry-sim/win32/utf16.h"
#include "registry-sim/win32/wstatus.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <strings.h>

enum { PROVIDER = 1, TRACE = 2, LIBRARIES = 2, NAME_MAX_BYTES = 512, ORDINALS = 0x10000 };
enum { MOD_NOT_FOUND = 126, PROC_NOT_FOUND = 127 };

static const struct modules_module {
    const char *name;
    bool        beginning;
    unsigned    libraries;
} modules[] = {
#define M(name, beginning, libraries) {name, beginning, libraries},
#include "autologger/controller/modules.def"
#undef M
};

static const struct {
    /* a function of the library itself: shows where it is loaded, for own_symbol */
    const char *soname, *own;
} library_names[LIBRARIES] = {{"libautologger.so.0", "EventRegister"}, {"libautologger-trace.so.0", "StartTraceW"}};
static pthread_once_t modules_opened = PTHREAD_ONCE_INIT;
static void          *library[LIBRARIES];

static void modules_open_all(void)
{
    for (unsigned i = 0; i < LIBRARIES; i++)
        library[i] = dlopen(library_names[i].soname, RTLD_NOW | RTLD_LOCAL);
}

/* The row of a name such as "C:\Windows\System32\ADVAPI32.dll"; NULL: there is none, or one of its libraries is
 * missing. */
static const struct modules_module *module_find(const char *name)
{
    const char *base = name;
    for (const char *c = name; *c; c++)
        if (*c == '\\' || *c == '/')
            base = c + 1;
    size_t n = strlen(base);
    if (n > 4 && strcasecmp(base + n - 4, ".dll") == 0)
        n -= 4;
    pthread_once(&modules_opened, modules_open_all);
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        const size_t length = strlen(modules[i].name);
        if ((modules[i].beginning ? n <= length : n != length) || strncasecmp(base, modules[i].name, length) != 0)
            continue;
        for (unsigned k = 0; k < LIBRARIES; k++)
            if (modules[i].libraries & 1u << k && !library[k])
                return NULL;
        return &modules[i];
    }
    return NULL;
}

static const struct modules_module *module_check(HMODULE handle)
{
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        if (handle == &modules[i])
            return &modules[i];
    return NULL;
}

static HMODULE modules_fail(DWORD error)
{
    SetLastError(error);
    return NULL;
}

static HMODULE open_name(const char *name)
{
    const struct modules_module *m = module_find(name);
    return m ? (HMODULE)(uintptr_t)m : modules_fail(MOD_NOT_FOUND);
}

static HMODULE open_wide(LPCWSTR name)
{
    char   text[NAME_MAX_BYTES];
    size_t n = 0;
    while (name && name[n] && n < NAME_MAX_BYTES)
        n++;
    if (!name || n == NAME_MAX_BYTES || utf16le_to_utf8(name, n * sizeof *name, text, sizeof text) >= sizeof text)
        return modules_fail(name ? MOD_NOT_FOUND : W_INVALID_PARAMETER);
    return open_name(text);
}

HMODULE LoadLibraryA(LPCSTR FileName) { return FileName ? open_name(FileName) : modules_fail(W_INVALID_PARAMETER); }
HMODULE LoadLibraryW(LPCWSTR FileName) { return open_wide(FileName); }
HMODULE GetModuleHandleA(LPCSTR ModuleName) { return LoadLibraryA(ModuleName); }
HMODULE GetModuleHandleW(LPCWSTR ModuleName) { return open_wide(ModuleName); }
HMODULE LoadLibraryExA(LPCSTR FileName, HANDLE File, DWORD Flags)
{
    (void)Flags; /* where to look: the loader finds these libraries */
    return File ? modules_fail(W_INVALID_PARAMETER) : LoadLibraryA(FileName);
}
HMODULE LoadLibraryExW(LPCWSTR FileName, HANDLE File, DWORD Flags)
{
    (void)Flags;
    return File ? modules_fail(W_INVALID_PARAMETER) : LoadLibraryW(FileName);
}

BOOL GetModuleHandleExA(DWORD Flags, LPCSTR ModuleName, HMODULE *Module)
{
    if (Flags & GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS || !Module) {
        SetLastError(Module ? W_NOT_SUPPORTED : W_INVALID_PARAMETER);
        return FALSE;
    }
    *Module = LoadLibraryA(ModuleName);
    return *Module != NULL;
}
BOOL GetModuleHandleExW(DWORD Flags, LPCWSTR ModuleName, HMODULE *Module)
{
    if (Flags & GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS || !Module) {
        SetLastError(Module ? W_NOT_SUPPORTED : W_INVALID_PARAMETER);
        return FALSE;
    }
    *Module = open_wide(ModuleName);
    return *Module != NULL;
}

/* The library's own function: dlsym would also find those of the libraries it depends on. */
static void *own_symbol(unsigned i, const char *name)
{
    Dl_info of_library, of_symbol;
    void   *own    = dlsym(library[i], library_names[i].own);
    void   *symbol = dlsym(library[i], name);
    if (!own || !symbol || !dladdr(own, &of_library) || !dladdr(symbol, &of_symbol) ||
        of_library.dli_fbase != of_symbol.dli_fbase)
        return NULL;
    return symbol;
}

FARPROC GetProcAddress(HMODULE Module, LPCSTR ProcName)
{
    const struct modules_module *m = module_check(Module);
    FARPROC                      found;
    void                        *symbol = NULL;
    if (!m) {
        SetLastError(W_INVALID_HANDLE);
        return NULL;
    }
    for (unsigned i = 0; i < LIBRARIES && (uintptr_t)ProcName >= ORDINALS && !symbol; i++)
        if (m->libraries & 1u << i)
            symbol = own_symbol(i, ProcName);
    if (!symbol)
        SetLastError(PROC_NOT_FOUND);
    memcpy(&found, &symbol, sizeof found);
    return found;
}

BOOL FreeLibrary(HMODULE Module)
{
    if (module_check(Module))
        return TRUE;
    SetLastError(W_INVALID_HANDLE);
    return FALSE;
}
