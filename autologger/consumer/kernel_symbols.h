/* kernel_symbols.h - the functions of the running kernel: from /proc/kallsyms, /proc/modules, the notes of both below
 * /sys, and the vdso, which the kernel maps into every process.
 * Threads: one. Ownership: read/finish. Not for: the kernel of a trace that was written in another boot. */
#ifndef AUTOLOGGER_CONSUMER_KERNEL_SYMBOLS_H
#define AUTOLOGGER_CONSUMER_KERNEL_SYMBOLS_H
#include "autologger/consumer/identity.h"

struct kernel_module {
    char            name[64];   /* "vmlinux", "ext4", "bpf", "[vdso]" */
    uint64_t        base, size; /* 0: not known (no module of its own), and of the vdso, whose addresses are offsets */
    struct build_id build_id;
};
struct kernel_symbol {
    uint64_t address;
    uint32_t size, module, name; /* name: offset in `text` */
};
struct kernel_symbols {
    struct kernel_symbol *symbol; /* by address, one each */
    size_t                count, capacity;
    struct kernel_module *module; /* [0] is the kernel itself */
    size_t                modules, module_capacity;
    char                 *text;
    size_t                used, room;
};
enum { KERNEL_MODULE = 0 };

/* `root`: "" for this machine, else a folder with proc and sys below it (tests). False: nothing could be read, or the
 * addresses are hidden; `why` gets the reason. */
bool kernel_symbols_read(const char *root, struct kernel_symbols *out, struct reason *why);
void kernel_symbols_finish(struct kernel_symbols *s);
/* The function that `address` is in, or NULL. */
const struct kernel_symbol *kernel_symbols_find(const struct kernel_symbols *s, uint64_t address);
/* The boot id of this machine: 36 characters, "" when it can't be read. */
void kernel_boot_id(const char *root, char out[40]);

/* To fill one from another source: adds, then orders. False: no memory. */
bool kernel_symbols_module(struct kernel_symbols *s, const char *name, size_t *out); /* finds or adds */
bool kernel_symbols_add(struct kernel_symbols *s, uint64_t address, uint32_t size, size_t module, const char *name,
                        size_t length);
void kernel_symbols_order(struct kernel_symbols *s);
#endif
