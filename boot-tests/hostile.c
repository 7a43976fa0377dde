/* hostile - clients that mean harm, at a real daemon's control socket; without the library, by hand.
 * hostile RUNTIME_DIR KIND COUNT [PROVIDER|PORT]
 *   oversize     COUNT frames of 1 byte to 256 KB, with false sizes
 *   silent       COUNT connections that send nothing, held until standard input ends; prints "held N"
 *   descriptors  COUNT messages with descriptors whose close() waits: sockets that linger, of PORT, where nobody reads.
 *                With the daemon stopped
 *   deaf         COUNT requests whose answers are never read
 *   scribble     COUNT rounds: attaches as a provider, overwrites all memory that it was given, and tries to write to
 *                memory that it may only read
 * Prints what it did; exit 0: did it all, 2: something was allowed that must not be. */
#include "autologger/wire/control.h"
#include "autologger/wire/shm.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const char *folder;
static uint64_t    seed = 88172645463325252u;

static uint64_t dice(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static int dial(void)
{
    struct sockaddr_un a  = {.sun_family = AF_UNIX};
    int                fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    snprintf(a.sun_path, sizeof a.sun_path, "%s/control", folder);
    for (int tries = 0; fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) < 0; tries++) {
        if ((errno != EAGAIN && errno != EINTR) || tries > 10000) {
            close(fd);
            return -1;
        }
        usleep(1000);
    }
    return fd;
}

/* The next message of that type, its descriptors in fds[3]; false: the connection is over, or 5 s passed. */
static bool await(int fd, unsigned type, uint8_t *message, int fds[3])
{
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        union {
            struct cmsghdr align;
            char           space[CMSG_SPACE(8 * sizeof(int))];
        } control;
        struct iovec  io = {message, CTL_MAX};
        struct msghdr m  = {
             .msg_iov = &io, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
        if (poll(&p, 1, 5000) <= 0 || recvmsg(fd, &m, MSG_CMSG_CLOEXEC) <= 0)
            return false;
        int      got[8];
        unsigned n = 0;
        for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
            for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int) && n < 8; i++)
                memcpy(&got[n++], CMSG_DATA(c) + i * sizeof(int), sizeof(int));
        const bool wanted = ((const struct ctl_header *)(const void *)message)->type == type;
        for (unsigned i = 0; i < n; i++)
            if (wanted && fds && i < 3)
                fds[i] = got[i];
            else
                close(got[i]);
        if (wanted)
            return true;
    }
}

static bool greet(int fd, uint8_t *message, int directory[3])
{
    struct ctl_hello h = {
        .header = {sizeof h, CTL_HELLO, CTL_VERSION, 1, 0}, .highest_version = CTL_VERSION, .shm_major = SHM_MAJOR};
    return send(fd, &h, sizeof h, MSG_NOSIGNAL) == sizeof h && await(fd, CTL_HELLO, message, directory);
}

/* A greeted connection. The daemon hangs up on a user who asks this often: dials again. */
static int dial_greeted(uint8_t *message, int directory[3])
{
    enum { TRIES = 1200, PAUSE_US = 50000 };
    for (unsigned i = 0; i < TRIES; i++) {
        const int fd = dial();
        if (fd >= 0 && greet(fd, message, directory))
            return fd;
        if (fd >= 0)
            close(fd);
        usleep(PAUSE_US);
    }
    return -1;
}

static int oversize(unsigned count)
{
    static uint8_t bytes[256 * 1024] __attribute__((aligned(8)));
    unsigned       dropped = 0;
    for (unsigned i = 0; i < count; i++) {
        int    fd = dial(), room = sizeof bytes * 2;
        size_t size = 1 + (size_t)(dice() % sizeof bytes);
        if (fd < 0)
            return 1;
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
        for (size_t k = 0; k < 64; k++)
            bytes[k] = (uint8_t)dice();
        struct ctl_header h = {(uint32_t)(i & 1 ? size : dice()), (uint16_t)(dice() % 80), CTL_VERSION, 1, 0};
        memcpy(bytes, &h, sizeof h);
        dropped += send(fd, bytes, size, MSG_NOSIGNAL) < 0;
        send(fd, bytes, 0, MSG_NOSIGNAL);
        close(fd);
    }
    printf("frames %u refused_by_kernel %u\n", count, dropped);
    return 0;
}

