/* merge_ask.h - messages between a merge without rights (merge_guest.h) and its host, which does what the merge has no
 * right to (merge_host.h): over a SOCK_SEQPACKET, one asks, one answers. Both ends come from one program file: there is
 * no version. */
#ifndef AUTOLOGGER_DAEMON_MERGE_ASK_H
#define AUTOLOGGER_DAEMON_MERGE_ASK_H
#include "registry-sim/base/os.h"

enum { MERGE_PATH_SIZE = 4400 };
enum merge_asked {
    MERGE_OPEN,
    MERGE_CREATE,
    MERGE_RENAME,
    MERGE_UNLINK,
    MERGE_STAT,
    MERGE_LSTAT,
    MERGE_UNWIND,
    MERGE_UNWIND_STOP,
    MERGE_ASKED
};
struct merge_ask {
    uint32_t what;  /* enum merge_asked */
    int32_t  flags; /* for MERGE_OPEN and MERGE_CREATE */
    uint32_t mode;
    char     path[MERGE_PATH_SIZE], to[MERGE_PATH_SIZE];
};
struct merge_reply {       /* with a descriptor if `passed` */
    int32_t        result; /* >= 0, or -errno */
    uint32_t       passed;
    int32_t        pid; /* of MERGE_UNWIND */
    struct os_stat stat;
    char           why[200]; /* of MERGE_UNWIND, without a descriptor */
};

/* False: the other end is gone, or its message was invalid. A passed descriptor is in *fd, else -1. */
bool merge_ask_send(int socket, const void *message, size_t size, int fd);
bool merge_ask_receive(int socket, void *message, size_t size, int *fd);
#endif
