/* socket_work - a program under test: a known number of sends and receives on this machine's own addresses, one at a
 * time. socket_work COUNT: for TCP and UDP, IPv4 and IPv6, COUNT messages of 1000 bytes, each sent and then received
 * whole; then COUNT pages by sendfile() over TCP and IPv4. Prints the ports of the listeners. Exit 0 when each call did
 * what it should. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BYTES = 1000, PAGE = 4096 };

struct pair {
    int from, to;
};

static socklen_t loopback(int family, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof *out);
    out->ss_family = (sa_family_t)family;
    if (family == AF_INET)
        ((struct sockaddr_in *)out)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else
        ((struct sockaddr_in6 *)out)->sin6_addr = in6addr_loopback;
    return family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static int fail(const char *what)
{
    perror(what);
    return 111;
}

/* Two sockets that are connected to each other. */
static int pair_open(int family, int type, struct pair *out)
{
    struct sockaddr_storage at;
    socklen_t               size     = loopback(family, &at);
    int                     listener = socket(family, type, 0);
    out->from                        = socket(family, type, 0);
    if (listener < 0 || out->from < 0 || bind(listener, (struct sockaddr *)&at, size) ||
        getsockname(listener, (struct sockaddr *)&at, &size))
        return fail("bind");
    if (type == SOCK_STREAM && listen(listener, 1))
        return fail("listen");
    if (connect(out->from, (struct sockaddr *)&at, size))
        return fail("connect");
    /* sin_port and sin6_port have the same offset */
    printf("%s %s %u\n", type == SOCK_STREAM ? "tcp" : "udp", family == AF_INET ? "4" : "6",
           ntohs(((struct sockaddr_in *)&at)->sin_port));
    out->to = type == SOCK_STREAM ? accept(listener, NULL, NULL) : listener;
    return out->to < 0 ? fail("accept") : 0;
}

static int messages(int family, int type, unsigned count, int pages)
{
    struct pair p;
    char        bytes[PAGE];
    int         r = pair_open(family, type, &p);
    memset(bytes, 'x', sizeof bytes);
    for (unsigned i = 0; !r && i < count; i++)
        if (send(p.from, bytes, BYTES, 0) != BYTES ||
            recv(p.to, bytes, BYTES, type == SOCK_STREAM ? MSG_WAITALL : 0) != BYTES)
            r = fail("message");
    for (unsigned i = 0; !r && pages >= 0 && i < count; i++) {
        off_t from = 0;
        if (sendfile(p.from, pages, &from, PAGE) != PAGE || recv(p.to, bytes, PAGE, MSG_WAITALL) != PAGE)
            r = fail("sendfile");
    }
    if (!r) {
        close(p.from);
        close(p.to);
    }
    return r;
}

int main(int argc, char **argv)
{
    unsigned count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    FILE    *file  = tmpfile();
    if (!count || !file || ftruncate(fileno(file), PAGE)) {
        fprintf(stderr, "socket_work COUNT\n");
        return 100;
    }
    int r = messages(AF_INET, SOCK_STREAM, count, fileno(file));
    r     = r ? r : messages(AF_INET6, SOCK_STREAM, count, -1);
    r     = r ? r : messages(AF_INET, SOCK_DGRAM, count, -1);
    return r ? r : messages(AF_INET6, SOCK_DGRAM, count, -1);
}
