/* os_fake.c - see os_fake.h. Shared memory is real (a memfd), so that it can be mapped; file descriptors of the fake
 * start at FIRST_FD, and lower ones go to the real machine. */
#include "registry-sim/base/os_fake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FIRST_FD = 1 << 20, MAX_LINKS = 8 };

struct os_fake_node {
    char    *path;   /* NULL: unlinked, but still open */
    char    *target; /* of a link */
    uint8_t *data;
    uint64_t size;
    uint64_t inode;
    unsigned mode; /* with its type */
    unsigned open; /* descriptors */
    unsigned volume;
};
struct os_fake_file {
    struct os_fake_node *node; /* NULL: free */
    int                  flags;
};

static struct os_fake *fake_of(struct os *os) { return os->self; }

/* Counts the call, and decides whether it fails: 0 or -errno. */
static int os_fake_called(struct os_fake *f, enum os_fake_call call)
{
    f->calls[call]++;
    if (!f->fail[call].at || --f->fail[call].at)
        return 0;
    if (f->fail[call].forever)
        f->fail[call].at = 1;
    return -f->fail[call].error;
}

/* ---- nodes ---- */

static struct os_fake_node *os_fake_find(struct os_fake *f, const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    for (unsigned i = 0; i < f->node_count; i++)
        if (f->nodes[i]->path && strlen(f->nodes[i]->path) == n && memcmp(f->nodes[i]->path, path, n) == 0)
            return f->nodes[i];
    return NULL;
}

static struct os_fake_node *follow(struct os_fake *f, const char *path, int *error)
{
    struct os_fake_node *node = os_fake_find(f, path);
    for (int i = 0; node && node->target; node = os_fake_find(f, node->target))
        if (i++ == MAX_LINKS) {
            *error = -ELOOP;
            return NULL;
        }
    *error = -ENOENT;
    return node;
}

static bool os_fake_is_below(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == 0 || (n == 1 && *folder == '/'));
}

static unsigned os_fake_volume_of(const struct os_fake *f, const char *path)
{
    unsigned best = 0;
    for (unsigned i = 1; i < f->volume_count; i++)
        if (os_fake_is_below(path, f->volumes[i].prefix) &&
            strlen(f->volumes[i].prefix) > strlen(f->volumes[best].prefix))
            best = i;
    return best;
}

/* Is there a folder to put `path` into? 0, -ENOENT or -ENOTDIR, as from the kernel. */
static int parent_check(struct os_fake *f, const char *path)
{
    char *up    = strdup(path), *slash;
    int   error = -ENOMEM;
    if (up && (slash = strrchr(up, '/'))) {
        slash[slash == up]        = 0;
        struct os_fake_node *node = follow(f, up, &error);
        error                     = !node ? error : S_ISDIR(node->mode) ? 0 : -ENOTDIR;
        /* a file further up gives ENOTDIR too */
        while (error == -ENOENT && (slash = strrchr(up, '/')) && slash > up) {
            *slash = 0;
            node   = os_fake_find(f, up);
            if (node && S_ISREG(node->mode))
                error = -ENOTDIR;
        }
    } else if (up) {
        error = -ENOENT; /* relative */
    }
    free(up);
    return error;
}

static void node_free(struct os_fake *f, struct os_fake_node *node)
{
    for (unsigned i = 0; i < f->node_count; i++)
        if (f->nodes[i] == node)
            f->nodes[i] = f->nodes[--f->node_count];
    f->volumes[node->volume].used -= node->size;
    free(node->path);
    free(node->target);
    free(node->data);
    free(node);
}

static struct os_fake_node *node_add(struct os_fake *f, const char *path, unsigned mode)
{
    struct os_fake_node **nodes = realloc(f->nodes, (f->node_count + 1) * sizeof(struct os_fake_node *));
    struct os_fake_node  *node  = calloc(1, sizeof *node);
    if (nodes)
        f->nodes = nodes;
    if (!nodes || !node || !(node->path = strdup(path))) {
        free(node);
        return NULL;
    }
    for (size_t n = strlen(path); n > 1 && node->path[n - 1] == '/'; n--)
        node->path[n - 1] = 0;
    node->mode                = mode;
    node->inode               = ++f->inodes;
    node->volume              = os_fake_volume_of(f, path);
    f->nodes[f->node_count++] = node;
    return node;
}

