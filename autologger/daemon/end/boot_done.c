#include "autologger/daemon/end/boot_done.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)
enum { ASK_AGAIN_MS = 5000, ASK_AFTER_FAILURE_MS = 1000 };

void boot_done_init(struct boot_done *d, uint64_t ready_ns) { *d = (struct boot_done){.ready_ns = ready_ns}; }

void boot_done_finish(struct boot_done *d)
{
    free(d->cpu);
    d->cpu  = NULL;
    d->cpus = 0;
}

enum boot_answer boot_answer_parse(const char *text)
{
    static const struct {
        const char      *word;
        enum boot_answer answer;
    } words[] =
        {
            {"running", BOOT_ANSWER_RUNNING},      {"degraded", BOOT_ANSWER_DEGRADED},
            {"initializing", BOOT_ANSWER_NOT_YET}, {"starting", BOOT_ANSWER_NOT_YET},
            {"maintenance", BOOT_ANSWER_NOT_YET}, /* an administrator may let the boot go on */
            {"stopping", BOOT_ANSWER_NOT_YET},
        };
    size_t length = strcspn(text, " \t\r\n");
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].word) == length && memcmp(words[i].word, text, length) == 0)
            return words[i].answer;
    return BOOT_ANSWER_NONE;
}

static void target_reached(struct boot_done *d, uint64_t at, const char *note)
{
    d->target_ns = at ? at : 1;
    d->sample_ns = 0; /* slices begin after the mark */
    snprintf(d->note, sizeof d->note, "%s", note);
}

unsigned boot_done_answer(struct boot_done *d, uint64_t now, enum boot_answer answer)
{
    if (d->target_ns)
        return 0;
    switch (answer) {
    case BOOT_ANSWER_RUNNING: target_reached(d, now, ""); return 0;
    case BOOT_ANSWER_DEGRADED:
        target_reached(d, now, "the system is degraded: some units failed (systemctl --failed)");
        return 0;
    case BOOT_ANSWER_NOT_YET: d->failures = 0; return ASK_AGAIN_MS;
    case BOOT_ANSWER_NONE: break;
    }
    if (++d->failures < BOOT_ASK_FAILURES)
        return ASK_AFTER_FAILURE_MS;
    boot_done_unasked(d,
                      "systemctl could not say when the system was running: taken from when the file system was ready");
    return 0;
}

void boot_done_unasked(struct boot_done *d, const char *note)
{
    if (!d->target_ns)
        target_reached(d, d->ready_ns, note);
}

/* True: idle enough between the last sample and this one. *looked: there is something to judge by; *same: some CPUs are
 * in both. */
static bool idle_enough(const struct boot_done *d, const struct boot_done_cpu *cpu, unsigned cpus, bool *looked,
                        bool *same)
{
    uint64_t idle = 0, total = 0;

    *same = false;
    for (unsigned i = 0; i < cpus && i < d->cpus; i++) {
        const struct boot_done_cpu *a = &d->cpu[i], *b = &cpu[i];
        if (!a->total || !b->total || b->total < a->total || b->idle < a->idle)
            continue;
        *same = true;
        idle += b->idle - a->idle;
        total += b->total - a->total;
    }
    *looked = total > 0;
    return *looked && idle * 100 >= total * BOOT_IDLE_PERCENT;
}

static void keep_sample(struct boot_done *d, uint64_t now, const struct boot_done_cpu *cpu, unsigned cpus)
{
    if (cpus > d->cpus) {
        struct boot_done_cpu *more = realloc(d->cpu, cpus * sizeof *more);
        if (!more) {
            d->sample_ns = 0;
            return;
        }
        d->cpu = more;
    }
    if (cpus)
        memcpy(d->cpu, cpu, cpus * sizeof *cpu);
    d->cpus      = cpus;
    d->sample_ns = now;
}

bool boot_done_sample(struct boot_done *d, uint64_t now, const struct boot_done_cpu *cpu, unsigned cpus)
{
    bool     looked, same;
    uint64_t slice = now > d->sample_ns ? now - d->sample_ns : 0;

    if (!d->target_ns || d->idle_ns)
        return false;
    if (!d->sample_ns || !slice) {
        keep_sample(d, now, cpu, cpus);
        return false;
    }
    bool idle = idle_enough(d, cpu, cpus, &looked, &same);
    if (same && !looked)
        return false; /* the counters did not move yet: the slice goes on */
    if (slice > BOOT_SLICE_MS * MS * 3 / 2)
        slice = BOOT_SLICE_MS * MS;
    if (idle)
        d->collected_ns += slice;
    keep_sample(d, now, cpu, cpus);
    if (d->collected_ns < BOOT_IDLE_MS * MS)
        return false;
    d->idle_ns = now;
    return true;
}
