/* elf_lines.h - source lines of one file's code, by its debug information. The ranges of compilation units are read
 * from the units themselves: clang writes no .debug_aranges, on which libdwfl's own search depends.
 * Threads: one. Ownership: zeros at first, finish; texts live as long as the module. */
#ifndef AUTOLOGGER_SYMBOLS_ELF_LINES_H
#define AUTOLOGGER_SYMBOLS_ELF_LINES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct Dwfl_Module; /* libdwfl's */
struct elf_lines {
    struct elf_lines_range *range; /* by its start; units do not overlap */
    size_t                  ranges, capacity;
    bool                    was_read;
};
/* The file and line of an address in the file's own numbers. NULL: none. */
const char *elf_lines_find(struct elf_lines *l, struct Dwfl_Module *module, uint64_t address, int *line);
void        elf_lines_finish(struct elf_lines *l);
#endif