static int log_created(struct os_fake *f, const char *path)
{
    char **list = realloc(f->created, (f->created_count + 1) * sizeof *list);
    if (!list)
        return -ENOMEM;
    f->created = list;
    if (!(list[f->created_count] = strdup(path)))
        return -ENOMEM;
    f->created_count++;
    return 0;
}

static int create_node(struct os_fake *f, const char *path, unsigned mode, struct os_fake_node **out)
{
    int r = parent_check(f, path);
    if (r == 0 && f->volumes[os_fake_volume_of(f, path)].read_only)
        r = -EROFS;
    if (r == 0)
        r = log_created(f, path);
    if (r == 0 && !(*out = node_add(f, path, mode)))
        r = -ENOMEM;
    return r;
}

/* Gives the file `size` bytes as far as its volume has room; the new ones are zero. Returns the size reached. */
static uint64_t resize(struct os_fake *f, struct os_fake_node *node, uint64_t size)
{
    struct os_fake_volume *v    = &f->volumes[node->volume];
    uint64_t               room = v->capacity > v->used ? v->capacity - v->used : 0;
    if (size > node->size && size - node->size > room)
        size = node->size + room;
    uint8_t *data = realloc(node->data, size + 1);
    if (!data)
        return node->size;
    if (size > node->size)
        memset(data + node->size, 0, size - node->size);
    v->used    = v->used + size - node->size;
    node->data = data;
    node->size = size;
    return size;
}

/* ---- descriptors ---- */

static struct os_fake_file *file_get(struct os_fake *f, int fd)
{
    unsigned at = (unsigned)(fd - FIRST_FD);
    return fd >= FIRST_FD && at < f->file_count && f->files[at].node ? &f->files[at] : NULL;
}

static int os_fake_file_add(struct os_fake *f, struct os_fake_node *node, int flags)
{
    unsigned at = 0;
    while (at < f->file_count && f->files[at].node)
        at++;
    if (at == f->file_count) {
        struct os_fake_file *files = realloc(f->files, (at + 1) * sizeof *files);
        if (!files)
            return -ENOMEM;
        f->files = files;
        f->file_count++;
    }
    f->files[at] = (struct os_fake_file){node, flags};
    node->open++;
    return FIRST_FD + (int)at;
}

static int fake_open(struct os *os, const char *path, int flags, unsigned mode)
{
    struct os_fake      *f     = fake_of(os);
    int                  r     = os_fake_called(f, FAKE_OPEN), error;
    bool                 write = (flags & O_ACCMODE) != O_RDONLY;
    struct os_fake_node *link = os_fake_find(f, path), *node = follow(f, path, &error);

    if (r < 0)
        return r;
    if (link && link->target && (flags & O_NOFOLLOW))
        return -ELOOP;
    if (link && (flags & O_CREAT) && (flags & O_EXCL))
        return -EEXIST;
    if (!node && error == -ELOOP)
        return error;
    if (!node && !(flags & O_CREAT))
        return (r = parent_check(f, path)) < 0 ? r : -ENOENT;
    if (!node && (r = create_node(f, link && link->target ? link->target : path, S_IFREG | (mode & 07777), &node)) < 0)
        return r;
    if (S_ISDIR(node->mode) ? write : (flags & O_DIRECTORY) != 0)
        return write ? -EISDIR : -ENOTDIR;
    if (write && f->volumes[node->volume].read_only)
        return -EROFS;
    if (write && (flags & O_TRUNC))
        resize(f, node, 0);
    return os_fake_file_add(f, node, flags);
}

static int fake_close(struct os *os, int fd)
{
    struct os_fake      *f    = fake_of(os);
    struct os_fake_file *file = file_get(f, fd);
    if (!file)
        return fd < FIRST_FD ? os_linux()->close(os_linux(), fd) : -EBADF;
    struct os_fake_node *node = file->node;
    file->node                = NULL;
    if (--node->open == 0 && !node->path)
        node_free(f, node);
    return 0;
}

