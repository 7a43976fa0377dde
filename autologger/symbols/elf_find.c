#include "autologger/symbols/elf_find.h"

#include "autologger/consumer/classic_event.h"
#include "registry-sim/base/opening.h"

#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096 };

static bool same_build_id(const struct build_id *want, const void *id, ssize_t size)
{
    return size > 0 && size >= want->size && memcmp(id, want->bytes, want->size) == 0;
}

/* Is the open file the wanted one? `debug`: it has only debug information for the wanted file, so its time means
 * nothing. */
static bool elf_find_is_wanted(const struct elf_wanted *w, int fd, bool debug)
{
    const void *id;
    struct stat st;
    Elf        *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    bool        is  = elf && elf_kind(elf) == ELF_K_ELF;

    if (is && w->build_id.size) {
        ssize_t size = dwelf_elf_gnu_build_id(elf, &id);
        is           = same_build_id(&w->build_id, id, size);
    } else if (is) {
        is = !debug && fstat(fd, &st) == 0 && (uint32_t)st.st_mtim.tv_sec == w->stamp;
    }
    elf_end(elf);
    return is;
}

static int open_wanted(const struct elf_wanted *w, const char *path, bool debug)
{
    int fd = opening_regular(path);
    if (fd >= 0 && !elf_find_is_wanted(w, fd, debug)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* "FOLDER/.build-id/ab/cdef.debug". A partial build id can't be searched this way. */
static int open_by_build_id(const struct elf_wanted *w, const char *folder, bool debug, char path[ELF_PATH_SIZE])
{
    char text[41];
    if (w->build_id.size < 20)
        return -1;
    build_id_text(&w->build_id, text);
    snprintf(path, ELF_PATH_SIZE, "%.4000s/.build-id/%.2s/%s%s", folder, text, text + 2, debug ? ".debug" : "");
    return open_wanted(w, path, debug);
}

#define SYSTEM_DEBUG "/usr/lib/debug"
int elf_debug_open(const struct elf_wanted *w, const struct elf_search *search, char path[ELF_PATH_SIZE])
{
    int fd = -1;
    for (unsigned i = 0; i < search->count && fd < 0; i++)
        fd = open_by_build_id(w, search->folders[i], true, path);
    return fd < 0 ? open_by_build_id(w, SYSTEM_DEBUG, true, path) : fd;
}

int elf_file_open(const struct elf_wanted *w, const struct elf_search *search, char path[ELF_PATH_SIZE])
{
    int fd = -1;
    for (unsigned i = 0; i < search->count && fd < 0; i++) {
        fd = open_by_build_id(w, search->folders[i], false, path);
        if (fd >= 0)
            break;
        snprintf(path, ELF_PATH_SIZE, "%.200s%.4100s", search->folders[i], w->path);
        fd = open_wanted(w, path, false);
        if (fd >= 0)
            break;
        snprintf(path, ELF_PATH_SIZE, "%.200s/%.4100s", search->folders[i], image_base_name(w->path));
        fd = open_wanted(w, path, false);
    }
    if (fd < 0) {
        snprintf(path, ELF_PATH_SIZE, "%.4300s", w->path);
        fd = open_wanted(w, path, false);
    }
    return fd < 0 ? elf_debug_open(w, search, path) : fd; /* it has only names, but these are wanted */
}

static uint64_t page_floor(uint64_t v) { return v & ~(uint64_t)(PAGE - 1); }
static uint64_t page_ceil(uint64_t v) { return page_floor(v + PAGE - 1); }

struct elf_image_place elf_image_place(Elf *elf, uint64_t image_size)
{
    struct elf_image_place at      = {.low = UINT64_MAX};
    uint64_t               mapping = 0;
    unsigned               fits    = 0;
    size_t                 count   = 0;
    elf_getphdrnum(elf, &count);
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr p;
        if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD)
            continue;
        uint64_t from = page_floor(p.p_vaddr), to = page_ceil(p.p_vaddr + p.p_memsz);
        at.low  = from < at.low ? from : at.low;
        at.high = to > at.high ? to : at.high;
        if ((p.p_flags & PF_X) && page_ceil(p.p_vaddr + p.p_filesz) - from == image_size) {
            mapping = from;
            fits++;
        }
    }
    at.placed = at.high > at.low && (at.high - at.low == image_size || fits == 1);
    at.shift  = at.high - at.low == image_size ? at.low : mapping;
    return at;
}
