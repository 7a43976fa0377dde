/* keeper.h - plays the keeper for a session in the same process: it keeps the daemon's descriptors over the daemon's
 * death at a chosen moment. */
#ifndef AUTOLOGGER_SESSION_TESTS_KEEPER_H
#define AUTOLOGGER_SESSION_TESTS_KEEPER_H
#include "autologger/etl/writer_private.h"
#include "autologger/session/logger.h"
#include "autologger/session/tests/fixture.h"

enum { KEPT = 3 * STATE_UIDS + 8, DEATHS = 512 };

static struct {
    struct {
        char name[64];
        int  fd;
    } at[KEPT];
    unsigned calls, dies_at; /* 0: never */
    jmp_buf  death;
} keeper;

/* A point at which the daemon can die. */
static inline void keeper_step(void)
{
    if (keeper.dies_at && ++keeper.calls == keeper.dies_at)
        longjmp(keeper.death, 1);
}

static inline int *keeper_kept(const char *name, bool make)
{
    for (unsigned i = 0; i < KEPT; i++)
        if (keeper.at[i].fd > 0 && strcmp(keeper.at[i].name, name) == 0)
            return &keeper.at[i].fd;
    for (unsigned i = 0; make && i < KEPT; i++)
        if (keeper.at[i].fd <= 0) {
            snprintf(keeper.at[i].name, sizeof keeper.at[i].name, "%s", name);
            return &keeper.at[i].fd;
        }
    return NULL;
}

static inline void keeper_keep(void *ctx, const char *name, int fd, size_t ring_bytes)
{
    (void)ctx, (void)ring_bytes;
    keeper_step();
    int *at = keeper_kept(name, fd >= 0);
    if (!at)
        return;
    if (*at > 0)
        close(*at);
    *at = fd < 0 ? 0 : dup(fd);
    assert_true(fd < 0 || *at > 0);
}

static inline int keeper_find(void *ctx, const char *name)
{
    int *at = keeper_kept(name, false);
    (void)ctx;
    return at ? dup(*at) : -1;
}

static inline void keeper_close(void)
{
    for (unsigned i = 0; i < KEPT; i++)
        if (keeper.at[i].fd > 0)
            close(keeper.at[i].fd);
}

/* Memory of a process that dies is not a leak. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

static inline void keeper_leaks(bool allowed)
{
    if (allowed && __lsan_disable)
        __lsan_disable();
    if (!allowed && __lsan_enable)
        __lsan_enable();
}

static struct session *keeper_dead[DEATHS];

/* Adopts as if the daemon had died now, with `dead`; no thread of `dead` may run any more. */
static inline struct session *keeper_successor(struct fixture *f, struct session *dead)
{
    static unsigned deaths;
    struct session *n = NULL;
    struct reason   why;
    keeper.dies_at = 0;
    if (dead->logger->writer)
        writer_unlock(dead->logger->writer);
    assert_true(deaths < DEATHS);
    keeper_dead[deaths++] = dead;
    assert_int_equal(session_adopt(&f->env, f->table.directory, dup(dead->state_fd), keeper_find, NULL, &n, &why), 0);
    assert_int_equal(session_start(n, &why), 0);
    session_fs_ready(n);
    return n;
}
#endif
