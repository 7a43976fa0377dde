/* convert_net.c - TcpIp and UdpIp events from the state changes of sockets and from the sends and receives of programs.
 * See convert.h. A socket's state often changes in an interrupt, where the current task is unrelated: its owner is kept
 * by the socket's kernel address, from the system calls made on it; an accepted socket belongs to its listener's owner
 * until its first call. saddr and sport are this machine's end, also for received data. IPv4 addresses come mapped into
 * IPv6 and are written as IPv4. UDP sockets change no state: their ends come from a BPF program (nettap.h), datagram by
 * datagram, in the call of the thread that the event ends; without it they are 0. An event never gets the ends of
 * another datagram: recorded ends serve the next event of their thread and socket or none, and are dropped at a gap in
 * the records. */
#include "autologger/kernel/convert/convert.h"
#include "autologger/kernel/convert/snapshot.h"
#include "autologger/kernel/source/nettap_record.h"
#include "autologger/kernel/source/sources.h"
#include "autologger/wire/etl.h"
#include "registry-sim/base/cursor.h"

#include <stdlib.h>
#include <string.h>

enum { SOCKETS_MAX = 65536, DATAGRAMS_MAX = 4096, IPV4 = 2, IPV6 = 10, TCP = 6, UDP = 17, PEEK = 2 };
enum { ESTABLISHED = 1, SYN_SENT = 2, SYN_RECV = 3, CLOSED = 7, LISTENING = 10 };
enum { IN_INTERRUPT = 0x18 }; /* of common_flags */
enum { HOOK_V6 = 0x10 };

/* ports in the machine's byte order, as in the records */
struct ends {
    uint8_t  saddr[16], daddr[16];
    uint16_t sport, dport;
};
struct net_socket {
    struct ends ends;
    uint32_t    pid;  /* 0: not known */
    uint8_t     open; /* it was connected, and not closed since */
    uint8_t     listens, pad[2];
};
struct part_net {
    struct idmap socket; /* by kernel address */
    /* by socket and thread -> struct ends of its next event. A successor lacks those under way */
    struct idmap datagram;
    struct idmap listener; /* by local address and port -> kernel address of its socket */
};

static struct part_net *net_part(struct convert *c)
{
    if (!c->net)
        c->net = calloc(1, sizeof *c->net);
    return c->net;
}

static void datagrams_drop(struct part_net *n)
{
    for (size_t i = 0; i < n->datagram.capacity; i++)
        free(n->datagram.slot[i].value);
    idmap_clear(&n->datagram);
}

void part_net_finish(struct convert *c)
{
    if (!c->net)
        return;
    for (size_t i = 0; i < c->net->socket.capacity; i++)
        free(c->net->socket.slot[i].value);
    datagrams_drop(c->net);
    idmap_finish(&c->net->datagram);
    idmap_finish(&c->net->socket);
    idmap_finish(&c->net->listener);
    free(c->net);
    c->net = NULL;
}

static bool convert_net_all_zero(const uint8_t *p, size_t n)
{
    while (n && !*p) {
        p++;
        n--;
    }
    return n == 0;
}

static bool is_v4(const uint8_t address[16])
{
    static const uint8_t mapped[12] = {[10] = 0xFF, 0xFF};
    return memcmp(address, mapped, sizeof mapped) == 0;
}

/* A listener at any address, IPv4 or IPv6, has one key for lookups by connection. */
static uint64_t listener_key(const uint8_t address[16], uint16_t port)
{
    uint64_t half[2] = {0};
    bool     any     = convert_net_all_zero(address, 16) || (is_v4(address) && convert_net_all_zero(address + 12, 4));
    if (!any)
        memcpy(half, address, sizeof half);
    return (half[0] * 31 + half[1]) * UINT64_C(0x9E3779B97F4A7C15) + port;
}

static struct net_socket *socket_get(struct convert *c, uint64_t address)
{
    return c->net ? idmap_get(&c->net->socket, address) : NULL;
}

