/* internal.h - shared by session.c, create.c, adopt.c, log_files.c and update.c only. */
#ifndef AUTOLOGGER_SESSION_INTERNAL_H
#define AUTOLOGGER_SESSION_INTERNAL_H
#include "autologger/session/session.h"

enum {
    SESSION_FILE_KINDS =
        ETL_MODE_SEQUENTIAL | ETL_MODE_CIRCULAR | ETL_MODE_APPEND | ETL_MODE_NEWFILE | ETL_MODE_PREALLOCATE
};

/* The smallest FlushTimer, in the unit of the mode: real time needs one. 0: none is needed. */
static inline uint32_t session_timer_least(uint32_t mode)
{
    return !(mode & ETL_MODE_REAL_TIME) ? 0 : mode & ETL_MODE_MS_FLUSH_TIMER ? 1000 : 1;
}
/* Its file has ended, and it has had real time alone since: the path of that file is the one that is not current. */
static inline bool session_converted(const struct state_session *st)
{
    return st->log_file_mode & ETL_MODE_REAL_TIME && st->processes.kind != STATE_WHOLE && !*session_log_path(st) &&
           (*st->log_path || *st->other_path);
}
/* An empty session: everything zero, no descriptor. */
wstatus session_new(struct session_env *env, struct directory *directory, struct session **out, struct reason *why);
/* Clock, descriptors, budget and logger, by the mapped state. */
wstatus session_setup(struct session *s, struct reason *why);
/* The kernel logger's configuration, by the mapped state. */
void session_klog_config(const struct session *s, struct condition_list *found, struct klog_config *c);
/* Has the session's environment keep a descriptor under the name KIND:INDEX:NUMBER, without NUMBER if that is below 0.
 * fd -1: drops it. */
void session_keep(struct session *s, const char *kind, int number, int fd);
void session_keep_klogs(struct session *s); /* all descriptors of its kernel logger */
/* Creates the streams of free places; in users.c. */
wstatus session_empty(struct session *s, struct reason *why);
/* NULL counts as "". */
void session_copy_text(char *out, size_t capacity, const char *text);
/* Keeps a descriptor of its kernel logger in the session's environment; fd -1: drops it. */
void session_keep_klog(void *session, const char *klog_name, int fd, size_t ring_bytes);
/* Has the logger's thread execute `run` after a flush, for the requester `asks` (NULL: the daemon). *out is done when
 * session_errand_done says so. `more` (malloc, or NULL) becomes the errand's. W_NOT_READY: the session does not run, or
 * is busy. */
wstatus session_ask(struct session *s, wstatus (*run)(struct logger *l, struct logger_errand *e), const char *file,
                    void *more, const struct state_owner *asks, struct logger_errand **out, struct reason *why);
#endif
