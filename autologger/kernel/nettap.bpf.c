/* nettap.bpf.c - runs in the kernel where a packet is handed to a network card (net_dev_queue) and where one is done with (consume_skb),
 * while a session has NETWORKTRACE: tells both ends of a datagram from its own headers, which no tracepoint does. A program that sends is
 * still in its call then, and so is one that has just taken a datagram: sock_send_length and sock_recv_length come next in that thread.
 * It writes samples of the perf event UDP_ENDS. See nettap.h.
 * Two programs for what is received: by the function that takes a datagram (NETTAP_BY_FUNCTION), where the kernel can be called from
 * functions; else where a packet is done with, which since Linux 6.18 need not happen in the call that took it. */
#include "autologger/kernel/nettap_record.h"

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

enum { MAP_PERF_EVENT_ARRAY = 4, KEEP = 1 << 11, PROTOCOL_UDP = 17, FRAGMENT = 0x1FFF };
#define CURRENT_CPU 0xffffffffULL

/* The kernel's types, as far as they are looked at; where their fields lie is found when the program is loaded. */
#define KERNEL __attribute__((preserve_access_index))
struct sock;
struct sk_buff { struct sock *sk; unsigned char *head; __u16 transport_header, network_header; int skb_iif; } KERNEL;

struct { __uint(type, MAP_PERF_EVENT_ARRAY); __uint(max_entries, 1); __uint(key_size, 4); __uint(value_size, 4); __uint(map_flags, KEEP); } told SEC(".maps");

#define SWAPPED(v) ((__u16)((v) >> 8 | (v) << 8))

static void mapped(unsigned char out[16], __be32 address)
{
    __builtin_memset(out, 0, 10);
    out[10] = out[11] = 0xFF;
    __builtin_memcpy(out + 12, &address, 4);
}

/* The two ends as the packet has them: 0 when it is no UDP, or a later part of one. */
static int headers(struct sk_buff *skb, unsigned char from[16], unsigned char to[16], __be16 port[2])
{
    unsigned char *head = BPF_CORE_READ(skb, head);
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

SEC("raw_tp/net_dev_queue")
int on_queue(__u64 *ctx)
{
    struct sk_buff   *skb = (struct sk_buff *)ctx[0];
    struct net_record r   = {.sk = (__u64)BPF_CORE_READ(skb, sk)};
    __be16            port[2];
    if (!r.sk || !headers(skb, r.saddr, r.daddr, port))
        return 0;
    r.sport = SWAPPED(port[0]);
    r.dport = SWAPPED(port[1]);
    bpf_perf_event_output(ctx, &told, CURRENT_CPU, &r, sizeof r);
    return 0;
}

static int received(__u64 *ctx, struct sk_buff *skb)
{
    struct net_record r = {.sk = 0};
    __be16            port[2];
    if (!headers(skb, r.daddr, r.saddr, port))
        return 0;
    r.dport = SWAPPED(port[0]);
    r.sport = SWAPPED(port[1]);
    bpf_perf_event_output(ctx, &told, CURRENT_CPU, &r, sizeof r);
    return 0;
}

#ifdef NETTAP_BY_FUNCTION
/* A length below 0: it was looked at, and stays. */
SEC("fentry/skb_consume_udp")
int on_received(__u64 *ctx) { return (__s32)ctx[2] < 0 ? 0 : received(ctx, (struct sk_buff *)ctx[1]); }
#else
/* Only what came in has the number of a card; what was sent is freed, too, at any time. */
SEC("raw_tp/consume_skb")
int on_received(__u64 *ctx)
{
    struct sk_buff *skb = (struct sk_buff *)ctx[0];
    return BPF_CORE_READ(skb, skb_iif) ? received(ctx, skb) : 0;
}
#endif

char license_text[] SEC("license") = "Dual MIT/GPL";
