/* procfs.c - /proc and ELF files. See procfs.h. */
#include "autologger/kernel/source/procfs.h"
#include "autologger/kernel/source/filekey.h"
#include "autologger/kernel/source/reach.h"
#include "registry-sim/base/cursor.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int proc_open(int known)
{
    const int fd = known > 0 ? fcntl(known, F_DUPFD_CLOEXEC, 3) : reach_proc();
    return fd < 0 ? -1 : fd;
}

static size_t read_at(int proc, char *out, size_t size, const char *format, uint32_t pid, uint32_t tid)
{
    char path[64];
    snprintf(path, sizeof path, format, pid, tid);
    int     fd = reach_open(proc, path);
    ssize_t n  = fd < 0 ? -1 : read(fd, out, size - 1);
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = 0;
    return n > 0 ? (size_t)n : 0;
}

bool proc_stat_parse(const char *text, struct proc_stat *out)
{
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    uint64_t    field[53] = {0};
    *out                  = (struct proc_stat){0};
    if (!open || !close || close < open || close[1] != ' ' || !close[2])
        return false;
    size_t n = (size_t)(close - open - 1);
    memcpy(out->comm, open + 1, n < sizeof out->comm - 1 ? n : sizeof out->comm - 1);
    out->state    = close[2];
    const char *p = close + 3;
    for (int i = 4; i <= 52 && *p; i++) { /* the fields after the state, numbered as in proc(5) */
        char *end;
        field[i] = (uint64_t)strtoll(p, &end, 10);
        if (end == p)
            break;
        p = end;
    }
    out->ppid          = (uint32_t)field[4];
    out->session       = (uint32_t)field[6];
    out->kernel_thread = field[9] & 0x00200000; /* PF_KTHREAD */
    out->prio          = (int32_t)field[18] + 100;
    out->threads       = (uint32_t)field[20];
    out->start_ticks   = field[22];
    out->exit_code     = (int32_t)field[52];
    return true;
}

bool proc_stat(int proc, uint32_t pid, uint32_t tid, struct proc_stat *out)
{
    char text[1024];
    return read_at(proc, text, sizeof text, tid ? "%u/task/%u/stat" : "%u/stat", pid, tid) &&
           proc_stat_parse(text, out);
}

uint32_t proc_tgid(int proc, uint32_t tid)
{
    char text[1024];
    read_at(proc, text, sizeof text, "%u/status", tid, 0);
    const char *p = strstr(text, "\nTgid:");
    return p ? (uint32_t)strtoul(p + 6, NULL, 10) : 0;
}

bool proc_status(int proc, uint32_t pid, uint32_t tid, uint32_t *uid, uint64_t *affinity)
{
    char text[4096];
    *uid      = 0;
    *affinity = 0;
    if (!read_at(proc, text, sizeof text, tid ? "%u/task/%u/status" : "%u/status", pid, tid))
        return false;
    const char *p = strstr(text, "\nUid:"), *q = strstr(text, "\nCpus_allowed:");
    if (p)
        *uid = (uint32_t)strtoul(p + 5, NULL, 10);
    if (q) { /* "ffffffff,ffffffff": the last two words are the low 64 */
        q += 14;
        for (q += strspn(q, " \t"); *q && *q != '\n'; q++)
            if (*q != ',')
                *affinity = *affinity << 4 | (uint64_t)(*q <= '9' ? *q - '0' : (*q | 32) - 'a' + 10);
    }
    return p != NULL;
}

size_t command_line_join(const char *raw, size_t n, char *out, size_t size)
{
    size_t w = 0;
    for (size_t i = 0; i < n;) {
        size_t length = strnlen(raw + i, n - i);
        bool   quote  = length == 0 || memchr(raw + i, ' ', length) || memchr(raw + i, '"', length);
        if (w && w + 1 < size)
            out[w++] = ' ';
        if (quote && w + 1 < size)
            out[w++] = '"';
        for (size_t j = 0; j < length; j++) {
            if (raw[i + j] == '"' && w + 1 < size)
                out[w++] = '\\';
            if (w + 1 < size)
                out[w++] = raw[i + j];
        }
        if (quote && w + 1 < size)
            out[w++] = '"';
        i += length + 1;
    }
    out[w] = 0;
    return w;
}

size_t proc_command_line(int proc, uint32_t pid, char *out, size_t size)
{
    char   raw[8192];
    size_t n = read_at(proc, raw, sizeof raw, "%u/cmdline", pid, 0);
    return command_line_join(raw, n, out, size);
}