static struct net_socket *socket_add(struct convert *c, uint64_t address)
{
    struct part_net *n = net_part(c);
    if (!n || !address)
        return NULL;
    struct net_socket *k = idmap_get(&n->socket, address);
    if (k || n->socket.count >= SOCKETS_MAX)
        return k;
    k = calloc(1, sizeof *k);
    if (k && !idmap_put(&n->socket, address, k)) {
        free(k);
        k = NULL;
    }
    return k;
}

static void listener_remove(struct part_net *n, const struct net_socket *k, uint64_t address)
{
    uint64_t key = listener_key(k->ends.saddr, k->ends.sport);
    if (k->listens && (uintptr_t)idmap_get(&n->listener, key) == address)
        idmap_remove(&n->listener, key);
}

static void socket_remove(struct convert *c, uint64_t address)
{
    struct net_socket *k = c->net ? idmap_remove(&c->net->socket, address) : NULL;
    if (k)
        listener_remove(c->net, k, address);
    free(k);
}

static void sample_address(const struct sample *s, unsigned field, uint8_t out[16])
{
    const struct raw_field *f = &s->source->field[field];
    memset(out, 0, 16);
    if (f->offset != RAW_NO_FIELD && f->size == 16 && f->offset + 16u <= s->raw_size)
        memcpy(out, s->raw + f->offset, 16);
}

static bool in_interrupt(const struct sample *s) { return s->raw_size > 2 && (s->raw[2] & IN_INTERRUPT); }

static void wr_port(struct writer *w, uint16_t port)
{
    wr_u8(w, (uint8_t)(port >> 8));
    wr_u8(w, (uint8_t)port);
}

/* Writes the fields common to all events; returns the hook of the address family. */
static uint16_t wr_ends(struct writer *w, uint16_t hook, uint32_t pid, uint32_t size, const struct ends *e, bool v4)
{
    size_t from = v4 ? 12 : 0;
    wr_u32(w, pid);
    wr_u32(w, size);
    wr_bytes(w, e->daddr + from, 16 - from);
    wr_bytes(w, e->saddr + from, 16 - from);
    wr_port(w, e->dport);
    wr_port(w, e->sport);
    return (uint16_t)(v4 ? hook : hook + HOOK_V6);
}

/* `zeros`: bytes after the common part, for which Linux' tracepoints have no values. */
static void net_event(struct convert *c, const struct sample *s, uint16_t hook, uint32_t pid, uint32_t bytes,
                      const struct ends *e, bool v4, size_t zeros)
{
    uint8_t       payload[80] = {0};
    struct writer w           = wr_make(payload, sizeof payload);
    uint64_t      time        = convert_time(c, s->time);
    hook                      = wr_ends(&w, hook, pid, bytes, e, v4);
    emit(c, &(struct event){s->cpu, hook, ETL_PERFINFO64, 2, 0, 0}, &time, payload, w.pos + zeros);
}

enum { ZEROS_ID = 12, ZEROS_SEND = 20, ZEROS_OPEN = 28 };

static void convert_net_opened(struct convert *c, const struct sample *s, struct net_socket *k, bool accepted)
{
    bool v4 = is_v4(k->ends.daddr);
    if (accepted && !k->pid) {
        struct part_net *n       = c->net;
        uint8_t          any[16] = {0};
        uint64_t         at      = (uintptr_t)idmap_get(&n->listener, listener_key(k->ends.saddr, k->ends.sport));
        if (!at)
            at = (uintptr_t)idmap_get(&n->listener, listener_key(any, k->ends.sport));
        struct net_socket *listener = at ? idmap_get(&n->socket, at) : NULL;
        k->pid                      = listener ? listener->pid : 0;
    }
    k->open = true;
    net_event(c, s, accepted ? HOOK_TCP_ACCEPT : HOOK_TCP_CONNECT, k->pid, 0, &k->ends, v4, ZEROS_OPEN);
}

