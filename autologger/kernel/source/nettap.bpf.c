/* nettap.bpf.c - runs in the kernel where a packet is handed to a network card (net_dev_queue) and where a program
 * takes a datagram (skb_consume_udp), while a session has NETWORKTRACE. It records both ends of a datagram from its
 * headers, which no tracepoint does; before Linux 6.3 (NETTAP_CALLS) also the results of calls on sockets. The thread
 * is still in its call then: sock_send_length and sock_recv_length follow in it. It writes samples of the perf event
 * UDP_ENDS.
 * Invariant: a sample belongs to the call that its thread is in, or there is none. So nothing is recorded in a softirq,
 * which may send what another call left waiting (for the hardware address of the other end); nor for a packet without
 * its socket's port: a tunnel's own. Received datagrams are recorded only at the function that takes them
 * (NETTAP_RECEIVED): a packet's memory may be freed in a call that did not take it, and the sample would belong to the
 * wrong call. See nettap.h. */
#include "autologger/kernel/source/nettap_record.h"

typedef unsigned char      __u8;
typedef unsigned short     __u16;
typedef unsigned int       __u32;
typedef unsigned long long __u64;
typedef int                __s32;
typedef long long          __s64;
typedef __u16              __be16;
typedef __u32              __be32;
typedef __u32              __wsum;

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

enum {
    MAP_PERF_EVENT_ARRAY = 4,
    MAP_PERCPU_ARRAY     = 6,
    KEEP                 = 1 << 11,
    PROTOCOL_TCP         = 6,
    PROTOCOL_UDP         = 17,
    FRAGMENT             = 0x1FFF
};
#define CURRENT_CPU 0xffffffffULL

/* The kernel's types, reduced to the fields used; the offsets are found when the program is loaded. */
#define KERNEL __attribute__((preserve_access_index))
struct sock_common {
    __u16 skc_family, skc_num;
} KERNEL;
struct sock {
    struct sock_common __sk_common;
    __u16              sk_protocol;
} KERNEL;
struct socket {
    struct sock *sk;
} KERNEL;
struct sk_buff {
    struct sock   *sk;
    unsigned char *head;
    __u16          transport_header, network_header;
} KERNEL;

struct {
    __uint(type, MAP_PERF_EVENT_ARRAY);
    __uint(max_entries, 1);
    __uint(key_size, 4);
    __uint(value_size, 4);
    __uint(map_flags, KEEP);
} told SEC(".maps");

#define SWAPPED(v) ((__u16)((v) >> 8 | (v) << 8))

static void mapped(unsigned char out[16], __be32 address)
{
    __builtin_memset(out, 0, 10);
    out[10] = out[11] = 0xFF;
    __builtin_memcpy(out + 12, &address, 4);
}

/* Both ends by the packet's headers. 0: not UDP, or a later fragment. */
static int headers(struct sk_buff *skb, unsigned char from[16], unsigned char to[16], __be16 port[2])
{
    unsigned char *head    = BPF_CORE_READ(skb, head);
    __u16          network = BPF_CORE_READ(skb, network_header), transport = BPF_CORE_READ(skb, transport_header);
    __u8           ip[40];
    __be32         address;
    if (bpf_probe_read_kernel(ip, sizeof ip, head + network))
        return 0;
    if (ip[0] >> 4 == 4 && ip[9] == PROTOCOL_UDP && !((ip[6] << 8 | ip[7]) & FRAGMENT)) {
        __builtin_memcpy(&address, ip + 12, 4);
        mapped(from, address);
        __builtin_memcpy(&address, ip + 16, 4);
        mapped(to, address);
    } else if (ip[0] >> 4 == 6 && ip[6] == PROTOCOL_UDP) {
        __builtin_memcpy(from, ip + 8, 16);
        __builtin_memcpy(to, ip + 24, 16);
    } else {
        return 0;
    }
    return bpf_probe_read_kernel(port, 4, head + transport) == 0;
}

