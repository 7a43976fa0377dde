/* The waits of real processes: a child makes each kind of wait, and this process looks at it. */
#include "autologger/units/waiting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 20000 };

static struct {
    int  proc;
    char folder[64], path[128];
    int  port; /* of the TCP listener */
    int  lock_fd, tcp_listener, unix_listener;
} world;

static void pause_ms(long ms)
{
    const struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static struct sockaddr_in internet(int port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int tcp_connected(int port)
{
    const struct sockaddr_in a  = internet(port);
    const int                fd = socket(AF_INET, SOCK_STREAM, 0);
    return connect(fd, (const struct sockaddr *)&a, sizeof a) == 0 ? fd : -1;
}

static int unix_connected(void)
{
    struct sockaddr_un a  = {.sun_family = AF_UNIX};
    const int          fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(a.sun_path, sizeof a.sun_path, "%s", world.path);
    return connect(fd, (const struct sockaddr *)&a, sizeof a) == 0 ? fd : -1;
}

static int udp_connected(int port)
{
    const struct sockaddr_in a  = internet(port);
    const int                fd = socket(AF_INET, SOCK_DGRAM, 0);
    return connect(fd, (const struct sockaddr *)&a, sizeof a) == 0 ? fd : -1;
}

static void read_of(int fd)
{
    char byte;
    while (read(fd, &byte, 1) < 0 && errno == EINTR) {
    }
}

/* ---- the children's waits; none ends ---- */

static void sleeps(void) { pause_ms(600000); }
static void polls_nothing(void) { poll(NULL, 0, 600000); }
static void waits_child(void)
{
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause_ms(600000);
    }
    wait(NULL);
}
static void takes_flock(void)
{
    char path[160];
    snprintf(path, sizeof path, "%s/lock", world.folder);
    flock(open(path, O_RDWR), LOCK_EX);
}
static void takes_fcntl(void)
{
    char         path[160];
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    snprintf(path, sizeof path, "%s/record", world.folder);
    fcntl(open(path, O_RDWR), F_SETLKW, &l);
}
static void reads_pipe(void)
{
    int p[2];
    if (pipe(p) == 0)
        read_of(p[0]);
}
static void reads_tcp(void) { read_of(tcp_connected(world.port)); }
static void polls_tcp(void)
{
    struct pollfd p = {.fd = tcp_connected(world.port), .events = POLLIN};
    unix_connected(); /* the other connection is the weaker answer */
    poll(&p, 1, 600000);
}
static void reads_unix(void) { read_of(unix_connected()); } /* no listener has accepted it */
static void epolls_unix(void)
{
    struct epoll_event e  = {.events = EPOLLIN};
    const int          fd = epoll_create1(0);
    epoll_ctl(fd, EPOLL_CTL_ADD, unix_connected(), &e);
    epoll_wait(fd, &e, 1, 600000);
}
static void asks_names(void)
{
    struct pollfd p = {.fd = udp_connected(53), .events = POLLIN};
    poll(&p, 1, 600000);
}
static void asks_names_alone(void)
{
    close_range(3, ~0u, 0);
    asks_names();
}
static void reads_udp(void) { read_of(udp_connected(5353)); }
static void accepts(void)
{
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    listen(fd, 1);
    accept(fd, NULL, NULL);
}
/* The queue of a listener that never accepts is full: the kernel leaves further connections unanswered. */
static void connects(void)
{
    for (;;)
        tcp_connected(world.port);
}
static void locks_mutex(void)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&m);
    pthread_mutex_lock(&m);
}
static void waits_signal(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    sigwaitinfo(&set, NULL);
}

static const struct row {
    void (*child)(void);
    enum wait_kind kind;
    const char    *object; /* "P": the listener's port; "U", "L", "R": its path, the lock's, the record lock's */
    bool           guessed, held;
} rows[] = {
    {sleeps, WAIT_SLEEP, "", false, false},
    {polls_nothing, WAIT_SLEEP, "", false, false},
    {waits_child, WAIT_CHILD, "", false, false},
    {takes_flock, WAIT_LOCK, "L", false, true},
    {takes_fcntl, WAIT_LOCK, "R", false, true},
    {reads_pipe, WAIT_PIPE, "", false, false},
    {reads_tcp, WAIT_TCP, "P", false, false},
    {polls_tcp, WAIT_TCP, "P", true, false},
    {reads_unix, WAIT_UNIX, "U", false, false},
    {epolls_unix, WAIT_UNIX, "U", true, false},
    {asks_names, WAIT_DNS, "127.0.0.1:53", true, false},
    {asks_names_alone, WAIT_DNS, "127.0.0.1:53", false, false},
    {reads_udp, WAIT_UDP, "127.0.0.1:5353", false, false},
    {accepts, WAIT_CLIENTS, "", false, false},
    {connects, WAIT_CONNECT, "P", false, false},
    {locks_mutex, WAIT_FUTEX, "", false, false},
    {waits_signal, WAIT_SIGNAL, "", false, false},
};

