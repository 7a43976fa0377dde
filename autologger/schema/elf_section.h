/* elf_section.h - finds a section of an ELF file. The file may be replaced or cut meanwhile: it is read, never mapped.
 * Threads: pure, any. Ownership: the source borrows. Not for: symbols and build ids (autologger/symbols). */
#ifndef AUTOLOGGER_SCHEMA_ELF_SECTION_H
#define AUTOLOGGER_SCHEMA_ELF_SECTION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_source {
    bool (*fetch)(const struct elf_source *s, uint64_t offset, void *out, size_t size); /* all of it, or false */
    uint64_t    size;
    const void *data;
    int         fd;
};
struct elf_source elf_source_memory(const void *data, size_t size);
struct elf_source elf_source_file(int fd, uint64_t size);
/* False: no section has that name (of at most 63 letters), or the file is no sound ELF file of this byte order. A found
 * section lies within the file. */
bool elf_section_find(const struct elf_source *s, const char *name, uint64_t *offset, uint64_t *length);
#endif
