#include "autologger/units/sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The kernel's states of TCP, as in the tables (include/net/tcp_states.h). */
enum {
    TABLE_MOST        = 4 << 20,
    DNS_PORT          = 53,
    TCP_IS_CONNECTING = 2,
    TCP_IS_LISTENING  = 10,
    ANSWER            = 64 << 10,
    PATH_ROOM         = 112
};

static FILE *table_open(int proc, uint32_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "%u/net/%s", pid, name);
    const int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    FILE     *f  = fd < 0 ? NULL : fdopen(fd, "r");
    if (fd >= 0 && !f)
        close(fd);
    return f;
}

static struct socket_end *end_of(struct socket_end *ends, unsigned count, uint64_t inode)
{
    for (unsigned i = 0; i < count; i++)
        if (ends[i].inode == inode && !ends[i].known)
            return &ends[i];
    return NULL;
}

/* ---- TCP and UDP ---- */

struct internet {
    char     address[INET6_ADDRSTRLEN]; /* of the other end */
    unsigned port, state;
    bool     six;
};

/* Four bytes, or four times four, each a number in the machine's order. */
static bool address_read(const char *text, struct internet *out)
{
    uint32_t     word[4];
    const size_t n = strcspn(text, ":");
    if ((n != 8 && n != 32) || sscanf(text + n, ":%x", &out->port) != 1)
        return false;
    for (size_t i = 0; i < n / 8; i++)
        if (sscanf(text + 8 * i, "%8" SCNx32, &word[i]) != 1)
            return false;
    out->six = n == 32;
    if (out->six && word[0] == 0 && word[1] == 0 && ntohl(word[2]) == 0xffff) { /* an address of version 4 */
        word[0]  = word[3];
        out->six = false;
    }
    return inet_ntop(out->six ? AF_INET6 : AF_INET, word, out->address, sizeof out->address) != NULL;
}

static void internet_take(const struct internet *i, bool tcp, struct socket_end *out)
{
    out->known = true;
    if (!i->port) { /* not connected */
        out->kind = WAIT_CLIENTS;
        return;
    }
    snprintf(out->object, sizeof out->object, i->six ? "[%s]:%u" : "%s:%u", i->address, i->port);
    if (tcp && i->state == TCP_IS_CONNECTING)
        out->kind = WAIT_CONNECT;
    else
        out->kind = i->port == DNS_PORT ? WAIT_DNS : tcp ? WAIT_TCP : WAIT_UDP;
}

/* "N: LOCAL REMOTE STATE QUEUES TIMER RETRIES USER TIMEOUT INODE ..." */
static void internet_find(int proc, uint32_t pid, const char *table, struct socket_end *ends, unsigned count)
{
    char            remote[48], *line = NULL;
    size_t          room = 0, seen = 0;
    uint64_t        inode;
    struct internet one = {0};
    FILE           *f   = table_open(proc, pid, table);

    while (f && getline(&line, &room, f) > 0 && (seen += strlen(line)) < TABLE_MOST) {
        if (sscanf(line, "%*s %*s %47s %x %*s %*s %*s %*s %*s %" SCNu64, remote, &one.state, &inode) != 3)
            continue;
        struct socket_end *e = end_of(ends, count, inode);
        if (e && address_read(remote, &one))
            internet_take(&one, *table == 't', e);
    }
    free(line);
    if (f)
        fclose(f);
}

/* ---- Unix ---- */

struct unix_end {  /* beside a struct socket_end */
    uint64_t peer; /* inode of the other end; 0: not open yet */
    char     name[PATH_ROOM], of_peer[PATH_ROOM], of_listener[PATH_ROOM];
    bool     there, listens;
};
struct unix_look {
    struct socket_end *ends;
    struct unix_end    found[SOCKETS_AT_ONCE];
    unsigned           count;
};

static void name_copy(char out[PATH_ROOM], const struct rtattr *a)
{
    const size_t n = RTA_PAYLOAD(a) < PATH_ROOM - 1 ? RTA_PAYLOAD(a) : PATH_ROOM - 1;
    memcpy(out, RTA_DATA(a), n);
    out[n] = 0;
    if (n && !*out) /* an abstract name: no file */
        *out = '@';
}

/* Takes one socket of the answer. A peer's name is found from the second pass on, when its inode is known. */
static void unix_take(const struct nlmsghdr *h, struct unix_look *l)
{
    const struct unix_diag_msg *m    = NLMSG_DATA(h);
    const struct rtattr        *name = NULL, *icons = NULL;
    uint32_t                    peer = 0;
    unsigned                    left = (unsigned)(h->nlmsg_len - NLMSG_LENGTH(sizeof *m));

    if (h->nlmsg_len < NLMSG_LENGTH(sizeof *m))
        return;
    for (const struct rtattr *a = (const struct rtattr *)(m + 1); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
        if (a->rta_type == UNIX_DIAG_NAME)
            name = a;
        else if (a->rta_type == UNIX_DIAG_PEER && RTA_PAYLOAD(a) >= sizeof peer)
            memcpy(&peer, RTA_DATA(a), sizeof peer);
        else if (a->rta_type == UNIX_DIAG_ICONS)
            icons = a;
    }
    for (unsigned i = 0; i < l->count; i++) {
        struct unix_end *end = &l->found[i];
        if (m->udiag_ino == l->ends[i].inode) {
            end->there   = true;
            end->peer    = peer;
            end->listens = m->udiag_state == TCP_IS_LISTENING;
            if (name)
                name_copy(end->name, name);
        } else if (name && end->peer && m->udiag_ino == end->peer) {
            name_copy(end->of_peer, name);
        }
        /* sockets that wait to be accepted by this listener */
        for (size_t k = 0; name && icons && k < RTA_PAYLOAD(icons) / sizeof(uint32_t); k++) {
            uint32_t one;
            memcpy(&one, (const char *)RTA_DATA(icons) + k * sizeof one, sizeof one);
            if (one == l->ends[i].inode)
                name_copy(end->of_listener, name);
        }
    }
}

