/* Network events from raw records. Proves: issue 4, NETWORKTRACE: owners, addresses of both families, ports, what was
 * never connected. */
#include "autologger/kernel/source/nettap_record.h"
#include "autologger/kernel/tests/convert_fixture.h"

enum { CLOSED = 7, LISTEN = 10, SENT = 2, RECEIVED = 3, UP = 1, WAIT1 = 4, INTERRUPT = 0x10, TCP = 6, UDP = 17 };

static int setup(void **state)
{
    (void)state;
    fixture_begin(&(struct klog_config){.mask = {0x10000}, .clock = {1, CLOCK_READ_RAW, 1000000000}});
    return 0;
}

static void v4(uint8_t out16[16], uint32_t address)
{
    memset(out16, 0, 16);
    out16[10] = out16[11] = 0xFF;
    for (int i = 0; i < 4; i++)
        out16[12 + i] = (uint8_t)(address >> (24 - i * 8));
}
struct state_record { /* as on 6.18 */
    uint16_t type;
    uint8_t  flags, preempt;
    int32_t  tid;
    uint64_t sk;
    int32_t  old, now;
    uint16_t sport, dport, family, protocol;
    uint8_t  saddr4[4], daddr4[4], saddr[16], daddr[16];
};
_Static_assert(sizeof(struct state_record) == 72, "inet_sock_set_state");

static void state_change(uint64_t time, uint32_t pid, uint64_t sk, int old, int now, struct state_record r)
{
    r.sk       = sk;
    r.old      = old;
    r.now      = now;
    r.protocol = r.protocol ? r.protocol : TCP;
    maker_sample(&maker, 0, SRC_SOCKET_STATE, time, pid, pid, 0, 0, &r, sizeof r);
}
static void length(unsigned source, uint64_t time, uint32_t pid, uint64_t sk, uint16_t family, uint16_t protocol,
                   int32_t result, int32_t flags)
{
    struct {
        uint64_t common, sk;
        uint16_t family, protocol;
        int32_t  result, flags;
    } r = {0, sk, family, protocol, result, flags};
    maker_sample(&maker, 1, source, time, pid, pid, 0, 0, &r, 28);
}
static void finish(void)
{
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 90000, UINT64_MAX);
    run();
}

/* The BPF program's record of a datagram's ends, just before its event and in the same thread. */
static void ends_told(uint64_t time, uint32_t tid, uint64_t sk, bool received, bool six, uint8_t last)
{
    struct net_record r = {.sk = sk, .received = received, .sport = (unsigned short)(5000 + last), .dport = 53};
    v4(r.saddr, 0x0A000100u + last);
    v4(r.daddr, 0x0A000200u + last);
    if (six) {
        memcpy(r.saddr, "\xFD\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C\x0D", 15);
        memcpy(r.daddr, "\xFE\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C\x0D", 15);
        r.saddr[15] = r.daddr[15] = last;
    }
    maker_sample(&maker, 1, SRC_UDP_ENDS, time, tid, tid, 0, 0, &r, sizeof r);
}

