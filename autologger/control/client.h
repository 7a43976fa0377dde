/* client.h - the controller's end of the control socket: one request, one answer.
 * Threads: one at a time per connection. Ownership: open/close. Not for: providers (provider/ has its own end). */
#ifndef AUTOLOGGER_CONTROL_CLIENT_H
#define AUTOLOGGER_CONTROL_CLIENT_H
#include "autologger/wire/control.h"
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>

struct control_client;

/* The runtime folder of this caller: $AUTOLOGGER_RUNTIME_DIR, else /run/autologger; when that has no socket and the
 * caller is not root, $XDG_RUNTIME_DIR/autologger. Borrowed, static. */
const char *control_runtime_dir(void);
/* Connects and says hello. W_WMI_INSTANCE_NOT_FOUND when no daemon listens there, W_ACCESS_DENIED when it may not be
 * used. `runtime_dir` NULL = the default. */
wstatus control_open(const char *runtime_dir, struct control_client **out, struct reason *why);
/* The same, once, for a caller that can do without the daemon: W_TIMEOUT when an answer takes longer than
 * wait_most_ms. */
wstatus control_open_briefly(const char *runtime_dir, int wait_most_ms, struct control_client **out,
                             struct reason *why);
void    control_close(struct control_client *c); /* NULL is fine */
/* Asks for one session by name. W_WMI_INSTANCE_NOT_FOUND: no session has that name. */
wstatus control_query(struct control_client *c, const char *name, struct ctl_session_info *out, struct reason *why);
/* All sessions, malloc; *count gets their number. */
wstatus control_query_all(struct control_client *c, struct ctl_session_info **rows, unsigned *count,
                          struct reason *why);
/* Stops a session, and waits until its file is complete; *final (may be NULL) gets the last numbers. */
wstatus control_stop(struct control_client *c, const char *name, struct ctl_session_info *final, struct reason *why);
wstatus control_flush(struct control_client *c, const char *name, struct reason *why);
/* Changes a running session: `what` of *r says which of its fields count (kernel flags: group_mask; stacks: hooks,
 * hook_count; ...). out->text: what could not be had of them, a line each. W_WMI_INSTANCE_NOT_FOUND;
 * W_INVALID_PARAMETER not a session of kernel events; W_ACCESS_DENIED; and what the change itself may fail with. */
wstatus control_update(struct control_client *c, struct ctl_update_request *r, const char *name,
                       struct ctl_update_answer *out, struct reason *why);
/* Starts the one session that a sealed snapshot (registry-sim/store/snapshot.h) declares; it is in no store. out->text:
 * what could not be had, a line each. W_ALREADY_EXISTS name or Guid taken, W_NO_SYSTEM_RESOURCES no place,
 * W_NOT_ENOUGH_MEMORY, W_ACCESS_DENIED, W_NOT_SUPPORTED the daemon is too old; W_INVALID_PARAMETER and others: what a
 * boot would give it. */
wstatus control_start(struct control_client *c, const void *snapshot, size_t size, struct ctl_update_answer *out,
                      struct reason *why);
struct filter_block;
/* The same; `processes` (PID and EXECUTABLE, or NULL) selects the processes of a private session of several.
 * W_NOT_SUPPORTED other filters; W_INVALID_PARAMETER another session. */
wstatus control_start_for(struct control_client *c, const void *snapshot, size_t size,
                          const struct filter_block *processes, struct ctl_update_answer *out, struct reason *why);
/* Copies what a session has, in its file or its ring, to a file of its own, below the daemon's log folder as FileName
 * is; the session goes on. `file` NULL: a NEWFILE session goes on in its next file. W_WMI_INSTANCE_NOT_FOUND;
 * W_INVALID_PARAMETER it has neither file nor ring, or is not NEWFILE; W_NOT_READY; W_SHARING_VIOLATION; and what
 * making it gives. */
wstatus control_file(struct control_client *c, const char *name, const char *file, struct ctl_update_answer *out,
                     struct reason *why);
/* Enables, changes or disables a provider in a running session, or makes it report its state (r->code): provider,
 * level, any, all and property of *r say the rest. wait_ms not 0: waits until every program that registered it has run
 * its callback; W_TIMEOUT when that takes longer (the change was made all the same). W_WMI_INSTANCE_NOT_FOUND no such
 * session; W_WMI_GUID_NOT_FOUND not enabled there; W_NO_SYSTEM_RESOURCES in 8 sessions already; W_NOT_SUPPORTED
 * property. */
struct filter_block; /* wire/filter.h */
wstatus control_enable(struct control_client *c, struct ctl_enable_request *r, const char *name, unsigned wait_ms,
                       struct reason *why);
