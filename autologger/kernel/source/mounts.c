#include "autologger/kernel/source/mounts.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char     *name;
    enum mount_kind kind;
} mounts_types[] = {
#define MOUNT_TYPE(name, kind) {name, kind},
#include "autologger/kernel/source/mounts.def"
#undef MOUNT_TYPE
};
enum { TYPES = sizeof mounts_types / sizeof *mounts_types };

static enum mount_kind mounts_kind_of(const char *name, size_t length)
{
    const char *dot = memchr(name, '.', length);
    if (dot && dot - name == 4 && memcmp(name, "fuse", 4) == 0)
        length = 4;
    for (unsigned i = 0; i < TYPES; i++)
        if (strlen(mounts_types[i].name) == length && memcmp(mounts_types[i].name, name, length) == 0)
            return mounts_types[i].kind;
    return MOUNT_OTHER;
}

/* "36 35 98:0 /a /b rw,noatime shared:1 - ext4 /dev/vda rw": blanks in paths are octal, so " - " stands once before the
 * type. */
bool mount_row_parse(const char *line, struct mount_row *out)
{
    char         *end;
    unsigned long id   = strtoul(line, &end, 10);
    const char   *type = strstr(line, " - ");
    if (end == line || *end != ' ' || !type || id > UINT32_MAX)
        return false;
    type += 3;
    size_t length = strcspn(type, " \n");
    *out          = (struct mount_row){(uint32_t)id, mounts_kind_of(type, length)};
    return length > 0;
}

void mounts_open(struct mounts *m, int proc)
{
    m->proc  = proc;
    m->count = 0;
    m->fd    = -1;
}

void mounts_close(struct mounts *m)
{
    if (m->fd >= 0)
        close(m->fd);
    m->fd = -1;
}

/* Passes each row to `row` until it returns true; a line too long for the text is skipped. */
static void rows_read(struct mounts *m, int fd, bool (*row)(void *ctx, const struct mount_row *r), void *ctx)
{
    size_t  used = 0;
    ssize_t n;
    bool    cut = false; /* within a line that is too long */
    while ((n = read(fd, m->text + used, sizeof m->text - 1 - used)) > 0) {
        char            *line = m->text, *all = m->text + used + n, *end;
        struct mount_row r;
        for (; (end = memchr(line, '\n', (size_t)(all - line))); line = end + 1, cut = false) {
            *end = 0;
            if (!cut && mount_row_parse(line, &r) && row(ctx, &r))
                return;
        }
        used = (size_t)(all - line);
        memmove(m->text, line, used);
        if (used == sizeof m->text - 1) {
            used = 0;
            cut  = true;
        }
    }
}

static bool row_keep(void *ctx, const struct mount_row *r)
{
    struct mounts *m = ctx;
    if (m->count < MOUNTS_MOST)
        m->row[m->count++] = *r;
    return m->count == MOUNTS_MOST;
}

static bool mounts_row_find(void *ctx, const struct mount_row *r)
{
    struct mount_row *wanted = ctx;
    if (r->id == wanted->id)
        wanted->kind = r->kind;
    return r->id == wanted->id;
}

bool mounts_file(const struct mounts *m, int fd, struct mount_file *out)
{
    char path[40], text[1024];
    snprintf(path, sizeof path, "self/fdinfo/%d", fd);
    int     info = openat(m->proc, path, O_RDONLY | O_CLOEXEC);
    ssize_t n    = info < 0 ? -1 : read(info, text, sizeof text - 1);
    if (info >= 0)
        close(info);
    text[n > 0 ? n : 0] = 0;
    const char *id = strstr(text, "mnt_id:"), *inode = strstr(text, "\nino:");
    out->id    = id ? (uint32_t)strtoul(id + 7, NULL, 10) : 0;
    out->inode = inode ? strtoull(inode + 5, NULL, 10) : 0;
    return id != NULL;
}

enum mount_kind mounts_own(struct mounts *m, uint32_t id)
{
    struct pollfd p = {m->fd, POLLPRI, 0};
    if (m->fd < 0 || poll(&p, 1, 0) != 0) { /* never read, or changed since */
        if (m->fd < 0)
            m->fd = openat(m->proc, "self/mountinfo", O_RDONLY | O_CLOEXEC);
        m->count = 0;
        if (m->fd >= 0 && lseek(m->fd, 0, SEEK_SET) == 0)
            rows_read(m, m->fd, row_keep, m);
    }
    for (unsigned i = 0; i < m->count; i++)
        if (m->row[i].id == id)
            return m->row[i].kind;
    return MOUNT_UNKNOWN;
}

enum mount_kind mounts_of(struct mounts *m, uint32_t pid, uint32_t id)
{
    struct mount_row wanted = {id, MOUNT_UNKNOWN};
    char             path[40];
    snprintf(path, sizeof path, "%u/mountinfo", pid);
    int fd = openat(m->proc, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return MOUNT_UNKNOWN;
    rows_read(m, fd, mounts_row_find, &wanted);
    close(fd);
    return wanted.kind;
}
