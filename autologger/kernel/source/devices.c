/* devices.c - see devices.h. */
#include "autologger/kernel/source/devices.h"
#include "autologger/kernel/source/drain.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    KERNEL_GROUP = 1,
    SOCKET_BYTES = 8 << 20,
    MESSAGE_MAX  = 8192,
    RECORD_MAX   = sizeof(struct raw_device) + MESSAGE_MAX
};

static uint64_t last_number(void)
{
    char    text[32];
    int     fd = open("/sys/kernel/uevent_seqnum", O_RDONLY | O_CLOEXEC);
    ssize_t n  = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    return strtoull(text, NULL, 10);
}

int devices_open(uint64_t *number)
{
    const struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP};
    const int                bytes   = SOCKET_BYTES;
    const int                fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
    const int                error = errno;
    *number                        = last_number();
    if (fd < 0)
        return -error;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) < 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) < 0) {
        int refused = errno;
        close(fd);
        return -refused;
    }
    return fd;
}

/* The kernel's number of a uevent; 0: it has none. */
static uint64_t devices_number_of(const char *text, size_t size)
{
    for (size_t at = 0; at < size; at += strlen(text + at) + 1)
        if (strncmp(text + at, "SEQNUM=", 7) == 0)
            return strtoull(text + at + 7, NULL, 10);
    return 0;
}

/* U1. False: there was no room. */
static bool devices_record_add(struct drain *d, struct raw_device *r, size_t text_size)
{
    const size_t     size  = (sizeof *r + text_size + 7) & ~(size_t)7;
    struct raw_chunk chunk = {RAW_CHUNK_MAGIC, (uint32_t)size, 0, RAW_CHUNK_OWN, 1};
    r->own.type            = RAW_DEVICE;
    r->own.size            = (uint16_t)size;
    r->own.time            = raw_now();
    r->text_size           = (uint32_t)text_size;
    memset((uint8_t *)(r + 1) + text_size, 0, size - sizeof *r - text_size);
    if (rawlog_room(d->log) < sizeof chunk + size + PASS_RESERVE)
        return false;
    rawlog_append(d->log, &chunk, sizeof chunk);
    rawlog_append(d->log, r, size);
    return true;
}

/* U2: `missing` messages were never read. */
static void devices_gap_add(struct drain *d, uint64_t missing)
{
    struct raw_device r[2] = {{.lost = missing}};
    loss_memory(d->log, 0, d->devices_source, missing, raw_now());
    devices_record_add(d, r, 0);
}

void devices_take(struct drain *d)
{
    struct raw_slot   *slot = d->log->work;
    struct raw_device *r    = d->devices_fd < 0 ? NULL : malloc(RECORD_MAX + 8);
    while (r) {
        char              *text   = (char *)(r + 1);
        struct sockaddr_nl from   = {0};
        struct iovec       part   = {text, MESSAGE_MAX - 1};
        struct msghdr      header = {.msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &part, .msg_iovlen = 1};
        ssize_t            n      = recvmsg(d->devices_fd, &header, MSG_DONTWAIT);
        if (n < 0 && errno == ENOBUFS) {
            /* reported once, before the queued messages; the socket takes no new ones until they are read, so there is
             * one gap */
            d->devices_full = true;
            continue;
        }
        if (n <= 0)
            break;
        text[n]         = 0;
        uint64_t number = from.nl_pid ? 0 : devices_number_of(text, (size_t)n);
        if (!number)
            continue; /* not from the kernel */
        if ((d->devices_full || d->devices_adopted) && slot->device_number && number > slot->device_number + 1) {
            devices_gap_add(d, number - slot->device_number - 1);
            d->devices_full = false;
        }
        d->devices_adopted  = false;
        slot->device_number = number;
        *r                  = (struct raw_device){0};
        if (devices_record_add(d, r, (size_t)n))
            slot->drained[d->devices_source]++;
        else
            loss_memory(d->log, 0, d->devices_source, 1, raw_now());
    }
    free(r);
}

void devices_end(struct drain *d)
{
    pthread_mutex_lock(&d->lock);
    devices_take(d);
    uint64_t last = d->devices_full || d->devices_adopted ? last_number() : 0;
    if (d->log->work->device_number && last > d->log->work->device_number)
        devices_gap_add(d, last - d->log->work->device_number);
    d->devices_full = d->devices_adopted = false;
    pthread_mutex_unlock(&d->lock);
}
