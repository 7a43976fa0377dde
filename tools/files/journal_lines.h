/* journal_lines.h - the last lines of systemd's journal about a unit in a time range of a boot, from journalctl(1). A
 * command that reads a trace has given up its rights before it knows the question (read_only.h), so a process started
 * earlier answers one question.
 * Invariants: J1 the answering process checks the question: of a trace only a unit's name and a boot's id reach
 * journalctl. J2 after PATIENCE_S seconds it is killed, and there are no lines. J3 lines are chosen by the time since
 * the boot, which setting the date does not change.
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
    int   fd; /* -1: no process, and no lines */
};

struct journal_lines journal_begin(void);
/* Asks the one question. No lines without a journal, without rights, or for another machine's boot. */
void journal_ask(struct journal_lines *j, const struct journal_ask *ask, struct journal_told *out);
void journal_end(struct journal_lines *j);
#endif