/* By the auxiliary vector, which the kernel keeps: AT_PHENT is the size of a program header, and the vector's own
 * numbers have the program's width. */
bool proc_is_narrow(int proc, uint32_t pid)
{
    union {
        char     text[1024];
        uint64_t wide[128];
        uint32_t narrow[256];
    } u;
    size_t n = read_at(proc, u.text, sizeof u.text, "%u/auxv", pid, 0);
    for (size_t i = 0; i + 1 < n / 8; i += 2)
        if (u.wide[i] == AT_PHENT && u.wide[i + 1] == sizeof(Elf64_Phdr))
            return false;
    for (size_t i = 0; i + 1 < n / 4; i += 2)
        if (u.narrow[i] == AT_PHENT)
            return u.narrow[i + 1] == sizeof(Elf32_Phdr);
    return false;
}

size_t proc_exe(int proc, uint32_t pid, char *out, size_t size)
{
    char path[32];
    snprintf(path, sizeof path, "%u/exe", pid);
    reach_link(proc, path, out, size);
    char *deleted = strstr(out, " (deleted)");
    if (deleted)
        *deleted = 0;
    return strlen(out);
}

unsigned elf_note_build_id(const void *notes, size_t size, uint8_t out[20])
{
    struct cursor c = cur_make(notes, size);
    while (cur_left(&c) >= 12) {
        uint32_t    name_size = cur_u32(&c), desc_size = cur_u32(&c), type = cur_u32(&c);
        const char *name = name_size > 4096 ? NULL : cur_take(&c, (name_size + 3u) & ~3u);
        const void *desc = !name || desc_size > 65536 ? NULL : cur_take(&c, desc_size);
        if (!desc)
            return 0;
        if (type == NT_GNU_BUILD_ID && name_size == 4 && memcmp(name, "GNU", 4) == 0 && desc_size >= 8) {
            unsigned n = desc_size < 20 ? desc_size : 20;
            memset(out, 0, 20);
            memcpy(out, desc, n);
            return n;
        }
        cur_take(&c, (4 - desc_size % 4) % 4);
    }
    return 0;
}

static void notes_read(int fd, uint64_t offset, uint64_t size, struct elf_info *out)
{
    uint8_t notes[4096];
    ssize_t n = pread(fd, notes, size < sizeof notes ? size : sizeof notes, (off_t)offset);
    if (n > 0 && !out->build_id_size)
        out->build_id_size = elf_note_build_id(notes, (size_t)n, out->build_id);
}

static void segment_take(int fd, struct elf_info *out, const Elf64_Phdr *p, uint64_t page)
{
    if (p->p_type == PT_NOTE)
        notes_read(fd, p->p_offset, p->p_filesz, out);
    if (p->p_type != PT_LOAD || p->p_vaddr + p->p_memsz < p->p_vaddr)
        return;
    uint64_t low = p->p_vaddr & ~(page - 1), high = (p->p_vaddr + p->p_memsz + page - 1) & ~(page - 1);
    if (out->high == 0 || low < out->low)
        out->low = low;
    if (high > out->high)
        out->high = high;
    if ((p->p_flags & PF_X) && out->execs < ELF_EXECS) {
        out->exec[out->execs].offset = p->p_offset;
        out->exec[out->execs].vaddr  = p->p_vaddr;
        out->exec[out->execs++].size = p->p_filesz;
    }
}

bool elf_read(int fd, struct elf_info *out)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    union {
        Elf64_Ehdr e64;
        Elf32_Ehdr e32;
        uint8_t    ident[EI_NIDENT];
    } h = {0};
    if (pread(fd, &h, sizeof h, 0) < (ssize_t)sizeof h.e32 || memcmp(h.ident, ELFMAG, SELFMAG) != 0 ||
        h.ident[EI_DATA] != ELFDATA2LSB)
        return false;
    out->is32      = h.ident[EI_CLASS] == ELFCLASS32;
    unsigned count = out->is32 ? h.e32.e_phnum : h.e64.e_phnum;
    uint64_t at    = out->is32 ? h.e32.e_phoff : h.e64.e_phoff;
    out->is_exec   = (out->is32 ? h.e32.e_type : h.e64.e_type) == ET_EXEC;
    for (unsigned i = 0; i < count && i < 64; i++) {
        Elf64_Phdr p = {0};
        Elf32_Phdr q;
        if (!out->is32 && pread(fd, &p, sizeof p, (off_t)(at + i * sizeof p)) != (ssize_t)sizeof p)
            return false;
        if (out->is32) {
            if (pread(fd, &q, sizeof q, (off_t)(at + i * sizeof q)) != (ssize_t)sizeof q)
                return false;
            p = (Elf64_Phdr){.p_type   = q.p_type,
                             .p_flags  = q.p_flags,
                             .p_offset = q.p_offset,
                             .p_vaddr  = q.p_vaddr,
                             .p_filesz = q.p_filesz,
                             .p_memsz  = q.p_memsz};
        }
        segment_take(fd, out, &p, page);
    }
    return out->high > out->low;
}

