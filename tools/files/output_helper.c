#include "tools/files/output_helper.h"

#include "autologger/consumer/unwinding.h"
#include "autologger/daemon/end/merge_ask.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int output_helper_result(int r) { return r < 0 ? -errno : r; }

static int output_helper_file_make(struct output_made *o, const struct output_ask *ask)
{
    const int allowed = O_RDWR | O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

    if (ask->flags & ~allowed || ask->mode & ~0666u || (ask->flags & (O_CREAT | O_EXCL)) == O_CREAT)
        return -EACCES;
    const int fd = output_helper_result(open(o->temporary, ask->flags | O_NOFOLLOW | O_CLOEXEC, (mode_t)ask->mode));
    o->opened    = o->opened || fd >= 0;
    o->made      = o->made || (fd >= 0 && ask->flags & O_CREAT);
    return fd;
}

static int folder_make(struct output_made *o, const struct output_ask *ask)
{
    if (o->folder >= 0 || ask->mode & ~0777u)
        return -EACCES;
    if (mkdir(o->path, (mode_t)ask->mode) < 0)
        return -errno;
    o->folder = output_helper_result(open(o->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    return o->folder < 0 ? o->folder : 0;
}

static int make_in(struct output_made *o, const struct output_ask *ask)
{
    const size_t n = strspn(ask->name, "abcdefghijklmnopqrstuvwxyz0123456789_"); /* no path */

    if (o->folder < 0 || !n || ask->name[n] || ask->mode & ~0666u)
        return -EACCES;
    return output_helper_result(
        openat(o->folder, ask->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, (mode_t)ask->mode));
}

static int output_helper_gone(struct output_made *o, int r)
{
    if (r == 0)
        o->opened = o->made = false;
    return r;
}

static int output_helper_place(struct output_made *o, const struct output_ask *ask)
{
    (void)ask;
    return output_helper_gone(o, o->opened ? output_helper_result(rename(o->temporary, o->path)) : -EACCES);
}

static int output_helper_drop(struct output_made *o, const struct output_ask *ask)
{
    (void)ask;
    return output_helper_gone(o, o->opened ? output_helper_result(unlink(o->temporary)) : -EACCES);
}

static const struct {
    enum output_asked what;
    bool              folder, passes; /* for a folder; the result is a descriptor */
    int (*act)(struct output_made *o, const struct output_ask *ask);
} output_helper_acts[] = {{OUTPUT_MAKE, false, true, output_helper_file_make},
                          {OUTPUT_PLACE, false, false, output_helper_place},
                          {OUTPUT_DROP, false, false, output_helper_drop},
                          {OUTPUT_MAKE, true, false, folder_make},
                          {OUTPUT_MAKE_IN, true, true, make_in}};

static void output_helper_unwind_end(struct output_helper *h)
{
    if (h->unwind <= 0)
        return;
    kill(h->unwind, SIGKILL);
    while (waitpid(h->unwind, NULL, 0) < 0 && errno == EINTR)
        ;
    h->unwind = 0;
}

static int output_helper_unwind_begin(struct output_helper *h, struct output_reply *reply)
{
    output_helper_unwind_end(h);
    const int fd = unwinding_start(&h->unwind, reply->why, sizeof reply->why);
    reply->pid   = h->unwind;
    return fd < 0 ? -ENOENT : fd;
}

int output_helper_reply(struct output_helper *h, const struct output_ask *ask, struct output_reply *reply)
{
    struct output_made *o =
        ask->which < h->count && memchr(ask->name, 0, sizeof ask->name) ? &h->output[ask->which] : NULL;
    int fd = -1;

    *reply = (struct output_reply){.result = -EINVAL};
    if (ask->what == OUTPUT_UNWIND && h->unwinds) {
        reply->result = fd = output_helper_unwind_begin(h, reply);
    } else if (ask->what == OUTPUT_UNWIND_STOP && h->unwinds) {
        output_helper_unwind_end(h);
        reply->result = 0;
    }
    for (size_t i = 0; o && i < sizeof output_helper_acts / sizeof *output_helper_acts; i++)
        if (output_helper_acts[i].what == ask->what && output_helper_acts[i].folder == !o->temporary) {
            reply->result = output_helper_acts[i].act(o, ask);
            fd            = output_helper_acts[i].passes ? reply->result : -1;
        }
    reply->passed = fd >= 0;
    return fd < 0 ? -1 : fd;
}

void output_helper_run(struct output_helper *h, int socket)
{
    /* a terminal's signals are for the command: the helper ends after it */
    static const int    not_its_own[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGPIPE};
    struct output_ask   ask;
    struct output_reply reply;
    int                 stray;

    for (size_t i = 0; i < sizeof not_its_own / sizeof *not_its_own; i++)
        signal(not_its_own[i], SIG_IGN);
    for (;;) {
        const bool whole = merge_ask_receive(socket, &ask, sizeof ask, &stray);
        if (stray >= 0)
            close(stray); /* a command sends no descriptors */
        if (!whole)
            break;
        const int  fd   = output_helper_reply(h, &ask, &reply);
        const bool sent = merge_ask_send(socket, &reply, sizeof reply, fd);
        if (fd >= 0)
            close(fd);
        if (!sent)
            break;
    }
    output_helper_unwind_end(h);
    for (unsigned i = 0; i < h->count; i++)
        if (h->output[i].made)
            unlink(h->output[i].temporary);
    _exit(0);
}