static int told_of(__u64 *ctx, struct net_record *r, const __be16 port[2])
{
    r->sport = SWAPPED(port[0]);
    r->dport = SWAPPED(port[1]);
    bpf_perf_event_output(ctx, &told, CURRENT_CPU, r, sizeof *r);
    return 0;
}

#ifdef NETTAP_RECEIVED
/* Length below 0: the datagram was only looked at, and stays. */
SEC("fentry/skb_consume_udp")
int on_received(__u64 *ctx)
{
    struct net_record r = {.sk = ctx[0], .received = 1};
    __be16            port[2], turned[2];
    if ((__s32)ctx[2] < 0 || !headers((struct sk_buff *)ctx[1], r.daddr, r.saddr, port))
        return 0;
    turned[0] = port[1];
    turned[1] = port[0];
    return told_of(ctx, &r, turned);
}
#endif

#ifdef NETTAP_CALLS
/* ---- results of calls: for kernels without sock_send_length and sock_recv_length, at the place of these ---- */

static int call_told(__u64 *ctx, __u32 kind, __u64 result, __u32 flags)
{
    struct sock    *sk = BPF_CORE_READ((struct socket *)ctx[0], sk);
    struct net_call r  = {.sk = (__u64)sk, .ret = (__s32)result, .flags = flags, .kind = kind};
    r.family           = BPF_CORE_READ(sk, __sk_common.skc_family);
    r.protocol         = BPF_CORE_READ(sk, sk_protocol);
    if (r.protocol == PROTOCOL_TCP || r.protocol == PROTOCOL_UDP)
        bpf_perf_event_output(ctx, &told, CURRENT_CPU, &r, sizeof r);
    return 0;
}

SEC("fexit/inet_sendmsg")
int on_send(__u64 *ctx) { return call_told(ctx, NET_CALL_SENT, ctx[3], 0); }
SEC("fexit/inet6_sendmsg")
int on_send6(__u64 *ctx) { return call_told(ctx, NET_CALL_SENT, ctx[3], 0); }
SEC("fexit/inet_sendpage") /* sendfile() and splice() */
int on_sendpage(__u64 *ctx) { return call_told(ctx, NET_CALL_SENT, ctx[5], 0); }
SEC("fexit/inet_recvmsg")
int on_receive(__u64 *ctx) { return call_told(ctx, NET_CALL_RECEIVED, ctx[4], (__u32)ctx[3]); }
SEC("fexit/inet6_recvmsg")
int on_receive6(__u64 *ctx) { return call_told(ctx, NET_CALL_RECEIVED, ctx[4], (__u32)ctx[3]); }
#endif

/* ---- what is sent ---- */

struct {
    __uint(type, MAP_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u32);
} softirq SEC(".maps");

static __u32 *in_softirq(void)
{
    __u32 first = 0;
    return bpf_map_lookup_elem(&softirq, &first);
}

SEC("raw_tp/softirq_entry")
int on_softirq(__u64 *ctx)
{
    (void)ctx;
    __u32 *in = in_softirq();
    if (in)
        *in = 1;
    return 0;
}

SEC("raw_tp/softirq_exit")
int on_softirq_end(__u64 *ctx)
{
    (void)ctx;
    __u32 *in = in_softirq();
    if (in)
        *in = 0;
    return 0;
}

SEC("raw_tp/net_dev_queue")
int on_queue(__u64 *ctx)
{
    struct sk_buff   *skb = (struct sk_buff *)ctx[0];
    struct sock      *sk  = BPF_CORE_READ(skb, sk);
    struct net_record r   = {.sk = (__u64)sk};
    __u32            *in  = in_softirq();
    __be16            port[2];
    if (!sk || !in || *in || !headers(skb, r.saddr, r.daddr, port) ||
        SWAPPED(port[0]) != BPF_CORE_READ(sk, __sk_common.skc_num))
        return 0;
    return told_of(ctx, &r, port);
}

char license_text[] SEC("license") = "Dual MIT/GPL";
