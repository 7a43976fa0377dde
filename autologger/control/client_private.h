/* client_private.h - shared by the client's files: one connection, and a request with its checked answer.
 * Invariants: the answer in `buffer` has `size` bytes, at least as many as required, and the request's type and
 * sequence.
 * Threads: one at a time for each connection. Not for: other folders (client.h). */
#ifndef AUTOLOGGER_CONTROL_CLIENT_PRIVATE_H
#define AUTOLOGGER_CONTROL_CLIENT_PRIVATE_H
#include "autologger/control/client.h"

enum {
    WAIT_EVER    = -1,
    WAIT_MS      = 30 * 1000,      /* an answer that only needs a look at tables */
    WAIT_LONG_MS = 10 * 60 * 1000, /* one that waits for files to be complete */
    MAX_ROWS     = 65536
};

struct control_client {
    int fd, cancel_fd;              /* cancel_fd: -1 = none */
    bool (*interrupted)(void *ctx); /* control_interrupt_by; NULL: none */
    void    *interrupt_ctx;
    int      fds[CONTROL_FDS]; /* of the answer, if wanted */
    unsigned fd_count;
    bool     fds_wanted;
    int      wait_most; /* ms that one answer may take; 0: each request's own limit */
    uint32_t sequence;
    size_t   size; /* of the answer in `buffer` */
    _Alignas(8) uint8_t buffer[CTL_MAX];
};

/* The daemon's answer to `request`, of at least `least` bytes, in c->buffer; its status. `wait_ms`: WAIT_*. */
wstatus client_ask(struct control_client *c, struct ctl_header *request, size_t least, int wait_ms, struct reason *why);
/* A request that consists of its header. */
wstatus client_plain_ask(struct control_client *c, enum ctl_type type, size_t least, int wait_ms, struct reason *why);
wstatus client_name_set(struct ctl_session_request *r, const char *name, struct reason *why);
/* The rows of a paged answer in c->buffer: `head` bytes, then `count` rows of `row` bytes. */
wstatus client_rows_check(const struct control_client *c, uint32_t total, uint32_t count, size_t head, size_t row,
                          struct reason *why);
/* Terminates the row's texts with a NUL. */
void client_session_end(struct ctl_session_info *s);
#endif
