/* argv.bpf.c - runs in the kernel at each exec, once the new program is in place: copies its arguments into a ring.
 * Only the few fields it reads are declared; the kernel finds their offsets from its own type information (BTF) at load.
 * Process 1 is left out: it never goes, so /proc always has its arguments. See argv.h. */
#include "autologger/kernel/argv_record.h"

typedef argv_u8             __u8;
typedef unsigned short      __u16;
typedef argv_u32            __u32;
typedef argv_u64            __u64;
typedef int                 __s32;
typedef long long           __s64;
typedef __u16               __be16;
typedef __u32               __be32;
typedef __u32               __wsum;

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

enum { MAP_PERCPU_ARRAY = 6, MAP_RINGBUF = 27, NO_WAKEUP = 1 }; /* of linux/bpf.h */

struct mm_struct {
    unsigned long arg_start, arg_end;
} __attribute__((preserve_access_index));
struct task_struct {
    struct mm_struct *mm;
} __attribute__((preserve_access_index));

struct {
    __uint(type, MAP_RINGBUF);
    __uint(max_entries, ARGV_RING);
} ring SEC(".maps");

struct {
    __uint(type, MAP_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct argv_record);
} scratch SEC(".maps");

SEC("raw_tp/sched_process_exec")
int exec(void *ctx)
{
    (void)ctx;
    __u32               zero = 0, tgid = (__u32)(bpf_get_current_pid_tgid() >> 32);
    struct argv_record *r    = bpf_map_lookup_elem(&scratch, &zero);
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    struct mm_struct   *mm   = BPF_CORE_READ(task, mm);
    if (!r || !mm || tgid == 1)
        return 0;
    __u64 start = BPF_CORE_READ(mm, arg_start), size = BPF_CORE_READ(mm, arg_end) - start, n = size;
    if (n > ARGV_BYTES)
        n = ARGV_BYTES;
    if (bpf_probe_read_user(r->text, (__u32)n, (const void *)start))
        return 0;
    r->time = bpf_ktime_get_ns();
    r->tgid = tgid;
    r->size = size > 0xFFFFFFFF ? 0xFFFFFFFF : (__u32)size;
    bpf_ringbuf_output(&ring, r, ARGV_HEAD + n, NO_WAKEUP);
    return 0;
}

char license_text[] SEC("license") = "Dual MIT/GPL";
