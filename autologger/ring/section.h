/* section.h - the rseq critical sections (x86-64). Private to the ring writer.
 * The kernel restarts a section (jumps to its abort label) when its thread is preempted, migrated or signalled inside
 * it. Nothing is visible to others before its last store. It is the template for one more architecture: the same
 * functions and SECTION_AVAILABLE. */
#ifndef AUTOLOGGER_RING_SECTION_H
#define AUTOLOGGER_RING_SECTION_H
#include "autologger/ring/writer.h"

#include <stdint.h>

/* An event. The asm knows the offsets. The header comes in parts, so that it is not composed in memory only for the
 * section to load it again: two words by value, three 16-byte parts by pointer. KernelTime and UserTime are 0. (Stores
 * are the cost of an event: each one outside the record itself was measured.) */
struct section {
    uint64_t                 first;      /* 0: header bytes 0..7, with the size */
    uint64_t                 ids;        /* 8: thread and process */
    uint64_t                 time;       /* 16: for section_write_stamped */
    const void              *provider;   /* 24: 16 bytes */
    const void              *descriptor; /* 32: 16 bytes */
    const void              *activity;   /* 40: 16 bytes */
    const struct ring_piece *piece;      /* 48 */
    const struct ring_piece *end;        /* 56 */
    uint32_t                 total;      /* of the pieces */
};
/* The place of an event. */
struct ring_place {
    uint64_t *wpos;
    uint64_t  old;   /* wpos must still be this */
    uint64_t  next;  /* ... and becomes this */
    uint64_t  tally; /* loaded after `old` */
    uint8_t  *dst;
    uint8_t  *fill; /* where ETL_FILLER goes when the rest of the chunk is skipped */
    uint32_t  cpu;
};
enum section_result { SECTION_DONE, SECTION_ABORTED, SECTION_CLOSED };

#if defined(__x86_64__) && defined(__linux__)
#define SECTION_AVAILABLE 1

_Static_assert(offsetof(struct section, provider) == 24 && offsetof(struct section, piece) == 48 &&
                   offsetof(struct section, end) == 56 && offsetof(struct ring_view, control) == 0 &&
                   offsetof(struct ring_view, mode) == 8 && offsetof(struct shm_control, open) == 24,
               "the asm knows these");

/* clang-format off: lines of instructions that belong together */
/* Descriptor {version, flags, start, length, abort}, announced in rseq->rseq_cs (offset 8). The abort address follows
 * the signature that glibc registered; together with the 3 bytes before it the signature is an undefined
 * instruction. */
#define SECTION_BEGIN \
    ".pushsection __rseq_cs, \"aw\"\n .balign 32\n 3: .long 0, 0\n .quad 1f, (2f - 1f), 4f\n .popsection\n" \
    ".pushsection __rseq_failure, \"ax\"\n .byte 0x0f, 0xb9, 0x3d\n .long 0x53053053\n 4: jmp %l[aborted]\n" \
    ".popsection\n" \
    "leaq 3b(%%rip), %%rsi\n movq %%rsi, 8(%[rs])\n" \
    "1: cmpl %[cpu], 4(%[rs])\n jne %l[aborted]\n"
/* SECTION_BEGIN and SECTION_ENABLED clobber rsi. */
#define SECTION_ENABLED \
    "movq (%[view]), %%rsi\n cmpl $1, 24(%%rsi)\n jne %l[closed]\n cmpq %[ticket], (%[enable])\n jne %l[closed]\n"

/* Copies ecx bytes from rsi to rdi, which moves on; clobbers rax, rdx, rcx and xmm0..3 (with AVX xmm0..7). Touches
 * nothing past either end. 8 to 16 bytes are copied here, other sizes by SECTION_COPY_FAR, which comes back to 6: an
 * event whose code is not in the caches waits for few lines of it. */
