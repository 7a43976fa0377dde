/* counters.c - taskstats messages, and /proc of live processes. See counters.h. */
#include "autologger/kernel/source/counters.h"
#include "autologger/kernel/source/idmap.h"
#include "registry-sim/base/cursor.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SOCKET_BYTES = 8 << 20, EXITED_MAX = 65536, MESSAGE_MAX = 16384 };
struct counters {
    int          fd;
    struct idmap exited; /* by thread -> struct raw_counters */
};

/* ---- the socket ---- */

struct counters_request {
    struct nlmsghdr   head;
    struct genlmsghdr command;
    struct nlattr     attr;
    char              data[64];
};

static bool counters_ask(int fd, uint16_t family, uint8_t command, uint16_t attr, const char *text)
{
    struct counters_request r = {.head    = {.nlmsg_type = family, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
                                 .command = {.cmd = command, .version = 1}};
    size_t                  n = strlen(text) + 1;
    r.attr                    = (struct nlattr){(uint16_t)(NLA_HDRLEN + n), attr};
    memcpy(r.data, text, n);
    r.head.nlmsg_len = (uint32_t)(NLMSG_LENGTH(GENL_HDRLEN) + NLA_HDRLEN + NLA_ALIGN(n));
    return send(fd, &r, r.head.nlmsg_len, 0) == (ssize_t)r.head.nlmsg_len;
}

/* The next attribute; false at the end. */
static bool attr_next(struct cursor *c, uint16_t *type, const uint8_t **data, size_t *size)
{
    if (cur_left(c) < NLA_HDRLEN)
        return false;
    uint16_t length = cur_u16(c);
    *type           = cur_u16(c) & NLA_TYPE_MASK;
    if (length < NLA_HDRLEN)
        return false;
    *size = length - (size_t)NLA_HDRLEN;
    *data = cur_take(c, *size);
    if (cur_ok(c) && NLA_ALIGN(*size) - *size <= cur_left(c))
        cur_take(c, NLA_ALIGN(*size) - *size);
    return *data != NULL;
}

/* Waits for the answer: 0 or -errno; a family's number goes to *family. */
static int counters_answer(int fd, uint16_t *family)
{
    char message[4096] __attribute__((aligned(8)));
    for (int i = 0; i < 8; i++) {
        ssize_t n = recv(fd, message, sizeof message, 0);
        if (n < 0)
            return -errno;
        size_t left = (size_t)n;
        for (struct nlmsghdr *h = (void *)message; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
            if (h->nlmsg_type == NLMSG_ERROR && h->nlmsg_len >= NLMSG_LENGTH(sizeof(struct nlmsgerr)))
                return ((struct nlmsgerr *)NLMSG_DATA(h))->error;
            if (h->nlmsg_len < NLMSG_LENGTH(GENL_HDRLEN))
                continue;
            struct cursor  c = cur_make((char *)NLMSG_DATA(h) + GENL_HDRLEN, h->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN));
            uint16_t       type;
            const uint8_t *data;
            size_t         size;
            while (attr_next(&c, &type, &data, &size))
                if (family && type == CTRL_ATTR_FAMILY_ID && size >= sizeof *family)
                    memcpy(family, data, sizeof *family);
        }
    }
    return -ETIMEDOUT;
}

wstatus counters_open(struct counters **out, struct reason *why)
{
    struct sockaddr_nl self   = {.nl_family = AF_NETLINK};
    struct timeval     wait   = {1, 0};
    uint16_t           family = 0;
    int                bytes = SOCKET_BYTES, fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC),
        error = fd < 0 ? -errno : 0;
    char cpus[32];
    *out = NULL;
    if (!error && bind(fd, (struct sockaddr *)&self, sizeof self) < 0)
        error = -errno;
    if (!error) {
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
        if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) < 0)
            setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
        error = counters_ask(fd, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME)
                    ? counters_answer(fd, &family)
                    : -errno;
    }
    snprintf(cpus, sizeof cpus, "0-%ld", sysconf(_SC_NPROCESSORS_CONF) - 1);
    if (!error && family)
        error = counters_ask(fd, family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, cpus)
                    ? counters_answer(fd, NULL)
                    : -errno;
    struct counters *c = !error && family ? calloc(1, sizeof *c) : NULL;
    if (c) {
        c->fd = fd;
        *out  = c;
        return W_SUCCESS;
    }
    if (fd >= 0)
        close(fd);
    if (error == -EPERM || error == -EACCES)
        return reason_set(why, W_PRIVILEGE_NOT_HELD, "the kernel's task statistics need CAP_NET_ADMIN");
    return reason_set(why, W_NOT_SUPPORTED, "the kernel's task statistics (CONFIG_TASK_XACCT) cannot be had here: %s",
                      strerror(error ? -error : ENOENT));
}

static void exited_clear(struct counters *c)
{
    for (size_t i = 0; i < c->exited.capacity; i++)
        free(c->exited.slot[i].value);
    idmap_clear(&c->exited);
}

