/* section.h - the rseq critical sections (x86-64). Private to the ring writer.
 * A section is restarted by the kernel (it jumps to the abort label) when its thread is preempted, migrated or signalled
 * inside it; nothing is visible to anyone before its last store. Used as a template for one more architecture: the same
 * three functions and SECTION_AVAILABLE. */
#ifndef AUTOLOGGER_RING_SECTION_H
#define AUTOLOGGER_RING_SECTION_H
#include "autologger/ring/writer.h"

#include <stdint.h>

/* What a section works on; the asm knows the offsets. The header comes in parts, so that nobody composes it in memory only
 * for the section to load it again: two words by value, three sixteens from where they are. */
struct section {
    uint32_t                 cpu;   /* 0 */
    uint32_t                 tsc;   /* 4: read the TSC inside and store it as the event's time */
    uint64_t                *wpos;  /* 8 */
    uint64_t                 old;   /* 16: wpos must still be this */
    uint64_t                 next;  /* 24: ... and becomes this */
    uint8_t                 *fill;  /* 32: gets ETL_FILLER; dst when there is no gap */
    uint8_t                 *dst;   /* 40 */
    uint8_t                 *last;  /* 48: the last 8 bytes of the slot, zeroed first (padding) */
    uint64_t                 first; /* 56: header bytes 0..7 */
    uint64_t                 ids;   /* 64: thread and process */
    uint64_t                 time;  /* 72: when not tsc */
    const void              *provider;   /* 80: 16 bytes */
    const void              *descriptor; /* 88: 16 bytes */
    const void              *activity;   /* 96: 16 bytes */
    const struct ring_piece *piece; /* 104 */
    const struct ring_piece *end;   /* 112 */
    const uint32_t          *open;  /* 120: must be 1 */
    const void              *enable; /* 128: its first 8 bytes must be ... */
    uint64_t                 ticket; /* 136 */
    uint64_t                *lost;  /* 144 */
    uint64_t                 wide;  /* 152: the CPU has AVX */
};
enum section_result { SECTION_DONE, SECTION_ABORTED, SECTION_CLOSED };

#if defined(__x86_64__) && defined(__linux__)
#define SECTION_AVAILABLE 1

_Static_assert(offsetof(struct section, dst) == 40 && offsetof(struct section, first) == 56 &&
                   offsetof(struct section, provider) == 80 && offsetof(struct section, piece) == 104 &&
                   offsetof(struct section, open) == 120 && offsetof(struct section, wide) == 152,
               "the asm knows these");

/* Descriptor {version, flags, start, length, abort}, announced in rseq->rseq_cs (offset 8). The abort address follows the
 * signature that glibc registered; the 3 bytes before it make an undefined instruction of the two. */
#define SECTION_BEGIN                                                                                              \
    ".pushsection __rseq_cs, \"aw\"\n .balign 32\n 3: .long 0, 0\n .quad 1f, (2f - 1f), 4f\n .popsection\n"          \
    ".pushsection __rseq_failure, \"ax\"\n .byte 0x0f, 0xb9, 0x3d\n .long 0x53053053\n 4: jmp %l[aborted]\n"         \
    ".popsection\n"                                                                                                \
    "leaq 3b(%%rip), %%rax\n movq %%rax, 8(%[rs])\n"                                                                \
    "1: movl (%[s]), %%eax\n cmpl %%eax, 4(%[rs])\n jne %l[aborted]\n"
#define SECTION_ENABLED                                                                                            \
    "movq 120(%[s]), %%rax\n cmpl $1, (%%rax)\n jne %l[closed]\n"                                                    \
    "movq 128(%[s]), %%rax\n movq 136(%[s]), %%rdx\n cmpq %%rdx, (%%rax)\n jne %l[closed]\n"