#define SECTION_COPY \
    "cmpl $8, %%ecx\n jb 74f\n cmpl $16, %%ecx\n ja 78f\n" \
    "movq (%%rsi), %%rax\n movq -8(%%rsi,%%rcx), %%rdx\n movq %%rax, (%%rdi)\n movq %%rdx, -8(%%rdi,%%rcx)\n" \
    "addq %%rcx, %%rdi\n"
#define SECTION_COPY_FAR \
    "74: cmpl $4, %%ecx\n jb 75f\n movl (%%rsi), %%eax\n movl -4(%%rsi,%%rcx), %%edx\n movl %%eax, (%%rdi)\n" \
    "movl %%edx, -4(%%rdi,%%rcx)\n addq %%rcx, %%rdi\n jmp 6b\n" \
    "78: cmpl $32, %%ecx\n jbe 71f\n testb $2, 8(%[view])\n je 70f\n" /* AVX: from both ends to the middle, up to 256 without a loop */ \
    "vmovdqu (%%rsi), %%ymm0\n vmovdqu -32(%%rsi,%%rcx), %%ymm1\n cmpl $64, %%ecx\n ja 80f\n" \
    "vmovdqu %%ymm0, (%%rdi)\n vmovdqu %%ymm1, -32(%%rdi,%%rcx)\n addq %%rcx, %%rdi\n vzeroupper\n jmp 6b\n" \
    "80: vmovdqu 32(%%rsi), %%ymm2\n vmovdqu -64(%%rsi,%%rcx), %%ymm3\n cmpl $128, %%ecx\n ja 81f\n" \
    "vmovdqu %%ymm0, (%%rdi)\n vmovdqu %%ymm2, 32(%%rdi)\n vmovdqu %%ymm3, -64(%%rdi,%%rcx)\n" \
    "vmovdqu %%ymm1, -32(%%rdi,%%rcx)\n addq %%rcx, %%rdi\n vzeroupper\n jmp 6b\n" \
    "81: cmpl $256, %%ecx\n ja 84f\n vmovdqu 64(%%rsi), %%ymm4\n vmovdqu 96(%%rsi), %%ymm5\n" \
    "vmovdqu -128(%%rsi,%%rcx), %%ymm6\n vmovdqu -96(%%rsi,%%rcx), %%ymm7\n" \
    "vmovdqu %%ymm0, (%%rdi)\n vmovdqu %%ymm2, 32(%%rdi)\n vmovdqu %%ymm4, 64(%%rdi)\n vmovdqu %%ymm5, 96(%%rdi)\n" \
    "vmovdqu %%ymm6, -128(%%rdi,%%rcx)\n vmovdqu %%ymm7, -96(%%rdi,%%rcx)\n vmovdqu %%ymm3, -64(%%rdi,%%rcx)\n" \
    "vmovdqu %%ymm1, -32(%%rdi,%%rcx)\n addq %%rcx, %%rdi\n vzeroupper\n jmp 6b\n" \
    "84: subl $64, %%ecx\n" \
    "85: vmovdqu (%%rsi), %%ymm4\n vmovdqu 32(%%rsi), %%ymm5\n vmovdqu %%ymm4, (%%rdi)\n vmovdqu %%ymm5, 32(%%rdi)\n" \
    "addq $64, %%rsi\n addq $64, %%rdi\n subl $64, %%ecx\n ja 85b\n addl $64, %%ecx\n" \
    "vmovdqu %%ymm3, -64(%%rdi,%%rcx)\n vmovdqu %%ymm1, -32(%%rdi,%%rcx)\n addq %%rcx, %%rdi\n vzeroupper\n jmp 6b\n" \
    "71: movdqu (%%rsi), %%xmm0\n movdqu -16(%%rsi,%%rcx), %%xmm1\n movdqu %%xmm0, (%%rdi)\n" \
    "movdqu %%xmm1, -16(%%rdi,%%rcx)\n addq %%rcx, %%rdi\n jmp 6b\n" \
    "70: subl $64, %%ecx\n jbe 73f\n" \
    "72: movdqu (%%rsi), %%xmm0\n movdqu 16(%%rsi), %%xmm1\n movdqu 32(%%rsi), %%xmm2\n movdqu 48(%%rsi), %%xmm3\n" \
    "movdqu %%xmm0, (%%rdi)\n movdqu %%xmm1, 16(%%rdi)\n movdqu %%xmm2, 32(%%rdi)\n movdqu %%xmm3, 48(%%rdi)\n" \
    "addq $64, %%rsi\n addq $64, %%rdi\n subl $64, %%ecx\n ja 72b\n" /* 1..64 bytes are left, 33 or more lie behind rsi altogether: two overlapping halves of 32 */ \
    "73: addl $64, %%ecx\n cmpl $32, %%ecx\n jbe 76f\n" \
    "movdqu (%%rsi), %%xmm0\n movdqu 16(%%rsi), %%xmm1\n movdqu -32(%%rsi,%%rcx), %%xmm2\n" \
    "movdqu -16(%%rsi,%%rcx), %%xmm3\n movdqu %%xmm0, (%%rdi)\n movdqu %%xmm1, 16(%%rdi)\n" \
    "movdqu %%xmm2, -32(%%rdi,%%rcx)\n movdqu %%xmm3, -16(%%rdi,%%rcx)\n addq %%rcx, %%rdi\n jmp 6b\n" \
    "76: movdqu -32(%%rsi,%%rcx), %%xmm2\n movdqu -16(%%rsi,%%rcx), %%xmm3\n" \
    "movdqu %%xmm2, -32(%%rdi,%%rcx)\n movdqu %%xmm3, -16(%%rdi,%%rcx)\n addq %%rcx, %%rdi\n jmp 6b\n" \
    "75: testl %%ecx, %%ecx\n jz 6b\n" \
    "77: movb (%%rsi), %%al\n movb %%al, (%%rdi)\n incq %%rsi\n incq %%rdi\n decl %%ecx\n jnz 77b\n jmp 6b\n"

