/* elf_plt.h - the entries through which a file calls functions of others: they are code without a symbol, and their
 * names stand in relocations. x86-64's layout; on others there are none. Threads: any. */
#ifndef AUTOLOGGER_SYMBOLS_ELF_PLT_H
#define AUTOLOGGER_SYMBOLS_ELF_PLT_H
#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

/* Tells each entry: its address in the file, its size, the called function. `take` returns false to end. */
void elf_plt(Elf *elf, bool (*take)(void *ctx, uint64_t address, uint64_t size, const char *name), void *ctx);
#endif
