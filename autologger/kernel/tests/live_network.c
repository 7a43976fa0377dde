/* NETWORKTRACE on this machine's loopback: a known number of connections and bytes is found again, by process. Proves:
 * issue 4, truth of NETWORKTRACE. Needs CAP_PERFMON; else skipped. */
#include "autologger/kernel/tests/klog_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <signal.h>
#include <sys/wait.h>

enum { CONNECTIONS = 50, DATAGRAMS = 50, BASE_BYTES = 1000, DATAGRAM_BYTES = 300 };

union address {
    struct sockaddr     any;
    struct sockaddr_in  v4;
    struct sockaddr_in6 v6;
};

static socklen_t loopback(union address *a, int family)
{
    memset(a, 0, sizeof *a);
    a->any.sa_family = (sa_family_t)family;
    if (family == AF_INET) {
        a->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return sizeof a->v4;
    }
    a->v6.sin6_addr = in6addr_loopback;
    return sizeof a->v6;
}

/* A bound socket on loopback; its port goes into *a. -1: this machine has no such family. */
static int bound(int family, int type, union address *a)
{
    socklen_t size = loopback(a, family);
    int       fd   = socket(family, type, 0);
    if (fd >= 0 && bind(fd, &a->any, size) == 0 && getsockname(fd, &a->any, &size) == 0 &&
        (type != SOCK_STREAM || listen(fd, 128) == 0))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static void serve(int listener, int datagrams)
{
    char byte[4096];
    for (int i = 0; i < CONNECTIONS; i++) {
        int     fd = accept(listener, NULL, NULL);
        ssize_t n;
        while ((n = recv(fd, byte, sizeof byte, 0)) > 0)
            ;
        close(fd);
        if (n < 0)
            _exit(1);
    }
    for (int i = 0; i < DATAGRAMS; i++)
        if (recv(datagrams, byte, sizeof byte, 0) != DATAGRAM_BYTES)
            _exit(2);
    _exit(0);
}

static void use(const union address *to, const union address *datagrams_to, socklen_t size)
{
    char byte[BASE_BYTES + CONNECTIONS] = {0};
    for (int i = 0; i < CONNECTIONS; i++) {
        int fd = socket(to->any.sa_family, SOCK_STREAM, 0);
        if (connect(fd, &to->any, size) != 0 || send(fd, byte, (size_t)(BASE_BYTES + i), 0) != BASE_BYTES + i)
            _exit(1);
        shutdown(fd, SHUT_WR);
        if (recv(fd, byte, sizeof byte, 0) != 0) /* 0: the server has read all */
            _exit(3);
        close(fd);
    }
    int fd = socket(to->any.sa_family, SOCK_DGRAM, 0), connected = socket(to->any.sa_family, SOCK_DGRAM, 0);
    if (connect(connected, &datagrams_to->any, size) != 0)
        _exit(4);
    for (int i = 0; i < DATAGRAMS; i++)
        if ((i & 1 ? send(connected, byte, DATAGRAM_BYTES, 0)
                   : sendto(fd, byte, DATAGRAM_BYTES, 0, &datagrams_to->any, size)) != DATAGRAM_BYTES)
            _exit(2);
    _exit(0);
}

/* Sends and receives datagrams of the other family all the time: their interrupts come in any thread. */
static pid_t noise(int family)
{
    union address to;
    char          byte[64] = {0};
    int           began[2];
    assert_int_equal(pipe(began), 0);
    pid_t child = fork();
    if (child == 0) {
        int in = bound(family, SOCK_DGRAM, &to), out = socket(family, SOCK_DGRAM, 0);
        while (in >= 0 &&
               sendto(out, byte, sizeof byte, 0, &to.any, family == AF_INET ? sizeof to.v4 : sizeof to.v6) > 0 &&
               recv(in, byte, sizeof byte, 0) > 0)
            if (began[1] >= 0 && write(began[1], byte, 1) == 1)
                began[1] = -1;
        _exit(0);
    }
    close(began[1]);
    if (read(began[0], byte, 1) != 1)
        print_message("this machine has no loopback of family %d\n", family);
    close(began[0]);
    return child;
}

struct sums {
    size_t   events;
    uint64_t bytes;
};
static struct sums sums_of(const struct collector *c, uint16_t hook, pid_t pid)
{
    struct sums s = {0};
    for (size_t i = 0; i < c->count; i++)
        if (c->event[i].hook == hook && (pid < 0 || u32_at(&c->event[i], 0) == (uint32_t)pid)) {
            s.events++;
            s.bytes += u32_at(&c->event[i], 4);
        }
    return s;
}

/* Each event of the client has the server's port at the far end, and loopback addresses at both. */
static void check_ends(const struct collector *c, uint16_t hook, pid_t client, const union address *server)
{
    bool   four = server->any.sa_family == AF_INET;
    size_t n    = four ? 4 : 16;
    for (size_t i = 0; i < c->count; i++) {
        const struct seen *s = &c->event[i];
        if (s->hook != hook || u32_at(s, 0) != (uint32_t)client)
            continue;
        const void *address = four ? (const void *)&server->v4.sin_addr : (const void *)&server->v6.sin6_addr;
        assert_memory_equal(s->payload + 8, address, n);
        assert_memory_equal(s->payload + 8 + n, address, n);
        assert_memory_equal(s->payload + 8 + 2 * n, &server->v4.sin_port, 2); /* same offset in both families */
        assert_true(s->payload[8 + 2 * n + 2] || s->payload[8 + 2 * n + 3]);
    }
}

/* Each datagram has the server's end and one of the client's two, as sent and as received; received ones have no ends
 * where the kernel does not show them. */
static void check_datagrams(const struct collector *c, uint16_t six, pid_t client, pid_t server,
                            const union address *to)
{
    static const uint8_t none[36];
    const void          *address = six ? (const void *)&to->v6.sin6_addr : (const void *)&to->v4.sin_addr;
    size_t               n = six ? 16 : 4, by_port[65536 / 64] = {0}, ports = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct seen *s    = &c->event[i];
        bool               sent = s->hook == 0x080A + six && u32_at(s, 0) == (uint32_t)client,
             received           = s->hook == 0x080B + six && u32_at(s, 0) == (uint32_t)server;
        if (!sent && !received)
            continue;
        const uint8_t *far = s->payload + 8, *here = far + n, *far_port = here + n, *port = far_port + 2;
        if (received && c->receipts_untold) {
            assert_memory_equal(far, none, 2 * n + 4); /* no ends are better than wrong ones */
            continue;
        }
        assert_memory_equal(far, address, n);
        assert_memory_equal(sent ? far_port : port, &to->v4.sin_port, 2); /* same offset in both families */
        unsigned own = sent ? port[0] << 8 | port[1] : far_port[0] << 8 | far_port[1];
        assert_true(own != 0);
        assert_memory_equal(here, address, n);
        if (!(by_port[own / 64] >> (own & 63) & 1))
            ports++;
        by_port[own / 64] |= (size_t)1 << (own & 63);
    }
    assert_int_equal(ports, 2);
}

