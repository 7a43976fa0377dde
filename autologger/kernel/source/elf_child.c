/* elf_child.c - within a helper (elf_helper.h): finds the file of a mapping. The helper is a copy of one thread of a
 * multithreaded process, so it allocates no memory and takes no lock of the library's.
 * A file is opened with O_PATH first: through a mapping's own link that asks no file system. The descriptor shows the
 * file system (mounts.h), which decides whether the file is opened at all. Paths are walked component by component,
 * without links, and each component has to be safe. */
#include "autologger/kernel/source/elf_helper.h"
#include "autologger/kernel/source/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INIT = 1, FILES = 1024 };
enum elf_child_look { LOOK_GONE, LOOK_FOUND, LOOK_RISKY, LOOK_REFUSED };
static struct elf_child_child {
    int             proc;
    bool            dares;
    struct mounts   mounts;
    struct elf_info file[FILES]; /* files already read, by device and inode */
    char            path[ELF_PATH + 64];
} child;

/* Is `pid` in another user namespace? There a user may mount an overlay over a file system of his own program. */
static bool is_foreign(uint32_t pid)
{
    char    path[40], theirs[64], ours[64];
    ssize_t n, m;
    snprintf(path, sizeof path, "%u/ns/user", pid);
    n = readlinkat(child.proc, path, theirs, sizeof theirs);
    m = readlinkat(child.proc, "self/ns/user", ours, sizeof ours);
    return n <= 0 || n != m || memcmp(theirs, ours, (size_t)n) != 0;
}

static enum elf_child_look risk(int fd, uint32_t pid, struct mount_file *file)
{
    if (!mounts_file(&child.mounts, fd, file))
        return LOOK_REFUSED;
    enum mount_kind own  = mounts_own(&child.mounts, file->id),
                    kind = own ? own : mounts_of(&child.mounts, pid, file->id);
    if (kind == MOUNT_PROGRAM)
        return LOOK_REFUSED;
    if (kind == MOUNT_LOCAL || (kind == MOUNT_STACKED && (own || !is_foreign(pid))))
        return LOOK_FOUND;
    return LOOK_RISKY;
}

