/* user_mount - an unprivileged program that maps executable files which it serves itself: an overlay over a FUSE of its
 * own, in a user namespace of its own. The overlay reads its layers with its mounter's rights, so root's stat() of such
 * a file reaches this program, too. user_mount FOLDER silent|slow FILES
 *   silent  once all is mapped, no request is answered any more
 *   slow    once all is mapped, an answer takes 10 ms
 * Prints "mapped N", then "asked OPCODE PID" for each request of another process, until standard input ends.
 * Exit 77: no user namespace, FUSE or overlay for users here. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SKIP = 77, FIRST_FILE = 2, REQUEST = 1 << 17, ANSWER = REQUEST, PAGE = 4096, SLOW_US = 10000 };
static int         device, files;
static char       *program; /* content of all files: this program's own executable */
static size_t      program_size;
static atomic_bool mapped;
static bool        silent;

static _Noreturn void unable(const char *what)
{
    printf("unable %s: %s\n", what, strerror(errno));
    exit(SKIP);
}

static void answer(const struct fuse_in_header *in, int error, const void *body, size_t size)
{
    static char            out[ANSWER + sizeof(struct fuse_out_header)];
    struct fuse_out_header head = {(uint32_t)(sizeof head + size), error, in->unique};
    memcpy(out, &head, sizeof head);
    if (size)
        memcpy(out + sizeof head, body, size);
    if (write(device, out, head.len) < 0 && errno != ENOENT)
        printf("answer: %s\n", strerror(errno));
}

static struct fuse_attr attributes(uint64_t node)
{
    return (struct fuse_attr){.ino     = node,
                              .size    = node == 1 ? PAGE : program_size,
                              .mode    = node == 1 ? 040755 : 0100755,
                              .nlink   = 1,
                              .blksize = PAGE};
}

/* The root holds "0" to "FILES - 1". */
static void look_up(const struct fuse_in_header *in, const char *name)
{
    char                 *end;
    unsigned long         n   = strtoul(name, &end, 10);
    struct fuse_entry_out out = {.nodeid = FIRST_FILE + n, .attr = attributes(FIRST_FILE + n)};
    bool                  is  = end != name && !*end && n < (unsigned long)files;
    answer(in, is ? 0 : -ENOENT, &out, is ? sizeof out : 0);
}

static void read_file(const struct fuse_in_header *in, const struct fuse_read_in *r)
{
    size_t from = r->offset < program_size ? r->offset : program_size, left = program_size - from,
           size = r->size < left ? r->size : left;
    answer(in, 0, program + from, size < ANSWER ? size : ANSWER);
}

static void serve_one(const char *bytes)
{
    const struct fuse_in_header *in   = (const void *)bytes;
    const void                  *body = bytes + sizeof *in;
    struct fuse_init_out         init = {.major                = FUSE_KERNEL_VERSION,
                                         .minor                = 31,
                                         .max_readahead        = 65536,
                                         .max_background       = 12,
                                         .congestion_threshold = 9,
                                         .max_write            = 65536,
                                         .time_gran            = 1,
                                         .max_pages            = 16};
    struct fuse_attr_out         attr = {.attr = attributes(in->nodeid)};
    struct fuse_statfs_out       fs   = {
                .st = {.blocks = 1 << 20, .bfree = 1 << 20, .bavail = 1 << 20, .bsize = PAGE, .namelen = 255, .frsize = PAGE}};
    struct fuse_open_out open = {.fh = 1};
    switch (in->opcode) {
    case FUSE_INIT: answer(in, 0, &init, sizeof init); break;
    case FUSE_GETATTR: answer(in, 0, &attr, sizeof attr); break;
    case FUSE_STATFS: answer(in, 0, &fs, sizeof fs); break;
    case FUSE_LOOKUP: look_up(in, body); break;
    case FUSE_OPEN: answer(in, 0, &open, sizeof open); break;
    case FUSE_READ: read_file(in, body); break;
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT: break; /* these have no answer */
    default: answer(in, -ENOSYS, NULL, 0);
    }
}

static void *serve(void *ctx)
{
    static char bytes[REQUEST] __attribute__((aligned(8)));
    ssize_t     n;
    (void)ctx;
    while ((n = read(device, bytes, sizeof bytes)) > 0 || errno == EINTR) {
        const struct fuse_in_header *in = (const void *)bytes;
        if (n <= 0)
            continue;
        if (atomic_load(&mapped)) {
            printf("asked %u %u\n", in->opcode, in->pid);
            if (silent)
                continue;
            usleep(SLOW_US);
        }
        serve_one(bytes);
    }
    return NULL;
}

static void put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        unable(path);
    close(fd);
}

static void namespaces_enter(void)
{
    char     map[32];
    unsigned uid = getuid(), gid = getgid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        unable("unshare");
    put("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "0 %u 1", uid);
    put("/proc/self/uid_map", map);
    snprintf(map, sizeof map, "0 %u 1", gid);
    put("/proc/self/gid_map", map);
}

static void mount_all(const char *folder)
{
    static const char *const below[] = {"fuse", "upper", "work", "both"};
    char                     options[128];
    pthread_t                server;
    if (mount("tmpfs", folder, "tmpfs", 0, "") < 0 || chdir(folder) < 0)
        unable("tmpfs");
    for (unsigned i = 0; i < sizeof below / sizeof *below; i++)
        if (mkdir(below[i], 0755) < 0)
            unable("mkdir");
    device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
    if (device < 0 || mount("fuse", "fuse", "fuse", 0, options) < 0)
        unable("fuse");
    if (pthread_create(&server, NULL, serve, NULL) != 0)
        unable("thread");
    if (mount("overlay", "both", "overlay", 0, "lowerdir=fuse,upperdir=upper,workdir=work,userxattr") < 0)
        unable("overlay");
}

static void program_read(void)
{
    struct stat st;
    int         fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        unable("program");
    program_size = (size_t)st.st_size;
    program      = mmap(NULL, program_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (program == MAP_FAILED)
        unable("program");
    close(fd);
}

int main(int argc, char **argv)
{
    char path[32], end;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc != 4)
        return 100;
    silent = strcmp(argv[2], "silent") == 0;
    files  = atoi(argv[3]);
    program_read();
    namespaces_enter();
    mount_all(argv[1]);
    for (int i = 0; i < files; i++) {
        snprintf(path, sizeof path, "both/%d", i);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
            unable("map");
        close(fd);
    }
    atomic_store(&mapped, true);
    printf("mapped %d\n", files);
    while (read(0, &end, 1) > 0)
        ;
    _exit(0); /* the server does not end */
}