/* vzeroupper changes all of these. Of the last register, xmm15, it changes only the unused half; the other half holds
 * the value of the last store. */
#define SECTION_VECTORS \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", \
        "xmm13", "xmm14"
/* wpos and tally, which change together. */
typedef unsigned long long section_pair __attribute__((vector_size(16)));

/* Reads the time into rax; clobbers rdx. */
#define SECTION_TIME_READ "rdtsc\n shlq $32, %%rdx\n orq %%rdx, %%rax\n"
#define SECTION_TIME_GIVEN "movq 16(%[s]), %%rax\n"

/* The whole event: time, padding, header, pieces, and wpos last. (%[enable] becomes the piece pointer.) The last 8
 * bytes are zeroed before the header is stored: a record without payload has no padding. */
#define SECTION_EVENT(time) \
    "cmpq %[old], (%[wpos])\n jne %l[aborted]\n" SECTION_ENABLED time "movq %%rax, 16(%%rdi)\n" \
    "movq (%[s]), %%rax\n movzwl %%ax, %%ecx\n testl $7, %%ecx\n jz 9f\n" \
    "addl $7, %%ecx\n andl $-8, %%ecx\n movq $0, -8(%%rdi,%%rcx)\n" /* the padding */ \
    "9: movq 8(%[s]), %%rdx\n movq %%rax, (%%rdi)\n movq %%rdx, 8(%%rdi)\n" \
    "movq 24(%[s]), %%rsi\n movq 32(%[s]), %%rcx\n movq 40(%[s]), %%rax\n" \
    "movdqu (%%rsi), %%xmm0\n movdqu (%%rcx), %%xmm1\n movdqu (%%rax), %%xmm2\n" \
    "movdqu %%xmm0, 24(%%rdi)\n movdqu %%xmm1, 40(%%rdi)\n movq $0, 56(%%rdi)\n movdqu %%xmm2, 64(%%rdi)\n" \
    "addq $80, %%rdi\n movq 48(%[s]), %[enable]\n jmp 6f\n" \
    "5: movq (%[enable]), %%rsi\n movl 8(%[enable]), %%ecx\n addq $16, %[enable]\n" SECTION_COPY \
    "6: cmpq 56(%[s]), %[enable]\n jne 5b\n jmp 7f\n" SECTION_COPY_FAR \
    "7: movdqa %[next], (%[wpos])\n" /* the last instruction of the section, so after all its stores */

