/* boot_queue.h - what happened while a unit could have started and was not started: what systemd did, and which
 * processes had the processors.
 * Threads: one. Not for: which unit that was (boot_path.h). */
#ifndef AUTOLOGGER_ANALYSIS_BOOT_QUEUE_H
#define AUTOLOGGER_ANALYSIS_BOOT_QUEUE_H
#include "autologger/analysis/boot_path.h"
#include "autologger/analysis/boot_run.h"

enum { BOOT_QUEUE_RUNNERS = 3 };
struct boot_queue {
    int process; /* systemd: process 1 at that time; BOOT_NONE: it or its running time is not known */
    /* ns. length: of the whole time; ran, ready, disk: how long systemd ran, was ready, waited for a disk */
    int64_t            length, ran, ready, disk;
    struct boot_runner runner[BOOT_QUEUE_RUNNERS]; /* what ran most, systemd itself excepted */
    unsigned           runners;
};
void boot_queue_find(const struct boot *b, int64_t from, int64_t to, struct boot_queue *out);
/* Adds up the STEP_QUEUE steps of a critical path in which systemd's states are known, and returns how many there are.
 * *longest is the longest of them; sum->runner is only of that one. */
unsigned boot_queue_sum(const struct boot *b, const struct boot_path *p, struct boot_queue *sum,
                        const struct boot_step **longest);
/* "systemd waited 3.1 s for a processor; udevd.service ran 4.0 s meanwhile". Returns out. */
char *boot_queue_text(const struct boot *b, const struct boot_queue *q, char *out, size_t size);
/* "udevd.service ran 4.0 s, gpg 0.3 s"; "" for none. Returns out. */
char *boot_queue_runners(const struct boot *b, const struct boot_queue *q, char *out, size_t size);
#endif
