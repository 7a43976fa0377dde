/* journal_record.c - see journal_record.h. */
#include "tools/channels/journal_record.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { FIELD_NAME = 64 };

static void record_put(struct journal_message *r, const void *data, size_t size)
{
    if (r->size + size > r->room) {
        const size_t room  = (r->size + size) * 2 + 512;
        char        *grown = r->bad ? NULL : realloc(r->data, room);
        if (!grown) {
            r->bad = true;
            return;
        }
        r->data = grown;
        r->room = room;
    }
    memcpy(r->data + r->size, data, size);
    r->size += size;
}

void record_field(struct journal_message *r, const char *name, const void *value, size_t size)
{
    record_put(r, name, strlen(name));
    if (!memchr(value, '\n', size)) {
        record_put(r, "=", 1);
    } else { /* a line feed, then the length as 64 bits, little endian */
        uint8_t length[8];
        for (unsigned i = 0; i < sizeof length; i++)
            length[i] = (uint8_t)((uint64_t)size >> 8 * i);
        record_put(r, "\n", 1);
        record_put(r, length, sizeof length);
    }
    record_put(r, value, size);
    record_put(r, "\n", 1);
}

void record_text(struct journal_message *r, const char *name, const char *text)
{
    record_field(r, name, text, strlen(text));
}

void record_named(struct journal_message *r, const char *prefix, const char *name, const char *text)
{
    char   field[FIELD_NAME + 1];
    size_t n = strlen(prefix);
    memcpy(field, prefix, n);
    for (; *name && n < FIELD_NAME; name++)
        field[n++] = (char)(isalnum((unsigned char)*name) ? toupper((unsigned char)*name) : '_');
    field[n] = 0;
    record_text(r, field, text);
}

void record_finish(struct journal_message *r)
{
    free(r->data);
    *r = (struct journal_message){0};
}

wstatus journal_connect(const char *path, int *fd, struct reason *why)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof to.sun_path)
        return reason_set(why, W_FILENAME_EXCED_RANGE, "%s is too long for a socket", path);
    memcpy(to.sun_path, path, strlen(path));
    *fd                           = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const struct timeval patience = {1, 0}; /* a journal that does not read */
    if (*fd >= 0 && setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0 &&
        connect(*fd, (const struct sockaddr *)&to, sizeof to) == 0)
        return W_SUCCESS;
    const int error = errno;
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    return reason_set(why, error == ECONNREFUSED ? W_FILE_NOT_FOUND : wstatus_from_errno(error),
                      "nothing reads %s: %s. Do: start systemd-journald", path, strerror(error));
}

/* The journal reads a sealed file as it reads a datagram. */
static bool journal_send_file(int fd, const struct journal_message *r)
{
    static char none[1];
    union {
        struct cmsghdr header;
        char           room[CMSG_SPACE(sizeof(int))];
    } control             = {0};
    struct iovec  part    = {none, 0};
    struct msghdr message = {.msg_iov = &part, .msg_control = &control, .msg_controllen = sizeof control};
    const int     file    = memfd_create("autologger-channels", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    size_t        done    = 0;
    control.header        = (struct cmsghdr){CMSG_LEN(sizeof file), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &file, sizeof file);
    while (file >= 0 && done < r->size) {
        const ssize_t n = write(file, r->data + done, r->size - done);
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    const bool ok = file >= 0 && done == r->size &&
                    fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0 &&
                    sendmsg(fd, &message, MSG_NOSIGNAL) == 0;
    const int error = errno;
    if (file >= 0)
        close(file);
    errno = error;
    return ok;
}

wstatus journal_send(int fd, const struct journal_message *r, struct reason *why)
{
    if (r->bad)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a message");
    if (send(fd, r->data, r->size, MSG_NOSIGNAL) < 0) { /* no loop: a signal must be able to end the service */
        if ((errno == EMSGSIZE || errno == ENOBUFS) && journal_send_file(fd, r))
            return W_SUCCESS;
        return reason_set(why, errno == EAGAIN || errno == EINTR ? W_RETRY : wstatus_from_errno(errno),
                          "the journal: %s", strerror(errno));
    }
    return W_SUCCESS;
}