/* For a view with RING_TSC. */
static inline __attribute__((always_inline)) enum section_result section_write(const struct section    *s,
                                                                               const struct ring_place *p,
                                                                               const struct ring_view  *view,
                                                                               const void *enable, uint64_t ticket,
                                                                               void *rseq)
{
    void                 *dst                   = p->dst;
    uint64_t              old                   = p->old; /* values that are only compared sit in scratch registers */
    uint32_t              cpu                   = p->cpu;
    uint64_t             *wpos                  = p->wpos; /* all loads come before the register gets its value */
    register section_pair next __asm__("xmm15") = {p->next, shm_tally_event(p->tally, (uint32_t)(p->next - p->old))};
    __asm__ goto volatile(
        SECTION_BEGIN SECTION_EVENT(SECTION_TIME_READ) "2:\n"
        : [dst] "+D"(dst), [enable] "+r"(enable), [old] "+a"(old), [cpu] "+c"(cpu), [ticket] "+d"(ticket)
        : [s] "r"(s), [rs] "r"(rseq), [view] "r"(view), [wpos] "r"(wpos), [next] "x"(next)
        : "memory", "cc", "rsi", SECTION_VECTORS
        : aborted, closed);
    return SECTION_DONE;
aborted:
    return SECTION_ABORTED;
closed:
    return SECTION_CLOSED;
}

/* The same with a time that was read outside, before the section: for a clock that takes more than an instruction. A
 * call with `announce` only announces the section. Then the caller reads the time, and the next call runs the section
 * by the same instructions (so this function must not be cloned). The kernel withdraws the announcement when the thread
 * loses its processor or gets a signal outside of the section, which begins by testing it. So no time is older than the
 * last moment at which another thread could have run here, and W2 and G1 (session/logger.c) hold for every clock. */
#if defined(__clang__)
__attribute__((noinline, unused))
#else
__attribute__((noinline, noclone, unused))
#endif
static enum section_result
section_write_stamped(const struct section *s, const struct ring_place *p, const struct ring_view *view,
                      const void *enable, uint64_t ticket, void *rseq, uint64_t announce)
{
    void                 *dst                   = p->dst;
    uint64_t              old                   = p->old;
    uint32_t              cpu                   = p->cpu;
    uint64_t             *wpos                  = p->wpos; /* all loads come before the register gets its value */
    register section_pair next __asm__("xmm15") = {p->next, shm_tally_event(p->tally, (uint32_t)(p->next - p->old))};
    __asm__ goto volatile(
        ".pushsection __rseq_cs, \"aw\"\n .balign 32\n 3: .long 0, 0\n .quad 1f, (2f - 1f), 4f\n .popsection\n"
        ".pushsection __rseq_failure, \"ax\"\n .byte 0x0f, 0xb9, 0x3d\n .long 0x53053053\n 4: jmp %l[aborted]\n"
        ".popsection\n"
        "leaq 3b(%%rip), %%rsi\n testq %[announce], %[announce]\n jz 1f\n movq %%rsi, 8(%[rs])\n jmp 2f\n"
        "1: cmpq %%rsi, 8(%[rs])\n jne %l[aborted]\n cmpl %[cpu], 4(%[rs])\n jne %l[aborted]\n" SECTION_EVENT(
            SECTION_TIME_GIVEN) "2:\n"
        : [dst] "+D"(dst), [enable] "+r"(enable), [old] "+a"(old), [cpu] "+c"(cpu), [ticket] "+d"(ticket)
        : [s] "r"(s), [rs] "r"(rseq), [view] "r"(view), [wpos] "r"(wpos), [next] "x"(next), [announce] "r"(announce)
        : "memory", "cc", "rsi", SECTION_VECTORS
        : aborted, closed);
    return SECTION_DONE;
aborted:
    return SECTION_ABORTED;
closed:
    return SECTION_CLOSED;
}
/* Withdraws an announcement: one that a signal handler made is not the interrupted thread's. */
static inline void section_forget(void *rseq)
{
    __atomic_store_n((uint64_t *)(void *)((char *)rseq + 8), 0, __ATOMIC_RELAXED);
}

