/* power_vfs.h - for the power-cut test: an SQLite VFS that records writes, and the possible contents of a disk after a
 * cut. The model: each write since a file's last sync has arrived whole, not at all, or in some of its 512-byte
 * sectors, independently of the others and in any order; where a file has grown, missing sectors hold anything. A name
 * that was made or removed since the folder's last sync refers to its former or its present file. SQLite syncs the
 * folder with a new journal's first sync, and when a removal asks for it. */
#ifndef REGISTRY_SIM_STORE_TESTS_POWER_VFS_H
#define REGISTRY_SIM_STORE_TESTS_POWER_VFS_H
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECTOR = 512, NAMES = 4 };

struct disk_write {
    struct disk_write *next;
    int64_t            at;
    int                size; /* -1: the file is cut to `at` bytes */
    uint8_t            data[];
};
struct disk_file {
    uint8_t           *data; /* as of the last sync */
    int64_t            size;
    struct disk_write *first, *last; /* since then */
    bool               journal_made; /* its first sync syncs the folder too */
    struct disk_file  *older;        /* all files there ever were, as any may come back */
};
struct disk {
    char              name[NAMES][256];
    struct disk_file *synced[NAMES], *now[NAMES]; /* the file of a name; NULL: none */
    unsigned          names;
    struct disk_file *newest;
    unsigned long     steps;      /* writes, cuts, syncs, removals so far */
    bool              committing; /* a name is removed and the folder not synced yet: the moment of a commit */
    void (*step)(void);           /* called before each: a cut may happen here */
};
static struct disk disk;

static int disk_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (unsigned i = 0; i < disk.names; i++)
        if (strcmp(disk.name[i], name) == 0)
            return (int)i;
    if (disk.names == NAMES)
        abort();
    snprintf(disk.name[disk.names], sizeof disk.name[0], "%s", name);
    return (int)disk.names++;
}

static void disk_step(void)
{
    disk.steps++;
    if (disk.step)
        disk.step();
}

static void image_write(uint8_t **data, int64_t *size, const struct disk_write *w)
{
    int64_t end = w->size < 0 ? w->at : w->at + w->size;
    if (end > *size || w->size < 0) {
        *data = realloc(*data, (size_t)end + 1);
        if (end > *size)
            memset(*data + *size, 0, (size_t)(end - *size));
        *size = end;
    }
    if (w->size > 0)
        memcpy(*data + w->at, w->data, (size_t)w->size);
}

static void disk_sync(struct disk_file *f)
{
    for (struct disk_write *w = f->first, *next; w; w = next) {
        next = w->next;
        image_write(&f->data, &f->size, w);
        free(w);
    }
    f->first = f->last = NULL;
}

static void folder_sync(void) { memcpy(disk.synced, disk.now, sizeof disk.now); }

static void disk_note(struct disk_file *f, const void *data, int size, int64_t at)
{
    struct disk_write *w = malloc(sizeof *w + (size_t)(size > 0 ? size : 0));
    *w                   = (struct disk_write){.at = at, .size = size};
    if (size > 0)
        memcpy(w->data, data, (size_t)size);
    *(f->last ? &f->last->next : &f->first) = w;
    f->last                                 = w;
}

/* What `f` may hold after a cut now; malloc. */
static uint8_t *disk_image(const struct disk_file *f, int64_t *size, unsigned (*chance)(unsigned below))
{
    uint8_t *data = malloc((size_t)f->size + 1);
    *size         = f->size;
    if (f->size)
        memcpy(data, f->data, (size_t)f->size);
    for (const struct disk_write *w = f->first; w; w = w->next) {
        unsigned fate = chance(3);
        if (fate == 0)
            continue; /* this write never arrived */
        if (fate == 1 || w->size <= 0) {
            image_write(&data, size, w);
            continue;
        }
        for (int64_t at = w->at, end = w->at + w->size; at < end;) { /* some of its sectors */
            int64_t            stop = (at / SECTOR + 1) * SECTOR;
            int                n    = (int)((stop < end ? stop : end) - at);
            bool               here = chance(2), longer = at + n > *size;
            struct disk_write *part = malloc(sizeof *part + (size_t)n);
            *part                   = (struct disk_write){.at = at, .size = n};
            memcpy(part->data, w->data + (at - w->at), (size_t)n);
            if (!here && longer)
                memset(part->data, 0xA5, (size_t)n);
            if (here || longer)
                image_write(&data, size, part);
            free(part);
            at += n;
        }
    }
    return data;
}

/* ---- the VFS: passes everything on, and notes it ---- */

