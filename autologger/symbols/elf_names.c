#include "autologger/symbols/elf_names.h"

#include "autologger/consumer/classic_event.h"
#include "autologger/kernel/source/idmap.h"
#include "autologger/symbols/elf_find.h"
#include "autologger/symbols/elf_lines.h"
#include "autologger/symbols/elf_plt.h"

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *__cxa_demangle(const char *name, char *out, size_t *size, int *status); /* of libstdc++ */

enum { PAGE = 4096, CODE_RANGES = 8 };
#define PLT "@plt"
struct function {            /* in the file's addresses */
    uint64_t    start, size; /* 0: to the next one */
    const char *name;        /* elfutils' */
    uint8_t     rank;        /* of several names of one address the lowest rank is taken */
};
struct named {
    uint64_t start;
    char     text[]; /* "" = none */
};
struct elf_names {
    const struct elf_search *search;
    struct elf_wanted        wanted;
    Dwfl                    *dwfl;
    Dwfl_Module             *module;
    bool                     placed;   /* `shift` is known */
    uint64_t                 shift;    /* address in the image's own numbers = address - base + shift */
    struct function         *function; /* by start, one each */
    size_t                   functions, capacity;
    char                   **made; /* names of our own */
    size_t                   made_count;
    struct {
        uint64_t from, to;
    } code[CODE_RANGES]; /* executable ranges, in the file's addresses */
    unsigned         code_count;
    struct elf_lines lines;
    struct idmap     known; /* address in the file + 1 -> struct named */
};

static int elf_names_find_debug(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
                                const char *file, const char *link, GElf_Word crc, char **out)
{
    struct elf_names *n = *userdata;
    char              path[ELF_PATH_SIZE];
    (void)module, (void)name, (void)base, (void)file, (void)link, (void)crc;
    int fd = n ? elf_debug_open(&n->wanted, n->search, path) : -1;
    if (fd >= 0)
        *out = strdup(path);
    return fd;
}

/* Finds where the image lies in the file's own addresses, and its code ranges. */
static void elf_names_place(struct elf_names *n, Elf *elf)
{
    struct elf_image_place at    = elf_image_place(elf, n->wanted.size);
    size_t                 count = 0;
    elf_getphdrnum(elf, &count);
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr p;
        if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD && (p.p_flags & PF_X) && n->code_count < CODE_RANGES) {
            n->code[n->code_count].from = p.p_vaddr;
            n->code[n->code_count++].to = p.p_vaddr + p.p_memsz;
        }
    }
    n->placed = at.placed;
    n->shift  = at.shift;
}

static int elf_names_by_start(const void *a, const void *b)
{
    const struct function *x = a, *y = b;
    return x->start != y->start ? (x->start < y->start ? -1 : 1)
           : x->rank != y->rank ? (x->rank < y->rank ? -1 : 1)
                                : strcmp(x->name, y->name);
}

/* Functions with a size before labels, exported names before others, names without leading underscores before those
 * with. */
static uint8_t rank_of(const GElf_Sym *symbol, const char *name)
{
    size_t under = strspn(name, "_");
    return (uint8_t)((symbol->st_size == 0) * 16 + (GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE) * 8 +
                     (GELF_ST_BIND(symbol->st_info) == STB_LOCAL) * 4 + (under < 3 ? under : 3));
}

static bool elf_names_function_add(struct elf_names *n, const struct function *f)
{
    if (n->functions == n->capacity) {
        size_t capacity = n->capacity ? n->capacity * 2 : 256;
        void  *grown    = realloc(n->function, capacity * sizeof *n->function);
        if (!grown)
            return false;
        n->function = grown;
        n->capacity = capacity;
    }
    n->function[n->functions++] = *f;
    return true;
}

static bool plt_add(void *ctx, uint64_t address, uint64_t size, const char *name)
{
    struct elf_names *n     = ctx;
    char            **grown = realloc(n->made, (n->made_count + 1) * sizeof *grown), *text = NULL;
    if (!grown)
        return false;
    n->made = grown;
    if (asprintf(&text, "%s" PLT, name) < 0)
        return false;
    n->made[n->made_count++] = text;
    return elf_names_function_add(n, &(struct function){address, size, text, 0});
}

/* elfutils searches all symbols for each address: here they are read once. */
static void functions_read(struct elf_names *n, Elf *elf)
{
    int    count = dwfl_module_getsymtab(n->module);
    size_t kept  = 0;

    for (int i = 1; i < count; i++) {
        GElf_Sym    symbol;
        GElf_Addr   address;
        GElf_Word   section;
        const char *name = dwfl_module_getsym_info(n->module, i, &symbol, &address, &section, NULL, NULL);
        unsigned    type = GELF_ST_TYPE(symbol.st_info);
        if (name && *name && section != SHN_UNDEF && section != SHN_ABS &&
            (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) &&
            !elf_names_function_add(n, &(struct function){address, symbol.st_size, name, rank_of(&symbol, name)}))
            break;
    }
    elf_plt(elf, plt_add, n);
    if (n->functions)
        qsort(n->function, n->functions, sizeof *n->function, elf_names_by_start);
    for (size_t i = 0; i < n->functions; i++)
        if (kept == 0 || n->function[kept - 1].start != n->function[i].start)
            n->function[kept++] = n->function[i];
    n->functions = kept;
}