/* Moves wpos over the gap at the end of a chunk, with a filler in its first dword. */
static inline enum section_result section_skip(const struct ring_place *p, const struct ring_view *view,
                                               const void *enable, uint64_t ticket, uint64_t to, void *rseq)
{
    const section_pair next = {to, shm_tally_skip(p->tally, to - p->old)};
    __asm__ goto volatile(SECTION_BEGIN "cmpq %[old], (%[wpos])\n jne %l[aborted]\n" SECTION_ENABLED
                                        "movl $0xffffffff, (%[fill])\n movdqa %[next], (%[wpos])\n 2:\n"
                          :
                          : [rs] "r"(rseq), [view] "r"(view), [wpos] "r"(p->wpos), [old] "r"(p->old), [next] "x"(next),
                            [cpu] "r"(p->cpu), [ticket] "r"(ticket), [enable] "r"(enable), [fill] "r"(p->fill)
                          : "memory", "cc", "rsi"
                          : aborted, closed);
    return SECTION_DONE;
aborted:
    return SECTION_ABORTED;
closed:
    return SECTION_CLOSED;
}

/* Moves one chunk from the pool to a stream: the head advances, the entry names the chunk. */
struct ring_take {
    uint64_t *wpos;  /* 0 */
    uint64_t  old;   /* 8: wpos must still be this */
    uint64_t *entry; /* 16 */
    uint64_t  seen;  /* 24: the entry must still be this */
    uint64_t *head;  /* 32 */
    uint64_t  from;  /* 40: the head must still be this */
    uint64_t  to;    /* 48: ... and becomes this */
    uint64_t  value; /* 56: the entry becomes this */
    uint64_t *mark;  /* 64: the chunk's */
    uint64_t  tally; /* 72: ... becomes this */
};
_Static_assert(offsetof(struct ring_take, seen) == 24 && offsetof(struct ring_take, value) == 56 &&
                   offsetof(struct ring_take, tally) == 72,
               "the asm knows these");

/* All CPUs see the compare-and-swap of the head, so it comes before the last store. A thread that is restarted or dies
 * between the two leaves a chunk that is neither in the pool nor linked; stream_set_reclaim finds it. */
static inline enum section_result section_take(const struct ring_take *t, const struct ring_view *view,
                                               const void *enable, uint64_t ticket, uint32_t cpu, void *rseq)
{
    __asm__ goto volatile(
        SECTION_BEGIN
        "movq (%[t]), %%rsi\n movq 8(%[t]), %%rax\n cmpq %%rax, (%%rsi)\n jne %l[aborted]\n" SECTION_ENABLED
        "movq 16(%[t]), %%rsi\n movq 24(%[t]), %%rax\n cmpq %%rax, (%%rsi)\n jne %l[aborted]\n"
        "movq 32(%[t]), %%rdi\n movq 40(%[t]), %%rax\n movq 48(%[t]), %%r8\n movq 56(%[t]), %%r9\n"
        "lock cmpxchgq %%r8, (%%rdi)\n jne %l[aborted]\n"
        "movq 64(%[t]), %%rdi\n movq 72(%[t]), %%rax\n movq %%rax, (%%rdi)\n"
        "movq %%r9, (%%rsi)\n 2:\n"
        :
        : [rs] "r"(rseq), [view] "r"(view), [t] "r"(t), [cpu] "r"(cpu), [ticket] "r"(ticket), [enable] "r"(enable)
        : "memory", "cc", "rsi", "rdi", "rax", "r8", "r9"
        : aborted, closed);
    return SECTION_DONE;
aborted:
    return SECTION_ABORTED;
closed:
    return SECTION_CLOSED;
}

