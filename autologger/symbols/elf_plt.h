/* elf_plt.h - PLT entries, through which a file calls functions of other files: they are code without a symbol, and
 * their names are in the relocations. x86-64's layout; no entries on other machines. Threads: any. */
#ifndef AUTOLOGGER_SYMBOLS_ELF_PLT_H
#define AUTOLOGGER_SYMBOLS_ELF_PLT_H
#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

/* Calls `take` for each entry: its address in the file, its size, the called function. `take` returns false to end. */
void elf_plt(Elf *elf, bool (*take)(void *ctx, uint64_t address, uint64_t size, const char *name), void *ctx);
#endif