static void ends_of_datagrams(void **state)
{
    (void)state;
    ends_told(1000, 600, 0xB0, false, false, 1);
    length(SRC_SEND_LENGTH, 1010, 600, 0xB0, 2, UDP, 100, 0);
    length(SRC_SEND_LENGTH, 1020, 600, 0xB0, 2, UDP, 101, 0); /* without a record of ends: the event has none */
    ends_told(1100, 600, 0xB4, false, true, 2);
    length(SRC_SEND_LENGTH, 1110, 600, 0xB4, 10, UDP, 102, 0);
    ends_told(1200, 700, 0xC0, true, false, 3);
    ends_told(1210, 701, 0xC4, true, true, 4); /* of another thread */
    length(SRC_RECV_LENGTH, 1220, 700, 0xC0, 2, UDP, 103, 0);
    length(SRC_RECV_LENGTH, 1230, 701, 0xC4, 10, UDP, 104, 0);
    ends_told(1300, 600, 0xB4, false, false, 5); /* a socket of IPv6 that sends to an address of IPv4 */
    length(SRC_SEND_LENGTH, 1310, 600, 0xB4, 10, UDP, 105, 0);
    ends_told(1400, 600, 0xB0, false, false, 6); /* a failed call: the next one has ends of its own */
    length(SRC_SEND_LENGTH, 1410, 600, 0xB0, 2, UDP, -11, 0);
    ends_told(1420, 600, 0xB0, false, false, 7);
    length(SRC_SEND_LENGTH, 1430, 600, 0xB0, 2, UDP, 106, 0);
    maker_sample(&maker, 1, SRC_UDP_ENDS, 1500, 600, 600, 0, 0, "short", 6);
    maker_chunk(&maker, 1, RAW_CHUNK_PERF);
    finish();
    assert_int_equal(out.count, 7);
    const struct one *a = nth(0x080A, 0), *b = nth(0x080A, 1), *c = nth(0x080A, 2), *d = nth(0x080A, 3),
                     *six = nth(0x081A, 0), *r = nth(0x080B, 0);
    assert_memory_equal(a->payload + 8, "\x0A\0\2\1\x0A\0\1\1\0\x35\x13\x89", 12); /* to, from, 53, 5001 */
    assert_memory_equal(b->payload + 8, "\0\0\0\0\0\0\0\0\0\0\0\0", 12);
    assert_true(u32(c, 4) == 105 && c->payload[11] == 5 && u32(d, 4) == 106 && d->payload[11] == 7);
    assert_true(u32(six, 0) == 600 && six->payload[8] == 0xFE && six->payload[23] == 2 && six->payload[24] == 0xFD);
    assert_true(u32(r, 0) == 700 && u32(r, 4) == 103 && r->payload[11] == 3 && u32(nth(0x081B, 0), 0) == 701 &&
                nth(0x081B, 0)->payload[23] == 4);
}

static void call_told(uint64_t time, uint32_t pid, uint64_t sk, uint16_t family, uint16_t protocol, int32_t result,
                      uint32_t flags, uint32_t kind)
{
    const struct net_call r = {
        .sk = sk, .ret = result, .flags = flags, .family = family, .protocol = protocol, .kind = kind};
    maker_sample(&maker, 1, SRC_UDP_ENDS, time, pid, pid, 0, 0, &r, sizeof r);
}

/* A kernel without the tracepoints: BPF programs report the calls instead. */
static void calls_by_programs(void **state)
{
    (void)state;
    ends_told(1000, 600, 0xB0, false, false, 1);
    call_told(1010, 600, 0xB0, 2, UDP, 100, 0, NET_CALL_SENT);
    ends_told(1100, 600, 0xB0, true, false, 2);
    call_told(1110, 600, 0xB0, 2, UDP, 101, 0, NET_CALL_RECEIVED);
    call_told(1120, 600, 0xB0, 2, UDP, 102, 2, NET_CALL_RECEIVED); /* MSG_PEEK */
    call_told(1130, 600, 0xB0, 2, UDP, -11, 0, NET_CALL_SENT);
    call_told(1140, 600, 0xD0, 10, 6, 103, 0, NET_CALL_SENT);
    call_told(1150, 600, 0xD0, 10, 6, 104, 0, NET_CALL_RECEIVED);
    call_told(1160, 600, 0xD0, 1, 0, 105, 0, NET_CALL_SENT); /* not a network socket */
    maker_chunk(&maker, 1, RAW_CHUNK_PERF);
    finish();
    assert_int_equal(out.count, 4);
    const struct one *sent = nth(0x080A, 0), *received = nth(0x080B, 0);
    assert_true(u32(sent, 4) == 100 && sent->payload[11] == 1 && u32(received, 4) == 101 && received->payload[11] == 2);
    assert_true(u32(nth(0x061A, 0), 4) == 103 && u32(nth(0x061B, 0), 4) == 104);
}

static void lost_on(uint32_t cpu, uint64_t from, uint64_t to)
{
    _Alignas(struct raw_lost) uint8_t bytes[sizeof(struct raw_lost) + sizeof(struct raw_lost_row)];
    struct raw_lost                  *r   = (void *)bytes;
    struct raw_lost_row               row = {.source = 0, .lost = 1};
    *r                                    = (struct raw_lost){
                                           .own = {.type = RAW_LOST, .time = to}, .from_ns = from, .cpu = cpu, .cause = LOST_RING, .count = 1};
    memcpy(bytes + sizeof *r, &row, sizeof row);
    maker_own(&maker, bytes, sizeof bytes, NULL, NULL);
}

/* The ends of one datagram are never used for another, even when its own event failed or was lost: no ends are
 * better. */