static void truth(int family)
{
    static struct collector c;
    struct klog_counters    n;
    union address           to, datagrams_to;
    struct klog_config      config = config_make(&c, 0x10003, 0);
    uint64_t                sent   = (uint64_t)CONNECTIONS * BASE_BYTES + CONNECTIONS * (CONNECTIONS - 1) / 2;
    uint16_t                six    = family == AF_INET6 ? 0x10 : 0;
    int                     status = 0;
    config.hook_count              = 0;
    if (!start(&c, &config))
        skip();
    pid_t server, others = noise(family == AF_INET ? AF_INET6 : AF_INET);
    int   ready[2];
    assert_int_equal(pipe(ready), 0);
    if ((server = fork()) == 0) { /* the child listens itself: Accept names the listener */
        int listener = bound(family, SOCK_STREAM, &to), datagrams = bound(family, SOCK_DGRAM, &datagrams_to);
        if (listener < 0 || datagrams < 0)
            _exit(77);
        if (write(ready[1], &to, sizeof to) != sizeof to || write(ready[1], &datagrams_to, sizeof to) != sizeof to)
            _exit(4);
        serve(listener, datagrams);
    }
    close(ready[1]);
    bool here = read(ready[0], &to, sizeof to) == sizeof to && read(ready[0], &datagrams_to, sizeof to) == sizeof to;
    close(ready[0]);
    pid_t client = -1;
    if (here && (client = fork()) == 0)
        use(&to, &datagrams_to, family == AF_INET ? sizeof to.v4 : sizeof to.v6);
    if (here) {
        assert_int_equal(waitpid(client, &status, 0), client);
        assert_int_equal(status, 0);
    }
    assert_int_equal(waitpid(server, &status, 0), server);
    kill(others, SIGKILL);
    assert_int_equal(waitpid(others, NULL, 0), others);
    usleep(50000); /* the last close ends in an interrupt */
    halt(&c);
    check_balance(&c, &n);
    if (!here) {
        print_message("skipped: this machine has no loopback of family %d\n", family);
        finish(&c);
        skip();
    }
    assert_int_equal(status, 0);
    assert_count(sums_of(&c, 0x060C + six, client).events, CONNECTIONS, n);
    assert_count(sums_of(&c, 0x060F + six, server).events, CONNECTIONS, n);
    assert_count(sums_of(&c, 0x060D + six, client).events, CONNECTIONS, n);
    assert_count(sums_of(&c, 0x060D + six, server).events, CONNECTIONS, n);
    check_ends(&c, 0x060C + six, client, &to);
    check_ends(&c, 0x060D + six, client, &to);
    if (c.conditions == 0) { /* before Linux 6.3 the kernel does not tell of what is sent and received */
        struct sums out = sums_of(&c, 0x060A + six, client), in = sums_of(&c, 0x060B + six, server);
        assert_count(out.events, CONNECTIONS, n);
        assert_true(n.withheld || (out.bytes == sent && in.bytes == sent));
        assert_true(in.events + n.withheld >= CONNECTIONS && in.events <= 2 * CONNECTIONS);
        check_ends(&c, 0x060A + six, client, &to);
        out = sums_of(&c, 0x080A + six, client);
        in  = sums_of(&c, 0x080B + six, server);
        assert_count(out.events, DATAGRAMS, n);
        assert_count(in.events, DATAGRAMS, n);
        assert_true(out.bytes == out.events * DATAGRAM_BYTES && in.bytes == in.events * DATAGRAM_BYTES);
        check_datagrams(&c, six, client, server, &datagrams_to);
    }
    finish(&c);
}

static void NETWORKTRACE_of_ipv4(void **state)
{
    (void)state;
    truth(AF_INET);
}
static void NETWORKTRACE_of_ipv6(void **state)
{
    (void)state;
    truth(AF_INET6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(NETWORKTRACE_of_ipv4), cmocka_unit_test(NETWORKTRACE_of_ipv6)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
