/* process.c - start, fork, locks. See process.h. */
#include "autologger/provider/process.h"

#include "autologger/include/TraceLoggingProvider.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

union life_page            al_life __attribute__((aligned(WIPED_PAGE)));
union near_pages           al_near __attribute__((aligned(WIPED_PAGE)));
struct registration        al_table[INDEXES];
unsigned                   al_used = 1;
__thread struct thread_ids al_thread
    __attribute__((tls_model("initial-exec"))) = {.pid = UINT32_MAX, .stamp = UINT32_MAX};

_Static_assert(sizeof al_near % WIPED_PAGE == 0 && sizeof al_life == WIPED_PAGE, "whole pages can be wiped");

/* Kept by fork, so that a child can close what it inherited. */
static struct {
    struct known_fd wake, socket;
    bool            prepared;  /* wiping and the fork handler are set up */
    bool            no_wiping; /* the kernel can't wipe: the handler does it */
    char            dir[2][PATH_SIZE];
    unsigned        dir_count;
} kept;

void process_lock(void) { pthread_mutex_lock(&LIFE.lock); }
void process_unlock(void) { pthread_mutex_unlock(&LIFE.lock); }

/* All eventfds, epolls and timers have one inode. The library's are told apart by the signal that the descriptor would
 * send, if it were asked to (it is not). */
enum { KNOWN_SIGNAL = 63 };
static bool is_nameless(const struct stat *st) { return (st->st_mode & S_IFMT) == 0; }

bool known_fd_init(struct known_fd *k, int fd)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || (is_nameless(&st) && fcntl(fd, F_SETSIG, KNOWN_SIGNAL) < 0))
        return false;
    *k = (struct known_fd){fd, true, st.st_dev, st.st_ino};
    return true;
}
bool known_fd_ok(const struct known_fd *k)
{
    struct stat st;
    return k->open && fstat(k->fd, &st) == 0 && st.st_dev == k->device && st.st_ino == k->inode &&
           (!is_nameless(&st) || fcntl(k->fd, F_GETSIG) == KNOWN_SIGNAL);
}
void known_fd_close(struct known_fd *k)
{
    if (known_fd_ok(k))
        close(k->fd);
    k->open = false;
}

/* In the child, right after fork: closes the parent's connection, which must not live on here, and makes the inline
 * checks of TraceLogging providers call the library once. Only async-signal-safe calls. */
static void after_fork(void)
{
    known_fd_close(&kept.socket);
    known_fd_close(&kept.wake);
    if (kept.no_wiping) {
        memset(&al_life, 0, sizeof al_life);
        memset(&al_near, 0, sizeof al_near);
    }
    for (unsigned i = 0; i < al_used; i++)
        if (al_table[i].handle && al_table[i].tlg) {
            al_table[i].tlg->LevelPlus1 = 256;
            al_table[i].tlg->KeywordAny = UINT64_MAX;
            al_table[i].tlg->KeywordAll = 0;
        }
}

/* The environment is read once, on the program's own thread. */
static void find_runtime_dirs(void)
{
    const char *own = secure_getenv("AUTOLOGGER_RUNTIME_DIR"), *xdg = secure_getenv("XDG_RUNTIME_DIR");
    kept.dir_count = 0;
    if (own && *own) {
        snprintf(kept.dir[kept.dir_count++], PATH_SIZE, "%s", own);
        return;
    }
    snprintf(kept.dir[kept.dir_count++], PATH_SIZE, "/run/autologger");
    if (xdg && *xdg)
        snprintf(kept.dir[kept.dir_count++], PATH_SIZE, "%s/autologger", xdg);
}
const char *process_runtime_dir(unsigned i) { return i < kept.dir_count ? kept.dir[i] : NULL; }

