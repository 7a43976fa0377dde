#include "autologger/consumer/kernel_symbols.h"

#include "autologger/kernel/source/procfs.h"
#include "registry-sim/base/opening.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 4200, FUNCTION_MOST = 1 << 20, LONELY = 4096 };

void kernel_symbols_finish(struct kernel_symbols *s)
{
    free(s->symbol);
    free(s->module);
    free(s->text);
    *s = (struct kernel_symbols){0};
}

/* Room for one more of `size` bytes. */
static bool kernel_symbols_grow(void **list, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return true;
    size_t n     = *capacity ? *capacity * 2 : 64;
    void  *grown = realloc(*list, n * size);
    if (!grown)
        return false;
    *list     = grown;
    *capacity = n;
    return true;
}

bool kernel_symbols_module(struct kernel_symbols *s, const char *name, size_t *out)
{
    for (size_t i = s->modules; i-- > 0;) /* most likely the last one */
        if (strcmp(s->module[i].name, name) == 0) {
            *out = i;
            return true;
        }
    if (!kernel_symbols_grow((void **)&s->module, s->modules, &s->module_capacity, sizeof *s->module))
        return false;
    *out            = s->modules++;
    s->module[*out] = (struct kernel_module){0};
    size_t length   = strnlen(name, sizeof s->module->name - 1);
    memcpy(s->module[*out].name, name, length);
    return true;
}

bool kernel_symbols_add(struct kernel_symbols *s, uint64_t address, uint32_t size, size_t module, const char *name,
                        size_t length)
{
    if (!kernel_symbols_grow((void **)&s->symbol, s->count, &s->capacity, sizeof *s->symbol))
        return false;
    if (s->used + length + 1 > s->room) {
        size_t n     = (s->used + length + 1) * 2;
        char  *grown = n > UINT32_MAX ? NULL : realloc(s->text, n);
        if (!grown)
            return false;
        s->text = grown;
        s->room = n;
    }
    s->symbol[s->count++] = (struct kernel_symbol){address, size, (uint32_t)module, (uint32_t)s->used};
    memcpy(s->text + s->used, name, length);
    s->text[s->used + length] = 0;
    s->used += length + 1;
    return true;
}

static int by_address(const void *a, const void *b)
{
    const struct kernel_symbol *x = a, *y = b;
    return x->address != y->address ? (x->address < y->address ? -1 : 1) : (x->name > y->name) - (x->name < y->name);
}

/* Keeps one symbol for each address: of several names the one with the fewest leading underscores, then the first. */
static void aliases_drop(struct kernel_symbols *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        struct kernel_symbol *last = kept ? &s->symbol[kept - 1] : NULL;
        if (!last || last->address != s->symbol[i].address)
            s->symbol[kept++] = s->symbol[i];
        else if (strspn(s->text + s->symbol[i].name, "_") < strspn(s->text + last->name, "_"))
            *last = s->symbol[i];
    }
    s->count = kept;
}

void kernel_symbols_order(struct kernel_symbols *s)
{
    if (s->count)
        qsort(s->symbol, s->count, sizeof *s->symbol, by_address);
    aliases_drop(s);
}