/* For the reader: ends the chunk of a stream whose events were all read, so that it can be released. The stream may be
 * open or closed. */
static inline enum section_result section_retire(uint64_t *wpos, uint64_t old, uint64_t to, uint64_t tally, void *fill,
                                                 uint32_t cpu, void *rseq)
{
    const section_pair next = {to, shm_tally_skip(tally, to - old)};
    __asm__ goto volatile(
        SECTION_BEGIN "cmpq %[old], (%[wpos])\n jne %l[aborted]\n"
                      "movl $0xffffffff, (%[fill])\n movdqa %[next], (%[wpos])\n 2:\n"
        :
        : [rs] "r"(rseq), [wpos] "r"(wpos), [old] "r"(old), [next] "x"(next), [cpu] "r"(cpu), [fill] "r"(fill)
        : "memory", "cc", "rsi"
        : aborted);
    return SECTION_DONE;
aborted:
    return SECTION_ABORTED;
}

/* Counts one loss, if the stream is still open: after a quiesce no loss is counted either. */
static inline enum section_result section_count_lost(const struct ring_view *view, const void *enable, uint64_t ticket,
                                                     uint32_t cpu, uint64_t *lost, void *rseq)
{
    __asm__ goto volatile(
        SECTION_BEGIN SECTION_ENABLED "lock incq (%[lost])\n 2:\n"
        :
        : [rs] "r"(rseq), [view] "r"(view), [cpu] "r"(cpu), [ticket] "r"(ticket), [enable] "r"(enable), [lost] "r"(lost)
        : "memory", "cc", "rsi"
        : aborted, closed);
    return SECTION_DONE;
aborted:
    return SECTION_ABORTED;
closed:
    return SECTION_CLOSED;
}
/* clang-format on */
#else
#define SECTION_AVAILABLE 0
static inline enum section_result section_write(const struct section *s, const struct ring_place *p,
                                                const struct ring_view *view, const void *enable, uint64_t ticket,
                                                void *rseq)
{
    (void)s, (void)p, (void)view, (void)enable, (void)ticket, (void)rseq;
    return SECTION_ABORTED;
}
static inline enum section_result section_write_stamped(const struct section *s, const struct ring_place *p,
                                                        const struct ring_view *view, const void *enable,
                                                        uint64_t ticket, void *rseq, uint64_t announce)
{
    (void)s, (void)p, (void)view, (void)enable, (void)ticket, (void)rseq, (void)announce;
    return SECTION_ABORTED;
}
static inline void                section_forget(void *rseq) { (void)rseq; }
static inline enum section_result section_skip(const struct ring_place *p, const struct ring_view *view,
                                               const void *enable, uint64_t ticket, uint64_t to, void *rseq)
{
    (void)p, (void)view, (void)enable, (void)ticket, (void)to, (void)rseq;
    return SECTION_ABORTED;
}
struct ring_take {
    uint64_t *wpos, old, *entry, seen, *head, from, to, value, *mark, tally;
};
static inline enum section_result section_take(const struct ring_take *t, const struct ring_view *view,
                                               const void *enable, uint64_t ticket, uint32_t cpu, void *rseq)
{
    (void)t, (void)view, (void)enable, (void)ticket, (void)cpu, (void)rseq;
    return SECTION_ABORTED;
}
static inline enum section_result section_retire(uint64_t *wpos, uint64_t old, uint64_t to, uint64_t tally, void *fill,
                                                 uint32_t cpu, void *rseq)
{
    (void)wpos, (void)old, (void)to, (void)tally, (void)fill, (void)cpu, (void)rseq;
    return SECTION_ABORTED;
}
static inline enum section_result section_count_lost(const struct ring_view *view, const void *enable, uint64_t ticket,
                                                     uint32_t cpu, uint64_t *lost, void *rseq)
{
    (void)view, (void)enable, (void)ticket, (void)cpu, (void)lost, (void)rseq;
    return SECTION_ABORTED;
}
#endif
#endif
