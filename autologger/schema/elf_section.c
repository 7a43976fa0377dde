/* A section of an ELF file by its name, of 32 or 64 bits, little-endian. Not libelf: a program that reads traces needs
 * no further library for this, and nothing else of an ELF file. Every number of the file is checked before use. */
#include "autologger/schema/elf_section.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

struct elf_section_section {
    uint32_t name, type;
    uint64_t offset, size;
};

static bool section_read(const struct elf_source *s, bool wide, uint64_t at, struct elf_section_section *out)
{
    if (wide) {
        Elf64_Shdr h;
        if (!s->fetch(s, at, &h, sizeof h))
            return false;
        *out = (struct elf_section_section){h.sh_name, h.sh_type, h.sh_offset, h.sh_size};
    } else {
        Elf32_Shdr h;
        if (!s->fetch(s, at, &h, sizeof h))
            return false;
        *out = (struct elf_section_section){h.sh_name, h.sh_type, h.sh_offset, h.sh_size};
    }
    return out->type == SHT_NOBITS || (out->offset <= s->size && out->size <= s->size - out->offset);
}

bool elf_section_find(const struct elf_source *s, const char *name, uint64_t *offset, uint64_t *length)
{
    unsigned char              ident[EI_NIDENT];
    char                       text[64];
    size_t                     n = strlen(name) + 1;
    uint64_t                   table;
    unsigned                   step, count, names;
    struct elf_section_section texts, x;

    if (n > sizeof text || !s->fetch(s, 0, ident, sizeof ident) || memcmp(ident, ELFMAG, SELFMAG) != 0 ||
        ident[EI_DATA] != ELFDATA2LSB)
        return false;
    bool wide = ident[EI_CLASS] == ELFCLASS64;
    if (wide) {
        Elf64_Ehdr h;
        if (!s->fetch(s, 0, &h, sizeof h))
            return false;
        table = h.e_shoff, step = h.e_shentsize, count = h.e_shnum, names = h.e_shstrndx;
    } else {
        Elf32_Ehdr h;
        if (!s->fetch(s, 0, &h, sizeof h))
            return false;
        table = h.e_shoff, step = h.e_shentsize, count = h.e_shnum, names = h.e_shstrndx;
    }
    if (table > s->size || names >= count || !section_read(s, wide, table + (uint64_t)names * step, &texts) ||
        texts.type == SHT_NOBITS)
        return false;
    for (unsigned i = 0; i < count; i++) {
        if (!section_read(s, wide, table + (uint64_t)i * step, &x) || x.type == SHT_NOBITS || x.name > texts.size ||
            texts.size - x.name < n)
            continue;
        if (s->fetch(s, texts.offset + x.name, text, n) && memcmp(text, name, n) == 0) {
            *offset = x.offset;
            *length = x.size;
            return true;
        }
    }
    return false;
}

static bool fetch_memory(const struct elf_source *s, uint64_t offset, void *out, size_t size)
{
    if (offset > s->size || size > s->size - offset)
        return false;
    memcpy(out, (const uint8_t *)s->data + offset, size);
    return true;
}

struct elf_source elf_source_memory(const void *data, size_t size)
{
    return (struct elf_source){fetch_memory, size, data, -1};
}

static bool fetch_file(const struct elf_source *s, uint64_t offset, void *out, size_t size)
{
    return offset <= s->size && size <= s->size - offset && pread(s->fd, out, size, (off_t)offset) == (ssize_t)size;
}

struct elf_source elf_source_file(int fd, uint64_t size) { return (struct elf_source){fetch_file, size, NULL, fd}; }
