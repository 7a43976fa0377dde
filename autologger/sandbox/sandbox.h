/* sandbox.h - takes the rights of this process away, before it reads bytes that other users wrote.
 * Four kinds. SANDBOX_PARSER has the descriptors that it holds, and nothing else: it opens no path (opening.h asks
 * somebody else), makes no process, and reaches no other. SANDBOX_READER is for a command at a terminal: it may open
 * files to read, as it could before, but writes only to descriptors that it holds. SANDBOX_HELPED is a reader that may
 * also ask another process, through a socket that it holds, and get descriptors from it. SANDBOX_WRITER makes files for
 * a user, as that user; it sends and receives through sockets that it holds. Each layer stands for itself: a kernel
 * that lacks one gets the others, and the result says which are in force.
 * Invariants: S1 nothing can be taken back. S2 a call that calls.def does not have gets EPERM, or ends the process
 * where the table says so.
 * Threads: call it when there is one. Not for: the daemon, which needs its rights (daemon/parts/confine.h). */
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
/* Whose rights to files a writer has. `further`: groups. */
struct sandbox_owner {
    uid_t        user;
    gid_t        group;
    const gid_t *further;
    unsigned     further_count;
};
/* A writer's real and saved user: one that nobody has, so no program of the owner's can stop it or look into it. */
#define SANDBOX_NO_USER ((uid_t)4294967293U)
struct sandbox {
    enum sandbox_kind kind;
    /* 0: no limit. A core file is never written. */
    uint64_t                    memory, file_size; /* bytes of address space; of a file that it writes */
    unsigned                    cpu_seconds, descriptors;
    pid_t                       parent; /* a parser ends with this one; 0: with whoever is the parent now */
    const struct sandbox_owner *owner;  /* of a writer */
};

/* Gives the rights up. Returns the layers that are in force now. A process that was no longer `parent`'s child ends. */
unsigned sandbox_enter(const struct sandbox *s);
/* The layers that sandbox_enter() would put in force in this process, asked of the kernel without giving anything
 * up. */
unsigned sandbox_possible(enum sandbox_kind kind);
/* All that a kind can have. */
unsigned sandbox_all(enum sandbox_kind kind);
/* "a user of its own, a filter of system calls"; "" for none. Returns out. */
const char *sandbox_text(unsigned layers, char *out, size_t size);

/* Whose ids a parser gets: of SANDBOX_ACCOUNT in this file of accounts, else those of nobody. */
#define SANDBOX_ACCOUNT "autologger-parse"
#define SANDBOX_ACCOUNTS "/etc/passwd"
struct sandbox_ids {
    uid_t user;
    gid_t group;
    bool  own; /* the account exists */
};
struct sandbox_ids sandbox_ids(const char *accounts);

/* Takes memory that is shared with other processes out of this one: a forked child has its parent's. What the kernel's
 * list of mappings does not show stays. False: the list can't be read. */
bool sandbox_memory_unshare(void);
#endif
