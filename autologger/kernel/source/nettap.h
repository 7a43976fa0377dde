/* nettap.h - both ends of datagrams, by a BPF program (nettap.bpf.c) that reads their headers; it feeds the session's
 * source UDP_ENDS. The events themselves come from sock_send_length and sock_recv_length: without this program they
 * have no addresses. Before Linux 6.3, which lacks both tracepoints, the events come from BPF programs as well.
 * Invariants: as in filetap.h: nothing is loaded unless it is wanted; a missing prerequisite is a reason; the programs
 * live as long as one of their descriptors. Threads: one at a time. Ownership: open or adopt ... close. Not for: making
 * events (convert_net.c), the early program (filetap_none.c). */
#ifndef AUTOLOGGER_KERNEL_NETTAP_H
#define AUTOLOGGER_KERNEL_NETTAP_H
#include "autologger/kernel/source/reach.h"
#include "autologger/kernel/source/rings.h"

struct nettap;

bool nettap_wanted(const struct rawlog *log);
/* UDP_ENDS is wanted, and the kernel lacks the tracepoints of sent and received data: the programs must record the
 * calls, too. */
bool nettap_calls_wanted(const struct rawlog *log);
/* W_SUCCESS with a reason: received datagrams are not recorded. */
wstatus nettap_open(const struct rings *rings, const struct rawlog *log, struct nettap **out, struct reason *why);
/* For reach.h: loads and attaches the programs, no more. 0, or -errno; *attached: attaching failed, not loading. */
int nettap_programs(enum reach_program what, unsigned cpus, int fd[REACH_FDS], bool *attached);
/* The advice for the reason of nettap_open(). */
const char    *nettap_advice(wstatus status);
struct nettap *nettap_adopt(int (*find)(void *ctx, const char *name), void *ctx);
/* Gives the programs the event of a CPU that came online. */
void nettap_cpu(const struct nettap *t, const struct rings *rings, const struct rawlog *log, unsigned cpu);
void nettap_close(struct nettap *t); /* NULL is fine, also below */
void nettap_fds(const struct nettap *t, void (*show)(void *ctx, const char *name, int fd, size_t ring_bytes),
                void                *ctx);
#endif
