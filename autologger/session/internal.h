/* internal.h - what session.c, adopt.c, log_files.c and update.c share, and nobody else. */
#ifndef AUTOLOGGER_SESSION_INTERNAL_H
#define AUTOLOGGER_SESSION_INTERNAL_H
#include "autologger/session/session.h"

/* An empty session: everything zero, no descriptor. */
wstatus session_new(struct session_env *env, struct directory *directory, struct session **out, struct reason *why);
/* Clock, descriptors, budget and logger, by the mapped state. */
wstatus session_setup(struct session *s, struct reason *why);
/* The kernel logger's configuration, by the mapped state. */
void    session_klog_config(const struct session *s, struct condition_list *found, struct klog_config *c);
/* As the session's environment keeps a descriptor of its kernel logger's; fd -1: drops it. */
void    session_keep_klog(void *session, const char *klog_name, int fd, size_t ring_bytes);
/* Has the logger's thread run that, after a flush, and waits for it. `more` (malloc, or NULL) is the errand's. 21: the session does not run, or
 * is busy; 1460 after 60 s. */
wstatus session_ask(struct session *s, wstatus (*run)(struct logger *l, struct logger_errand *e), const char *file, void *more, struct reason *why);
#endif