/* Bytes rsi.. (ecx of them) to rdi.., which moves on; rax, rdx, rcx and xmm0..3 are lost. Nothing past either end. */
#define SECTION_COPY                                                                                               \
    "cmpl $16, %%ecx\n jb 72f\n cmpl $32, %%ecx\n jbe 71f\n cmpl $0, 152(%[s])\n jne 80f\n"                         \
    "subl $64, %%ecx\n jbe 73f\n"                                                                                   \
    "70: movdqu (%%rsi), %%xmm0\n movdqu 16(%%rsi), %%xmm1\n movdqu 32(%%rsi), %%xmm2\n movdqu 48(%%rsi), %%xmm3\n"   \
    "movdqu %%xmm0, (%%rdi)\n movdqu %%xmm1, 16(%%rdi)\n movdqu %%xmm2, 32(%%rdi)\n movdqu %%xmm3, 48(%%rdi)\n"       \
    "addq $64, %%rsi\n addq $64, %%rdi\n subl $64, %%ecx\n ja 70b\n"                                                 \
    /* 1..64 bytes are left, 33 or more lie behind rsi altogether: two overlapping halves of 32 */                 \
    "73: addl $64, %%ecx\n cmpl $32, %%ecx\n jbe 76f\n"                                                              \
    "movdqu (%%rsi), %%xmm0\n movdqu 16(%%rsi), %%xmm1\n movdqu -32(%%rsi,%%rcx), %%xmm2\n"                           \
    "movdqu -16(%%rsi,%%rcx), %%xmm3\n movdqu %%xmm0, (%%rdi)\n movdqu %%xmm1, 16(%%rdi)\n"                           \
    "movdqu %%xmm2, -32(%%rdi,%%rcx)\n movdqu %%xmm3, -16(%%rdi,%%rcx)\n addq %%rcx, %%rdi\n jmp 79f\n"               \
    "76: movdqu -32(%%rsi,%%rcx), %%xmm2\n movdqu -16(%%rsi,%%rcx), %%xmm3\n"                                        \
    "movdqu %%xmm2, -32(%%rdi,%%rcx)\n movdqu %%xmm3, -16(%%rdi,%%rcx)\n addq %%rcx, %%rdi\n jmp 79f\n"               \
    "71: movdqu (%%rsi), %%xmm0\n movdqu -16(%%rsi,%%rcx), %%xmm1\n movdqu %%xmm0, (%%rdi)\n"                         \
    "movdqu %%xmm1, -16(%%rdi,%%rcx)\n addq %%rcx, %%rdi\n jmp 79f\n"                                                \
    "72: cmpl $8, %%ecx\n jb 74f\n movq (%%rsi), %%rax\n movq -8(%%rsi,%%rcx), %%rdx\n movq %%rax, (%%rdi)\n"          \
    "movq %%rdx, -8(%%rdi,%%rcx)\n addq %%rcx, %%rdi\n jmp 79f\n"                                                    \
    "74: cmpl $4, %%ecx\n jb 75f\n movl (%%rsi), %%eax\n movl -4(%%rsi,%%rcx), %%edx\n movl %%eax, (%%rdi)\n"          \
    "movl %%edx, -4(%%rdi,%%rcx)\n addq %%rcx, %%rdi\n jmp 79f\n"                                                    \
    "75: testl %%ecx, %%ecx\n jz 79f\n"                                                                             \
    "77: movb (%%rsi), %%al\n movb %%al, (%%rdi)\n incq %%rsi\n incq %%rdi\n decl %%ecx\n jnz 77b\n jmp 79f\n"          \
    /* AVX: 64 at a time, the last 64 overlapping; 33 to 64 as two overlapping halves */                           \
    "80: cmpl $64, %%ecx\n jbe 83f\n subl $64, %%ecx\n"                                                            \
    "81: vmovdqu (%%rsi), %%ymm0\n vmovdqu 32(%%rsi), %%ymm1\n vmovdqu %%ymm0, (%%rdi)\n vmovdqu %%ymm1, 32(%%rdi)\n" \
    "addq $64, %%rsi\n addq $64, %%rdi\n subl $64, %%ecx\n ja 81b\n addl $64, %%ecx\n"                             \
    "vmovdqu -64(%%rsi,%%rcx), %%ymm0\n vmovdqu -32(%%rsi,%%rcx), %%ymm1\n"                                        \
    "vmovdqu %%ymm0, -64(%%rdi,%%rcx)\n vmovdqu %%ymm1, -32(%%rdi,%%rcx)\n vzeroupper\n addq %%rcx, %%rdi\n jmp 79f\n" \
    "83: vmovdqu (%%rsi), %%ymm0\n vmovdqu -32(%%rsi,%%rcx), %%ymm1\n vmovdqu %%ymm0, (%%rdi)\n"                   \
    "vmovdqu %%ymm1, -32(%%rdi,%%rcx)\n vzeroupper\n addq %%rcx, %%rdi\n"                                          \
    "79:\n"

