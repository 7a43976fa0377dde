/* nettap.h - both ends of datagrams, by a BPF program (nettap.bpf.c) that looks at their headers; it feeds the
 * session's source UDP_ENDS. The events themselves come from sock_send_length and sock_recv_length: without it they
 * have no addresses. Before Linux 6.3, which has neither, they come from BPF programs as well.
 * Invariants: as filetap.h: nothing is loaded unless it is wanted; what cannot be had is a reason; the programs live as
 * long as one of their descriptors. Threads: one at a time. Ownership: open or adopt ... close. Not for: making events
 * (convert_net.c), the early program (filetap_none.c). */
#ifndef AUTOLOGGER_KERNEL_NETTAP_H
#define AUTOLOGGER_KERNEL_NETTAP_H
#include "autologger/kernel/source/reach.h"
#include "autologger/kernel/source/rings.h"

struct nettap;

bool nettap_wanted(const struct rawlog *log);
/* And the kernel has no tracepoints for what is sent and received: the programs tell that, too. */
bool nettap_calls_wanted(const struct rawlog *log);
/* W_SUCCESS with a reason: what is received is not told of. */
wstatus nettap_open(const struct rings *rings, const struct rawlog *log, struct nettap **out, struct reason *why);
/* For reach.h: loads and attaches them, no more. 0, or -errno; *attached: it failed at attaching. */
int nettap_programs(enum reach_program what, unsigned cpus, int fd[REACH_FDS], bool *attached);
/* What to do about the reason that nettap_open() gave. */
const char    *nettap_advice(wstatus status);
struct nettap *nettap_adopt(int (*find)(void *ctx, const char *name), void *ctx);
/* A CPU that came online has events of its own now. */
void nettap_cpu(const struct nettap *t, const struct rings *rings, const struct rawlog *log, unsigned cpu);
void nettap_close(struct nettap *t); /* NULL is fine, also below */
void nettap_fds(const struct nettap *t, void (*show)(void *ctx, const char *name, int fd, size_t ring_bytes),
                void                *ctx);
#endif
