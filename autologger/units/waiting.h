/* waiting.h - what a process waits for at this moment, with its name: by its state, the arguments of its system call,
 * its descriptors, the sockets behind these and the table of locks. It needs /proc, and for names of Unix sockets the
 * kernel's socket diagnosis; a quick boot pays nothing: it is asked for units that take long (starting.h). Of programs
 * of 32 bits, and where /proc/PID/syscall is missing, state and function alone. Facts: proc_pid_syscall(5),
 * proc_pid_wchan(5), proc_locks(5).
 * Invariants: W1 nothing of the process' memory is read, and nothing of its files is opened. W2 what is not certain
 * says so (`guessed`).
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
    bool           guessed;                 /* the call names several objects: this is the likeliest */
    bool           stuck;                   /* the kernel did not say what it does: its files hold it (reach_text) */
    uint32_t       holder;                  /* process id, of a lock; 0: not known */
    char           name[WAIT_NAME];         /* of the program, as the kernel has it */
    char           call[WAIT_CALL];         /* the system call, "" for none or one that is not in wait_calls.def */
    char           function[WAIT_FUNCTION]; /* the kernel's, that it sleeps in; "" where the kernel does not say */
    char           object[WAIT_OBJECT];     /* path, "ADDRESS:PORT" ...; "" for none */
};

/* `proc`: a descriptor of /proc (reach_proc). False: it waits for nothing, or it is gone. */
bool        waiting_look(int proc, uint32_t pid, struct waiting *out);
const char *waiting_word(enum wait_kind kind);
#endif