void convert_socket_state(struct convert *c, const struct sample *s)
{
    uint64_t at  = (uint64_t)sample_field(s, F_SOCK_ADDRESS);
    int64_t  old = sample_field(s, F_SOCK_OLD), new = sample_field(s, F_SOCK_NEW);
    if (sample_field(s, F_SOCK_PROTOCOL) != TCP)
        return;
    struct net_socket *k = socket_add(c, at);
    if (!k)
        return;
    struct ends e = {.sport = (uint16_t)sample_field(s, F_SOCK_SPORT),
                     .dport = (uint16_t)sample_field(s, F_SOCK_DPORT)};
    sample_address(s, F_SOCK_SADDR, e.saddr);
    sample_address(s, F_SOCK_DADDR, e.daddr);
    if (new == SYN_SENT || new == LISTENING || old == CLOSED) /* a new socket at that address */
        *k = (struct net_socket){.pid = in_interrupt(s) ? 0 : shown_pid(c, s->pid, s->tid)};
    if (new == SYN_RECV)
        *k = (struct net_socket){0};
    if (new != CLOSED || !k->open) /* a closing socket may have lost its port */
        k->ends = e;
    if (new == LISTENING) {
        k->listens = true;
        idmap_put(&c->net->listener, listener_key(e.saddr, e.sport), (void *)(uintptr_t)at);
    } else if (new == ESTABLISHED && (old == SYN_SENT || old == SYN_RECV)) {
        convert_net_opened(c, s, k, old == SYN_RECV);
    } else if (new == CLOSED) {
        if (k->open ||
            (old != LISTENING && old != SYN_SENT && old != SYN_RECV)) /* sockets in those states were never connected */
            net_event(c, s, HOOK_TCP_DISCONNECT, k->pid, 0, &k->ends, is_v4(k->ends.daddr), ZEROS_ID);
        socket_remove(c, at);
    }
}

static uint64_t datagram_key(uint64_t sk, bool received, uint32_t tid)
{
    return ((sk + received) * UINT64_C(0x9E3779B97F4A7C15)) ^ tid;
}

void net_gap(struct convert *c)
{
    if (c->net)
        datagrams_drop(c->net);
}

static void ends_told(struct convert *c, const struct sample *s, const struct net_record *r)
{
    struct part_net *n = net_part(c);
    if (!n)
        return;
    if (n->datagram.count >= DATAGRAMS_MAX) /* left by calls that failed */
        datagrams_drop(n);
    uint64_t     key = datagram_key(r->sk, r->received != 0, s->tid);
    struct ends *e   = idmap_get(&n->datagram, key);
    if (!e && (e = malloc(sizeof *e)) != NULL && !idmap_put(&n->datagram, key, e)) {
        free(e);
        return;
    }
    if (!e)
        return;
    memcpy(e->saddr, r->saddr, sizeof e->saddr);
    memcpy(e->daddr, r->daddr, sizeof e->daddr);
    e->sport = r->sport;
    e->dport = r->dport;
}

static void transfer(struct convert *c, const struct sample *s, const struct net_call *call)
{
    static const struct ends none;
    const uint64_t           sk    = call->sk;
    const bool               send  = call->kind == NET_CALL_SENT;
    const int64_t            bytes = call->ret, family = call->family, protocol = call->protocol;
    uint32_t                 pid = shown_pid(c, s->pid, s->tid);
    bool                     v4  = family == IPV4;
    /* Removed also after a call that failed or only peeked: these ends belong to no other call */
    struct ends *told = c->net ? idmap_remove(&c->net->datagram, datagram_key(sk, !send, s->tid)) : NULL;
    if ((family != IPV4 && family != IPV6) || (protocol != TCP && protocol != UDP) || bytes <= 0 ||
        (!send && (call->flags & PEEK))) {
        free(told);
        return;
    }
    if (protocol == UDP) {
        net_event(c, s, send ? HOOK_UDP_SEND : HOOK_UDP_RECV, pid, (uint32_t)bytes, told ? told : &none,
                  told ? is_v4(told->daddr) : v4, ZEROS_ID);
        free(told);
        return;
    }
    free(told);
    struct net_socket *k = socket_get(c, sk);
    if (k)
        k->pid = pid;                            /* accepted, or passed on */
    const struct ends *e = k ? &k->ends : &none; /* the socket is older than the trace: not known */
    v4                   = k ? is_v4(e->daddr) : v4;
    net_event(c, s, send ? HOOK_TCP_SEND : HOOK_TCP_RECV, pid, (uint32_t)bytes, e, v4, send ? ZEROS_SEND : ZEROS_ID);
}

