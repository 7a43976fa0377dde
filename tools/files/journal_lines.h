/* journal_lines.h - what systemd's journal has of a unit in a time of a boot: journalctl(1) is run, and its last lines
 * of that time are kept. A command that reads a trace has no rights any more when it knows what to ask (read_only.h):
 * so a process is begun before, which answers one question.
 * Invariants: J1 the question is checked where it is answered: a name of a unit, a boot's id, no other word of a trace
 * reaches journalctl. J2 it has PATIENCE_S seconds, then it is killed, and there are no lines. J3 lines go by the time
 * since the boot, which no setting of the date moves.
 * Threads: one. Ownership: begin/end. Not for: lines of the kernel's log, which a trace has itself. */
#ifndef TOOLS_JOURNAL_LINES_H
#define TOOLS_JOURNAL_LINES_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { JOURNAL_LINES = 3, JOURNAL_LINE = 240 };
struct journal_ask {
    char    unit[256];
    char    boot_id[64];    /* as /proc/sys/kernel/random/boot_id has it, or without its dashes */
    int64_t from_ns, to_ns; /* since the boot */
};
struct journal_told {
    uint32_t count;
    char     line[JOURNAL_LINES][JOURNAL_LINE]; /* "program[pid]: text", oldest first */
};
struct journal_lines {
    pid_t pid;
    int   fd; /* -1: there is none, and no lines */
};

struct journal_lines journal_begin(void);
/* One question. No lines where nobody can tell: no journal, no rights, another machine's boot. */
void journal_ask(struct journal_lines *j, const struct journal_ask *ask, struct journal_told *out);
void journal_end(struct journal_lines *j);
#endif
