/* filetap_none.c - the early program's version of filetap.c, nettap.c and syscalls.c: file operations begin when its
 * successor has taken over. Nothing is loaded here, so that the program stays small; their perf events are opened, and
 * the successor feeds them. See filetap.h. */
#include "autologger/kernel/source/filetap.h"
#include "autologger/kernel/source/nettap.h"
#include "autologger/kernel/source/syscalls.h"

bool filetap_wanted(const struct rawlog *log)
{
    (void)log;
    return false;
}
wstatus filetap_open(const struct rings *rings, const struct rawlog *log, bool ends, struct filetap **out,
                     struct reason *why)
{
    (void)rings, (void)log, (void)ends;
    *out = NULL;
    return reason_set(why, W_NOT_SUPPORTED, "the early program has no such program");
}
struct filetap *filetap_adopt(int (*find)(void *ctx, const char *name), void *ctx)
{
    (void)find, (void)ctx;
    return NULL;
}
void filetap_close(struct filetap *t) { (void)t; }
void filetap_fds(const struct filetap *t, void (*show)(void *ctx, const char *name, int fd, size_t ring_bytes),
                 void                 *ctx)
{
    (void)t, (void)show, (void)ctx;
}
void syscall_addresses(int proc, uint64_t *wide, uint64_t *narrow, unsigned count)
{
    (void)proc, (void)wide, (void)narrow, (void)count;
}

bool nettap_wanted(const struct rawlog *log)
{
    (void)log;
    return false;
}
bool nettap_calls_wanted(const struct rawlog *log)
{
    (void)log;
    return false;
}
wstatus nettap_open(const struct rings *rings, const struct rawlog *log, struct nettap **out, struct reason *why)
{
    (void)rings, (void)log;
    *out = NULL;
    return reason_set(why, W_NOT_SUPPORTED, "the early program has no such program");
}
const char *filetap_advice(wstatus status)
{
    (void)status;
    return "start autologgerd.service";
}
const char *nettap_advice(wstatus status)
{
    (void)status;
    return "nothing to do";
}

struct nettap *nettap_adopt(int (*find)(void *ctx, const char *name), void *ctx)
{
    (void)find, (void)ctx;
    return NULL;
}
void nettap_close(struct nettap *t) { (void)t; }
void nettap_fds(const struct nettap *t, void (*show)(void *ctx, const char *name, int fd, size_t ring_bytes), void *ctx)
{
    (void)t, (void)show, (void)ctx;
}