void counters_close(struct counters *c)
{
    if (!c)
        return;
    exited_clear(c);
    idmap_finish(&c->exited);
    close(c->fd);
    free(c);
}

static void exited_add(struct counters *c, uint32_t tid, const uint8_t *bytes, size_t size)
{
    struct taskstats     s = {0};
    struct raw_counters *r = NULL;
    if (size < offsetof(struct taskstats, hiwater_vm) + sizeof s.hiwater_vm)
        return;
    memcpy(&s, bytes, size < sizeof s ? size : sizeof s);
    if (c->exited.count >= EXITED_MAX)
        exited_clear(c); /* of threads whose exit records were lost */
    r = idmap_remove(&c->exited, tid);
    if (!r && !(r = malloc(sizeof *r)))
        return;
    *r = (struct raw_counters){
        .faults = s.ac_minflt + s.ac_majflt, .peak_virtual = s.hiwater_vm << 10, .peak_set = s.hiwater_rss << 10};
    if (!idmap_put(&c->exited, tid, r))
        free(r);
}

/* AGGR_PID {PID, STATS}: one thread; the message about a whole thread group has fewer figures */
void counters_message(struct counters *c, const void *bytes, size_t size)
{
    struct cursor  all = cur_make(bytes, size);
    uint16_t       type;
    const uint8_t *data;
    size_t         length;
    cur_take(&all, GENL_HDRLEN);
    while (cur_ok(&all) && attr_next(&all, &type, &data, &length)) {
        struct cursor  one = cur_make(data, length);
        uint32_t       tid = 0;
        const uint8_t *inner;
        size_t         n;
        if (type != TASKSTATS_TYPE_AGGR_PID)
            continue;
        while (attr_next(&one, &type, &inner, &n)) {
            if (type == TASKSTATS_TYPE_PID && n >= sizeof tid)
                memcpy(&tid, inner, sizeof tid);
            else if (type == TASKSTATS_TYPE_STATS && tid)
                exited_add(c, tid, inner, n);
        }
    }
}

void counters_poll(struct counters *c)
{
    char    message[MESSAGE_MAX] __attribute__((aligned(8)));
    ssize_t n;
    while (c && ((n = recv(c->fd, message, sizeof message, MSG_DONTWAIT)) > 0 || (n < 0 && errno == ENOBUFS))) {
        size_t left = n > 0 ? (size_t)n : 0; /* ENOBUFS: messages were dropped; those after them are good */
        for (struct nlmsghdr *h = (void *)message; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left))
            if (h->nlmsg_type >= NLMSG_MIN_TYPE)
                counters_message(c, NLMSG_DATA(h), h->nlmsg_len - (size_t)NLMSG_HDRLEN);
    }
}

bool counters_take(struct counters *c, uint32_t tid, struct raw_counters *out)
{
    struct raw_counters *r = c ? idmap_remove(&c->exited, tid) : NULL;
    if (!r)
        return false;
    struct raw_own own = out->own;
    *out               = *r;
    out->own           = own;
    free(r);
    return true;
}

/* ---- live processes ---- */

static bool counters_text_of(int proc, uint32_t pid, const char *name, char *out, size_t size)
{
    char path[32];
    snprintf(path, sizeof path, "%u/%s", pid, name);
    int     fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    ssize_t n  = fd < 0 ? -1 : read(fd, out, size - 1);
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = 0;
    return n > 0;
}

static uint64_t kilobytes(const char *text, const char *label)
{
    const char *p = strstr(text, label);
    return p ? strtoull(p + strlen(label), NULL, 10) << 10 : 0;
}

static uint32_t handles_of(int proc, uint32_t pid)
{
    char path[32];
    snprintf(path, sizeof path, "%u/fd", pid);
    int      fd    = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR     *dir   = fd < 0 ? NULL : fdopendir(fd);
    uint32_t count = 0;
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
        count += isdigit((unsigned char)e->d_name[0]) != 0;
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    return count;
}

bool counters_read(int proc, uint32_t pid, struct raw_counters *out)
{
    enum { FIELD_MINOR = 10, FIELD_MAJOR = 12 }; /* of stat, see proc(5) */
    char text[4096], *p;
    if (!counters_text_of(proc, pid, "stat", text, sizeof text) || !(p = strrchr(text, ')')) || strlen(p) < 4)
        return false;
    p += 3;
    out->faults = 0;
    for (int i = 4; i <= FIELD_MAJOR; i++) {
        uint64_t value = strtoull(p, &p, 10);
        out->faults += i == FIELD_MINOR || i == FIELD_MAJOR ? value : 0;
    }
    if (!counters_text_of(proc, pid, "status", text, sizeof text))
        return false;
    out->peak_virtual = kilobytes(text, "\nVmPeak:");
    out->peak_set     = kilobytes(text, "\nVmHWM:");
    out->size         = kilobytes(text, "\nVmSize:");
    out->resident     = kilobytes(text, "\nVmRSS:");
    out->swapped      = kilobytes(text, "\nVmSwap:");
    out->handles      = handles_of(proc, pid);
    return true;
}
