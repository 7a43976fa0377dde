#include "autologger/symbols/unwind.h"

#include "autologger/kernel/source/idmap.h"
#include "autologger/symbols/elf_find.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SPACES_MOST = 64, NAME_SIZE = 32 };

/* A file that some process has mapped. It is opened when a stack of such a process is first unwound. */
struct unwind_file {
    char                  *path;
    uint64_t               key, size;
    uint32_t               stamp;
    bool                   looked;
    int                    fd; /* -1: it is not there */
    struct elf_image_place place;
};
struct mapped {
    uint64_t base, size;
    size_t   file;
};
struct unwind_space { /* of a process */
    uint32_t       pid;
    struct mapped *image;
    size_t         count, capacity;
    Dwfl          *dwfl;    /* NULL: not open */
    bool           current; /* dwfl knows all of image[] */
    bool           attached;
    /* value of unwind.stacks when a stack of this process was last unwound (finds the least recently used) */
    uint64_t       used;
    struct unwind *owner;
};
struct unwind {
    struct elf_search         search;
    struct unwind_file       *file;
    size_t                    files, capacity;
    struct idmap              process; /* pid + 1 -> struct unwind_space */
    unsigned                  open;    /* spaces with a dwfl */
    uint64_t                  stacks;
    const struct unwind_copy *copy; /* the present one */
    const uint8_t            *stack;
    struct unwind_answer     *answer;
    bool                      beyond; /* memory outside the copy was asked for */
};

/* ---- files ---- */

static size_t unwind_file_of(struct unwind *u, const struct unwind_image *i, const char *path)
{
    uint64_t key = build_id_key(i->stamp, i->checksum);
    for (size_t n = u->files; n-- > 0;)
        if (u->file[n].key == key && u->file[n].stamp == i->stamp && u->file[n].size == i->size &&
            strcmp(u->file[n].path, path) == 0)
            return n;
    if (u->files == u->capacity) {
        size_t n     = u->capacity ? u->capacity * 2 : 64;
        void  *grown = realloc(u->file, n * sizeof *u->file);
        if (!grown)
            return SIZE_MAX;
        u->file     = grown;
        u->capacity = n;
    }
    u->file[u->files] =
        (struct unwind_file){.path = strdup(path), .key = key, .size = i->size, .stamp = i->stamp, .fd = -1};
    return u->file[u->files].path ? u->files++ : SIZE_MAX;
}

static void file_look(struct unwind *u, struct unwind_file *f)
{
    struct elf_wanted w = {.path = f->path, .stamp = f->stamp, .size = f->size};
    char              path[ELF_PATH_SIZE];
    f->looked = true;
    if (f->path[0] != '/' || f->path[1] == '/') /* memory that has no file */
        return;
    if (f->key)
        memcpy(w.build_id.bytes, &f->key, w.build_id.size = sizeof f->key);
    f->fd    = elf_file_open(&w, &u->search, path);
    Elf *elf = f->fd >= 0 ? elf_begin(f->fd, ELF_C_READ_MMAP, NULL) : NULL;
    if (elf)
        f->place = elf_image_place(elf, f->size);
    elf_end(elf);
}

/* ---- libdwfl's questions ---- */

static int find_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, char **file_name,
                    Elf **elf)
{
    const struct unwind *u = *userdata;
    size_t               n = strtoul(name, NULL, 10);
    (void)module, (void)base, (void)elf;
    int fd = u && n < u->files && u->file[n].fd >= 0 ? fcntl(u->file[n].fd, F_DUPFD_CLOEXEC, 3) : -1;
    if (fd >= 0)
        *file_name = strdup(u->file[n].path);
    return fd;
}

/* .eh_frame is in the file itself. */
static int unwind_find_debug(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, const char *file,
                             const char *link, GElf_Word crc, char **out)
{
    (void)module, (void)userdata, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)out;
    return -1;
}

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
    const struct unwind_space *s = arg;
    (void)dwfl;
    if (*thread_arg)
        return 0;
    *thread_arg = arg;
    return (pid_t)s->owner->copy->thread_id;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread_arg)
{
    const struct unwind_space *s = arg;
    (void)dwfl;
    *thread_arg = arg;
    return (uint32_t)tid == s->owner->copy->thread_id;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *out, void *arg)
{
    struct unwind *u     = ((struct unwind_space *)arg)->owner;
    uint64_t       start = u->copy->registers[STACK_COPY_SP], at = address - start;
    (void)dwfl;
    if (address < start || u->copy->size < sizeof *out || at > u->copy->size - sizeof *out) {
        u->beyond = true;
        return false;
    }
    memcpy(out, u->stack + at, sizeof *out);
    return true;
}