static ssize_t fake_pread(struct os *os, int fd, void *data, size_t size, uint64_t offset)
{
    struct os_fake      *f    = fake_of(os);
    struct os_fake_file *file = file_get(f, fd);
    int                  r    = os_fake_called(f, FAKE_PREAD);
    if (r < 0)
        return r;
    if (!file)
        return fd < FIRST_FD ? os_linux()->pread(os_linux(), fd, data, size, offset) : -EBADF;
    if (S_ISDIR(file->node->mode))
        return -EISDIR;
    if ((file->flags & O_ACCMODE) == O_WRONLY)
        return -EBADF;
    if (offset >= file->node->size)
        return 0;
    if (size > file->node->size - offset)
        size = (size_t)(file->node->size - offset);
    memcpy(data, file->node->data + offset, size);
    return (ssize_t)size;
}

static ssize_t fake_pwrite(struct os *os, int fd, const void *data, size_t size, uint64_t offset)
{
    struct os_fake      *f    = fake_of(os);
    struct os_fake_file *file = file_get(f, fd);
    int                  r    = os_fake_called(f, FAKE_PWRITE);
    if (r < 0)
        return r;
    if (!file)
        return fd < FIRST_FD ? os_linux()->pwrite(os_linux(), fd, data, size, offset) : -EBADF;
    if ((file->flags & O_ACCMODE) == O_RDONLY)
        return -EBADF;
    if (f->volumes[file->node->volume].read_only)
        return -EROFS;
    if (f->max_write && size > f->max_write)
        size = f->max_write;
    if (size && offset + size > file->node->size) {
        uint64_t reached = resize(f, file->node, offset + size); /* F2 */
        if (reached <= offset)
            return -ENOSPC;
        size = (size_t)(reached - offset);
    }
    if (size)
        memcpy(file->node->data + offset, data, size);
    return (ssize_t)size;
}

static int fake_ftruncate(struct os *os, int fd, uint64_t size)
{
    struct os_fake      *f    = fake_of(os);
    struct os_fake_file *file = file_get(f, fd);
    int                  r    = os_fake_called(f, FAKE_FTRUNCATE);
    if (r < 0)
        return r;
    if (!file)
        return fd < FIRST_FD ? os_linux()->ftruncate(os_linux(), fd, size) : -EBADF;
    if ((file->flags & O_ACCMODE) == O_RDONLY)
        return -EINVAL;
    uint64_t before = file->node->size;
    if (resize(f, file->node, size) == size)
        return 0;
    resize(f, file->node, before);
    return -ENOSPC;
}

static int fake_fsync(struct os *os, int fd)
{
    struct os_fake *f = fake_of(os);
    int             r = os_fake_called(f, FAKE_FSYNC);
    if (r < 0)
        return r;
    return file_get(f, fd) ? 0 : fd < FIRST_FD ? os_linux()->fsync(os_linux(), fd) : -EBADF;
}

/* A fake machine has one writer of a file. */
static int fake_lock(struct os *os, int fd, bool on)
{
    return file_get(fake_of(os), fd) ? 0 : fd < FIRST_FD ? os_linux()->lock(os_linux(), fd, on) : -EBADF;
}

/* ---- names ---- */

static int fake_mkdir(struct os *os, const char *path, unsigned mode)
{
    struct os_fake      *f = fake_of(os);
    struct os_fake_node *node;
    int                  r = os_fake_called(f, FAKE_MKDIR);
    if (r == 0 && os_fake_find(f, path))
        r = -EEXIST;
    return r < 0 ? r : create_node(f, path, S_IFDIR | (mode & 07777), &node);
}

static void os_fake_forget(struct os_fake *f, struct os_fake_node *node)
{
    free(node->path);
    node->path = NULL;
    if (!node->open)
        node_free(f, node);
}

static int fake_unlink(struct os *os, const char *path)
{
    struct os_fake      *f    = fake_of(os);
    struct os_fake_node *node = os_fake_find(f, path);
    int                  r    = os_fake_called(f, FAKE_UNLINK);
    if (r < 0)
        return r;
    if (!node)
        return (r = parent_check(f, path)) < 0 ? r : -ENOENT;
    if (S_ISDIR(node->mode))
        return -EISDIR;
    if (f->volumes[node->volume].read_only)
        return -EROFS;
    os_fake_forget(f, node);
    return 0;
}

