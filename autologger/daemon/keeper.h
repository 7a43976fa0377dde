/* keeper.h - the small parent that holds a daemon's descriptors, so that a daemon that dies loses nothing. It starts
 * the daemon, keeps every descriptor given to it (perf rings also mapped: a ring dies with its last mapping), and when
 * a signal ends the daemon, starts a new one with them. It parses little, so that it survives. A killed daemon that
 * does not end within 2 s, because a thread of it waits in the kernel, gets a successor all the same; it is reaped when
 * it ends. The daemon is a program (autologgerd), or a function in a forked child (the early program, whose file may be
 * gone by then). Below a service manager it passes readiness on, and mirrors what it keeps to the manager's fd store.
 * Threads: one. Not for: what the descriptors are. */
#ifndef AUTOLOGGER_DAEMON_KEEPER_H
#define AUTOLOGGER_DAEMON_KEEPER_H
#include "autologger/daemon/handed.h"

/* In the environment of a daemon: a predecessor was killed and has not ended. */
#define KEEPER_LEFT_BEHIND "AUTOLOGGER_LEFT_BEHIND"

enum keeper_order {
    KEEPER_GO_ON,
    KEEPER_DISCARD, /* kill the daemon, drop everything, return 0 */
    KEEPER_SAVE,    /* have the daemon leave, call `save`, drop everything, return 0 */
};

struct keeper_options {
    /* a program ... */
    char      **argv;        /* its command line; argv[0] a path */
    const char *socket_path; /* where it sends descriptors */
    /* ... or a function: in a child with `handed`; its result is the exit code */
    int (*run)(void *ctx, struct handed *handed);
    void *ctx;
    /* socket of a keeper of another program that may have everything (handover.h): asked once, at the start; or NULL */
    const char *takeover_path;
    const char *handover_path; /* where a successor of another program gets everything (handover.h); NULL: nowhere */
    /* Asked again and again: when watch_fd has POLLPRI, and every `every_ms`. NULL: never. */
    enum keeper_order (*look)(void *ctx, int *every_ms);
    int watch_fd; /* -1: none */
    void (*save)(void *ctx, const struct kept *k);
};

/* Runs until the daemon ends by itself or everything was handed over; returns its exit code (0 when handed over), or
 * 111 when it could not be started or died too often (more than 20 times within 5 s). SIGTERM and SIGINT are passed on;
 * SIGHUP makes the daemon leave without ending its sessions, and starts a new one that goes on. */
int keeper_run(const struct keeper_options *options);
#endif
