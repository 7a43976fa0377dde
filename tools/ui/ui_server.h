/* ui_server.h - the window: one page and the answers to it, over HTTP on the loopback interface (libmicrohttpd, loaded
 * when needed).
 * Who may ask: who has the token of the address that was printed. It works once: the page that is given for it has a
 * secret, which its origin alone can keep, and shows it in a header of every request. There is no cookie: those are
 * shared by all ports of a machine.
 * Invariants: U1 nothing listens but on 127.0.0.1. U2 a request without the secret gets the empty page at most, and runs
 * nothing.
 * Threads: one for each connection. Not for: what verbs do (ui_run.h). */
#ifndef TOOLS_UI_SERVER_H
#define TOOLS_UI_SERVER_H
#include "registry-sim/win32/wstatus.h"

#include <stdint.h>

struct ui_server;
/* `port` 0: any that is free. W_NOT_SUPPORTED: built without libmicrohttpd, or it is not installed;
 * W_SHARING_VIOLATION: the port is taken. */
wstatus ui_server_start(uint16_t port, struct ui_server **out, struct reason *why);
/* "http://127.0.0.1:PORT/?token=..."; borrowed. */
const char *ui_server_address(const struct ui_server *s);
void        ui_server_stop(struct ui_server *s); /* NULL is fine */
#endif
