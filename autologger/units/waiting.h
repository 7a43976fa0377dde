/* waiting.h - what a process waits for at this moment, by name: from its state, the arguments of its system call, its
 * descriptors, the sockets behind these and the table of locks. It needs /proc, and for names of Unix sockets the
 * kernel's socket diagnosis. A quick boot has no cost: only slow-starting units are looked at (starting.h). For 32-bit
 * programs, and without /proc/PID/syscall, only state and function are known. Facts: proc_pid_syscall(5),
 * proc_pid_wchan(5), proc_locks(5).
 * Invariants: W1 the process' memory is not read, and its files are not opened. W2 an uncertain result is marked
 * (`guessed`).
 * Threads: one. Ownership: none, all is in the caller's structure. Not for: why a unit was late
 * (autologger/analysis). */
#ifndef AUTOLOGGER_UNITS_WAITING_H
#define AUTOLOGGER_UNITS_WAITING_H
#include <stdbool.h>
#include <stdint.h>

enum wait_kind {
#define K(name, word) WAIT_##name,
#include "autologger/wire/wait_kinds.def"
#undef K
    WAIT_KINDS
};
enum { WAIT_CALL = 24, WAIT_NAME = 24, WAIT_FUNCTION = 64, WAIT_OBJECT = 300 };

struct waiting {
    enum wait_kind kind;
    bool           guessed;                 /* the call has several objects: this is the likeliest */
    bool           stuck;                   /* reading its system call timed out: its files hold it up (reach_text) */
    uint32_t       holder;                  /* process id, of a lock; 0: not known */
    char           name[WAIT_NAME];         /* of the program, by the kernel */
    char           call[WAIT_CALL];         /* the system call, "" for none or one that is not in wait_calls.def */
    char           function[WAIT_FUNCTION]; /* the kernel function that it sleeps in; "": unknown */
    char           object[WAIT_OBJECT];     /* path, "ADDRESS:PORT" ...; "" for none */
};

/* `proc`: a descriptor of /proc (reach_proc). False: the process does not wait, or is gone. */
bool        waiting_look(int proc, uint32_t pid, struct waiting *out);
const char *waiting_word(enum wait_kind kind);
#endif
