/* nettap_record.h - the record that nettap.bpf.c writes for a datagram, and for a call where the kernel has no
 * tracepoint for it: the raw bytes of a sample of the source UDP_ENDS. Read by convert_net.c.
 * Invariants: no includes (the BPF program has no libc). Threads, ownership: types only. */
#ifndef AUTOLOGGER_KERNEL_NETTAP_RECORD_H
#define AUTOLOGGER_KERNEL_NETTAP_RECORD_H
struct net_record {
    unsigned long long sk;                   /* address of its socket, as in sock_send_length and sock_recv_length */
    unsigned char      saddr[16], daddr[16]; /* this end and the other; IPv4 mapped into IPv6 */
    unsigned short     sport, dport;         /* in the machine's byte order */
    unsigned int       received;             /* 0: sent, 1: received; from NET_CALL_SENT on the record is a net_call */
};
enum { NET_CALL_SENT = 2, NET_CALL_RECEIVED = 3 };
struct net_call { /* as sock_send_length and sock_recv_length report a call */
    unsigned long long sk;
    int                ret;
    unsigned int       flags;
    unsigned short     family, protocol;
    unsigned char      zeros[24];
    unsigned int       kind;
};
_Static_assert(sizeof(struct net_record) == 48 && sizeof(struct net_call) == 48, "net record");
_Static_assert(__builtin_offsetof(struct net_call, kind) == __builtin_offsetof(struct net_record, received),
               "which of them");
#endif
