/* sandbox.h - drops the rights of this process before it reads bytes that other users wrote.
 * Four kinds. SANDBOX_PARSER has its open descriptors and nothing else: it opens no path (opening.h asks another
 * process), creates no process, and reaches none. SANDBOX_READER is for a command at a terminal: it still opens files
 * for reading, but writes only to its open descriptors. SANDBOX_HELPED is a reader that may also ask a helper process
 * through an open socket, and receive descriptors from it. SANDBOX_WRITER makes files for a user, as that user; it
 * sends and receives through its open sockets. Layers are independent: if the kernel lacks one, the others still apply,
 * and the result says which are in force.
 * Invariants: S1 no right can be regained. S2 a system call that calls.def does not allow fails with EPERM, or ends the
 * process where the table says so.
 * Threads: enter it while the process has one thread. Not for: the daemon, which needs its rights
 * (daemon/parts/confine.h). */
#ifndef AUTOLOGGER_SANDBOX_SANDBOX_H
#define AUTOLOGGER_SANDBOX_SANDBOX_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum sandbox_layer {
#define LAYER(name, bit, text) SANDBOX_##name = 1 << (bit),
#include "autologger/sandbox/layers.def"
#undef LAYER
};
enum sandbox_kind { SANDBOX_PARSER, SANDBOX_READER, SANDBOX_WRITER, SANDBOX_HELPED };
/* The user whose file rights a writer has. `further`: supplementary groups. */
struct sandbox_owner {
    uid_t        user;
    gid_t        group;
    const gid_t *further;
    unsigned     further_count;
};
/* A writer's real and saved user: an id without a user, so no program of the owner can signal or trace the writer. */
#define SANDBOX_NO_USER ((uid_t)4294967293U)
struct sandbox {
    enum sandbox_kind kind;
    /* 0: no limit. A core file is never written. */
    uint64_t                    memory, file_size; /* bytes of address space; of a written file */
    unsigned                    cpu_seconds, descriptors;
    pid_t                       parent; /* a parser ends with this process; 0: with its present parent */
    const struct sandbox_owner *owner;  /* writers only */
};

/* Drops the rights. Returns the layers that are now in force. A parser that is no longer a child of `parent` ends. */
unsigned sandbox_enter(const struct sandbox *s);
/* The layers that sandbox_enter() could put in force in this process; asks the kernel, and drops nothing. */
unsigned sandbox_possible(enum sandbox_kind kind);
/* All layers of a kind. */
unsigned sandbox_all(enum sandbox_kind kind);
/* "a user of its own, a filter of system calls"; "" for none. Returns out. */
const char *sandbox_text(unsigned layers, char *out, size_t size);

/* A parser gets the ids of SANDBOX_ACCOUNT in this file of accounts, else those of nobody. */
#define SANDBOX_ACCOUNT "autologger-parse"
#define SANDBOX_ACCOUNTS "/etc/passwd"
struct sandbox_ids {
    uid_t user;
    gid_t group;
    bool  own; /* the account exists */
};
struct sandbox_ids sandbox_ids(const char *accounts);

/* Unmaps the memory that this process shares with others: a forked child has its parent's shared mappings. Mappings
 * that the kernel's list does not show stay. False: the list can't be read in full. */
bool sandbox_memory_unshare(void);
#endif
