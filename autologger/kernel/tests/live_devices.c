/* Devices that come and go, on this machine: requested uevents of a network card are there, each once, in order; the
 * socket's losses are counted to the message; a successor finds uevents that came while nobody read; uevents that a
 * predecessor took and died with are counted. Needs root; else skipped. */
#include "autologger/kernel/tests/klog_fixture.h"

#include <fcntl.h>
#include <sys/socket.h>

#define CARD "/sys/class/net/lo/uevent"
#define MARK "c0ffee00-0000-4000-8000-%012u"

/* Requests `count` uevents, numbered from `from`: the kernel sends each with its mark. */
static void ask(unsigned from, unsigned count)
{
    char text[96];
    int  fd = open(CARD, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    for (unsigned i = from; i < from + count; i++) {
        int n = snprintf(text, sizeof text, "change " MARK, i);
        assert_int_equal(write(fd, text, (size_t)n), n);
    }
    close(fd);
}

static uint64_t kernel_number(void)
{
    char text[32] = "";
    int  fd       = open("/sys/kernel/uevent_seqnum", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    close(fd);
    return strtoull(text, NULL, 10);
}

/* Returns the number of our uevents; they must be in order, from `from` on, and whole. */
static unsigned ours(const struct collector *c, unsigned from)
{
    unsigned next = from;
    for (size_t i = 0; i < c->count; i++) {
        if (c->event[i].hook != HOOK_DESCRIBED || strcmp(c->event[i].name, "Uevent") != 0)
            continue;
        const char *p = (const char *)c->event[i].body, *text[8];
        for (int f = 0; f < 6; f++, p += strlen(p) + 1)
            text[f] = p;
        const char *rest = p + 8;
        unsigned    number;
        if (sscanf(rest, "SYNTH_UUID=" MARK, &number) != 1)
            continue;
        assert_string_equal(text[0], "change");
        assert_string_equal(text[1], "/devices/virtual/net/lo");
        assert_string_equal(text[2], "net");
        assert_non_null(strstr(rest, "INTERFACE=lo"));
        assert_int_equal(number, next);
        next++;
    }
    return next - from;
}

static uint64_t missing(const struct collector *c)
{
    uint64_t all = 0, one;
    for (size_t i = 0; i < c->count; i++)
        if (c->event[i].hook == HOOK_DESCRIBED && strcmp(c->event[i].name, "UeventsLost") == 0) {
            memcpy(&one, c->event[i].body, sizeof one);
            all += one;
        }
    return all;
}

static struct {
    uint64_t attempted, drained, lost;
} counted;
static void source_seen(void *ctx, const char *name, uint64_t attempted, uint64_t drained, uint64_t lost)
{
    (void)ctx;
    if (strcmp(name, "uevent") != 0)
        return;
    counted.attempted = attempted;
    counted.drained   = drained;
    counted.lost      = lost;
}

static bool begin(struct collector *c, struct klog_config *config)
{
    *config            = config_make(c, 0x1, 0);
    config->devices    = true;
    config->hook_count = 0;
    if (access(CARD, W_OK) == 0)
        return start(c, config);
    print_message("skipped: %s cannot be written\n", CARD);
    return false;
}

static void balanced(struct collector *c)
{
    struct klog_counters n;
    klog_counters(c->k, &n);
    klog_sources(c->k, source_seen, NULL);
    assert_int_equal(n.attempted, n.converted + n.withheld + n.lost_ring + n.lost_memory + n.lost_conversion);
    assert_int_equal(counted.attempted, counted.drained + counted.lost);
    assert_int_equal(missing(c), counted.lost);
}

static void each_once_in_order(void **state)
{
    static struct collector c;
    struct klog_config      config;
    (void)state;
    if (!begin(&c, &config))
        skip();
    uint64_t before = kernel_number();
    ask(1, 300);
    uint64_t after = kernel_number();
    halt(&c);
    assert_int_equal(ours(&c, 1), 300);
    balanced(&c);
    assert_int_equal(counted.lost, 0);
    assert_true(counted.drained >= 300 && after - before >= 300);
    finish(&c);
}

/* Nobody reads; the socket has 8 MB (twice that by the kernel's own count). The newest uevents are lost, and then
 * either more follow or none. */
static void what_the_socket_lost(bool more_follow)
{
    enum { MANY = 40000 };
    static struct collector c;
    struct klog_config      config;
    if (!begin(&c, &config))
        skip();
    ask(1, 1); /* the first number is known */
    usleep(100000);
    __atomic_store_n(&c.hold, 1, __ATOMIC_RELEASE);
    usleep(50000);
    ask(2, MANY);
    __atomic_store_n(&c.hold, 0, __ATOMIC_RELEASE);
    if (more_follow) {
        usleep(300000);
        ask(1000000, 5);
    }
    halt(&c);
    balanced(&c);
    print_message("of %d uevents %llu were drained, %llu lost\n", MANY + 1, (unsigned long long)counted.drained,
                  (unsigned long long)counted.lost);
    assert_true(counted.lost > 0 && counted.attempted >= MANY + 1);
    assert_true(counted.attempted < MANY + 1000); /* other devices send few */
    finish(&c);
}
static void lost_in_the_middle(void **state) { (void)state, what_the_socket_lost(true); }
static void lost_at_the_end(void **state) { (void)state, what_the_socket_lost(false); }

/* ---- a successor ---- */

struct kept {
    struct {
        char name[64];
        int  fd;
    } row[4096];
    unsigned count;
    void    *map[256];
    size_t   bytes;
    unsigned maps;
};
static void keep(void *ctx, const char *name, int fd, size_t ring_bytes)
{
    struct kept *kept = ctx;
    assert_true(kept->count < 4096);
    snprintf(kept->row[kept->count].name, 64, "%s", name);
    kept->row[kept->count++].fd = dup(fd);
    if (ring_bytes && kept->maps < 256) { /* a ring ends with its last mapping */
        kept->bytes             = ring_bytes;
        kept->map[kept->maps++] = mmap(NULL, ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
}
static int kept_find(void *ctx, const char *name)
{
    struct kept *kept = ctx;
    for (unsigned i = 0; i < kept->count; i++)
        if (strcmp(kept->row[i].name, name) == 0)
            return kept->row[i].fd;
    return -1;
}

/* `taken`: so many uevents the predecessor takes before it dies, none of them in a log; 0: it ends in order. */
static void handed_over(unsigned taken)
{
    static struct collector c;
    static struct kept      kept;
    struct klog_config      config;
    struct reason           why;
    char                    message[8192];
    memset(&kept, 0, sizeof kept);
    if (!begin(&c, &config))
        skip();
    ask(1, 10);
    usleep(100000);
    __atomic_store_n(&c.stop, 1, __ATOMIC_RELEASE);
    klog_wake(c.k);
    pthread_join(c.drainer, NULL);
    klog_fds(c.k, keep, &kept);
    if (!taken)
        klog_leave(c.k);
    collect(&c);
    for (unsigned cpu = 0; cpu < c.cpus; cpu++)
        klog_release(c.k, cpu, c.last[cpu]);
    klog_destroy(c.k);
    ask(11, 20); /* no program reads */
    for (unsigned i = 0; i < taken; i++)
        assert_true(recv(kept_find(&kept, "uevent"), message, sizeof message, MSG_DONTWAIT) > 0);
    if (klog_adopt(&config, kept_find, &kept, &c.k, &why))
        fail_msg("%s", why.text);
    for (unsigned i = 0; i < kept.maps; i++)
        munmap(kept.map[i], kept.bytes);
    for (unsigned cpu = 0; cpu < c.cpus; cpu++)
        klog_suppress(c.k, cpu, c.last[cpu]);
    c.stop = 0;
    assert_int_equal(pthread_create(&c.drainer, NULL, drain_main, &c), 0);
    assert_int_equal(klog_start(c.k, &why), 0);
    ask(31, 5);
    halt(&c);
    balanced(&c);
    assert_int_equal(counted.lost, taken);
    if (!taken)
        assert_int_equal(ours(&c, 1), 35);
    finish(&c);
}
static void successor_finds_what_came(void **state) { (void)state, handed_over(0); }
static void what_a_dead_one_took(void **state) { (void)state, handed_over(3); }

/* Without DeviceEvents there is no socket and no source. */
static void not_asked_for(void **state)
{
    static struct collector c;
    struct klog_config      config = config_make(&c, 0x1, 0);
    (void)state;
    memset(&counted, 0, sizeof counted);
    if (!start(&c, &config))
        skip();
    halt(&c);
    klog_sources(c.k, source_seen, NULL);
    assert_int_equal(counted.attempted, 0);
    assert_int_equal(ours(&c, 1), 0);
    finish(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_once_in_order),   cmocka_unit_test(lost_in_the_middle),
        cmocka_unit_test(lost_at_the_end),      cmocka_unit_test(successor_finds_what_came),
        cmocka_unit_test(what_a_dead_one_took), cmocka_unit_test(not_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