static bool start_agent(void)
{
    sigset_t       all, before;
    pthread_attr_t attr;

    sigfillset(&all);
    if (pthread_attr_init(&attr) != 0)
        return false;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* inherited by the agent */
    int error = pthread_create(&LIFE.agent, &attr, agent_main, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return error == 0;
}

/* Sets up what must stand before anything is kept that a fork has to wipe. Lock held. */
static bool process_prepare(void)
{
    if (kept.prepared)
        return true;
    kept.no_wiping = madvise(&al_life, sizeof al_life, MADV_WIPEONFORK) < 0 ||
                     madvise(&al_near, sizeof al_near, MADV_WIPEONFORK) < 0;
    return kept.prepared = pthread_atfork(NULL, NULL, after_fork) == 0;
}

void process_random(void)
{
    if (__atomic_load_n(&LIFE.seeded, __ATOMIC_ACQUIRE))
        return;
    process_lock();
    process_prepare();
    if (!LIFE.seeded) {
        if (getrandom(LIFE.random, sizeof LIFE.random, GRND_NONBLOCK) != sizeof LIFE.random) {
            struct timespec t; /* early boot: no entropy yet */
            clock_gettime(CLOCK_REALTIME, &t);
            LIFE.random[0] = (uint64_t)t.tv_nsec << 32 ^ (uint64_t)t.tv_sec;
            LIFE.random[1] = (uint64_t)getpid() << 32 ^ (uint64_t)(uintptr_t)&t;
        }
        __atomic_store_n(&LIFE.seeded, 1, __ATOMIC_RELEASE);
    }
    process_unlock();
}

bool process_make_wake(void)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!known_fd_init(&LIFE.wake, fd)) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    kept.wake = LIFE.wake;
    return true;
}

bool process_start(void)
{
    if (LIFE.pid != 0)
        return true;
    if (!process_prepare())
        return false;
    find_runtime_dirs();
    known_fd_close(&kept.socket); /* a child by clone(2), without the handler */
    known_fd_close(&kept.wake);
    attach_drop_all();
    for (unsigned i = 0; i < al_used; i++) {
        al_table[i].announced = 0;
        al_table[i].answered = al_table[i].owed = al_table[i].enabled_for = 0;
        memset(al_table[i].scope, 0, sizeof al_table[i].scope); /* a child's scope is not its parent's */
        __atomic_store_n(&al_table[i].slot, NULL, __ATOMIC_RELEASE);
    }
    if (!process_make_wake())
        return false;
    LIFE.state = AGENT_STARTING;
    if (!start_agent()) {
        known_fd_close(&LIFE.wake);
        LIFE.state = AGENT_NONE;
        return false;
    }
    __atomic_store_n(&LIFE.pid, (uint32_t)getpid(), __ATOMIC_RELEASE);
    thread_ids_begin(LIFE.pid);
    return true;
}

void process_keep_socket(void) { kept.socket = LIFE.socket; }

void process_wake_agent(void)
{
    uint64_t one = 1;
    if (known_fd_ok(&LIFE.wake)) {
        ssize_t n = write(LIFE.wake.fd, &one, sizeof one);
        (void)n;
    }
}

bool process_on_agent(void) { return LIFE.state != AGENT_NONE && pthread_equal(LIFE.agent, pthread_self()); }

static bool process_settled(unsigned index)
{
    const struct registration *r = &al_table[index];
    return LIFE.state == AGENT_NO_DAEMON || LIFE.state == AGENT_NONE || r->handle == 0 ||
           (r->announced == r->handle && r->answered && r->owed == 0);
}

void process_wait_registered(unsigned index)
{
    struct timespec until;
    if (process_on_agent() || !known_fd_ok(&LIFE.wake))
        return; /* the second: the program closed it; the agent will find out later */
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += WAIT_MS * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    while (!process_settled(index))
        if (pthread_cond_clockwait(&LIFE.changed, &LIFE.lock, CLOCK_MONOTONIC, &until) != 0)
            break;
}

void process_fork_check(void)
{
    if (__atomic_load_n(&LIFE.pid, __ATOMIC_ACQUIRE) != 0)
        return;
    int error = errno;
    process_lock();
    if (LIFE.pid == 0 && process_start()) {
        for (unsigned i = 0; i < al_used; i++)
            if (al_table[i].handle)
                process_wait_registered(i);
        for (unsigned i = 0; i < al_used; i++)
            registration_recompute(i);
    }
    process_unlock();
    errno = error;
}
