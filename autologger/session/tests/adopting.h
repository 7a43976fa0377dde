/* adopting.h - a successor of a session in the same process: plays the keeper's hand-over. Include after fixture.h. */
#ifndef AUTOLOGGER_SESSION_TESTS_ADOPTING_H
#define AUTOLOGGER_SESSION_TESTS_ADOPTING_H
#include "autologger/etl/writer_private.h"
#include "autologger/session/logger.h"
#include "autologger/session/tests/fixture.h"

static struct {
    char name[64];
    int  fd;
} adopting_kept[64];

static inline void adopting_keep(const struct session *s)
{
    unsigned n = 0;
    memset(adopting_kept, 0, sizeof adopting_kept);
    for (unsigned u = 0; u < s->uid_count; u++) {
        const int   fds[]   = {stream_set_data_fd(s->uid[u].streams), stream_set_control_fd(s->uid[u].streams),
                               s->uid[u].event_fd};
        const char *names[] = {"data", "control", "event"};
        for (unsigned i = 0; i < 3; i++, n++) {
            snprintf(adopting_kept[n].name, sizeof adopting_kept[n].name, "%s:%u:%u", names[i], s->state->index, u);
            adopting_kept[n].fd = dup(fds[i]);
        }
    }
}

static inline int adopting_find(void *ctx, const char *name)
{
    (void)ctx;
    for (size_t i = 0; i < sizeof adopting_kept / sizeof *adopting_kept; i++)
        if (*name && !strcmp(adopting_kept[i].name, name))
            return adopting_kept[i].fd;
    return -1;
}

/* Adopts as if `s` had died now. The caller destroys the successor before `s`; no thread of `s` may run any more. */
static inline struct session *adopting_successor(struct fixture *f, const struct session *s)
{
    struct session *n = NULL;
    struct reason   why;
    adopting_keep(s);
    if (s->logger && s->logger->writer)
        writer_unlock(s->logger->writer); /* the kernel does it for a dead process */
    assert_int_equal(session_adopt(&f->env, f->table.directory, dup(s->state_fd), adopting_find, NULL, &n, &why), 0);
    return n;
}
#endif