static void ends_of_no_other(void **state)
{
    (void)state;
    /* a call that failed after its ends were told; the next one must not use them */
    ends_told(1000, 600, 0xB0, false, false, 1);
    length(SRC_SEND_LENGTH, 1010, 600, 0xB0, 2, UDP, -105, 0);
    length(SRC_SEND_LENGTH, 1020, 600, 0xB0, 2, UDP, 100, 0);
    ends_told(1100, 600, 0xC0, true, false, 2); /* MSG_PEEK, and another thread takes the datagram: ends of no event */
    length(SRC_RECV_LENGTH, 1110, 600, 0xC0, 2, UDP, 50, 2);
    length(SRC_RECV_LENGTH, 1120, 600, 0xC0, 2, UDP, 101, 0);
    ends_told(1200, 600, 0xC0, true, false, 3); /* an empty datagram */
    length(SRC_RECV_LENGTH, 1210, 600, 0xC0, 2, UDP, 0, 0);
    length(SRC_RECV_LENGTH, 1220, 600, 0xC0, 2, UDP, 102, 0);
    ends_told(1300, 600, 0xC0, true, false, 4); /* a raw socket's, of another family */
    length(SRC_RECV_LENGTH, 1310, 600, 0xC0, 17, UDP, 10, 0);
    length(SRC_RECV_LENGTH, 1320, 600, 0xC0, 2, UDP, 103, 0);
    ends_told(1400, 600, 0xC0, true, false, 5); /* a received one: neither for a sent one nor another socket */
    length(SRC_SEND_LENGTH, 1410, 600, 0xC0, 2, UDP, 104, 0);
    length(SRC_RECV_LENGTH, 1420, 600, 0xC8, 2, UDP, 105, 0);
    ends_told(1500, 600, 0xB0, false, false, 6); /* its event is lost, and so are the ends of the next one */
    maker_chunk(&maker, 1, RAW_CHUNK_PERF);
    lost_on(1, 1500, 1510);
    maker_chunk(&maker, 0, RAW_CHUNK_OWN);
    length(SRC_SEND_LENGTH, 1600, 600, 0xB0, 2, UDP, 106, 0);
    maker_chunk(&maker, 1, RAW_CHUNK_PERF);
    finish();
    static const uint8_t none[12];
    unsigned             sent = 0, received = 0;
    for (const struct one *o; (o = nth(0x080A, sent)) != NULL; sent++)
        assert_true(u32(o, 4) >= 100 && memcmp(o->payload + 8, none, sizeof none) == 0);
    for (const struct one *o; (o = nth(0x080B, received)) != NULL; received++)
        assert_true(u32(o, 4) >= 100 && memcmp(o->payload + 8, none, sizeof none) == 0);
    assert_int_equal(sent, 3);
    assert_int_equal(received, 4);
}

static struct state_record client_end(bool six)
{
    struct state_record r = {.sport = 40000, .dport = 8080};
    v4(r.saddr, 0x0A000001);
    v4(r.daddr, 0x0A000002);
    if (six) {
        memcpy(r.saddr, "\xFD\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C\x0D\x0E", 16);
        memcpy(r.daddr, "\xFD\x00\xF1\xF2\xF3\xF4\xF5\xF6\xF7\xF8\xF9\xFA\xFB\xFC\xFD\xFE", 16);
    }
    return r;
}
static struct state_record turned(struct state_record r)
{
    struct state_record t = r;
    t.sport               = r.dport;
    t.dport               = r.sport;
    memcpy(t.saddr, r.daddr, 16);
    memcpy(t.daddr, r.saddr, 16);
    return t;
}