static int fake_rename(struct os *os, const char *from, const char *to)
{
    struct os_fake      *f    = fake_of(os);
    struct os_fake_node *node = os_fake_find(f, from), *old = os_fake_find(f, to);
    int                  r = os_fake_called(f, FAKE_RENAME);
    if (r < 0 || !node)
        return r < 0 ? r : -ENOENT;
    if (S_ISDIR(node->mode))
        return -ENOSYS; /* no caller renames folders */
    if ((r = parent_check(f, to)) < 0)
        return r;
    if (f->volumes[node->volume].read_only)
        return -EROFS;
    if (os_fake_volume_of(f, to) != node->volume)
        return -EXDEV;
    if (old == node)
        return 0;
    if (old && S_ISDIR(old->mode))
        return -EISDIR;
    char *path = strdup(to);
    if (!path)
        return -ENOMEM;
    if (old)
        os_fake_forget(f, old);
    free(node->path);
    node->path = path;
    return 0;
}

static int os_fake_fill(struct os_fake *f, const char *path, const struct os_fake_node *node, int error,
                        struct os_stat *out)
{
    int r = os_fake_called(f, FAKE_STAT);
    if (r == 0 && !node)
        r = error == -ELOOP ? error : (r = parent_check(f, path)) < 0 ? r : -ENOENT;
    if (r == 0)
        *out =
            (struct os_stat){.size = node->size, .device = node->volume + 1u, .inode = node->inode, .mode = node->mode};
    return r;
}

static int fake_stat(struct os *os, const char *path, struct os_stat *out)
{
    int                        error;
    const struct os_fake_node *node = follow(fake_of(os), path, &error);
    return os_fake_fill(fake_of(os), path, node, error, out);
}

static int fake_lstat(struct os *os, const char *path, struct os_stat *out)
{
    return os_fake_fill(fake_of(os), path, os_fake_find(fake_of(os), path), -ENOENT, out);
}

static int fake_space(struct os *os, const char *path, struct os_space *out)
{
    struct os_fake *f = fake_of(os);
    int             error;
    if (!follow(f, path, &error))
        return error;
    const struct os_fake_volume *v = &f->volumes[os_fake_volume_of(f, path)];
    *out                           = (struct os_space){.free_bytes  = v->capacity > v->used ? v->capacity - v->used : 0,
                                                       .total_bytes = v->capacity,
                                                       .read_only   = v->read_only};
    return 0;
}

/* ---- the machine ---- */

static uint64_t fake_realtime(struct os *os)
{
    struct os_fake *f = fake_of(os);
    f->raw_ns += f->step_ns;
    return f->realtime_ns += f->step_ns;
}
static uint64_t fake_raw(struct os *os)
{
    struct os_fake *f = fake_of(os);
    f->realtime_ns += f->step_ns;
    return f->raw_ns += f->step_ns;
}
static int      fake_cpu_count(struct os *os) { return fake_of(os)->cpu_count; }
static uint64_t fake_ram(struct os *os) { return fake_of(os)->ram_bytes; }
static int      fake_shm_create(struct os *os, const char *name, uint64_t size, uint64_t populate)
{
    struct os_fake *f = fake_of(os);
    int             r = os_fake_called(f, FAKE_SHM);
    if (r < 0)
        return r;
    if (populate > f->shm_bytes)
        return -ENOMEM;
    r = os_linux()->shm_create(os_linux(), name, size, 0); /* tests must not fill the real machine's memory */
    if (r >= 0)
        f->shm_bytes -= populate;
    return r;
}

static const struct os os_fake_calls = {
    .open        = fake_open,
    .close       = fake_close,
    .pread       = fake_pread,
    .pwrite      = fake_pwrite,
    .ftruncate   = fake_ftruncate,
    .allocate    = fake_ftruncate,
    .fsync       = fake_fsync,
    .lock        = fake_lock,
    .mkdir       = fake_mkdir,
    .unlink      = fake_unlink,
    .rename      = fake_rename,
    .stat        = fake_stat,
    .lstat       = fake_lstat,
    .space       = fake_space,
    .realtime_ns = fake_realtime,
    .raw_ns      = fake_raw,
    .cpu_count   = fake_cpu_count,
    .ram_bytes   = fake_ram,
    .shm_create  = fake_shm_create,
};