/* perf's order -> DWARF's numbers: ax dx cx bx si di bp sp, r8 to r15, ip */
static bool registers_set(Dwfl_Thread *thread, void *arg)
{
    static const uint8_t order[STACK_COPY_REGISTERS] = {
        STACK_COPY_AX,     STACK_COPY_DX,     STACK_COPY_CX,     STACK_COPY_BX,     STACK_COPY_SI,
        STACK_COPY_DI,     STACK_COPY_BP,     STACK_COPY_SP,     STACK_COPY_R8,     STACK_COPY_R8 + 1,
        STACK_COPY_R8 + 2, STACK_COPY_R8 + 3, STACK_COPY_R8 + 4, STACK_COPY_R8 + 5, STACK_COPY_R8 + 6,
        STACK_COPY_R8 + 7, STACK_COPY_IP};
    const struct unwind_space *s = arg;
    Dwarf_Word                 word[STACK_COPY_REGISTERS];
    for (unsigned i = 0; i < STACK_COPY_REGISTERS; i++)
        word[i] = s->owner->copy->registers[order[i]];
    return dwfl_thread_state_registers(thread, 0, STACK_COPY_REGISTERS, word);
}

static int on_frame(Dwfl_Frame *frame, void *arg)
{
    const struct unwind_space *s = arg;
    struct unwind_answer      *a = s->owner->answer;
    Dwarf_Addr                 pc;
    bool                       activation;
    if (!dwfl_frame_pc(frame, &pc, &activation))
        return DWARF_CB_ABORT;
    if (pc == 0) /* it has no caller */
        return DWARF_CB_OK;
    if (a->count == UNWIND_FRAMES) {
        a->end = UNWIND_TOO_LONG;
        return DWARF_CB_ABORT;
    }
    if (a->count == 1 && a->frames[0] == pc && activation)
        return DWARF_CB_OK; /* the frame is there already */
    a->frames[a->count++] = pc;
    return DWARF_CB_OK;
}

/* ---- processes ---- */

static void space_close(struct unwind_space *s)
{
    if (!s->dwfl)
        return;
    dwfl_end(s->dwfl);
    s->dwfl    = NULL;
    s->current = s->attached = false;
    s->owner->open--;
}

static struct unwind_space *unwind_space_of(struct unwind *u, uint32_t pid)
{
    struct unwind_space *s = idmap_get(&u->process, pid + UINT64_C(1));
    if (s || !(s = calloc(1, sizeof *s)))
        return s;
    *s = (struct unwind_space){.pid = pid, .owner = u};
    if (idmap_put(&u->process, pid + UINT64_C(1), s))
        return s;
    free(s);
    return NULL;
}

static void oldest_close(struct unwind *u)
{
    struct unwind_space *oldest = NULL;
    for (size_t i = 0; i < u->process.capacity; i++) {
        struct unwind_space *s = u->process.slot[i].value;
        if (s && s->dwfl && (!oldest || s->used < oldest->used))
            oldest = s;
    }
    if (oldest)
        space_close(oldest);
}

/* Modules are named by the number of their file; an unchanged one keeps what libdwfl has read of it. */
static bool space_open(struct unwind *u, struct unwind_space *s)
{
    static char                       *no_path   = NULL;
    static const Dwfl_Callbacks        callbacks = {.find_elf        = find_elf,
                                                    .find_debuginfo  = unwind_find_debug,
                                                    .section_address = dwfl_offline_section_address,
                                                    .debuginfo_path  = &no_path};
    static const Dwfl_Thread_Callbacks thread    = {.next_thread           = next_thread,
                                                    .get_thread            = get_thread,
                                                    .memory_read           = memory_read,
                                                    .set_initial_registers = registers_set};
    if (s->dwfl && s->current)
        return true;
    if (!s->dwfl) {
        while (u->open >= SPACES_MOST)
            oldest_close(u);
        if (!(s->dwfl = dwfl_begin(&callbacks)))
            return false;
        u->open++;
    }
    dwfl_report_begin(s->dwfl);
    for (size_t i = 0; i < s->count; i++) {
        struct unwind_file *f = &u->file[s->image[i].file];
        char                name[NAME_SIZE];
        void              **data;
        if (!f->looked)
            file_look(u, f);
        if (f->fd < 0 || !f->place.placed)
            continue;
        snprintf(name, sizeof name, "%zu", s->image[i].file);
        uint64_t     start  = s->image[i].base - (f->place.shift - f->place.low);
        Dwfl_Module *module = dwfl_report_module(s->dwfl, name, start, start + (f->place.high - f->place.low));
        if (module && dwfl_module_info(module, &data, NULL, NULL, NULL, NULL, NULL, NULL))
            *data = u;
    }
    s->current = dwfl_report_end(s->dwfl, NULL, NULL) == 0;
    if (s->current && !s->attached)
        s->attached = dwfl_attach_state(s->dwfl, NULL, (pid_t)s->pid, &thread, s);
    return s->current && s->attached;
}