static unsigned elf_slot(const uint8_t *build_id)
{
    uint32_t head;
    memcpy(&head, build_id, sizeof head);
    return head % ELF_CACHE;
}

void elf_keep(struct elf_cache *cache, const struct elf_info *elf)
{
    if (elf->valid && elf->build_id_size >= 8 && elf->owner == 0)
        cache->slot[elf_slot(elf->build_id)] = *elf;
}

const struct elf_info *elf_known(const struct elf_cache *cache, const uint8_t *build_id, unsigned size)
{
    const struct elf_info *e = size >= 8 ? &cache->slot[elf_slot(build_id)] : NULL;
    return e && e->valid && e->build_id_size == size && memcmp(e->build_id, build_id, size) == 0 ? e : NULL;
}

bool elf_place(const struct elf_info *elf, uint64_t addr, uint64_t pgoff, uint64_t *base, uint64_t *size)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    for (unsigned i = 0; i < elf->execs; i++) {
        uint64_t offset = elf->exec[i].offset & ~(page - 1), vaddr = elf->exec[i].vaddr & ~(page - 1);
        if (pgoff < offset || pgoff >= elf->exec[i].offset + elf->exec[i].size)
            continue;
        *base = addr - (vaddr + (pgoff - offset)) + elf->low;
        *size = elf->high - elf->low;
        return true;
    }
    return false;
}

uint32_t elf_stamp(const uint8_t *build_id, unsigned size, uint64_t mtime, uint32_t *checksum)
{
    uint32_t stamp = (uint32_t)mtime;
    *checksum      = 0;
    if (size >= 8) {
        memcpy(&stamp, build_id, 4);
        memcpy(checksum, build_id + 4, 4);
    }
    return stamp ? stamp : 1;
}

bool proc_mapping_parse(char *line, bool all, struct proc_mapping *out)
{
    char *p, *end;
    out->start = strtoull(line, &p, 16);
    if (*p != '-')
        return false;
    out->end = strtoull(p + 1, &p, 16);
    if (*p != ' ' || strlen(p) < 6 || (p[3] != 'x' && !all) || p[5] != ' ')
        return false;
    out->exec   = p[3] == 'x';
    out->shared = p[4] == 's';
    out->pgoff  = strtoull(p + 6, &end, 16);
    if (end == p + 6 || *end != ' ')
        return false;
    p                   = end + strspn(end, " ");
    unsigned long major = strtoul(p, &end, 16);
    if (*end != ':')
        return false;
    out->dev = file_dev((uint32_t)major, (uint32_t)strtoul(end + 1, &p, 16));
    if (*p != ' ')
        return false;
    out->inode = strtoull(p, &end, 10);
    if (end == p)
        return false;
    p                   = end + strspn(end, " ");
    p[strcspn(p, "\n")] = 0;
    char *deleted       = strstr(p, " (deleted)");
    if (deleted)
        *deleted = 0;
    out->deleted = deleted != NULL;
    out->path    = p;
    return out->end > out->start;
}

/* "ffffffff81000000 T _text" or "ffffffffc0001000 t init_module\t[ext4]", without its end. There are more than a
 * hundred thousand such lines, and a boot waits for this: only wanted parts are parsed. */
static bool kallsyms_line(char *line, char *end, char **name, char **module)
{
    char *space = memchr(line, ' ', (size_t)(end - line));
    *end        = 0;
    if (!space || end - space < 4 || space[2] != ' ')
        return false;
    *name   = space + 3;
    *module = memchr(*name, '\t', (size_t)(end - *name));
    if (*module)
        *(*module)++ = 0;
    return true;
}

/* Index of the entry of names[] that has this name, count = none. An entry may list alternatives: "new|old". */
static unsigned name_wanted(const char *const *names, unsigned count, const char *name)
{
    size_t length = 0;
    for (unsigned i = 0; i < count; i++)
        for (const char *p = names[i]; p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL)
            if (*p == *name) {
                length = length ? length : strlen(name);
                if (strncmp(p, name, length) == 0 && (p[length] == 0 || p[length] == '|'))
                    return i;
            }
    return count;
}

