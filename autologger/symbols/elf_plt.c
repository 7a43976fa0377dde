#include "autologger/symbols/elf_plt.h"

#include <string.h>

enum { ENTRY = 16 };

/* The section of that name; NULL: none. */
static Elf_Scn *elf_plt_section(Elf *elf, const char *name, GElf_Shdr *out)
{
    size_t names;

    if (elf_getshdrstrndx(elf, &names) != 0)
        return NULL;
    for (Elf_Scn *s = elf_nextscn(elf, NULL); s; s = elf_nextscn(elf, s)) {
        const char *is = gelf_getshdr(s, out) ? elf_strptr(elf, names, out->sh_name) : NULL;
        if (is && strcmp(is, name) == 0)
            return s;
    }
    return NULL;
}

static const char *elf_plt_called(Elf *elf, Elf_Data *symbols, size_t strings, uint64_t info)
{
    GElf_Sym symbol;
    return gelf_getsym(symbols, (int)GELF_R_SYM(info), &symbol) ? elf_strptr(elf, strings, symbol.st_name) : NULL;
}

void elf_plt(Elf *elf, bool (*take)(void *ctx, uint64_t address, uint64_t size, const char *name), void *ctx)
{
    GElf_Ehdr header;
    GElf_Shdr relocations, plt, symbols;
    Elf_Scn  *rela = elf_plt_section(elf, ".rela.plt", &relocations);
    uint64_t  first;

    if (!rela || !gelf_getehdr(elf, &header) || header.e_machine != EM_X86_64 || relocations.sh_entsize == 0)
        return;
    if (elf_plt_section(elf, ".plt.sec", &plt))
        first = 0;
    else if (elf_plt_section(elf, ".plt", &plt))
        first = ENTRY; /* behind the entry that calls the linker */
    else
        return;
    Elf_Scn  *of   = elf_getscn(elf, relocations.sh_link);
    Elf_Data *data = elf_getdata(rela, NULL), *names = of && gelf_getshdr(of, &symbols) ? elf_getdata(of, NULL) : NULL;
    if (plt.sh_type == SHT_NOBITS || !data || !names)
        return;
    for (uint64_t i = 0; i < relocations.sh_size / relocations.sh_entsize; i++) {
        GElf_Rela   r;
        uint64_t    at   = first + i * ENTRY;
        const char *name = at + ENTRY <= plt.sh_size && gelf_getrela(data, (int)i, &r)
                               ? elf_plt_called(elf, names, symbols.sh_link, r.r_info)
                               : NULL;
        if (name && *name && !take(ctx, plt.sh_addr + at, ENTRY, name))
            return;
    }
}