bool unwind_image(struct unwind *u, const struct unwind_image *image, const char *path)
{
    struct unwind_space *s = unwind_space_of(u, image->process_id);
    size_t               n = unwind_file_of(u, image, path);
    if (!s || n == SIZE_MAX)
        return false;
    for (size_t i = 0; i < s->count; i++)
        if (s->image[i].base == image->base) {
            if (!image->gone && s->image[i].file == n)
                return true; /* a rundown of a known image */
            s->image[i] = s->image[--s->count];
            s->current  = false;
            break;
        }
    if (image->gone && !s->count)
        space_close(s); /* the process ended, or becomes another program */
    if (image->gone)
        return true;
    if (s->count == s->capacity) {
        size_t capacity = s->capacity ? s->capacity * 2 : 16;
        void  *grown    = realloc(s->image, capacity * sizeof *s->image);
        if (!grown)
            return false;
        s->image    = grown;
        s->capacity = capacity;
    }
    s->image[s->count++] = (struct mapped){image->base, image->size, n};
    s->current           = false;
    return true;
}

void unwind_stack(struct unwind *u, const struct unwind_copy *copy, const uint8_t *stack, struct unwind_answer *out)
{
    struct unwind_space *s = idmap_get(&u->process, copy->process_id + UINT64_C(1));
    out->count             = 1;
    out->frames[0]         = copy->registers[STACK_COPY_IP];
    out->end               = UNWIND_NO_TABLE;
    u->copy                = copy;
    u->stack               = stack;
    u->answer              = out;
    u->beyond              = false;
    if (!s)
        return;
    s->used = ++u->stacks;
    if (!space_open(u, s))
        return;
    int ended = dwfl_getthread_frames(s->dwfl, (pid_t)copy->thread_id, on_frame, s);
    if (out->end == UNWIND_TOO_LONG)
        return;
    bool inside = dwfl_addrmodule(s->dwfl, out->frames[out->count - 1] - (out->count > 1)) != NULL;
    /* a return address that can't be read is no end, though libdwfl takes it for one */
    if (ended == 0 && inside && !u->beyond)
        out->end = UNWIND_WHOLE;
    else if (inside && u->beyond)
        out->end = UNWIND_NO_MEMORY;
}

bool unwind_message(struct unwind *u, const struct unwind_message *head, const uint8_t *body,
                    struct unwind_answer *answer)
{
    struct unwind_image image;
    struct unwind_copy  copy;
    answer->count = 0;
    if (head->type == UNWIND_IMAGE && head->size > sizeof image && !body[head->size - 1]) {
        memcpy(&image, body, sizeof image);
        return unwind_image(u, &image, (const char *)body + sizeof image);
    }
    if (head->type != UNWIND_COPY || head->size < sizeof copy)
        return false;
    memcpy(&copy, body, sizeof copy);
    if (copy.size != head->size - sizeof copy)
        return false;
    unwind_stack(u, &copy, body + sizeof copy, answer);
    return true;
}

struct unwind *unwind_create(const struct elf_search *search)
{
    struct unwind *u = calloc(1, sizeof *u);
    elf_version(EV_CURRENT);
    if (u)
        u->search = *search;
    return u;
}

void unwind_destroy(struct unwind *u)
{
    if (!u)
        return;
    for (size_t i = 0; i < u->process.capacity; i++) {
        struct unwind_space *s = u->process.slot[i].value;
        if (!s)
            continue;
        space_close(s);
        free(s->image);
        free(s);
    }
    for (size_t i = 0; i < u->files; i++) {
        if (u->file[i].fd >= 0)
            close(u->file[i].fd);
        free(u->file[i].path);
    }
    idmap_finish(&u->process);
    free(u->file);
    free(u);
}
