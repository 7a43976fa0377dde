#include "autologger/consumer/vdso.h"

#include "autologger/kernel/source/procfs.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>

struct vdso { /* addresses in the file are those in memory, less `bias` */
    uintptr_t         bias;
    const Elf64_Sym  *symbols;
    const char       *names;
    const Elf64_Word *hash; /* DT_HASH: [1] is the number of symbols */
    const uint32_t   *gnu_hash;
};

static const void *vdso_address_of(const struct vdso *v, uint64_t value) { return (const void *)(v->bias + value); }

static void dynamic_read(struct vdso *v, const Elf64_Dyn *d)
{
    for (; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB)
            v->symbols = vdso_address_of(v, d->d_un.d_ptr);
        else if (d->d_tag == DT_STRTAB)
            v->names = vdso_address_of(v, d->d_un.d_ptr);
        else if (d->d_tag == DT_HASH)
            v->hash = vdso_address_of(v, d->d_un.d_ptr);
        else if (d->d_tag == DT_GNU_HASH)
            v->gnu_hash = vdso_address_of(v, d->d_un.d_ptr);
    }
}

/* The GNU hash table has no number of symbols: the last chain ends with the highest symbol. */
static uint32_t gnu_count(const uint32_t *h)
{
    uint32_t        buckets = h[0], first = h[1], most = 0;
    const uint32_t *bucket = h + 4 + (size_t)h[2] * 2, *chain = bucket + buckets;
    for (uint32_t i = 0; i < buckets; i++)
        most = bucket[i] > most ? bucket[i] : most;
    if (most < first)
        return first;
    while (!(chain[most - first] & 1))
        most++;
    return most + 1;
}

bool vdso_symbols(struct kernel_symbols *s)
{
    const Elf64_Ehdr *h = (const void *)getauxval(AT_SYSINFO_EHDR); /* the kernel's own ELF: it can be trusted */
    struct vdso       v = {0};
    size_t            module;

    if (!h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64 ||
        !kernel_symbols_module(s, "[vdso]", &module))
        return false;
    const Elf64_Phdr *p = (const void *)((uintptr_t)h + h->e_phoff);
    for (unsigned i = 0; i < h->e_phnum; i++)
        if (p[i].p_type == PT_LOAD)
            v.bias = (uintptr_t)h - p[i].p_vaddr + p[i].p_offset;
    for (unsigned i = 0; i < h->e_phnum; i++) {
        if (p[i].p_type == PT_DYNAMIC)
            dynamic_read(&v, vdso_address_of(&v, p[i].p_vaddr));
        if (p[i].p_type == PT_NOTE)
            s->module[module].build_id.size = (uint8_t)elf_note_build_id(
                vdso_address_of(&v, p[i].p_vaddr), p[i].p_filesz, s->module[module].build_id.bytes);
    }
    if (!v.symbols || !v.names || (!v.hash && !v.gnu_hash))
        return false;
    uint32_t count = v.hash ? v.hash[1] : gnu_count(v.gnu_hash);
    bool     good  = true;
    for (uint32_t i = 1; i < count && good; i++) {
        const Elf64_Sym *f = &v.symbols[i];
        if (ELF64_ST_TYPE(f->st_info) == STT_FUNC && f->st_size && f->st_value)
            good = kernel_symbols_add(s, f->st_value, (uint32_t)f->st_size, module, v.names + f->st_name,
                                      strlen(v.names + f->st_name));
    }
    return good;
}
