/* syscalls.c - addresses of system calls, from the kernel's symbols. See syscalls.h. */
#include "autologger/kernel/source/syscalls.h"
#include "autologger/kernel/source/reach.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- of 64-bit programs ---- */

/* Calls whose kernel function has another name. */
static const char *const alias[][2] = {{"fstat", "newfstat"}, {"stat", "newstat"},        {"lstat", "newlstat"},
                                       {"uname", "newuname"}, {"sendfile", "sendfile64"}, {"umount2", "umount"},
                                       {"_sysctl", "sysctl"}};
static const struct {
    long        number;
    const char *name;
} syscalls_names[] = {
#define NAME(number, name) {number, name},
#include <syscall_names.h> /* made from sys/syscall.h */
#undef NAME
};

static void address_take(const char *name, uint64_t address, uint64_t *out, unsigned count)
{
    for (size_t i = 0; i < sizeof alias / sizeof *alias; i++)
        if (strcmp(name, alias[i][1]) == 0)
            name = alias[i][0];
    for (size_t i = 0; i < sizeof syscalls_names / sizeof *syscalls_names; i++)
        if (syscalls_names[i].number >= 0 && syscalls_names[i].number < (long)count &&
            strcmp(syscalls_names[i].name, name) == 0)
            out[syscalls_names[i].number] = address;
}

/* ---- of 32-bit programs ---- */

enum { NARROW_MOST = 1024, NAME_BYTES = 48 };
struct narrow_function {
    char     name[NAME_BYTES];
    uint64_t address;
}; /* name without __ia32_ */
struct narrow_functions {
    struct narrow_function function[NARROW_MOST];
    unsigned               count;
};

#ifdef __x86_64__
static const struct {
    unsigned    number;
    const char *name;
} narrow_names[] = {
#define NAME(number, name) {number, name},
#include <narrow_names.h> /* made from asm/unistd_32.h */
#undef NAME
};
/* Calls whose function name follows no rule: mostly replaced calls that kept their old names. */
static const char *const narrow_alias[][2] = {
    {"oldstat", "stat"},         {"oldfstat", "fstat"},          {"oldlstat", "lstat"},
    {"stat", "newstat"},         {"fstat", "newfstat"},          {"lstat", "newlstat"},
    {"oldolduname", "olduname"}, {"olduname", "uname"},          {"uname", "newuname"},
    {"umount", "oldumount"},     {"umount2", "umount"},          {"mmap2", "mmap_pgoff"},
    {"select", "old_select"},    {"_newselect", "select"},       {"_llseek", "llseek"},
    {"readdir", "old_readdir"},  {"getrlimit", "old_getrlimit"}, {"ugetrlimit", "getrlimit"},
    {"_sysctl", "sysctl"}};

static int syscalls_by_name(const void *a, const void *b)
{
    return strcmp(((const struct narrow_function *)a)->name, ((const struct narrow_function *)b)->name);
}

static uint64_t narrow_exact(const struct narrow_functions *f, const char *before, const char *name, size_t length,
                             const char *behind)
{
    struct narrow_function key = {.address = 0};
    if ((size_t)snprintf(key.name, sizeof key.name, "%s%.*s%s", before, (int)length, name, behind) >= sizeof key.name)
        return 0;
    const struct narrow_function *found = bsearch(&key, f->function, f->count, sizeof key, syscalls_by_name);
    return found ? found->address : 0;
}

/* Prefers compat_sys_NAME, which translates 32-bit arguments; otherwise takes sys_NAME, the entry for 32-bit programs
 * of the function that 64-bit programs use too. */
static uint64_t narrow_either(const struct narrow_functions *f, const char *before, const char *name, size_t length,
                              const char *behind)
{
    char compat[NAME_BYTES];
    snprintf(compat, sizeof compat, "compat_sys_%s", before);
    uint64_t address = narrow_exact(f, compat, name, length, behind);
    snprintf(compat, sizeof compat, "sys_%s", before);
    return address ? address : narrow_exact(f, compat, name, length, behind);
}

/* The call NAME_time64, NAME64 or NAME32 without a function of its own name is served by the function NAME: in the
 * 32-bit table the plain name belongs to the older call, whose function has another ending. */
static uint64_t narrow_newer(const struct narrow_functions *f, const char *name, size_t length)
{
    static const char *const newer[] = {"_time64", "64", "32"};
    uint64_t                 address = 0;
    for (size_t i = 0; i < sizeof newer / sizeof *newer && !address; i++) {
        size_t end = strlen(newer[i]);
        if (length > end && strcmp(name + length - end, newer[i]) == 0)
            address = narrow_either(f, "", name, length - end, "");
    }
    return address;
}

static uint64_t narrow_address(const struct narrow_functions *f, const char *name)
{
    static const char *const older[] = {"_time32", "32", "16", ""};
    uint64_t                 address = 0;
    for (size_t i = 0; i < sizeof narrow_alias / sizeof *narrow_alias; i++)
        if (strcmp(name, narrow_alias[i][0]) == 0)
            return narrow_either(f, "", narrow_alias[i][1], strlen(narrow_alias[i][1]), "");
    size_t length = strlen(name);
    if (!(address = narrow_either(f, "ia32_", name, length, "")))
        for (size_t i = 0; i < sizeof older / sizeof *older && !address; i++)
            address = narrow_either(f, "", name, length, older[i]);
    return address ? address : narrow_newer(f, name, length);
}

static void narrow_all(struct narrow_functions *f, uint64_t *out, unsigned count)
{
    qsort(f->function, f->count, sizeof *f->function, syscalls_by_name);
    for (size_t i = 0; i < sizeof narrow_names / sizeof *narrow_names; i++)
        if (narrow_names[i].number < count)
            out[narrow_names[i].number] = narrow_address(f, narrow_names[i].name);
}
#else
static void narrow_all(struct narrow_functions *f, uint64_t *out, unsigned count) { (void)f, (void)out, (void)count; }
#endif

static void narrow_take(struct narrow_functions *f, const char *name, uint64_t address)
{
    if (!f || f->count == NARROW_MOST || strlen(name) >= NAME_BYTES)
        return;
    snprintf(f->function[f->count].name, NAME_BYTES, "%s", name);
    f->function[f->count++].address = address;
}

/* "ffffffff81300ad0 T __x64_sys_ioperm": takes the function if it is one of ours. */
static void symbol_take(char *line, uint64_t *wide, struct narrow_functions *narrow, unsigned count)
{
    char    *name    = strstr(line, " T __");
    uint64_t address = name ? strtoull(line, NULL, 16) : 0;
    if (!name)
        return;
    name += strlen(" T __");
    name[strcspn(name, "\t\n")] = 0;
    if (strncmp(name, "x64_sys_", 8) == 0 || strncmp(name, "arm64_sys_", 10) == 0)
        address_take(strstr(name, "_sys_") + 5, address, wide, count);
    else if (strncmp(name, "ia32_", 5) == 0)
        narrow_take(narrow, name + 5, address);
}

void syscall_addresses(int proc, uint64_t *wide, uint64_t *narrow, unsigned count)
{
    char                     line[512];
    int                      fd        = reach_addresses(proc, "kallsyms");
    FILE                    *f         = fd < 0 ? NULL : fdopen(fd, "r");
    struct narrow_functions *functions = f && narrow ? calloc(1, sizeof *functions) : NULL;
    while (f && fgets(line, sizeof line, f))
        symbol_take(line, wide, functions, count);
    if (functions)
        narrow_all(functions, narrow, count);
    free(functions);
    if (f)
        fclose(f);
    else if (fd >= 0)
        close(fd);
}