static void expected(const struct row *r, char *out, size_t size)
{
    switch (*r->object) {
    case 'P': snprintf(out, size, "127.0.0.1:%d", world.port); break;
    case 'U': snprintf(out, size, "%s", world.path); break;
    case 'L': snprintf(out, size, "%s/lock", world.folder); break;
    case 'R': snprintf(out, size, "%s/record", world.folder); break;
    default: snprintf(out, size, "%s", r->object);
    }
}

static bool as_expected(const struct row *r, const struct waiting *w)
{
    char object[200];
    expected(r, object, sizeof object);
    return w->kind == r->kind && strcmp(w->object, object) == 0 && w->guessed == r->guessed &&
           (w->holder == (uint32_t)getpid()) == r->held;
}

static void each_kind(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct waiting w     = {0};
        bool           found = false;
        const pid_t    pid   = fork();
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            prctl(PR_SET_NAME, "wa) S (it");
            rows[i].child();
            _exit(1);
        }
        for (int ms = 0; ms < PATIENCE_MS && !found; ms += 20) { /* until the wait is seen */
            pause_ms(20);
            found = waiting_look(world.proc, (uint32_t)pid, &w) && as_expected(&rows[i], &w);
        }
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        if (!found)
            fail_msg("row %zu: %s \"%s\" guessed %d holder %u (call %s)", i, waiting_word(w.kind), w.object, w.guessed,
                     w.holder, w.call);
        assert_string_equal(w.name, "wa) S (it");
        if (rows[i].kind != WAIT_FUTEX || *w.call)
            assert_true(*w.call);
    }
}

/* A running process, a missing one, an ended one. */
static void nothing(void **state)
{
    struct waiting w;
    (void)state;
    assert_false(waiting_look(world.proc, (uint32_t)getpid(), &w));
    assert_false(waiting_look(world.proc, 0, &w));
    assert_false(waiting_look(world.proc, UINT32_MAX, &w));
    const pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    siginfo_t i;
    assert_int_equal(waitid(P_PID, (id_t)pid, &i, WEXITED | WNOWAIT), 0);
    assert_false(waiting_look(world.proc, (uint32_t)pid, &w));
    waitpid(pid, NULL, 0);
}

static int set_up(void **state)
{
    struct sockaddr_in a    = internet(0);
    struct sockaddr_un u    = {.sun_family = AF_UNIX};
    struct flock       l    = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    socklen_t          size = sizeof a;
    char               path[160];
    (void)state;
    snprintf(world.folder, sizeof world.folder, "/tmp/al-waiting-XXXXXX");
    if (!mkdtemp(world.folder))
        return -1;
    snprintf(world.path, sizeof world.path, "%s/socket", world.folder);
    snprintf(u.sun_path, sizeof u.sun_path, "%s", world.path);
    snprintf(path, sizeof path, "%s/lock", world.folder);
    world.lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    snprintf(path, sizeof path, "%s/record", world.folder);
    if (flock(world.lock_fd, LOCK_EX) < 0 || fcntl(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), F_SETLKW, &l) < 0)
        return -1;
    world.proc          = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    world.tcp_listener  = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    world.unix_listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(world.tcp_listener, (struct sockaddr *)&a, sizeof a) < 0 || listen(world.tcp_listener, 4) < 0 ||
        getsockname(world.tcp_listener, (struct sockaddr *)&a, &size) < 0 ||
        bind(world.unix_listener, (struct sockaddr *)&u, sizeof u) < 0 || listen(world.unix_listener, 16) < 0)
        return -1;
    world.port = ntohs(a.sin_port);
    return 0;
}

static int tear_down(void **state)
{
    char path[160];
    (void)state;
    unlink(world.path);
    for (unsigned i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", world.folder, i ? "lock" : "record");
        unlink(path);
    }
    return rmdir(world.folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_kind), cmocka_unit_test(nothing)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