static void connection(bool six)
{
    struct state_record client = client_end(six), server = turned(client), listener = {.sport = 8080}, started = client;
    started.sport = 0; /* the port is chosen later */
    state_change(1000, 700, 0xA0, CLOSED, LISTEN, listener);
    state_change(2000, 600, 0xB0, CLOSED, SENT, started);
    client.flags = server.flags = INTERRUPT;
    state_change(3000, 999, 0xC0, LISTEN, RECEIVED, server); /* 999: the thread that the interrupt hit */
    state_change(3100, 999, 0xC0, RECEIVED, UP, server);
    state_change(3200, 999, 0xB0, SENT, UP, client);
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    length(SRC_SEND_LENGTH, 4000, 600, 0xB0, 2, TCP, 1234, 0);
    length(SRC_RECV_LENGTH, 4100, 701, 0xC0, 10, TCP, 100, 2);  /* MSG_PEEK: the data stay */
    length(SRC_RECV_LENGTH, 4200, 701, 0xC0, 10, TCP, 1234, 0); /* by a child of the listening process */
    length(SRC_RECV_LENGTH, 4300, 701, 0xC0, 10, TCP, -11, 0);
    length(SRC_RECV_LENGTH, 4400, 701, 0xC0, 10, TCP, 0, 0); /* the other end closed */
    maker_chunk(&maker, 1, RAW_CHUNK_PERF);
    state_change(5000, 999, 0xB0, UP, WAIT1, client);
    client.sport = 0;
    state_change(5100, 999, 0xB0, WAIT1, CLOSED, client);
    state_change(5200, 999, 0xC0, 9, CLOSED, server);
    state_change(5300, 700, 0xA0, LISTEN, CLOSED, listener);
    finish();
}

static void ipv4_connection(void **state)
{
    (void)state;
    connection(false);
    assert_int_equal(out.count, 6);
    const struct one *accepted = nth(0x060F, 0), *up = nth(0x060C, 0), *sent = nth(0x060A, 0),
                     *received = nth(0x060B, 0), *a = nth(0x060D, 0), *b = nth(0x060D, 1);
    assert_true(accepted && up && sent && received && a && b);
    assert_true(up->size == 48 && accepted->size == 48 && sent->size == 40 && received->size == 32 && a->size == 32);
    assert_true(up->version == 2 && up->type == ETL_PERFINFO64);
    assert_true(u32(accepted, 0) == 700 && u32(up, 0) == 600 && u32(sent, 0) == 600 && u32(received, 0) == 701);
    assert_true(u32(sent, 4) == 1234 && u32(received, 4) == 1234);
    assert_memory_equal(sent->payload + 8, "\x0A\0\0\2\x0A\0\0\1\x1F\x90\x9C\x40", 12); /* to, from, 8080, 40000 */
    assert_memory_equal(received->payload + 8, "\x0A\0\0\1\x0A\0\0\2\x9C\x40\x1F\x90", 12);
    assert_memory_equal(a->payload + 8, sent->payload + 8, 12); /* the same after the port is 0 */
    assert_true(u32(a, 0) == 600 && u32(b, 0) == 701);
    for (size_t i = 20; i < up->size; i++)
        assert_int_equal(up->payload[i], 0);
}

static void ipv6_connection(void **state)
{
    (void)state;
    connection(true);
    const struct one *accepted = nth(0x061F, 0), *up = nth(0x061C, 0), *sent = nth(0x061A, 0),
                     *received = nth(0x061B, 0);
    assert_true(out.count == 6 && accepted && up && sent && received && nth(0x061D, 1));
    assert_true(up->size == 72 && accepted->size == 72 && sent->size == 64 && received->size == 56 &&
                nth(0x061D, 0)->size == 56);
    struct state_record r = client_end(true);
    assert_memory_equal(sent->payload + 8, r.daddr, 16);
    assert_memory_equal(sent->payload + 24, r.saddr, 16);
    assert_memory_equal(sent->payload + 40, "\x1F\x90\x9C\x40", 4);
    assert_int_equal(u32(accepted, 0), 700);
}

static void never_connected(void **state)
{
    struct state_record r = client_end(false);
    (void)state;
    state_change(1000, 600, 0xB0, CLOSED, SENT, r);
    state_change(1100, 600, 0xB0, SENT, CLOSED, r); /* refused */
    state_change(1200, 600, 0xB0, CLOSED, SENT, r);
    r.protocol = 132;
    state_change(1300, 600, 0xD0, SENT, UP, r); /* SCTP */
    finish();
    assert_int_equal(out.count, 0);
}

static void older_than_the_trace(void **state)
{
    (void)state;
    length(SRC_SEND_LENGTH, 1000, 600, 0xB0, 2, TCP, 10, 0);
    length(SRC_SEND_LENGTH, 1100, 600, 0xB4, 10, TCP, 11, 0);
    length(SRC_SEND_LENGTH, 1200, 600, 0xB8, 1, 0, 12, 0); /* a Unix socket */
    maker_chunk(&maker, 1, RAW_CHUNK_PERF);
    state_change(2000, 0, 0xB0, UP, WAIT1, client_end(false));
    state_change(2100, 0, 0xB0, WAIT1, CLOSED, client_end(false));
    finish();
    const struct one *four = nth(0x060A, 0), *six = nth(0x061A, 0), *end = nth(0x060D, 0);
    assert_true(out.count == 3 && four && six && end);
    assert_true(u32(four, 4) == 10 && u32(four, 8) == 0 && u32(six, 4) == 11);
    assert_true(u32(end, 0) == 0 && memcmp(end->payload + 8, "\x0A\0\0\2\x0A\0\0\1\x1F\x90\x9C\x40", 12) == 0);
}