static void convert_net_length(struct convert *c, const struct sample *s, uint32_t kind)
{
    transfer(c, s,
             &(struct net_call){.sk       = (uint64_t)sample_field(s, F_LENGTH_ADDRESS),
                                .ret      = (int32_t)sample_field(s, F_LENGTH_RESULT),
                                .flags    = (uint32_t)sample_field(s, F_LENGTH_FLAGS),
                                .family   = (uint16_t)sample_field(s, F_LENGTH_FAMILY),
                                .protocol = (uint16_t)sample_field(s, F_LENGTH_PROTOCOL),
                                .kind     = kind});
}
void convert_sent(struct convert *c, const struct sample *s) { convert_net_length(c, s, NET_CALL_SENT); }
void convert_received(struct convert *c, const struct sample *s) { convert_net_length(c, s, NET_CALL_RECEIVED); }

/* Records of the BPF programs of nettap.h. */
void convert_udp_ends(struct convert *c, const struct sample *s)
{
    struct net_record r;
    struct net_call   call;
    if (s->raw_size < sizeof r)
        return;
    memcpy(&r, s->raw, sizeof r);
    memcpy(&call, s->raw, sizeof call);
    if (r.received >= NET_CALL_SENT)
        transfer(c, s, &call);
    else
        ends_told(c, s, &r);
}

void convert_retransmit(struct convert *c, const struct sample *s)
{
    const struct net_socket *k = socket_get(c, (uint64_t)sample_field(s, F_RETRANSMIT_ADDRESS));
    struct ends              e = {.sport = (uint16_t)sample_field(s, F_RETRANSMIT_SPORT),
                                  .dport = (uint16_t)sample_field(s, F_RETRANSMIT_DPORT)};
    sample_address(s, F_RETRANSMIT_SADDR, e.saddr);
    sample_address(s, F_RETRANSMIT_DADDR, e.daddr);
    net_event(c, s, HOOK_TCP_RETRANSMIT, k ? k->pid : 0, 0, &e, is_v4(e.daddr), ZEROS_ID);
}

void part_net_put(const struct convert *c, struct sink *s)
{
    const struct part_net *n     = c->net;
    uint64_t               count = n ? n->socket.count : 0;
    snapshot_put(s, &count, sizeof count);
    for (size_t i = 0; n && i < n->socket.capacity; i++)
        if (n->socket.slot[i].value) {
            snapshot_put(s, &n->socket.slot[i].key, sizeof n->socket.slot[i].key);
            snapshot_put(s, n->socket.slot[i].value, sizeof(struct net_socket));
        }
}

bool part_net_get(struct convert *c, struct cursor *cur)
{
    uint64_t count = cur_u64(cur);
    if (count > SOCKETS_MAX)
        return false;
    for (uint64_t i = 0; i < count && cur_ok(cur); i++) {
        uint64_t           at = cur_u64(cur);
        struct net_socket *k  = socket_add(c, at);
        if (!k)
            return false;
        cur_copy(cur, k, sizeof *k);
        if (k->listens)
            idmap_put(&c->net->listener, listener_key(k->ends.saddr, k->ends.sport), (void *)(uintptr_t)at);
    }
    return cur_ok(cur);
}