/* Reads the ELF file of an O_PATH descriptor, or returns the cached result. */
static const struct elf_info *elf_of(int fd)
{
    struct stat st;
    char        path[40];
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return NULL;
    uint64_t         mtime = (uint64_t)st.st_mtim.tv_sec;
    struct elf_info *e     = &child.file[(st.st_ino ^ st.st_dev) % FILES];
    if (e->dev == st.st_dev && e->ino == st.st_ino && e->mtime == mtime)
        return e->valid ? e : NULL;
    *e = (struct elf_info){.dev = st.st_dev, .ino = st.st_ino, .mtime = mtime, .owner = st.st_uid};
    snprintf(path, sizeof path, "self/fd/%d", fd);
    int again = openat(child.proc, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (again >= 0) {
        e->valid = elf_read(again, e);
        close(again);
    }
    return e->valid ? e : NULL;
}

/* Is this the mapped file? `held`: it was opened through the mapping itself. */
static bool elf_child_is_wanted(const struct elf_question *q, const struct elf_info *e, const struct mount_file *file,
                                bool held)
{
    if (q->build_id_size)
        return e->build_id_size == q->build_id_size && memcmp(e->build_id, q->build_id, q->build_id_size) == 0;
    return q->inode ? (file->inode ? file->inode : e->ino) == q->inode : held;
}

/* Owns the descriptor. */
static enum elf_child_look examine(int fd, const struct elf_question *q, uint32_t pid, bool held, struct elf_info *out)
{
    struct mount_file   file;
    enum elf_child_look look = fd < 0 ? LOOK_GONE : risk(fd, pid, &file);
    if (look == LOOK_FOUND || (look == LOOK_RISKY && child.dares)) {
        const struct elf_info *e = elf_of(fd);
        look                     = !e ? LOOK_REFUSED : elf_child_is_wanted(q, e, &file, held) ? LOOK_FOUND : LOOK_GONE;
        if (look == LOOK_FOUND)
            *out = *e;
    }
    if (fd >= 0)
        close(fd);
    return look;
}

/* The file at a path below `root` (owned), the root of process `pid`, or of this process (0). -1: not there, or the
 * path is not safe. */
static int path_walk(int root, uint32_t pid, const char *path)
{
    struct mount_file file;
    char             *p  = child.path, *end;
    int               at = root;
    if (snprintf(p, sizeof child.path, "%s/", path) >= (int)sizeof child.path) {
        close(at);
        return -1;
    }
    for (; at >= 0 && (end = strchr(p, '/')); p = end + 1) {
        *end = 0;
        if (!*p)
            continue;
        int next = strcmp(p, "..") != 0 && risk(at, pid, &file) == LOOK_FOUND
                       ? openat(at, p, O_PATH | O_NOFOLLOW | O_CLOEXEC)
                       : -1;
        close(at);
        at = next;
    }
    return at;
}

/* The path as this process sees it, then as process 1 does: the early program's root is not the machine's. */
static enum elf_child_look at_path(const struct elf_question *q, const char *path, struct elf_info *out)
{
    int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), init;
    if (root >= 0 && examine(path_walk(root, 0, path), q, 0, false, out) == LOOK_FOUND)
        return LOOK_FOUND;
    init = openat(child.proc, "1/root", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return init >= 0 && examine(path_walk(init, INIT, path), q, INIT, false, out) == LOOK_FOUND ? LOOK_FOUND
                                                                                                : LOOK_GONE;
}

/* The path as the process itself sees it, through all of its mounts. */
static enum elf_child_look at_their_path(const struct elf_question *q, const char *path, struct elf_info *out)
{
    snprintf(child.path, sizeof child.path, "%u/root%s", q->pid, path);
    return examine(openat(child.proc, child.path, O_PATH | O_CLOEXEC), q, q->pid, false, out);
}

static enum elf_verdict look_for(const struct elf_question *q, const char *path, struct elf_info *out)
{
    char link[80];
    snprintf(link, sizeof link, "%u/map_files/%" PRIx64 "-%" PRIx64, q->pid, q->start, q->end);
    enum elf_child_look look = examine(openat(child.proc, link, O_PATH | O_CLOEXEC), q, q->pid, true, out);
    if (look == LOOK_FOUND || look == LOOK_REFUSED)
        return look == LOOK_FOUND ? ELF_FOUND : ELF_NOT_FOUND;
    if (!child.dares && at_path(q, path, out) == LOOK_FOUND)
        return ELF_FOUND;
    if (child.dares)
        return at_their_path(q, path, out) == LOOK_FOUND ? ELF_FOUND : ELF_NOT_FOUND;
    snprintf(link, sizeof link, "%u", q->pid);
    /* the process is gone, and its view of the files with it */
    return faccessat(child.proc, link, F_OK, 0) == 0 ? ELF_RISKY : ELF_NOT_FOUND;
}

_Noreturn void elf_child_run(int proc, int socket, bool dares)
{
    static union {
        struct elf_message message;
        char               bytes[sizeof(struct elf_message) + ELF_PATH];
    } in;
    ssize_t n;
    child.proc  = proc;
    child.dares = dares;
    mounts_open(&child.mounts, proc);
    while ((n = recv(socket, in.bytes, sizeof in.bytes - 1, 0)) > (ssize_t)sizeof in.message ||
           (n < 0 && errno == EINTR)) {
        if (n < 0)
            continue;
        in.bytes[n]            = 0;
        struct elf_reply reply = {.key = in.message.question.key};
        reply.verdict          = look_for(&in.message.question, in.bytes + sizeof in.message, &reply.info);
        if (send(socket, &reply, sizeof reply, MSG_NOSIGNAL) < 0)
            break;
    }
    _exit(0);
}