/* False: no answer, or an incomplete one. */
static bool unix_pass(int fd, struct unix_look *l)
{
    static char answer[ANSWER] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct {
        struct nlmsghdr      head;
        struct unix_diag_req request;
    } q = {
        .head = {.nlmsg_len = sizeof q, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .request = {.sdiag_family = AF_UNIX,
                    .udiag_states = UINT32_MAX,
                    .udiag_show   = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER | UDIAG_SHOW_ICONS}};
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};

    if (sendto(fd, &q, sizeof q, 0, (const struct sockaddr *)&kernel, sizeof kernel) != (ssize_t)sizeof q)
        return false;
    for (;;) {
        struct sockaddr_nl from = {0};
        socklen_t          size = sizeof from;
        const ssize_t      n    = recvfrom(fd, answer, sizeof answer, 0, (struct sockaddr *)&from, &size);
        unsigned           left = n > 0 ? (unsigned)n : 0;
        if (n <= 0)
            return false;
        if (from.nl_pid != 0) /* not from the kernel */
            continue;
        for (const struct nlmsghdr *h = (const struct nlmsghdr *)answer; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
            if (h->nlmsg_type == NLMSG_DONE)
                return true;
            if (h->nlmsg_type == NLMSG_ERROR)
                return false;
            unix_take(h, l);
        }
    }
}

static bool has_line(const char *path, const char *part)
{
    char  *line  = NULL;
    size_t room  = 0;
    bool   found = false;
    FILE  *f     = fopen(path, "re");
    while (f && !found && getline(&line, &room, f) > 0)
        found = strstr(line, part) != NULL;
    free(line);
    if (f)
        fclose(f);
    return found;
}

/* A question makes the kernel load the answering module, if unix_diag is a module: a traced boot must not load more
 * than an untraced one. True: it is loaded, it is built in, or this kernel has no modules. */
static bool unix_diag_is_there(void)
{
    static bool    known;
    char           path[300];
    struct utsname u;

    if (known || access("/sys/module/unix_diag", F_OK) == 0 || access("/proc/modules", F_OK) < 0)
        return known = true;
    snprintf(path, sizeof path, "/lib/modules/%s/modules.builtin", uname(&u) == 0 ? u.release : "");
    return known = has_line(path, "/unix_diag.ko");
}

/* Makes two passes if a peer's name is needed: its inode is known only after the first pass. */
static void unix_find(struct socket_end *ends, unsigned count)
{
    const struct timeval patience = {.tv_sec = 1};
    struct unix_look     l        = {.ends = ends, .count = count};
    bool                 again    = false;
    const int fd = unix_diag_is_there() ? socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG) : -1;

    if (fd < 0)
        return;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    bool whole = unix_pass(fd, &l);
    for (unsigned i = 0; i < count; i++)
        again |= l.found[i].peer != 0;
    if (whole && again)
        whole = unix_pass(fd, &l);
    close(fd);
    for (unsigned i = 0; i < count && whole; i++) {
        const struct unix_end *u       = &l.found[i];
        const char *const      names[] = {u->of_peer, u->of_listener, u->name};
        if (!u->there || ends[i].known)
            continue;
        ends[i].known = true;
        ends[i].kind  = u->listens ? WAIT_CLIENTS : WAIT_UNIX;
        for (unsigned k = u->listens ? 2 : 0; k < 3 && !*ends[i].object; k++)
            snprintf(ends[i].object, sizeof ends[i].object, "%s", names[k]);
    }
}

/* ---- all ---- */

/* Finds inodes in a table's column, counted from 0. */
static void listed_find(int proc, uint32_t pid, const char *table, unsigned column, enum wait_kind kind,
                        struct socket_end *ends, unsigned count)
{
    char  *line = NULL, *rest;
    size_t room = 0, seen = 0;
    FILE  *f = table_open(proc, pid, table);

    while (f && getline(&line, &room, f) > 0 && (seen += strlen(line)) < TABLE_MOST) {
        const char *word = strtok_r(line, " \n", &rest);
        for (unsigned i = 0; i < column && word; i++)
            word = strtok_r(NULL, " \n", &rest);
        struct socket_end *e = word ? end_of(ends, count, strtoull(word, NULL, 10)) : NULL;
        if (e) {
            e->known = true;
            e->kind  = kind;
        }
    }
    free(line);
    if (f)
        fclose(f);
}

static bool all_known(const struct socket_end *ends, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (!ends[i].known)
            return false;
    return true;
}

void sockets_find(int proc, uint32_t pid, struct socket_end *ends, unsigned count)
{
    static const char *const tables[] = {"tcp", "tcp6", "udp", "udp6"};

    for (unsigned i = 0; i < count; i++) {
        ends[i].known   = false;
        ends[i].kind    = WAIT_SOCKET;
        *ends[i].object = 0;
    }
    for (unsigned i = 0; i < sizeof tables / sizeof *tables && !all_known(ends, count); i++)
        internet_find(proc, pid, tables[i], ends, count);
    if (!all_known(ends, count))
        unix_find(ends, count);
    if (!all_known(ends, count))
        listed_find(proc, pid, "netlink", 9, WAIT_NETLINK, ends, count);
    /* in another network namespace, or without socket diagnosis: the other end is not known */
    if (!all_known(ends, count))
        listed_find(proc, pid, "unix", 6, WAIT_UNIX, ends, count);
}
