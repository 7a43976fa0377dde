#include "tools/files/outputs.h"

#include "autologger/consumer/unwinding.h"
#include "autologger/daemon/end/merge_ask.h"
#include "autologger/sandbox/sandbox.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/read_only.h"
#include "tools/base/verb.h"
#include "tools/files/output_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct os            outputs_edge;
static struct output_helper helped; /* the helper has a copy */
static int                  helper_socket;
static pid_t                outputs_helper;

static char *temporary_name(const struct output *o)
{
    char *name;
    return asprintf(&name, "%s%s%d", o->path, o->temporary, (int)getpid()) < 0 ? NULL : name;
}

/* ---- asking ---- */

/* The result, or -errno; a passed descriptor becomes the result. */
static int outputs_asked(const struct output_ask *ask, struct output_reply *reply)
{
    int fd = -1;

    *reply = (struct output_reply){.result = -EPIPE};
    if (!merge_ask_send(helper_socket, ask, sizeof *ask, -1) ||
        !merge_ask_receive(helper_socket, reply, sizeof *reply, &fd)) {
        if (fd >= 0)
            close(fd);
        *reply =
            (struct output_reply){.result = -EPIPE, .why = "the process that starts programs for this one is gone"};
        return -EPIPE;
    }
    return fd >= 0 ? fd : reply->result;
}

static int asked_of(enum output_asked what, unsigned which, int flags, unsigned mode)
{
    const struct output_ask ask = {.what = what, .which = which, .flags = flags, .mode = mode};
    struct output_reply     reply;
    return outputs_asked(&ask, &reply);
}

/* Index of the output that has this temporary file; helped.count: no output has it. */
static unsigned of_temporary(const char *path)
{
    unsigned i = 0;
    while (i < helped.count && (!helped.output[i].temporary || strcmp(helped.output[i].temporary, path) != 0))
        i++;
    return i;
}

static unsigned of_folder(const char *path, size_t length)
{
    unsigned i = 0;
    while (i < helped.count && (helped.output[i].temporary || strlen(helped.output[i].path) != length ||
                                memcmp(helped.output[i].path, path, length) != 0))
        i++;
    return i;
}

static int helped_open(struct os *os, const char *path, int flags, unsigned mode)
{
    struct output_ask   ask   = {.what = OUTPUT_MAKE, .which = of_temporary(path), .flags = flags, .mode = mode};
    const char         *slash = strrchr(path, '/');
    struct output_reply reply;

    if (!(flags & (O_CREAT | O_WRONLY | O_RDWR)))
        return os_linux()->open(os, path, flags, mode);
    if (ask.which < helped.count)
        return outputs_asked(&ask, &reply);
    if (!slash || strlen(slash + 1) >= sizeof ask.name)
        return -EACCES;
    ask.what  = OUTPUT_MAKE_IN;
    ask.which = of_folder(path, (size_t)(slash - path));
    strcpy(ask.name, slash + 1);
    return ask.which < helped.count ? outputs_asked(&ask, &reply) : -EACCES;
}

static int helped_mkdir(struct os *os, const char *path, unsigned mode)
{
    const unsigned which = of_folder(path, strlen(path));
    (void)os;
    return which < helped.count ? asked_of(OUTPUT_MAKE, which, 0, mode) : -EACCES;
}

static int helped_rename(struct os *os, const char *from, const char *to)
{
    const unsigned which = of_temporary(from);
    (void)os;
    return which < helped.count && strcmp(helped.output[which].path, to) == 0 ? asked_of(OUTPUT_PLACE, which, 0, 0)
                                                                              : -EACCES;
}

static int helped_unlink(struct os *os, const char *path)
{
    const unsigned which = of_temporary(path);
    (void)os;
    return which < helped.count ? asked_of(OUTPUT_DROP, which, 0, 0) : -EACCES;
}

