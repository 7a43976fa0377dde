/* The cost of a fault, a mapping and a connection for the program, traced and not, in one interleaved run: medians. */
#include "autologger/kernel/tests/klog_fixture.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>

enum { ROUNDS = 7, PAGE = 4096, FAULTS = 20000, MAPPINGS = 4000, CONNECTIONS = 300 };

static double ns_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void touch(void)
{
    char *p = mmap(NULL, (size_t)FAULTS * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, (size_t)FAULTS * PAGE, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < FAULTS; i++)
        p[i * PAGE] = 1;
    munmap(p, (size_t)FAULTS * PAGE);
}

static int  mapped_fd;
static void map(void)
{
    for (int i = 0; i < MAPPINGS; i++)
        munmap(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, mapped_fd, 0), PAGE);
}

static void connect_all(void)
{
    struct sockaddr_in a        = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t          size     = sizeof a;
    int                listener = socket(AF_INET, SOCK_STREAM, 0);
    char               byte     = 0;
    assert_true(bind(listener, (struct sockaddr *)&a, size) == 0 && listen(listener, 16) == 0);
    getsockname(listener, (struct sockaddr *)&a, &size);
    for (int i = 0; i < CONNECTIONS; i++) {
        int client = socket(AF_INET, SOCK_STREAM, 0);
        assert_int_equal(connect(client, (struct sockaddr *)&a, size), 0);
        int server = accept(listener, NULL, NULL);
        assert_true(send(client, &byte, 1, 0) == 1 && recv(server, &byte, 1, 0) == 1);
        close(client);
        close(server);
    }
    close(listener);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

struct row {
    const char *what;
    void (*work)(void);
    unsigned times;
    uint32_t word0;
    unsigned hook;
};
static double once(const struct row *r, bool traced)
{
    static struct collector c;
    struct klog_counters    n;
    struct klog_config      config = config_make(&c, r->word0, 0);
    config.hooks[0]                = (uint16_t)r->hook;
    config.hook_count              = r->hook != 0;
    if (traced && !start(&c, &config))
        skip();
    double began = ns_now();
    r->work();
    double took = (ns_now() - began) / r->times;
    if (traced) {
        halt(&c);
        klog_counters(c.k, &n);
        assert_int_equal(n.attempted, n.converted + n.withheld + n.lost_ring + n.lost_memory + n.lost_conversion);
        finish(&c);
    }
    return took;
}

static void costs(void **state)
{
    static const struct row rows[] = {{"page fault, ALL_FAULTS", touch, FAULTS, 0x1003, 0},
                                      {"page fault, ALL_FAULTS with stack", touch, FAULTS, 0x1003, 0x020B},
                                      {"page fault, HARD_FAULTS", touch, FAULTS, 0x2003, 0},
                                      {"mmap and munmap, VAMAP", map, MAPPINGS, 0x8003, 0},
                                      {"connection, NETWORKTRACE", connect_all, CONNECTIONS, 0x10003, 0}};
    char                    path[] = AL_BINARY_DIR "/benchXXXXXX";
    (void)state;
    mapped_fd = mkstemp(path);
    unlink(path);
    assert_int_equal(ftruncate(mapped_fd, PAGE), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double off[ROUNDS], on[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            off[round] = once(&rows[i], false);
            on[round]  = once(&rows[i], true);
        }
        qsort(off, ROUNDS, sizeof *off, by_value);
        qsort(on, ROUNDS, sizeof *on, by_value);
        print_message("%-36s %8.0f ns, traced %8.0f ns: %+.0f\n", rows[i].what, off[ROUNDS / 2], on[ROUNDS / 2],
                      on[ROUNDS / 2] - off[ROUNDS / 2]);
    }
    close(mapped_fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(costs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
