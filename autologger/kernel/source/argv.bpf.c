/* argv.bpf.c - runs in the kernel at each exec, once the new program is in place, and copies its arguments into a ring;
 * and at each voluntary exit, for its code. Process 1 is left out: it never ends, so /proc always has its arguments.
 * See argv.h. Built twice. By registers (x86-64, Linux 5.15 and newer): the arguments are above the new program's stack
 * pointer; the layout of stack and registers never changes, so nothing is looked up. By the kernel's types
 * (ARGV_BY_TYPES): the process' memory descriptor has the bounds of the arguments, and its layout is found in BTF; that
 * search is most of the cost of loading, so this is the second choice. */
#include "autologger/kernel/source/argv_record.h"

typedef argv_u8        __u8;
typedef unsigned short __u16;
typedef argv_u32       __u32;
typedef argv_u64       __u64;
typedef int            __s32;
typedef long long      __s64;
typedef __u16          __be16;
typedef __u32          __be32;
typedef __u32          __wsum;

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

enum { MAP_PERCPU_ARRAY = 6, MAP_RINGBUF = 27, NO_WAKEUP = 1, FORCE_WAKEUP = 2, AVAILABLE = 0 }; /* of linux/bpf.h */

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

/* Wakes no reader while there is room. */
static __always_inline void output(struct argv_record *r, __u32 size)
{
    r->time = bpf_ktime_get_ns();
    bpf_ringbuf_output(&ring, r, size, bpf_ringbuf_query(&ring, AVAILABLE) > ARGV_RING / 2 ? FORCE_WAKEUP : NO_WAKEUP);
}

/* Writes `size` bytes of arguments from `start` on. Inline: argv_load.c takes only programs without functions of their
 * own. */
static __always_inline void arguments_output(struct argv_record *r, __u64 start, __u64 size)
{
    __u64 n = size;
    if (n > ARGV_BYTES)
        n = ARGV_BYTES;
    if (bpf_probe_read_user(r->text, (__u32)n, (const void *)start))
        return;
    r->uid  = (__u32)bpf_get_current_uid_gid();
    r->size = size > 0xFFFFFFFF ? 0xFFFFFFFF : (__u32)size;
    output(r, ARGV_HEAD + (__u32)n);
}

#ifdef ARGV_BY_TYPES
struct mm_struct {
    unsigned long arg_start, arg_end;
} __attribute__((preserve_access_index));
struct task_struct {
    struct mm_struct *mm;
} __attribute__((preserve_access_index));

SEC("raw_tp/sched_process_exec")
int on_exec(void *ctx)
{
    (void)ctx;
    __u32               zero = 0;
    struct argv_record *r    = bpf_map_lookup_elem(&scratch, &zero);
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    struct mm_struct   *mm   = BPF_CORE_READ(task, mm);
    if (!r || !mm || (r->tgid = (__u32)(bpf_get_current_pid_tgid() >> 32)) == 1)
        return 0;
    __u64 start = BPF_CORE_READ(mm, arg_start);
    r->flags    = 0;
    arguments_output(r, start, BPF_CORE_READ(mm, arg_end) - start);
    return 0;
}
#else
/* struct pt_regs of x86-64 */
struct registers {
    __u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, call, ip, cs, flags, sp, ss;
};
enum { EXIT = 60, EXIT_GROUP = 231, EXIT_32BIT = 1, EXIT_GROUP_32BIT = 252 };
#define LONGEST (1u << 24)

static int registers_read(struct registers *out)
{
    return (int)bpf_probe_read_kernel(out, sizeof *out,
                                      (const void *)bpf_task_pt_regs((struct task_struct *)bpf_get_current_task_btf()));
}

/* Bytes of a stack word, 4 or 8: code segment 0x33 is a 64-bit program's, 0x23 a 32-bit one's. No branch: the verifier
 * would walk all code after it twice. */
static __u32 word_bytes(const struct registers *r) { return 4 + (__u32)((r->cs & 0x10) >> 2); }

static __u64 word(__u64 at, __u32 bytes)
{
    __u64 value = 0;
    bpf_probe_read_user(&value, bytes, (const void *)at);
    return value;
}

SEC("raw_tp/sched_process_exec")
int on_exec(void *ctx)
{
    (void)ctx;
    __u32               zero = 0;
    struct argv_record *r    = bpf_map_lookup_elem(&scratch, &zero);
    struct registers    regs;
    if (!r || (r->tgid = (__u32)(bpf_get_current_pid_tgid() >> 32)) == 1 || registers_read(&regs))
        return 0;
    /* argc, the arguments, NULL, the environment, NULL; all their strings have that order */
    __u32 step  = word_bytes(&regs);
    __u64 count = word(regs.sp, step);
    if (!count || count > LONGEST)
        return 0;
    __u64 start = word(regs.sp + step, step), end = word(regs.sp + step * (count + 2), step);
    if (!end) { /* no environment: up to the end of the last argument */
        end    = word(regs.sp + step * count, step);
        long n = bpf_probe_read_user_str(r->text, ARGV_BYTES, (const void *)end);
        if (n <= 0)
            return 0;
        end += (__u64)n;
    }
    if (start <= regs.sp || end <= start || end - start > LONGEST)
        return 0;
    r->flags = ARGV_WIDTH_KNOWN | (8 - step) / 4 * ARGV_32BIT;
    arguments_output(r, start, end - start);
    return 0;
}

/* Only voluntary exits: the registers do not show an end by a signal. */
SEC("raw_tp/sched_process_exit")
int on_exit(void *ctx)
{
    (void)ctx;
    __u64            id   = bpf_get_current_pid_tgid();
    __u32            zero = 0;
    struct registers regs;
    if (registers_read(&regs))
        return 0;
    int narrow = word_bytes(&regs) == 4;
    int group  = regs.call == (narrow ? EXIT_GROUP_32BIT : EXIT_GROUP);
    if (!group && !(regs.call == (narrow ? EXIT_32BIT : EXIT) && (__u32)id == (__u32)(id >> 32)))
        return 0;
    struct argv_record *r = bpf_map_lookup_elem(&scratch, &zero);
    if (!r)
        return 0;
    r->tgid  = (__u32)(id >> 32);
    r->flags = ARGV_EXIT;
    r->uid   = 0;
    r->size  = ((__u32)(narrow ? regs.bx : regs.di) & 0xFF) << 8;
    output(r, ARGV_HEAD);
    return 0;
}
#endif

char license_text[] SEC("license") = "Dual MIT/GPL";