static int outputs_unwind_start(void *ctx, pid_t *pid, char *why, size_t size)
{
    const struct output_ask ask = {.what = OUTPUT_UNWIND};
    struct output_reply     reply;
    const int               fd = outputs_asked(&ask, &reply);
    (void)ctx;
    *pid = reply.pid;
    if (fd < 0)
        snprintf(why, size, "%.199s", reply.why);
    return fd < 0 ? -1 : fd;
}

static void outputs_unwind_stop(void *ctx)
{
    (void)ctx;
    asked_of(OUTPUT_UNWIND_STOP, 0, 0, 0);
}

/* ---- giving up the rights ---- */

static void outputs_helper_end(void)
{
    close(helper_socket);
    while (waitpid(outputs_helper, NULL, 0) < 0 && errno == EINTR)
        ;
}

static bool outputs_helper_start(const struct output *outputs, unsigned count)
{
    int pair[2];

    helped.count = count;
    for (unsigned i = 0; i < count; i++) {
        helped.output[i] = (struct output_made){.path = outputs[i].path, .folder = -1};
        if (outputs[i].temporary && !(helped.output[i].temporary = temporary_name(&outputs[i])))
            return false;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return false;
    fflush(NULL);
    outputs_helper = fork();
    if (outputs_helper == 0) {
        close(pair[0]);
        output_helper_run(&helped, pair[1]);
    }
    const int error = errno;
    close(pair[1]);
    helper_socket = pair[0];
    if (outputs_helper > 0 && atexit(outputs_helper_end) == 0)
        return true;
    close(pair[0]);
    errno = error;
    return false;
}

struct os *outputs_guard(const char *verb, const struct output *outputs, unsigned count, bool unwinds, int *code)
{
    static const struct unwinding_host starts = {outputs_unwind_start, outputs_unwind_stop, NULL};

    if (!read_only_is() || !count) {
        read_only();
        return os_linux();
    }
    helped.unwinds = unwinds;
    if (!outputs_helper_start(outputs, count)) {
        visible_printf(
            stderr,
            "%s: there is no process that could write the result: %s. Do: try again when the system is less busy\n",
            verb, strerror(errno));
        *code = VERB_REFUSED;
        return NULL;
    }
    outputs_edge        = *os_linux();
    outputs_edge.open   = helped_open;
    outputs_edge.mkdir  = helped_mkdir;
    outputs_edge.rename = helped_rename;
    outputs_edge.unlink = helped_unlink;
    unwinding_by(&starts);
    sandbox_enter(&(struct sandbox){.kind = SANDBOX_HELPED});
    return &outputs_edge;
}

/* ---- streams ---- */

wstatus output_begin(struct os *os, const struct output *output, struct output_stream *out, struct reason *why)
{
    *out = (struct output_stream){.output = output, .temporary = temporary_name(output)};
    if (!out->temporary)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory");
    const int fd = os->open(os, out->temporary, O_CREAT | O_EXCL | O_WRONLY, 0640);
    out->file    = fd < 0 ? NULL : fdopen(fd, "wb");
    if (out->file)
        return W_SUCCESS;
    const int error = fd < 0 ? -fd : errno;
    if (fd >= 0) {
        close(fd);
        os->unlink(os, out->temporary);
    }
    free(out->temporary);
    return reason_set(why, wstatus_from_errno(error), "%s: %s", output->path, strerror(error));
}

wstatus output_end(struct os *os, struct output_stream *out, wstatus st, struct reason *why)
{
    const bool bad = ferror(out->file);

    errno = 0;
    if ((fclose(out->file) != 0 || bad) && !st)
        st = reason_set(why, errno ? wstatus_from_errno(errno) : W_DISK_FULL, "%s: %s", out->output->path,
                        errno ? strerror(errno) : wstatus_text(W_DISK_FULL));
    const int r = st ? 0 : os->rename(os, out->temporary, out->output->path);
    if (r < 0)
        st = reason_set(why, wstatus_from_errno(-r), "%s: %s", out->output->path, strerror(-r));
    if (st)
        os->unlink(os, out->temporary);
    free(out->temporary);
    return st;
}