/* vzeroupper touches them all */
#define SECTION_VECTORS                                                                                            \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",  \
        "xmm13", "xmm14", "xmm15"

/* The whole event: filler, padding, header, pieces, time, and last of all wpos. */
static inline enum section_result section_write(const struct section *s, void *rseq)
{
    __asm__ goto volatile(
        SECTION_BEGIN
        "movq 72(%[s]), %%r11\n cmpl $0, 4(%[s])\n je 8f\n"
        "rdtsc\n shlq $32, %%rdx\n leaq (%%rax,%%rdx), %%r11\n"
        "8: movq 8(%[s]), %%r10\n movq 16(%[s]), %%rax\n cmpq %%rax, (%%r10)\n jne %l[aborted]\n"
        SECTION_ENABLED
        "movq 32(%[s]), %%rax\n movl $0xffffffff, (%%rax)\n"
        "movq 40(%[s]), %%rdi\n movq 48(%[s]), %%rax\n movq $0, (%%rax)\n"
        "movq 80(%[s]), %%rsi\n movq 88(%[s]), %%rcx\n movq 96(%[s]), %%r8\n"
        "movdqu (%%rsi), %%xmm0\n movdqu (%%rcx), %%xmm1\n movdqu (%%r8), %%xmm2\n"
        "movq 56(%[s]), %%rax\n movq 64(%[s]), %%rdx\n movq %%rax, (%%rdi)\n movq %%rdx, 8(%%rdi)\n"
        "movdqu %%xmm0, 24(%%rdi)\n movdqu %%xmm1, 40(%%rdi)\n movq $0, 56(%%rdi)\n movdqu %%xmm2, 64(%%rdi)\n"
        "movq %%r11, 16(%%rdi)\n addq $80, %%rdi\n movq 104(%[s]), %%r8\n movq 112(%[s]), %%r9\n jmp 6f\n"
        "5: movq (%%r8), %%rsi\n movl 8(%%r8), %%ecx\n addq $16, %%r8\n"
        SECTION_COPY
        "6: cmpq %%r9, %%r8\n jne 5b\n"
        "movq 24(%[s]), %%rax\n movq %%rax, (%%r10)\n"
        "2:\n"
        :
        : [s] "r"(s), [rs] "r"(rseq)
        : "memory", "cc", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", SECTION_VECTORS
        : aborted, closed);
    return SECTION_DONE;
aborted:
    return SECTION_ABORTED;
closed:
    return SECTION_CLOSED;
}

/* Counts one loss, if the stream is still open: after a quiesce no loss is counted either. */
static inline enum section_result section_count_lost(const struct section *s, void *rseq)
{
    __asm__ goto volatile(SECTION_BEGIN SECTION_ENABLED "movq 144(%[s]), %%rax\n lock incq (%%rax)\n 2:\n"
                          :
                          : [s] "r"(s), [rs] "r"(rseq)
                          : "memory", "cc", "rax", "rdx"
                          : aborted, closed);
    return SECTION_DONE;
aborted:
    return SECTION_ABORTED;
closed:
    return SECTION_CLOSED;
}
#else
#define SECTION_AVAILABLE 0
static inline enum section_result section_write(const struct section *s, void *rseq)
{
    (void)s, (void)rseq;
    return SECTION_ABORTED;
}
static inline enum section_result section_count_lost(const struct section *s, void *rseq)
{
    (void)s, (void)rseq;
    return SECTION_ABORTED;
}
#endif
#endif