static int silent(unsigned count)
{
    unsigned held = 0;
    char     end;
    for (unsigned i = 0; i < count; i++) {
        int fd = dial();
        held += fd >= 0;
    }
    printf("held %u\n", held);
    fflush(stdout);
    return read(0, &end, 1) < 0;
}

/* A TCP connection whose close() would wait a minute for data that nobody reads. */
static int lingering(uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct linger      l = {1, 60};
    static uint8_t     junk[65536];
    int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l);
    while (send(fd, junk, sizeof junk, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
        ;
    return fd;
}

static bool pass(int to, const void *message, size_t size, int fd, unsigned copies)
{
    enum { MOST = 64 };
    union {
        struct cmsghdr align;
        char           space[CMSG_SPACE(MOST * sizeof(int))];
    } control          = {0};
    struct iovec    io = {(void *)(uintptr_t)message, size};
    struct msghdr   m  = {.msg_iov        = &io,
                          .msg_iovlen     = 1,
                          .msg_control    = control.space,
                          .msg_controllen = CMSG_SPACE(copies * sizeof(int))};
    struct cmsghdr *c  = CMSG_FIRSTHDR(&m);
    c->cmsg_level      = SOL_SOCKET;
    c->cmsg_type       = SCM_RIGHTS;
    c->cmsg_len        = CMSG_LEN(copies * sizeof(int));
    for (unsigned i = 0; i < copies && i < MOST; i++)
        memcpy(CMSG_DATA(c) + i * sizeof(int), &fd, sizeof fd);
    return sendmsg(to, &m, MSG_NOSIGNAL) >= 0;
}

static int descriptors(unsigned count, uint16_t port)
{
    unsigned passed = 0;
    for (unsigned i = 0; i < count; i++) {
        struct ctl_header h   = {sizeof h, CTL_STATE, CTL_VERSION, 1, 0};
        const uint8_t     bad = 0;
        int               fd = dial(), socket_fd = lingering(port);
        if (fd < 0 || socket_fd < 0)
            return 1;
        /* with a good message; many at once; behind a bad message, unread when the connection is dropped */
        switch (i % 3) {
        case 0: passed += pass(fd, &h, sizeof h, socket_fd, 1); break;
        case 1: passed += pass(fd, &h, sizeof h, socket_fd, 60); break;
        default: send(fd, &bad, 1, MSG_NOSIGNAL); passed += pass(fd, &h, sizeof h, socket_fd, 1);
        }
    } /* exit closes them without waiting: the daemon, stopped meanwhile, then holds the last references */
    printf("passed %u\n", passed);
    return 0;
}

static int deaf(unsigned count)
{
    static uint8_t             message[CTL_MAX] __attribute__((aligned(8)));
    struct ctl_session_request r    = {.header = {sizeof r, CTL_PROVIDERS, CTL_VERSION, 9, 0}};
    unsigned                   sent = 0;
    while (sent < count) {
        int fd = dial_greeted(message, NULL);
        if (fd < 0)
            return 1;
        for (unsigned i = 0; i < 2000 && sent < count && send(fd, &r, sizeof r, MSG_NOSIGNAL) >= 0; i++)
            sent++;
        close(fd);
        sent++;
    }
    printf("sent %u\n", sent);
    return 0;
}

/* Can read-only memory be written: by this descriptor, by reopening it, by changing its mode, size or seals? */
static bool may_write(int fd)
{
    char  path[64];
    void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int again = open(path, O_RDWR | O_CLOEXEC);
    if (map != MAP_FAILED)
        munmap(map, 4096);
    if (again >= 0)
        close(again);
    return map != MAP_FAILED || again >= 0 || fchmod(fd, 0666) == 0 || ftruncate(fd, 0) == 0 ||
           fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0;
}

/* Can what a successor of the daemon needs be changed: the memory's size, and that it can be mapped? */
static bool may_spoil(int fd, off_t size)
{
    return ftruncate(fd, 0) == 0 || ftruncate(fd, size * 2) == 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == 0 ||
           fchmod(fd, 0) == 0;
}

static void scribble_over(uint8_t *data, size_t size)
{
    struct shm_data *h       = (void *)data;
    const uint32_t   streams = h->stream_count <= 4096 ? h->stream_count : 8;
    for (unsigned i = 0; i < 64; i++) { /* anywhere, mostly among the positions and the first chunks */
        size_t at = (size_t)(dice() % (dice() & 1 ? size : size < 65536 ? size : 65536)) & ~(size_t)7;
        if (at + 8 <= size)
            __atomic_store_n((uint64_t *)(void *)(data + at), dice(), __ATOMIC_RELAXED);
    }
    for (uint32_t s = 0; s < streams && h->stream_offset < size - sizeof(struct shm_stream) * (s + 1); s++) {
        struct shm_stream    *stream = (void *)(data + h->stream_offset + sizeof *stream * s);
        static const uint64_t far[]  = {0, 1, 7, 64, 4096, UINT64_MAX, SHM_CLOSED, UINT64_C(1) << 62, 65528};
        const uint64_t        w      = far[dice() % 9];
        stream->wpos                 = dice() & 1 ? w : stream->wpos + (dice() % 8192 & ~UINT64_C(7));
        stream->lost                 = dice() & 1 ? dice() : stream->lost;
    }
    if (h->chunk_offset < size) /* records with a valid beginning and an invalid rest */
        for (unsigned i = 0; i < 8; i++) {
            uint8_t *p = data + h->chunk_offset + (dice() % 32) * 4096;
            if (p + 80 <= data + size) {
                const uint32_t first = (uint32_t)(0xC0130000u | (dice() & 0xFFFF));
                memcpy(p, &first, sizeof first);
            }
        }
    if (dice() % 8 == 0)
        memset(data, (int)dice(), 256); /* the header itself */
}

static int scribble(unsigned count, const char *provider)
{
    static uint8_t      message[CTL_MAX] __attribute__((aligned(8)));
    struct ctl_register reg    = {.header = {sizeof reg, CTL_REGISTER, CTL_VERSION, 2, 0}, .index = 8};
    unsigned            rounds = 0, attached = 0;
    if (!guid_parse(provider, &reg.provider))
        return 1;
    for (; rounds < count; rounds++) {
        int directory[3] = {-1, -1, -1}, fds[3] = {-1, -1, -1}, fd = dial_greeted(message, directory);
        if (fd < 0 || send(fd, &reg, sizeof reg, MSG_NOSIGNAL) < 0)
            return 1;
        if (may_write(directory[0]))
            return 2;
        while (await(fd, CTL_ATTACH, message, fds)) {
            struct stat st;
            attached++;
            if (fstat(fds[0], &st) < 0 || may_write(fds[1]) || may_spoil(fds[0], st.st_size))
                return 2;
            uint8_t *data = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
            if (data == MAP_FAILED)
                return 1;
            for (unsigned i = 0; i < 4; i++) {
                scribble_over(data, (size_t)st.st_size);
                eventfd_write(fds[2], i & 1 ? UINT64_MAX - 1 : 1);
            }
            munmap(data, (size_t)st.st_size);
            break; /* the next one would wait for the answer: it is not read */
        }
        for (unsigned i = 0; i < 3; i++) {
            close(fds[i]);
            close(directory[i]);
        }
        close(fd);
    }
    printf("rounds %u attached %u\n", rounds, attached);
    return attached == rounds ? 0 : 1;
}

int main(int argc, char **argv)
{
    const unsigned count = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 0) : 0;
    if (argc < 4)
        return 100;
    folder = argv[1];
    if (strcmp(argv[2], "oversize") == 0)
        return oversize(count);
    if (strcmp(argv[2], "silent") == 0)
        return silent(count);
    if (strcmp(argv[2], "descriptors") == 0)
        return descriptors(count, (uint16_t)strtoul(argc > 4 ? argv[4] : "0", NULL, 10));
    if (strcmp(argv[2], "deaf") == 0)
        return deaf(count);
    return strcmp(argv[2], "scribble") == 0 && argc > 4 ? scribble(count, argv[4]) : 100;
}
