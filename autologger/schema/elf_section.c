/* A section of an ELF file by its name, of 32 or 64 bits, little-endian. Ours, not libelf's: a program that reads traces needs no more
 * libraries for it, and of an ELF file nothing else is looked at. Every number of the file is checked before it is used. */
#include "autologger/schema/manifest_pack.h"
#include "registry-sim/base/cursor.h"

#include <elf.h>
#include <string.h>

struct section {
    uint32_t name, type;
    uint64_t offset, size;
};

static bool section_read(const uint8_t *file, size_t size, bool wide, uint64_t at, struct section *out)
{
    if (at > size || size - at < (wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)))
        return false;
    if (wide) {
        Elf64_Shdr s;
        memcpy(&s, file + at, sizeof s);
        *out = (struct section){s.sh_name, s.sh_type, s.sh_offset, s.sh_size};
    } else {
        Elf32_Shdr s;
        memcpy(&s, file + at, sizeof s);
        *out = (struct section){s.sh_name, s.sh_type, s.sh_offset, s.sh_size};
    }
    return out->type == SHT_NOBITS || (out->offset <= size && out->size <= size - out->offset);
}

bool elf_section_find(const void *file, size_t size, const char *name, size_t *offset, size_t *length)
{
    const uint8_t *bytes = file;
    uint64_t       table;
    unsigned       step, count, names;
    bool           wide;

    if (size < sizeof(Elf64_Ehdr) || memcmp(bytes, ELFMAG, SELFMAG) != 0 || bytes[EI_DATA] != ELFDATA2LSB)
        return false;
    wide = bytes[EI_CLASS] == ELFCLASS64;
    if (wide) {
        Elf64_Ehdr h;
        memcpy(&h, bytes, sizeof h);
        table = h.e_shoff, step = h.e_shentsize, count = h.e_shnum, names = h.e_shstrndx;
    } else {
        Elf32_Ehdr h;
        memcpy(&h, bytes, sizeof h);
        table = h.e_shoff, step = h.e_shentsize, count = h.e_shnum, names = h.e_shstrndx;
    }
    struct section texts, s;
    if (table > size || names >= count || !section_read(bytes, size, wide, table + (uint64_t)names * step, &texts) || texts.type == SHT_NOBITS)
        return false;
    for (unsigned i = 0; i < count; i++) {
        if (!section_read(bytes, size, wide, table + (uint64_t)i * step, &s) || s.type == SHT_NOBITS || s.name >= texts.size)
            continue;
        const char *at = (const char *)bytes + texts.offset + s.name;
        if (strnlen(at, texts.size - s.name) == strlen(name) && memcmp(at, name, strlen(name)) == 0 && s.name + strlen(name) < texts.size) {
            *offset = (size_t)s.offset;
            *length = (size_t)s.size;
            return true;
        }
    }
    return false;
}
