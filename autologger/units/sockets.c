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
#include <unistd.h>

/* The kernel's states of TCP, as the tables have them (include/net/tcp_states.h). */
enum { TABLE_MOST = 4 << 20, DNS_PORT = 53, TCP_IS_CONNECTING = 2, TCP_IS_LISTENING = 10, ANSWER = 64 << 10, PATH_ROOM = 112 };

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

/* "N: LOCAL REMOTE STATE QUEUES TIMER RETRIES USER TIMEOUT INODE ..." */
static bool internet_find(int proc, uint32_t pid, const char *table, uint64_t inode, struct internet *out)
{
    char     remote[48], *line = NULL;
    size_t   room = 0, seen = 0;
    uint64_t at;
    bool     found = false;
    FILE    *f     = table_open(proc, pid, table);

    while (f && !found && getline(&line, &room, f) > 0 && (seen += strlen(line)) < TABLE_MOST)
        found = sscanf(line, "%*s %*s %47s %x %*s %*s %*s %*s %*s %" SCNu64, remote, &out->state, &at) == 3 && at == inode && address_read(remote, out);
    free(line);
    if (f)
        fclose(f);
    return found;
}

static enum wait_kind internet_kind(const struct internet *i, bool tcp, char *object, size_t size)
{
    if (i->port) /* else it is connected to nobody */
        snprintf(object, size, i->six ? "[%s]:%u" : "%s:%u", i->address, i->port);
    else
        return WAIT_CLIENTS;
    if (tcp && i->state == TCP_IS_CONNECTING)
        return WAIT_CONNECT;
    return i->port == DNS_PORT ? WAIT_DNS : tcp ? WAIT_TCP : WAIT_UDP;
}

/* ---- Unix ---- */

struct unix_end {
    uint64_t peer;  /* inode of the other end; 0: nobody has it open yet */
    char     name[PATH_ROOM], of_peer[PATH_ROOM], of_listener[PATH_ROOM];
    bool     there, listens;
};

static void name_copy(char out[PATH_ROOM], const struct rtattr *a)
{
    const size_t n = RTA_PAYLOAD(a) < PATH_ROOM - 1 ? RTA_PAYLOAD(a) : PATH_ROOM - 1;
    memcpy(out, RTA_DATA(a), n);
    out[n] = 0;
    if (n && !*out) /* an abstract name: no file */
        *out = '@';
}

/* One socket of the answer. `end->peer` is known from the second pass on. */
static void unix_take(const struct nlmsghdr *h, uint64_t inode, struct unix_end *end)
{
    const struct unix_diag_msg *m     = NLMSG_DATA(h);
    const struct rtattr        *name  = NULL, *icons = NULL;
    uint32_t                    peer  = 0;
    unsigned                    left  = (unsigned)(h->nlmsg_len - NLMSG_LENGTH(sizeof *m));

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
    if (m->udiag_ino == inode) {
        end->there   = true;
        end->peer    = peer;
        end->listens = m->udiag_state == TCP_IS_LISTENING;
        if (name)
            name_copy(end->name, name);
    } else if (name && end->peer && m->udiag_ino == end->peer) {
        name_copy(end->of_peer, name);
    }
    for (size_t i = 0; name && icons && i < RTA_PAYLOAD(icons) / sizeof(uint32_t); i++) { /* who waits to be let in */
        uint32_t one;
        memcpy(&one, (const char *)RTA_DATA(icons) + i * sizeof one, sizeof one);
        if (one == inode)
            name_copy(end->of_listener, name);
    }
}

/* False: there is no answer, or not a whole one. */
static bool unix_pass(int fd, uint64_t inode, struct unix_end *end)
{
    static char answer[ANSWER] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct {
        struct nlmsghdr      head;
        struct unix_diag_req request;
    } q = {.head    = {.nlmsg_len = sizeof q, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
           .request = {.sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX, .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER | UDIAG_SHOW_ICONS}};
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};

    if (sendto(fd, &q, sizeof q, 0, (const struct sockaddr *)&kernel, sizeof kernel) != (ssize_t)sizeof q)
        return false;
    for (;;) {
        struct sockaddr_nl from  = {0};
        socklen_t          size  = sizeof from;
        const ssize_t      n     = recvfrom(fd, answer, sizeof answer, 0, (struct sockaddr *)&from, &size);
        unsigned           left  = n > 0 ? (unsigned)n : 0;
        if (n <= 0)
            return false;
        if (from.nl_pid != 0) /* not of the kernel */
            continue;
        for (const struct nlmsghdr *h = (const struct nlmsghdr *)answer; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
            if (h->nlmsg_type == NLMSG_DONE)
                return true;
            if (h->nlmsg_type == NLMSG_ERROR)
                return false;
            unix_take(h, inode, end);
        }
    }
}

/* Twice where the other end's name is needed: its inode is known when the first pass is over. */
static bool unix_find(uint64_t inode, struct unix_end *end)
{
    const struct timeval patience = {.tv_sec = 1};
    const int            fd       = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

    *end = (struct unix_end){0};
    if (fd < 0)
        return false;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    bool whole = unix_pass(fd, inode, end);
    if (whole && end->peer)
        whole = unix_pass(fd, inode, end);
    close(fd);
    return whole && end->there;
}

/* ---- all ---- */

/* "... INODE" at the column, counted from 0. */
static bool is_listed(int proc, uint32_t pid, const char *table, unsigned column, uint64_t inode)
{
    char  *line = NULL, *rest;
    size_t room = 0, seen = 0;
    bool   found = false;
    FILE  *f     = table_open(proc, pid, table);

    while (f && !found && getline(&line, &room, f) > 0 && (seen += strlen(line)) < TABLE_MOST) {
        const char *word = strtok_r(line, " \n", &rest);
        for (unsigned i = 0; i < column && word; i++)
            word = strtok_r(NULL, " \n", &rest);
        found = word && strtoull(word, NULL, 10) == inode;
    }
    free(line);
    if (f)
        fclose(f);
    return found;
}

enum wait_kind socket_find(int proc, uint32_t pid, uint64_t inode, char *object, size_t size)
{
    static const char *const tables[] = {"tcp", "tcp6", "udp", "udp6"};
    struct internet          internet = {0};
    struct unix_end          end;

    *object = 0;
    for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++)
        if (internet_find(proc, pid, tables[i], inode, &internet))
            return internet_kind(&internet, i < 2, object, size);
    if (unix_find(inode, &end)) {
        const char *const names[] = {end.of_peer, end.of_listener, end.name};
        for (unsigned i = end.listens ? 2 : 0; i < 3 && !*object; i++)
            snprintf(object, size, "%s", names[i]);
        return end.listens ? WAIT_CLIENTS : WAIT_UNIX;
    }
    if (is_listed(proc, pid, "netlink", 9, inode))
        return WAIT_NETLINK;
    /* of another network namespace: there nobody tells its other end */
    return is_listed(proc, pid, "unix", 6, inode) ? WAIT_UNIX : WAIT_SOCKET;
}
