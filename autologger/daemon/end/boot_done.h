/* boot_done.h - decides when a boot is done. Two marks: 1. the system's default target is reached and nothing is queued
 * any more; 2. after that, 10 s are collected in which the machine is at least 80 % idle, sampled in slices of 100 ms.
 * Pure: it is given times, answers and counters, and says which mark is reached. boot_watch.h asks the machine.
 * Invariants: D1 mark 2 is never before mark 1. D2 a slice adds at most the time that was really sampled: a late sample
 * counts as one slice.
 * D3 a CPU that came, went or counted backwards since the last sample is left out of that slice.
 * Idle is the kernel's "idle" alone: while a CPU waits for a disk, the boot is not done.
 * Threads: one. Ownership: init/finish. Times are ns of CLOCK_MONOTONIC_RAW, 0 = not reached. */
#ifndef AUTOLOGGER_DAEMON_BOOT_DONE_H
#define AUTOLOGGER_DAEMON_BOOT_DONE_H
#include <stdbool.h>
#include <stdint.h>

enum { BOOT_SLICE_MS = 100, BOOT_IDLE_MS = 10000, BOOT_IDLE_PERCENT = 80, BOOT_ASK_FAILURES = 3 };

/* The answer of "systemctl is-system-running --wait". */
enum boot_answer { BOOT_ANSWER_RUNNING, BOOT_ANSWER_DEGRADED, BOOT_ANSWER_NOT_YET, BOOT_ANSWER_NONE };
struct boot_done_cpu {
    uint64_t idle, total; /* since the start, any unit; total 0 = not there */
};
struct boot_done {
    uint64_t ready_ns;     /* the file system was ready */
    uint64_t target_ns;    /* mark 1 */
    uint64_t idle_ns;      /* mark 2 */
    uint64_t collected_ns; /* of the idle time that mark 2 needs */
    char     note[200];    /* how mark 1 was found, if not the regular way; "" = regularly */
    unsigned failures;
    /* the last sample */
    uint64_t              sample_ns;
    struct boot_done_cpu *cpu; /* malloc */
    unsigned              cpus;
};

void boot_done_init(struct boot_done *d, uint64_t ready_ns);
void boot_done_finish(struct boot_done *d);
/* "running\n" and the like. */
enum boot_answer boot_answer_parse(const char *text);
/* The system answered at `now`. Returns 0: don't ask again; else the ms after which to ask again. */
unsigned boot_done_answer(struct boot_done *d, uint64_t now, enum boot_answer answer);
/* There is no systemd to ask: mark 1 is where the file system was ready. `note` says why, "" for nothing to say. */
void boot_done_unasked(struct boot_done *d, const char *note);
/* The CPUs' counters at `now`, indexed by CPU number. True when this sample reaches mark 2. Without mark 1 nothing is
 * collected. When out of memory the sample is left out. */
bool boot_done_sample(struct boot_done *d, uint64_t now, const struct boot_done_cpu *cpu, unsigned cpus);
#endif
