/* nettap_record.h - what nettap.bpf.c tells of a datagram: the raw bytes of a sample of the source UDP_ENDS. Read by convert_net.c.
 * Invariants: no includes (the BPF program has no libc). Threads, ownership: types only. */
#ifndef AUTOLOGGER_KERNEL_NETTAP_RECORD_H
#define AUTOLOGGER_KERNEL_NETTAP_RECORD_H
struct net_record {
    unsigned long long sk; /* of its socket, as sock_send_length and sock_recv_length have it */
    unsigned char      saddr[16], daddr[16]; /* this end and the other; IPv4 mapped into IPv6 */
    unsigned short     sport, dport; /* in the machine's order */
    unsigned int       received; /* 0: it is sent */
};
_Static_assert(sizeof(struct net_record) == 48, "net record");
#endif