struct os_fake *os_fake_create(void)
{
    struct os_fake *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->os           = os_fake_calls;
    f->os.self      = f;
    f->realtime_ns  = UINT64_C(1700000000000000000);
    f->raw_ns       = UINT64_C(1000000000);
    f->cpu_count    = 4;
    f->ram_bytes    = UINT64_C(8) << 30;
    f->shm_bytes    = UINT64_C(8) << 30;
    f->volumes[0]   = (struct os_fake_volume){.prefix = "/", .capacity = UINT64_C(1) << 50};
    f->volume_count = 1;
    if (node_add(f, "/", S_IFDIR | 0755))
        return f;
    os_fake_destroy(f);
    return NULL;
}

void os_fake_destroy(struct os_fake *f)
{
    if (!f)
        return;
    while (f->node_count)
        node_free(f, f->nodes[0]);
    for (unsigned i = 0; i < f->created_count; i++)
        free(f->created[i]);
    free(f->created);
    free(f->nodes);
    free(f->files);
    free(f);
}

/* ---- what a test puts there ---- */

int os_fake_put_folder(struct os_fake *f, const char *path)
{
    char                 part[4096];
    struct os_fake_node *node;
    if (snprintf(part, sizeof part, "%s/", path) >= (int)sizeof part)
        return -ENAMETOOLONG;
    for (char *p = strchr(part + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = 0;
        if ((node = os_fake_find(f, part)) ? !S_ISDIR(node->mode) : !node_add(f, part, S_IFDIR | 0755))
            return node ? -ENOTDIR : -ENOMEM;
        *p = '/';
    }
    return 0;
}

/* The node at `path`; created with its folders when it is missing. */
static struct os_fake_node *base_os_fake_put(struct os_fake *f, const char *path, unsigned mode)
{
    char                 up[4096];
    struct os_fake_node *node = os_fake_find(f, path);
    const char          *last = strrchr(path, '/');
    if (node || !last)
        return node;
    snprintf(up, sizeof up, "%.*s", (int)(last - path), path);
    return last > path && os_fake_put_folder(f, up) < 0 ? NULL : node_add(f, path, mode);
}

int os_fake_put(struct os_fake *f, const char *path, const void *data, size_t size)
{
    struct os_fake_node *node = base_os_fake_put(f, path, S_IFREG | 0644);
    if (!node)
        return -ENOMEM;
    if (resize(f, node, size) != size)
        return -ENOSPC;
    if (size)
        memcpy(node->data, data, size);
    return 0;
}

int os_fake_put_link(struct os_fake *f, const char *path, const char *target)
{
    struct os_fake_node *node = base_os_fake_put(f, path, S_IFLNK | 0777);
    if (!node || !(node->target = strdup(target)))
        return -ENOMEM;
    return 0;
}

struct os_fake_volume *os_fake_mount(struct os_fake *f, const char *prefix, uint64_t capacity, bool read_only)
{
    if (f->volume_count == sizeof f->volumes / sizeof *f->volumes)
        return NULL;
    struct os_fake_volume *v = &f->volumes[f->volume_count++];
    *v                       = (struct os_fake_volume){.prefix = prefix, .capacity = capacity, .read_only = read_only};
    return os_fake_put_folder(f, prefix) == 0 ? v : NULL;
}

const uint8_t *os_fake_bytes(struct os_fake *f, const char *path, size_t *size)
{
    int                        error;
    const struct os_fake_node *node = follow(f, path, &error);
    if (!node || !S_ISREG(node->mode))
        return NULL;
    *size = (size_t)node->size;
    return node->data ? node->data : (const uint8_t *)"";
}

unsigned os_fake_open_files(const struct os_fake *f)
{
    unsigned count = 0;
    for (unsigned i = 0; i < f->file_count; i++)
        count += f->files[i].node != NULL;
    return count;
}
