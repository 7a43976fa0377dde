/* elf_helper.h - asks a separate process about the files behind executable mappings, so that no thread of the daemon,
 * nor its end, ever waits for a file system that a traced process chose. A program that serves a file system (FUSE,
 * alone or below an overlay) need not answer, and a process that waits for it can't even be killed.
 *
 *   asker --question--> careful helper: opens files of local file systems alone
 *                       --RISKY--> daring helper: the others, but for those that a program serves
 *
 * A helper is a copy of the daemon, or of its collector (reach.h), without descriptors and shared memory. A helper that
 * has not answered for HELPER_NS is killed, left behind and never waited for; its question is answered with "not
 * known", and its other questions go to its successor. A question that the daring helper has not begun after RISKY_NS
 * is answered with "not known" too. While HELPERS_HUNG helpers of a kind hang, no further one of that kind is started.
 * Invariants: H1 each question gets one answer. H2 no call waits except elf_helper_wait, and that at most for its
 * timeout.
 * Threads: one per struct elf_helper. Ownership: create/destroy; `proc` is borrowed. Not for: using an answer. */
#ifndef AUTOLOGGER_KERNEL_ELF_HELPER_H
#define AUTOLOGGER_KERNEL_ELF_HELPER_H
#include "autologger/kernel/source/procfs.h"

enum {
    HELPER_NS      = 100000000,
    RISKY_NS       = 200000000,
    CAREFUL_MS     = 1000,
    HELPER_REST_NS = 2000000000,
    HELPERS_HUNG   = 4,
    HELPER_FLIGHT  = 32,
    ELF_PATH       = 4096
};
struct elf_question {
    uint64_t key;                /* set by the asker; comes back with the answer */
    uint64_t start, end, inode;  /* of the mapping; inode 0: not known */
    uint32_t pid, build_id_size; /* 0: not known */
    uint8_t  build_id[20];
};
struct elf_helper;
struct elf_helper *elf_helper_create(int proc); /* NULL: no memory. A helper starts with the first question */
void               elf_helper_destroy(struct elf_helper *h); /* NULL is fine */
/* False: the question was not taken, and gets no answer. `path`: as the process sees it. */
bool elf_ask(struct elf_helper *h, const struct elf_question *q, const char *path);
/* The next answer. False: none for now. !out->valid: the file is not known. */
bool     elf_answer(struct elf_helper *h, uint64_t *key, struct elf_info *out);
unsigned elf_unanswered(const struct elf_helper *h);
/* The longest time, in milliseconds, that an asker with nothing else to do should wait: long for the careful helper,
 * which may lack a processor, but short for the daring one, which may have met a user's file. */
int elf_patience(const struct elf_helper *h);
/* Waits for an answer, at most `timeout_ms`; it may return earlier without one: call elf_answer again. */
void elf_helper_wait(struct elf_helper *h, int timeout_ms);
/* Ends helpers that got no question for HELPER_REST_NS. */
void elf_helper_rest(struct elf_helper *h);

/* Starts a helper: its pid, and the socket to it; or -errno. The helper has exit signal 0: no SIGCHLD, and no other
 * wait() finds it. It is not made by the library's fork(), which would take locks. `proc`: a descriptor of /proc. */
int elf_helper_begin(int proc, bool dares, int *socket);

/* The messages between the two processes. */
enum elf_verdict { ELF_NOT_FOUND, ELF_FOUND, ELF_RISKY };
struct elf_message { /* followed by the path, with its NUL */
    struct elf_question question;
};
struct elf_reply {
    uint64_t        key;
    uint32_t        verdict, reserved;
    struct elf_info info;
};
/* elf_child.c: the helper's whole life. It has no descriptors but these two. */
_Noreturn void elf_child_run(int proc, int socket, bool dares);
#endif
