/* sysconfig_storage.c - disks, their partitions and volumes, and mount points. See sysconfig.h. */
#include "autologger/kernel/sysconfig/sysconfig_parts.h"

#include "autologger/wire/hooks.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
    SECTOR           = 512,
    DISK_NUMBER_AT   = 0,
    VOLUME_NUMBER_AT = 16,
    LOGDISK_BYTES    = 112,
    KIND_PARTITION   = 1,
    KIND_VOLUME      = 2,
    DEV_MINORS       = 20
};

/* ---- mounts of block devices ---- */

struct storage_mount {
    uint32_t dev;
    bool     whole;
    char     type[17], source[128], at[512];
};
struct sysconfig_storage_mounts {
    struct storage_mount *list;
    unsigned              count, capacity;
};

/* Decodes mountinfo's \ooo, which stands for blanks and the like. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *p = text; *p; to++) {
        const bool octal = p[0] == '\\' && isdigit((unsigned char)p[1]) && isdigit((unsigned char)p[2]) &&
                           isdigit((unsigned char)p[3]);
        *to = octal ? (char)((p[1] - '0') * 64 + (p[2] - '0') * 8 + (p[3] - '0')) : *p;
        p += octal ? 4 : 1;
    }
    *to = 0;
}

/* "36 35 98:0 /root /at options fields - type source options". True only for a file system on a disk of this
 * machine. */
static bool mount_parse(const char *line, struct storage_mount *m)
{
    char     root[256], rest[256];
    unsigned major, minor;
    if (sscanf(line, "%*u %*u %u:%u %255s %511s", &major, &minor, root, m->at) != 4)
        return false;
    const char *dash = strstr(line, " - ");
    if (!dash || sscanf(dash, " - %16s %127s %255s", m->type, m->source, rest) < 2)
        return false;
    m->dev = major << DEV_MINORS | minor;
    unescape(m->at);
    unescape(m->source);
    m->whole = strcmp(root, "/") == 0; /* else a bind mount of a folder, or a subvolume */
    return strncmp(m->source, "/dev/", 5) == 0;
}