static bool address_wanted(const uint64_t *sorted, unsigned count, uint64_t address)
{
    unsigned low = 0;
    while (count) {
        unsigned half = count / 2;
        if (sorted[low + half] < address) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return sorted && sorted[low] == address;
}

struct kallsyms {
    const char *const          *names;
    unsigned                    count, found, functions;
    uint64_t                   *out, told;
    const struct kallsyms_wish *wish;
};

static void kallsyms_take(struct kallsyms *k, char *line, char *end)
{
    char    *name, *module, text[400];
    unsigned wanted = k->wish ? k->wish->count : 0;
    if (!kallsyms_line(line, end, &name, &module))
        return;
    uint64_t address = wanted ? strtoull(line, NULL, 16) : 0;
    if (wanted && address != k->told && address >= k->wish->sorted[0] && address <= k->wish->sorted[wanted - 1] &&
        address_wanted(k->wish->sorted, wanted, address)) {
        snprintf(text, sizeof text, "%.300s%s%.60s", name, module ? " " : "", module ? module : "");
        k->wish->found(k->wish->ctx, address, text);
        k->functions++;
        k->told = address;
    }
    unsigned i = module || k->found == k->count ? k->count : name_wanted(k->names, k->count, name);
    if (i < k->count && !k->out[i] && (k->out[i] = strtoull(line, NULL, 16)))
        k->found++;
}

unsigned proc_kallsyms(int proc, const char *const *names, unsigned count, uint64_t *out,
                       const struct kallsyms_wish *wish)
{
    enum { BLOCK = 65536 };
    struct kallsyms k    = {.names = names, .count = count, .out = out, .wish = wish};
    char           *text = malloc(BLOCK);
    size_t          used = 0;
    ssize_t         n;
    int             fd = reach_addresses(proc, "kallsyms");
    memset(out, 0, count * sizeof *out);
    while (text && fd >= 0 && (k.found < count || (wish && k.functions < wish->count)) &&
           (n = read(fd, text + used, BLOCK - used)) > 0) {
        char *line = text, *all = text + used + n, *end;
        for (; (end = memchr(line, '\n', (size_t)(all - line))); line = end + 1)
            kallsyms_take(&k, line, end);
        used = (size_t)(all - line);
        memmove(text, line, used);
        if (used == BLOCK)
            break; /* not a line */
    }
    if (fd >= 0)
        close(fd);
    free(text);
    return k.found;
}

uint64_t proc_kernel_bytes(int proc)
{
    char               line[256];
    unsigned long long from, to, first = 0, last = 0;
    int                fd = reach_addresses(proc, "iomem");
    FILE              *f  = fd < 0 ? NULL : fdopen(fd, "r");
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strstr(line, " : Kernel "), *end; /* "  01000000-01c01fff : Kernel code" */
        from        = strtoull(line, &end, 16);
        if (!colon || *end != '-')
            continue;
        to = strtoull(end + 1, &end, 16);
        if (strncmp(colon, " : Kernel code", 14) == 0)
            first = from;
        last = to > last ? to : last;
    }
    if (f)
        fclose(f);
    else if (fd >= 0)
        close(fd);
    return first && last > first ? last + 1 - first : 0;
}

bool proc_kernel_place(int proc, uint64_t *start, uint64_t *end)
{
#if defined __x86_64__
    enum { SEGMENTS = 64 };
    static const uint64_t lowest = UINT64_C(0xFFFFFFFF80000000), modules = UINT64_C(0xFFFFFFFFC0000000);
    struct {
        Elf64_Ehdr head;
        Elf64_Phdr segment[SEGMENTS];
    } e;
    int     fd = reach_open(proc, "kcore");
    ssize_t n  = fd < 0 ? -1 : pread(fd, &e, sizeof e, 0);
    if (fd >= 0)
        close(fd);
    if (n < (ssize_t)sizeof e.head || memcmp(e.head.e_ident, ELFMAG, SELFMAG) != 0 || e.head.e_phoff != sizeof e.head)
        return false;
    for (unsigned i = 0; i < e.head.e_phnum && sizeof e.head + (i + 1) * sizeof *e.segment <= (size_t)n; i++) {
        const Elf64_Phdr *s = &e.segment[i];
        if (s->p_type == PT_LOAD && s->p_vaddr >= lowest && s->p_vaddr < modules &&
            s->p_memsz <= modules - s->p_vaddr) {
            *start = s->p_vaddr;
            *end   = s->p_vaddr + s->p_memsz;
            return true;
        }
    }
#endif
    (void)proc, (void)start, (void)end;
    return false;
}