wstatus control_enable_filtered(struct control_client *c, struct ctl_enable_request *r,
                                const struct filter_block *filter, const char *name, unsigned wait_ms,
                                struct reason *why);
/* The security descriptor in force for `object`, malloc; *own: the object's own, not the default. W_ACCESS_DENIED;
 * W_NOT_SUPPORTED the daemon is too old. */
wstatus control_access_query(struct control_client *c, const struct guid *object, bool *own, uint8_t **out,
                             size_t *size, struct reason *why);
/* Changes that descriptor: object, what (CTL_ACCESS_SET, _ADD, _REMOVE), rights, deny and the SID of *r.
 * W_ACCESS_DENIED; W_FILE_NOT_FOUND nothing to remove; W_INVALID_PARAMETER; and what the store gives. */
wstatus control_access_change(struct control_client *c, struct ctl_access_request *r, struct reason *why);
/* The objects that have a descriptor of their own, malloc. W_ACCESS_DENIED. */
wstatus control_access_list(struct control_client *c, struct guid **out, unsigned *count, struct reason *why);
wstatus control_fs_ready(struct control_client *c, struct reason *why);
/* Stops the sessions of the machine's boot and has their files merged. Status 0: done; W_BUSY: the merge goes on, ask
 * again; W_NOT_SUPPORTED: the daemon does not trace a boot; W_WMI_INSTANCE_NOT_FOUND: no session of a boot ran. */
wstatus control_end_boot(struct control_client *c, struct reason *why);
/* Stops everything; when it returns 0 all files are complete and the Status is in the store. */
wstatus control_shutdown(struct control_client *c, struct reason *why);
/* While `fd` is readable every wait ends with W_CANCELLED; -1: never. */
void control_cancel_by(struct control_client *c, int fd);
/* `call` is called whenever a signal interrupts a wait; false: the wait ends with W_CANCELLED, and the connection is of no
 * further use. */
void control_interrupt_by(struct control_client *c, bool (*call)(void *ctx), void *ctx);
/* This connection reads the real-time session from now on. W_WMI_INSTANCE_NOT_FOUND: no such session;
 * W_NO_SYSTEM_RESOURCES: 8 consumers read it already. */
wstatus control_consume(struct control_client *c, const char *name, struct ctl_consume_answer *out, struct reason *why);
/* Acknowledges and asks, as `r` says (header aside). Waits for a buffer as long as it takes, over restarts of the
 * daemon. *out, with its bytes behind it, is borrowed until the next call; the descriptors in fds are the caller's. */
enum { CONTROL_FDS = 8 };
wstatus control_consume_next(struct control_client *c, struct ctl_consume_request *r,
                             const struct ctl_consume_answer **out, int fds[CONTROL_FDS], unsigned *count,
                             struct reason *why);
wstatus control_state(struct control_client *c, struct ctl_state_answer *out, struct reason *why);
wstatus control_providers(struct control_client *c, struct ctl_provider_row **rows, unsigned *count,
                          struct reason *why);
/* The users whose programs write to the session, or did; *rows: free(). W_NOT_SUPPORTED: an older daemon. */
wstatus control_users(struct control_client *c, const char *name, struct ctl_user_row **rows, unsigned *count,
                      struct reason *why);
/* The session's conditions; *rows: free(). W_NOT_SUPPORTED: an older daemon, or an early program. */
wstatus control_conditions(struct control_client *c, const char *name, struct ctl_condition_row **rows, unsigned *count,
                           struct reason *why);
/* Each registration of each program: malloc, *count of them. W_NOT_SUPPORTED the daemon is too old. */
wstatus control_registrations(struct control_client *c, struct ctl_registration_row **rows, unsigned *count,
                              struct reason *why);
/* One provider: which programs registered it, which sessions enable it. *out, with its programs behind it, is borrowed
 * until the next call. W_WMI_GUID_NOT_FOUND. */
wstatus control_provider(struct control_client *c, const struct guid *provider, const struct ctl_provider_answer **out,
                         struct reason *why);
/* One session as it could be declared again, and its enabled providers: malloc, *count of them.
 * W_WMI_INSTANCE_NOT_FOUND. */
wstatus control_declaration(struct control_client *c, const char *name, struct ctl_declaration *out,
                            struct ctl_enabled_row **rows, unsigned *count, struct reason *why);
/* One session with all of its terms, and its provider number `which` with its filter; one past the last: the session
 * alone. *out is borrowed until the next call; only the filter's size is checked, so call filter_check.
 * W_WMI_INSTANCE_NOT_FOUND; W_NOT_SUPPORTED the daemon is too old. */
wstatus control_terms(struct control_client *c, const char *name, uint32_t which, const struct ctl_terms_answer **out,
                      struct reason *why);
#endif