static void mounts_read(struct sysconfig *s, struct sysconfig_storage_mounts *all)
{
    char                 line[4096];
    struct storage_mount m;
    int                  fd = openat(s->root, "proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    FILE                *f  = fd < 0 ? NULL : fdopen(fd, "r");
    while (f && fgets(line, sizeof line, f)) {
        if (!mount_parse(line, &m))
            continue;
        if (all->count == SYSCONFIG_MOST) {
            s->left_out++;
            continue;
        }
        if (all->count == all->capacity) {
            unsigned n = all->capacity ? all->capacity * 2 : 16;
            void    *p = realloc(all->list, n * sizeof *all->list);
            if (!p)
                break;
            all->list     = p;
            all->capacity = n;
        }
        all->list[all->count++] = m;
    }
    if (f)
        fclose(f);
    else if (fd >= 0)
        close(fd);
}

/* By device number, else by name: btrfs has device numbers of its own. */
static const struct storage_mount *sysconfig_storage_mount_of(const struct sysconfig_storage_mounts *all, uint32_t dev,
                                                              const char *name)
{
    for (unsigned i = 0; i < all->count; i++)
        if (all->list[i].whole && all->list[i].dev == dev)
            return &all->list[i];
    for (unsigned i = 0; i < all->count; i++)
        if (strcmp(fact_base(all->list[i].source), name) == 0)
            return &all->list[i];
    return NULL;
}

/* ---- disks ---- */

struct sysconfig_storage_disk {
    const struct sysconfig_storage_mounts *mounts;
    const char                            *name;
    uint32_t                               dev, sector, partitions;
    uint64_t                               sectors; /* of 512 bytes */
};

static bool dev_read(const struct sysconfig *s, const char *path, uint32_t *dev)
{
    char     text[32];
    unsigned major, minor;
    if (!fact_text(s, path, text, sizeof text) || sscanf(text, "%u:%u", &major, &minor) != 2)
        return false;
    *dev = major << DEV_MINORS | minor;
    return true;
}

/* True if made of other disks (RAID, LVM, encryption): then it is a volume. */
static bool is_made_of_others(const struct sysconfig *s, const char *name)
{
    char path[96];
    snprintf(path, sizeof path, "sys/block/%.64s/dm", name);
    if (fact_there(s, path))
        return true;
    snprintf(path, sizeof path, "sys/block/%.64s/md", name);
    return fact_there(s, path);
}

static void partition_count(struct sysconfig *s, const char *name, void *ctx)
{
    struct sysconfig_storage_disk *d = ctx;
    char                           path[200];
    snprintf(path, sizeof path, "sys/block/%.64s/%.64s/partition", d->name, name);
    d->partitions += strncmp(name, d->name, strlen(d->name)) == 0 && fact_there(s, path);
}

/* Host, channel, target and lun of a disk that the kernel treats as SCSI: "/sys/.../0:0:1:0" */
static void scsi_address(const struct sysconfig *s, const char *name, unsigned out[4])
{
    char path[96], to[512];
    memset(out, 0, 4 * sizeof *out);
    snprintf(path, sizeof path, "sys/block/%.64s/device", name);
    if (!fact_link(s, path, to, sizeof to) ||
        sscanf(fact_base(to), "%u:%u:%u:%u", &out[0], &out[1], &out[2], &out[3]) != 4)
        memset(out, 0, 4 * sizeof *out);
}

static void maker_name(const struct sysconfig *s, const char *name, char *out, size_t size)
{
    char path[96], vendor[64], model[128];
    snprintf(path, sizeof path, "sys/block/%.64s/device/vendor", name);
    fact_text(s, path, vendor, sizeof vendor);
    snprintf(path, sizeof path, "sys/block/%.64s/device/model", name);
    fact_text(s, path, model, sizeof model);
    const bool id = strncmp(vendor, "0x", 2) == 0; /* a PCI or virtio number, not a name */
    snprintf(out, size, "%s%s%s", id ? "" : vendor, *vendor && !id && *model ? " " : "", model);
    if (!*out)
        snprintf(out, size, "%s", name);
}

static void disk_put(struct sysconfig *s, const struct sysconfig_storage_disk *d)
{
    enum { HEADS = 255, PER_TRACK = 63 }; /* the usual invented geometry, as in Windows */
    unsigned scsi[4];
    char     path[96], cache[32], maker[256];
    scsi_address(s, d->name, scsi);
    maker_name(s, d->name, maker, sizeof maker);
    snprintf(path, sizeof path, "sys/block/%.64s/queue/write_cache", d->name);
    fact_text(s, path, cache, sizeof cache);
    struct writer *w = config_begin(s);
    wr_u32(w, 0); /* DiskNumber: the converter fills it in */
    wr_u32(w, d->sector);
    wr_u32(w, PER_TRACK);
    wr_u32(w, HEADS);
    wr_u64(w, d->sectors * SECTOR / d->sector / (PER_TRACK * HEADS));
    for (int i = 0; i < 4; i++)
        wr_u32(w, scsi[i]);
    config_text_fixed(w, maker, 256);
    wr_u32(w, d->partitions);
    wr_u8(w, strcmp(cache, "write back") == 0);
    wr_u8(w, 0);
    config_text_fixed(w, "", 3); /* drive letter: none, because the whole tree is C: */
    config_zeros(w, 4);
    config_put_disk(s, HOOK_CONFIG_PHY_DISK, 2, d->dev, DISK_NUMBER_AT);
}

struct volume {
    const struct sysconfig_storage_disk *disk;
    const char                          *name;
    uint64_t                             start, sectors; /* of 512 bytes */
    uint32_t                             dev, kind, number;
};

static void volume_put(struct sysconfig *s, const struct volume *v)
{
    const struct storage_mount *m  = sysconfig_storage_mount_of(v->disk->mounts, v->dev, v->name);
    struct statvfs              st = {0};
    const bool     ask = m && s->live && strncmp(m->type, "fuse", 4) != 0 && statvfs(m->at, &st) == 0 && st.f_frsize;
    struct writer *w   = config_begin(s);
    wr_u64(w, v->start * SECTOR);
    wr_u64(w, v->sectors * SECTOR);
    wr_u32(w, 0); /* DiskNumber: the converter fills it in */
    wr_u32(w, LOGDISK_BYTES);
    wr_u32(w, v->kind);
    config_text_fixed(w, m && strcmp(m->at, "/") == 0 ? "C:" : "", 4);
    wr_u32(w, 0);
    wr_u32(w, v->number);
    wr_u32(w, ask ? (uint32_t)(st.f_frsize / v->disk->sector) : 0);
    wr_u32(w, v->disk->sector);
    wr_u32(w, 0);
    wr_u64(w, ask ? st.f_bfree : 0);
    wr_u64(w, ask ? st.f_blocks : 0);
    config_text_fixed(w, m ? m->type : "", 16);
    wr_u32(w, 0);
    wr_u32(w, 0);
    config_put_disk(s, HOOK_CONFIG_LOG_DISK, 2, v->disk->dev, VOLUME_NUMBER_AT);
}

static void partition_put(struct sysconfig *s, const char *name, void *ctx)
{
    struct sysconfig_storage_disk *d = ctx;
    struct volume                  v = {.disk = d, .name = name, .kind = KIND_PARTITION};
    char                           path[200];
    snprintf(path, sizeof path, "sys/block/%.64s/%.64s/partition", d->name, name);
    if (strncmp(name, d->name, strlen(d->name)) != 0 || !(v.number = (uint32_t)fact_number(s, path)))
        return;
    snprintf(path, sizeof path, "sys/block/%.64s/%.64s/start", d->name, name);
    v.start = fact_number(s, path);
    snprintf(path, sizeof path, "sys/block/%.64s/%.64s/size", d->name, name);
    v.sectors = fact_number(s, path);
    snprintf(path, sizeof path, "sys/block/%.64s/%.64s/dev", d->name, name);
    if (dev_read(s, path, &v.dev))
        volume_put(s, &v);
}

static void block_put(struct sysconfig *s, const char *name, void *ctx)
{
    struct sysconfig_storage_disk d = {.mounts = ctx, .name = name};
    char                          path[96];
    snprintf(path, sizeof path, "sys/block/%.64s/size", name);
    d.sectors = fact_number(s, path);
    snprintf(path, sizeof path, "sys/block/%.64s/queue/logical_block_size", name);
    d.sector = (uint32_t)fact_number(s, path);
    d.sector = d.sector ? d.sector : SECTOR;
    snprintf(path, sizeof path, "sys/block/%.64s/dev", name);
    if (!d.sectors || !dev_read(s, path, &d.dev))
        return; /* an empty drive, or an unused loop device */
    snprintf(path, sizeof path, "sys/block/%.64s", name);
    const bool volume = is_made_of_others(s, name);
    if (!volume) {
        fact_each(s, path, partition_count, &d);
        disk_put(s, &d);
        fact_each(s, path, partition_put, &d);
    }
    if (volume || (!d.partitions && sysconfig_storage_mount_of(d.mounts, d.dev, name)))
        volume_put(s, &(struct volume){&d, name, 0, d.sectors, d.dev, KIND_VOLUME, 0});
}

/* ---- mounts ---- */

/* "/boot/efi" -> "C:\boot\efi\" */
static void mapping_put(struct sysconfig *s, const struct storage_mount *m)
{
    char nt[200], dos[600];
    snprintf(nt, sizeof nt, "\\Device\\%s\\", m->source + 5);
    snprintf(dos, sizeof dos, "C:%s%s", m->at, m->at[1] ? "\\" : "");
    for (char *p = dos; *p; p++)
        if (*p == '/')
            *p = '\\';
    for (char *p = nt; *p; p++)
        if (*p == '/')
            *p = '\\';
    struct writer *w = config_begin(s);
    config_text(w, nt);
    config_text(w, dos);
    config_put_ex(s, 35);
}

void config_storage(struct sysconfig *s)
{
    struct sysconfig_storage_mounts mounts = {0};
    mounts_read(s, &mounts);
    fact_each(s, "sys/block", block_put, &mounts);
    for (unsigned i = 0; i < mounts.count; i++)
        if (mounts.list[i].whole)
            mapping_put(s, &mounts.list[i]);
    free(mounts.list);
}
