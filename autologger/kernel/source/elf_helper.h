/* elf_helper.h - asks a process of its own about the files behind executable mappings, so that neither a thread of the
 * daemon nor the daemon's end ever waits for a file system that a traced process chose. A program that serves a file
 * system (FUSE, alone or below an overlay) need not answer, and whoever waits for it can't even be killed.
 *
 *   asker --question--> careful helper: opens files of local file systems alone
 *                       --RISKY--> daring helper: the others, but for those that a program serves
 *
 * A helper is a copy of the daemon, or of its collector (reach.h), without descriptors and shared memory. One that has
 * not answered for HELPER_NS is killed, left behind and never waited for; its question is answered with "not known",
 * and the others go to its successor. What the daring one has not begun after RISKY_NS is not known either. While
 * HELPERS_HUNG of a
 * kind hang, there is no further one of that kind.
 * Invariants: H1 each question gets one answer. H2 no call waits, but for elf_helper_wait, and that no longer than it
 * was told.
 * Threads: one per struct elf_helper. Ownership: create/destroy; `proc` is borrowed. Not for: what an answer is good
 * for. */
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
    uint64_t key;                /* the asker's own; comes back with the answer */
    uint64_t start, end, inode;  /* of the mapping; inode 0: not known */
    uint32_t pid, build_id_size; /* 0: not known */
    uint8_t  build_id[20];
};
struct elf_helper;
struct elf_helper *elf_helper_create(int proc); /* NULL: no memory. A helper starts with the first question */
void               elf_helper_destroy(struct elf_helper *h); /* NULL is fine */
/* False: it is not taken, and gets no answer. `path`: as the process sees it. */
bool elf_ask(struct elf_helper *h, const struct elf_question *q, const char *path);
/* The next answer. False: none for now. !out->valid: nobody knows. */
bool     elf_answer(struct elf_helper *h, uint64_t *key, struct elf_info *out);
unsigned elf_unanswered(const struct elf_helper *h);
/* How many milliseconds, from when nothing else is to be done, an asker should wait at most: long for the careful
 * helper, which may lack a processor, but not for the daring one, which may have met a user's file. */
int elf_patience(const struct elf_helper *h);
/* Until there is an answer, at most so long, and shorter: ask again. */
void elf_helper_wait(struct elf_helper *h, int timeout_ms);
/* Ends helpers that nobody has asked for HELPER_REST_NS. */
void elf_helper_rest(struct elf_helper *h);

/* Starts a helper: its pid, and the socket to it; or -errno. It has exit signal 0: no SIGCHLD, and nobody else's wait()
 * finds it. It is not the library's fork(): that would take locks. `proc`: a descriptor of /proc. */
int elf_helper_begin(int proc, bool dares, int *socket);

/* Between the two processes. */
enum elf_verdict { ELF_NOT_FOUND, ELF_FOUND, ELF_RISKY };
struct elf_message { /* then the path, with its NUL */
    struct elf_question question;
};
struct elf_reply {
    uint64_t        key;
    uint32_t        verdict, reserved;
    struct elf_info info;
};
/* elf_child.c: the helper's whole life. Has nothing but these two descriptors. */
_Noreturn void elf_child_run(int proc, int socket, bool dares);
#endif