static void datagrams_and_retransmits(void **state)
{
    struct {
        uint64_t common, skb, sk;
        int32_t  state;
        uint16_t sport, dport, family;
        uint8_t  s4[4], d4[4], saddr[16], daddr[16];
    } __attribute__((packed)) r = {.sk = 0xB0, .sport = 40000, .dport = 8080, .family = 2};
    (void)state;
    length(SRC_SEND_LENGTH, 1000, 600, 0xB0, 2, UDP, 100, 0);
    length(SRC_RECV_LENGTH, 1100, 601, 0xB4, 10, UDP, 99, 0);
    length(SRC_SEND_LENGTH, 1200, 602, 0xB8, 10, UDP, 98, 0);
    length(SRC_RECV_LENGTH, 1300, 603, 0xBC, 2, UDP, 97, 0);
    maker_chunk(&maker, 1, RAW_CHUNK_PERF);
    state_change(2000, 600, 0xB0, CLOSED, SENT, client_end(false));
    v4(r.saddr, 0x0A000001);
    v4(r.daddr, 0x0A000002);
    assert_int_equal(offsetof(__typeof__(r), saddr), 42);
    maker_sample(&maker, 0, SRC_RETRANSMIT, 3000, 0, 0, 0, 0, &r, sizeof r);
    memcpy(r.saddr, client_end(true).saddr, 16);
    memcpy(r.daddr, client_end(true).daddr, 16);
    maker_sample(&maker, 0, SRC_RETRANSMIT, 3100, 0, 0, 0, 0, &r, sizeof r);
    finish();
    const struct one *sent = nth(0x080A, 0), *received = nth(0x081B, 0), *again = nth(0x060E, 0);
    assert_true(out.count == 6 && sent->size == 32 && received->size == 56 && again->size == 32);
    assert_true(u32(nth(0x081A, 0), 0) == 602 && u32(nth(0x080B, 0), 4) == 97 && nth(0x061E, 0)->size == 56);
    assert_true(u32(sent, 0) == 600 && u32(sent, 4) == 100 && u32(received, 0) == 601 && u32(received, 4) == 99);
    assert_true(u32(again, 0) == 600 && memcmp(again->payload + 8, "\x0A\0\0\2\x0A\0\0\1\x1F\x90\x9C\x40", 12) == 0);
}

/* A successor knows the owners of open sockets and listeners. */
static void successor(void **state)
{
    struct state_record client = client_end(false), server = turned(client), listener = {.sport = 8080};
    (void)state;
    state_change(1000, 700, 0xA0, CLOSED, LISTEN, listener);
    state_change(2000, 600, 0xB0, CLOSED, SENT, client);
    state_change(2100, 999, 0xB0, SENT, UP, client);
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 3000, 2500);
    left_behind();
    server.flags = INTERRUPT;
    state_change(4000, 999, 0xC0, LISTEN, RECEIVED, server);
    state_change(4100, 999, 0xC0, RECEIVED, UP, server);
    state_change(4200, 999, 0xB0, UP, CLOSED, client);
    maker_chunk(&maker, 0, RAW_CHUNK_PERF);
    maker_pass(&maker, 9000, UINT64_MAX);
    take_over();
    assert_int_equal(out.count, 2);
    assert_int_equal(u32(nth(0x060F, 0), 0), 700);
    assert_int_equal(u32(nth(0x060D, 0), 0), 600);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(ipv4_connection),
                                       T(ipv6_connection),
                                       T(never_connected),
                                       T(older_than_the_trace),
                                       T(datagrams_and_retransmits),
                                       T(ends_of_datagrams),
                                       T(calls_by_programs),
                                       T(ends_of_no_other),
                                       T(successor),
                                       cmocka_unit_test(every_class_is_read_back)};
    int                     failed  = cmocka_run_group_tests(tests, NULL, NULL);
    free(out.bytes);
    return failed;
}
