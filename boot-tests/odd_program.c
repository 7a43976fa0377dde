/* odd_program - programs that write events in odd situations: they fork, with exec and without, close every descriptor
 * that they did not open, log from signal handlers and from libraries' constructors and destructors. odd_writers.h
 * lists the writers.
 *   odd_program run LIBRARY     all of it; LIBRARY is loaded and unloaded. The board is made by `odd_program make`
 *   odd_program make | write WRITER
 * The board's path is in the environment (ODD_BOARD). Exit 0; 1 + what went wrong. */
#include "boot-tests/odd_writers.h"
#include "boot-tests/storm_write.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

extern char **environ;
int           odd_library_present(void);

static struct storm_board *board;
static REGHANDLE           provider;
static volatile int        quiet; /* ends the second thread */

static void few(enum odd_writer w, unsigned count, useconds_t apart)
{
    storm_wait_enabled(provider);
    for (unsigned i = 0; i < count; i++) {
        storm_write(provider, &board->entry[w], w);
        if (apart)
            usleep(apart);
    }
}
static void some(enum odd_writer w) { few(w, ODD_EVENTS, 0); }

static void opened(void)
{
    const GUID id = NUMBERED_PROVIDER(1);
    if (EventRegister(&id, NULL, NULL, &provider) != 0)
        _exit(111);
}

static int ended_well(pid_t pid)
{
    int status = -1;
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* A thread that keeps the library's lock busy while the others fork. */
static void *registers(void *unused)
{
    const GUID id = NUMBERED_PROVIDER(2);
    (void)unused;
    while (!quiet) {
        REGHANDLE h;
        if (EventRegister(&id, NULL, NULL, &h) == 0)
            EventUnregister(h);
    }
    return NULL;
}

static int forks(char *self)
{
    char *const executed[] = {self, "write", "2", NULL}, *const spawned[] = {self, "write", "3", NULL};
    pthread_t thread;
    pid_t     pid;

    some(ODD_PARENT);
    if (pthread_create(&thread, NULL, registers, NULL))
        return 111;
    pid = fork();
    if (pid == 0) {
        alarm(30);
        some(ODD_CHILD);
        _exit(0);
    }
    int bad = !ended_well(pid);
    pid     = fork();
    if (pid == 0) {
        execv(self, executed);
        _exit(127);
    }
    bad |= !ended_well(pid);
    bad |= posix_spawn(&pid, self, NULL, NULL, spawned, environ) != 0 || !ended_well(pid);
    quiet = 1;
    pthread_join(thread, NULL);
    some(ODD_PARENT);
    return bad;
}

/* Descriptors that a program opens after it has closed all: of the library's kinds, too. */
static struct {
    int count, epoll, timer, pipe[2];
} own;
static void own_open(void)
{
    const struct itimerspec hour = {.it_value = {3600, 0}};
    struct epoll_event      e    = {.events = EPOLLIN};
    if ((own.count = eventfd(0, EFD_NONBLOCK)) < 0 || (own.epoll = epoll_create1(0)) < 0 ||
        (own.timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK)) < 0 || pipe(own.pipe) < 0 ||
        timerfd_settime(own.timer, 0, &hour, NULL) < 0 || epoll_ctl(own.epoll, EPOLL_CTL_ADD, own.pipe[0], &e) < 0)
        _exit(2);
}
/* Each is unchanged. A writer may have signalled the eventfd: it checks only that the descriptor is an eventfd. */
static bool own_is_left_alone(void)
{
    struct itimerspec  left;
    struct epoll_event e;
    const uint64_t     one = 1;
    return write(own.pipe[1], "x", 1) == 1 && epoll_wait(own.epoll, &e, 1, 0) == 1 &&
           timerfd_gettime(own.timer, &left) == 0 && left.it_value.tv_sec > 3000 &&
           write(own.count, &one, sizeof one) == sizeof one;
}

enum { NOBODY = 65534 };

/* Many times: the library's thread may be at work at that moment, and connects anew; meanwhile events are written,
 * too. */
static int closes(void)
{
    int bad = 0;
    for (unsigned n = 0; n < ODD_CLOSES && !bad; n++) {
        pid_t pid = fork();
        if (pid == 0) {
            alarm(30);
            few(ODD_CLOSED, ODD_EVENTS / ODD_CLOSES, 0);
            closefrom(3);
            /* as services do; the daemon then has other memory for it */
            if (n % 2 && getuid() == 0 && setuid(NOBODY) != 0)
                _exit(1);
            own_open(); /* reuses the library's numbers */
            few(ODD_CLOSED, ODD_EVENTS / ODD_CLOSES, 100);
            _exit(own_is_left_alone() ? 0 : 1);
        }
        bad = !ended_well(pid);
    }
    return bad;
}

static void on_alarm(int number)
{
    (void)number;
    storm_write(provider, &board->entry[ODD_HANDLER], ODD_HANDLER);
}

static int is_interrupted(void)
{
    const struct itimerval often = {{0, 30}, {0, 30}}, never = {{0, 0}, {0, 0}};
    const uint64_t         until = board->entry[ODD_HANDLER].attempted + ODD_EVENTS;
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &often, NULL);
    while (board->entry[ODD_HANDLER].attempted < until)
        storm_write(provider, &board->entry[ODD_INTERRUPTED], ODD_INTERRUPTED);
    setitimer(ITIMER_REAL, &never, NULL);
    return 0;
}

static int loads(const char *library)
{
    for (unsigned i = 0; i < ODD_LOADS; i++) {
        void *l = dlopen(library, RTLD_NOW);
        if (!l)
            return fprintf(stderr, "odd_program: %s\n", dlerror()), 1;
        if (dlclose(l))
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *path = getenv(ODD_BOARD);
    if (argc == 2 && strcmp(argv[1], "make") == 0 && path)
        return storm_board_map(path, ODD_WRITERS) ? 0 : 111;
    if (argc != 3 || !path || !(board = storm_board_map(path, 0)) || !odd_library_present())
        return 100;
    opened();
    if (strcmp(argv[1], "write") == 0) {
        some((enum odd_writer)strtol(argv[2], NULL, 10));
        return 0;
    }
    int forked = forks(argv[0]), closed = closes(), interrupted = is_interrupted(), loaded = loads(argv[2]);
    if (forked || closed || interrupted || loaded)
        fprintf(stderr, "odd_program: fork %d, closefrom %d, signals %d, libraries %d\n", forked, closed, interrupted,
                loaded);
    return forked || closed || interrupted || loaded;
}