static bool elf_names_report(struct elf_names *n, int fd, const char *path)
{
    static const Dwfl_Callbacks callbacks = {.find_debuginfo  = elf_names_find_debug,
                                             .section_address = dwfl_offline_section_address};
    void                      **userdata;
    GElf_Addr                   bias;

    n->dwfl = dwfl_begin(&callbacks);
    if (!n->dwfl)
        return false;
    dwfl_report_begin(n->dwfl);
    n->module = dwfl_report_elf(n->dwfl, image_base_name(path), path, fd, 0, true);
    dwfl_report_end(n->dwfl, NULL, NULL);
    if (!n->module)
        return false;
    dwfl_module_info(n->module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
    *userdata = n;
    Elf *elf  = dwfl_module_getelf(n->module, &bias);
    if (elf) {
        const void   *id;
        const ssize_t size = dwelf_elf_gnu_build_id(elf, &id);
        /* the file was matched by the part that an Image event has; debug information is found by all of it */
        if (size > n->wanted.build_id.size && (size_t)size <= sizeof n->wanted.build_id.bytes) {
            n->wanted.build_id.size = (uint8_t)size;
            memcpy(n->wanted.build_id.bytes, id, (size_t)size);
        }
        elf_names_place(n, elf);
    }
    if (n->placed)
        functions_read(n, elf);
    return true;
}

struct elf_names *elf_names_create(const struct elf_wanted *wanted, const struct elf_search *search)
{
    char              path[ELF_PATH_SIZE];
    struct elf_names *n = calloc(1, sizeof *n);

    if (!n)
        return NULL;
    n->wanted = *wanted;
    n->search = search;
    if (elf_version(EV_CURRENT) == EV_NONE || wanted->path[0] != '/')
        return n;
    int fd = elf_file_open(wanted, search, path);
    if (fd >= 0 && !elf_names_report(n, fd, path)) {
        if (!n->module)
            close(fd); /* else libdwfl owns it */
    }
    return n;
}

void elf_names_destroy(struct elf_names *n)
{
    if (!n)
        return;
    elf_lines_finish(&n->lines);
    if (n->dwfl)
        dwfl_end(n->dwfl);
    for (size_t i = 0; i < n->made_count; i++)
        free(n->made[i]);
    free(n->made);
    free(n->function);
    for (size_t i = 0; i < n->known.capacity; i++)
        free(n->known.slot[i].value);
    idmap_finish(&n->known);
    free(n);
}

bool elf_names_found(const struct elf_names *n) { return n->module != NULL; }

/* The readable name, without the version of a symbol ("@@GLIBC_2.2.5"); a name that is not of C++ (or Rust's older
 * ones) stays. */
static struct named *named_make(const char *symbol, uint64_t start)
{
    int           status = -1;
    char         *plain  = symbol[0] == '_' && symbol[1] == 'Z' ? __cxa_demangle(symbol, NULL, NULL, &status) : NULL;
    const char   *text   = plain && status == 0 ? plain : symbol;
    const char   *at     = strchr(text, '@');
    size_t        length = text == plain || !at || strcmp(at, PLT) == 0 ? strlen(text) : (size_t)(at - text);
    struct named *out    = malloc(sizeof *out + length + 1);
    if (out) {
        out->start = start;
        memcpy(out->text, text, length);
        out->text[length] = 0;
    }
    free(plain);
    return out;
}

/* The last function that begins at or before the address and reaches it; a function with a small one inside it may
 * begin earlier. */
static const struct function *function_at(const struct elf_names *n, uint64_t address)
{
    enum { BACK = 16 };
    size_t low = 0, count = n->functions;

    while (count) {
        size_t half = count / 2;
        if (n->function[low + half].start <= address) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    for (size_t i = low; i > 0 && low - i < BACK; i--) {
        const struct function *f = &n->function[i - 1];
        if (f->size ? address - f->start < f->size : i == low && address - f->start < PAGE)
            return f;
    }
    return NULL;
}

static bool is_code(const struct elf_names *n, uint64_t address)
{
    for (unsigned i = 0; i < n->code_count; i++)
        if (address >= n->code[i].from && address < n->code[i].to)
            return true;
    return false;
}

static struct named *elf_names_look_up(struct elf_names *n, uint64_t address)
{
    const struct function *f    = is_code(n, address) ? function_at(n, address) : NULL;
    struct named          *made = named_make(f ? f->name : "", f ? f->start : 0);
    if (made && !idmap_put(&n->known, address + 1, made)) {
        free(made);
        made = NULL;
    }
    return made;
}

const char *elf_names_find(struct elf_names *n, uint64_t base, uint64_t address, uint64_t *start)
{
    if (!n->module || !n->placed)
        return NULL;
    uint64_t      in_file = address - base + n->shift;
    struct named *known   = idmap_get(&n->known, in_file + 1);
    if (!known)
        known = elf_names_look_up(n, in_file);
    if (!known || !*known->text)
        return NULL;
    *start = known->start - n->shift;
    return known->text;
}

const char *elf_names_line(struct elf_names *n, uint64_t base, uint64_t address, int *line)
{
    if (!n->module || !n->placed)
        return NULL;
    return elf_lines_find(&n->lines, n->module, address - base + n->shift, line);
}