const struct kernel_symbol *kernel_symbols_find(const struct kernel_symbols *s, uint64_t address)
{
    size_t low = 0, count = s->count;
    while (count) { /* the first one behind the address */
        size_t half = count / 2;
        if (s->symbol[low + half].address <= address) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    const struct kernel_symbol *f = low ? &s->symbol[low - 1] : NULL;
    return f && address - f->address < f->size ? f : NULL;
}

static FILE *open_below(const char *root, const char *path)
{
    char full[PATH_SIZE];
    snprintf(full, sizeof full, "%s%s", root, path);
    return opening_stream(full);
}

static void notes_below(const char *root, const char *path, struct build_id *out)
{
    uint8_t notes[4096];
    FILE   *f = open_below(root, path);
    size_t  n = f ? fread(notes, 1, sizeof notes, f) : 0;
    if (f)
        fclose(f);
    out->size = (uint8_t)elf_note_build_id(notes, n, out->bytes);
}

void kernel_boot_id(const char *root, char out[40])
{
    FILE *f = open_below(root, "/proc/sys/kernel/random/boot_id");
    *out    = 0;
    if (f && fgets(out, 40, f))
        out[strcspn(out, "\n")] = 0;
    if (f)
        fclose(f);
}

/* "ffffffff81000000 T _text" or "ffffffffc0001000 t init_module\t[ext4]": functions only. False: no memory. */
static bool take_line(struct kernel_symbols *s, char *line)
{
    char    *at, *name, *end;
    size_t   module  = KERNEL_MODULE;
    uint64_t address = strtoull(line, &at, 16);

    if (!address || at[0] != ' ' || !strchr("tTwW", at[1]) || at[2] != ' ')
        return true;
    name          = at + 3;
    size_t length = strcspn(name, "\t\n");
    if (name[length] == '\t' && name[length + 1] == '[') {
        char *in = name + length + 2;
        if ((end = strchr(in, ']')))
            *end = 0;
        if (!kernel_symbols_module(s, in, &module))
            return false;
    }
    return kernel_symbols_add(s, address, 0, module, name, length);
}

/* A function ends where the next one begins; a module's last one ends with the module. */
static void sizes_find(struct kernel_symbols *s)
{
    for (size_t i = 0; i < s->count; i++) {
        struct kernel_symbol       *f    = &s->symbol[i];
        const struct kernel_module *m    = &s->module[f->module];
        const struct kernel_symbol *next = i + 1 < s->count ? f + 1 : NULL;
        uint64_t                    size = next ? next->address - f->address : LONELY;
        if (next && next->module != f->module && size > LONELY)
            size = LONELY;
        if (m->size && f->address >= m->base && f->address < m->base + m->size && m->base + m->size - f->address < size)
            size = m->base + m->size - f->address;
        f->size = size > FUNCTION_MOST ? FUNCTION_MOST : (uint32_t)size;
    }
}

/* "ext4 1000000 2 - Live 0xffffffffc0001000" */
static void modules_place(const char *root, struct kernel_symbols *s)
{
    FILE *f = open_below(root, "/proc/modules");
    char  line[4096], name[64], path[160];
    while (f && fgets(line, sizeof line, f)) {
        char  *space = strchr(line, ' '), *address = strstr(line, " 0x");
        size_t i;
        if (!space || !address || space - line >= (int)sizeof name)
            continue;
        *space = 0;
        snprintf(name, sizeof name, "%.63s", line);
        for (i = 1; i < s->modules && strcmp(s->module[i].name, name) != 0; i++)
            ;
        if (i == s->modules)
            continue; /* it has no function */
        s->module[i].size = strtoull(space + 1, NULL, 10);
        s->module[i].base = strtoull(address + 1, NULL, 16);
        snprintf(path, sizeof path, "/sys/module/%s/notes/.note.gnu.build-id", name);
        notes_below(root, path, &s->module[i].build_id);
    }
    if (f)
        fclose(f);
}

static void kernel_place(struct kernel_symbols *s)
{
    struct kernel_module *kernel = &s->module[KERNEL_MODULE];
    for (size_t i = 0; i < s->count; i++) {
        if (s->symbol[i].module != KERNEL_MODULE)
            continue;
        if (!kernel->base)
            kernel->base = s->symbol[i].address & ~UINT64_C(4095);
        kernel->size = s->symbol[i].address + 1 - kernel->base;
    }
}

bool kernel_symbols_read(const char *root, struct kernel_symbols *out, struct reason *why)
{
    char   line[1024];
    size_t kernel;
    bool   good = true, any = false;
    FILE  *f = open_below(root, "/proc/kallsyms");

    *out = (struct kernel_symbols){0};
    if (!f) {
        reason_set(why, W_NOT_SUPPORTED, "/proc/kallsyms can't be read");
        return false;
    }
    good = kernel_symbols_module(out, "vmlinux", &kernel);
    while (good && fgets(line, sizeof line, f)) {
        any  = true;
        good = take_line(out, line);
    }
    fclose(f);
    if (!good || !out->count) {
        reason_set(why, good ? W_PRIVILEGE_NOT_HELD : W_NOT_ENOUGH_MEMORY,
                   !good ? "no memory for the kernel's symbols"
                   : any ? "/proc/kallsyms hides its addresses: CAP_SYSLOG is missing (kernel.kptr_restrict)"
                         : "/proc/kallsyms is empty");
        kernel_symbols_finish(out);
        return false;
    }
    kernel_symbols_order(out);
    modules_place(root, out);
    kernel_place(out);
    notes_below(root, "/sys/kernel/notes", &out->module[KERNEL_MODULE].build_id);
    sizes_find(out);
    return true;
}
