/* sysconfig_modules.c - the kernel's modules as images of the kernel, with LOADER: the address of each, and the
 * beginning of its build id (a merge finds the rest). See sysconfig.h.
 * A module that is loaded and unloaded while the session runs is not included. */
#include "autologger/kernel/convert/convert.h"
#include "autologger/kernel/source/procfs.h"
#include "autologger/kernel/source/reach.h"
#include "autologger/kernel/sysconfig/sysconfig_parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IMAGE_VERSION = 3, NAME_SIZE = 64, PATH_SIZE = 256 };
struct sysconfig_modules_module {
    char     name[NAME_SIZE], path[PATH_SIZE];
    uint64_t base, size;
};
struct modules {
    struct sysconfig_modules_module *list;
    unsigned                         count;
};

static FILE *sysconfig_modules_file_open(const struct sysconfig *s, const char *path)
{
    int   fd = openat(s->root, path, O_RDONLY | O_CLOEXEC);
    FILE *f  = fd < 0 ? NULL : fdopen(fd, "r");
    if (!f && fd >= 0)
        close(fd);
    return f;
}

/* "ext4 1000000 2 - Live 0xffffffffc0001000". Without the right to see addresses they are 0: the module is left out. */
static bool module_parse(char *line, struct sysconfig_modules_module *m)
{
    char *size = strchr(line, ' '), *address = strstr(line, " 0x");
    if (!size || !address || size - line >= NAME_SIZE)
        return false;
    *m = (struct sysconfig_modules_module){.base = strtoull(address + 1, NULL, 16),
                                           .size = (strtoull(size, NULL, 10) + 4095) & ~UINT64_C(4095)};
    memcpy(m->name, line, (size_t)(size - line));
    snprintf(m->path, sizeof m->path, "%s.ko", m->name);
    return m->base && m->size;
}

static void modules_read(struct sysconfig *s, struct modules *all)
{
    char                            line[4096];
    struct sysconfig_modules_module m;
    const int                       proc = openat(s->root, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    const int fd = s->live ? reach_addresses(proc, "modules") : openat(proc, "modules", O_RDONLY | O_CLOEXEC);
    FILE     *f  = fd < 0 ? NULL : fdopen(fd, "r");
    if (!f && fd >= 0)
        close(fd);
    if (proc >= 0)
        close(proc);
    while (f && fgets(line, sizeof line, f)) {
        if (!module_parse(line, &m))
            continue;
        if (all->count == SYSCONFIG_MOST) {
            s->left_out++;
            continue;
        }
        void *p = realloc(all->list, (all->count + 1) * sizeof *all->list);
        if (!p)
            break;
        all->list               = p;
        all->list[all->count++] = m;
    }
    if (f)
        fclose(f);
}

/* The module's name in the kernel: "kernel/sound/snd-hda-intel.ko.xz" -> "snd_hda_intel". */
static bool sysconfig_modules_name_of(const char *path, char out[NAME_SIZE])
{
    const char *base = fact_base(path), *end = strstr(base, ".ko");
    if (!end || end - base >= NAME_SIZE)
        return false;
    for (int i = 0; i < end - base; i++)
        out[i] = base[i] == '-' ? '_' : base[i];
    out[end - base] = 0;
    return true;
}

/* "kernel/fs/ext4/ext4.ko: kernel/lib/crc16.ko ..." */
static void paths_find(const struct sysconfig *s, struct modules *all)
{
    char release[128], path[200], line[8192], name[NAME_SIZE];
    fact_text(s, "proc/sys/kernel/osrelease", release, sizeof release);
    snprintf(path, sizeof path, "lib/modules/%.120s/modules.dep", release);
    FILE *f = all->count ? sysconfig_modules_file_open(s, path) : NULL;
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (!colon)
            continue;
        *colon = 0;
        if (!sysconfig_modules_name_of(line, name))
            continue;
        for (unsigned i = 0; i < all->count; i++)
            if (strcmp(all->list[i].name, name) == 0)
                snprintf(all->list[i].path, sizeof all->list[i].path, "/lib/modules/%.120s/%.120s", release, line);
    }
    if (f)
        fclose(f);
}

static void module_put(struct sysconfig *s, const struct sysconfig_modules_module *m)
{
    char     path[160];
    uint8_t  notes[1024], id[20];
    uint32_t checksum;
    snprintf(path, sizeof path, "sys/module/%s/notes/.note.gnu.build-id", m->name);
    unsigned       size  = elf_note_build_id(notes, fact_bytes(s, path, notes, sizeof notes), id);
    uint32_t       stamp = elf_stamp(id, size, 1, &checksum);
    struct writer *w     = config_begin(s);
    wr_u64(w, m->base);
    wr_u64(w, m->size);
    wr_u32(w, 0); /* the kernel's */
    wr_u32(w, checksum);
    wr_u32(w, stamp);
    wr_u32(w, 0);        /* signature level and type */
    config_zeros(w, 24); /* default base, reserved */
    wr_path(w, m->path);
    config_put(s, HOOK_IMAGE_DC_END, IMAGE_VERSION);
}

void config_modules(struct sysconfig *s)
{
    struct modules all = {0};
    modules_read(s, &all);
    paths_find(s, &all);
    for (unsigned i = 0; i < all.count; i++)
        module_put(s, &all.list[i]);
    free(all.list);
}