struct noted_file {
    sqlite3_file      base;
    struct disk_file *file;
    sqlite3_file     *real;
};
static sqlite3_vfs *real_vfs;

static sqlite3_file *real_of(sqlite3_file *f) { return ((struct noted_file *)f)->real; }

static int noted_close(sqlite3_file *f)
{
    sqlite3_file *r  = real_of(f);
    int           rc = r->pMethods ? r->pMethods->xClose(r) : SQLITE_OK;
    free(r);
    return rc;
}
static int noted_read(sqlite3_file *f, void *data, int size, sqlite3_int64 at)
{
    return real_of(f)->pMethods->xRead(real_of(f), data, size, at);
}
static int noted_write(sqlite3_file *f, const void *data, int size, sqlite3_int64 at)
{
    disk_step();
    disk_note(((struct noted_file *)f)->file, data, size, at);
    return real_of(f)->pMethods->xWrite(real_of(f), data, size, at);
}
static int noted_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    disk_step();
    disk_note(((struct noted_file *)f)->file, NULL, -1, size);
    return real_of(f)->pMethods->xTruncate(real_of(f), size);
}
static int noted_sync(sqlite3_file *f, int flags)
{
    struct disk_file *file = ((struct noted_file *)f)->file;
    (void)flags;
    disk_step();
    disk_sync(file);
    if (file->journal_made)
        folder_sync();
    file->journal_made = false;
    return SQLITE_OK; /* the test's own files need not survive anything */
}
static int noted_size(sqlite3_file *f, sqlite3_int64 *size)
{
    return real_of(f)->pMethods->xFileSize(real_of(f), size);
}
static int noted_lock(sqlite3_file *f, int kind) { return real_of(f)->pMethods->xLock(real_of(f), kind); }
static int noted_unlock(sqlite3_file *f, int kind) { return real_of(f)->pMethods->xUnlock(real_of(f), kind); }
static int noted_reserved(sqlite3_file *f, int *out)
{
    return real_of(f)->pMethods->xCheckReservedLock(real_of(f), out);
}
static int noted_control(sqlite3_file *f, int op, void *arg)
{
    return real_of(f)->pMethods->xFileControl(real_of(f), op, arg);
}
static int noted_sector(sqlite3_file *f) { return real_of(f)->pMethods->xSectorSize(real_of(f)); }
static int noted_traits(sqlite3_file *f) { return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f)); }

static int noted_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *f, int flags, int *out_flags)
{
    static const sqlite3_io_methods methods = {1,
                                               noted_close,
                                               noted_read,
                                               noted_write,
                                               noted_truncate,
                                               noted_sync,
                                               noted_size,
                                               noted_lock,
                                               noted_unlock,
                                               noted_reserved,
                                               noted_control,
                                               noted_sector,
                                               noted_traits,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL};
    struct noted_file              *n       = (struct noted_file *)f;
    (void)vfs;
    n->base.pMethods = NULL;
    if (!path)
        return SQLITE_CANTOPEN; /* no temporary files: SQLite is told to keep them in memory */
    n->real = calloc(1, (size_t)real_vfs->szOsFile);
    int rc  = real_vfs->xOpen(real_vfs, path, n->real, flags, out_flags);
    if (rc != SQLITE_OK) {
        free(n->real);
        return rc;
    }
    int name = disk_name(path);
    if (!disk.now[name]) {
        disk.now[name]               = calloc(1, sizeof *disk.now[name]);
        disk.now[name]->journal_made = (flags & SQLITE_OPEN_MAIN_JOURNAL) != 0;
        disk.now[name]->older        = disk.newest;
        disk.newest                  = disk.now[name];
    }
    n->file          = disk.now[name];
    n->base.pMethods = &methods;
    return SQLITE_OK;
}
static int noted_delete(sqlite3_vfs *vfs, const char *path, int sync_folder)
{
    (void)vfs;
    disk_step();
    int rc = real_vfs->xDelete(real_vfs, path, 0);
    if (rc == SQLITE_OK) {
        disk.now[disk_name(path)] = NULL; /* its file may come back */
        if (sync_folder) {
            disk.committing = true;
            disk_step();
            disk.committing = false;
            folder_sync();
        }
    }
    return rc;
}

/* From now on the default VFS. */
static void power_vfs_register(void)
{
    static sqlite3_vfs vfs;
    real_vfs     = sqlite3_vfs_find(NULL);
    vfs          = *real_vfs;
    vfs.pNext    = NULL;
    vfs.zName    = "noted";
    vfs.szOsFile = sizeof(struct noted_file);
    vfs.xOpen    = noted_open;
    vfs.xDelete  = noted_delete;
    sqlite3_vfs_register(&vfs, 1);
}
#endif
