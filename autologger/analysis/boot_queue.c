/* See boot_queue.h. */
#include "autologger/analysis/boot_queue.h"

#include <stdio.h>
#include <string.h>

enum {
    RUNNER_LEAST = 10 /* a runner must have run for 1/10 of the time */,
    SHOWN_NS     = 50000000 /* less would be shown as 0.0 s */
};

static double boot_queue_seconds(int64_t ns) { return (double)ns / 1e9; }

static int boot_queue_process_one(const struct boot *b, int64_t at)
{
    int one = BOOT_NONE;
    for (unsigned i = 0; i < b->processes; i++)
        if (b->process[i].pid == 1 && b->process[i].start <= at &&
            (one == BOOT_NONE || b->process[i].start >= b->process[one].start))
            one = (int)i;
    return one;
}

void boot_queue_find(const struct boot *b, int64_t from, int64_t to, struct boot_queue *out)
{
    int64_t waited[BOOT_STATES] = {0};

    *out = (struct boot_queue){.process = BOOT_NONE, .length = to - from};
    /* too short for the width of the bins */
    if (!b->switches || to <= from || from < b->seen_from || to - from < 2 * b->run_width)
        return;
    if ((out->process = boot_queue_process_one(b, from)) == BOOT_NONE)
        return;
    const struct boot_ran ran = boot_ran(b, out->process, from, to);
    boot_waited(b, out->process, from, to, waited);
    out->disk    = waited[BOOT_DISK];
    out->ran     = ran.running;
    out->ready   = ran.ready;
    out->runners = boot_runners(b, from, to, out->process, out->runner, BOOT_QUEUE_RUNNERS);
}

unsigned boot_queue_sum(const struct boot *b, const struct boot_path *p, struct boot_queue *sum,
                        const struct boot_step **longest)
{
    struct boot_queue one;
    unsigned          count = 0;

    *sum     = (struct boot_queue){.process = BOOT_NONE};
    *longest = NULL;
    for (unsigned i = 0; i < p->steps; i++) {
        const struct boot_step *s = &p->step[i];
        if (s->kind != STEP_QUEUE)
            continue;
        boot_queue_find(b, s->start, s->end, &one);
        if (one.process == BOOT_NONE)
            continue;
        count++;
        sum->process = one.process;
        sum->length += one.length;
        sum->ran += one.ran;
        sum->ready += one.ready;
        sum->disk += one.disk;
        if (*longest && s->end - s->start <= (*longest)->end - (*longest)->start)
            continue;
        *longest     = s;
        sum->runners = one.runners;
        memcpy(sum->runner, one.runner, sizeof one.runner);
    }
    return count;
}

char *boot_queue_runners(const struct boot *b, const struct boot_queue *q, char *out, size_t size)
{
    *out = 0;
    for (unsigned i = 0; i < q->runners && q->runner[i].ran * RUNNER_LEAST >= q->length && q->runner[i].ran >= SHOWN_NS;
         i++) {
        const struct boot_runner *r    = &q->runner[i];
        const size_t              used = strlen(out);
        snprintf(out + used, size - used, "%s%.80s%s %.1f s", i ? ", " : "",
                 r->unit == BOOT_NONE ? b->process[r->process].label : b->unit[r->unit].name, i ? "" : " ran",
                 boot_queue_seconds(r->ran));
    }
    return out;
}

char *boot_queue_text(const struct boot *b, const struct boot_queue *q, char *out, size_t size)
{
    char        who[300], more[60] = "";
    const char *also = *boot_queue_runners(b, q, who, sizeof who) ? "; meanwhile " : "";

    if (q->process == BOOT_NONE)
        snprintf(out, size, "systemd itself, or a busy machine");
    else if ((q->ran + q->ready) * 2 < q->length && q->disk * 2 > q->length)
        snprintf(out, size, "systemd waited %.1f s for a disk", boot_queue_seconds(q->disk));
    else if (!b->wakeups && q->ran * 2 < q->length)
        snprintf(
            out, size,
            "systemd itself ran %.1f s; without wake-ups (DISPATCHER) nothing tells whether it waited for a processor%s%s",
            boot_queue_seconds(q->ran), also, who);
    else if ((q->ran + q->ready) * 2 < q->length)
        snprintf(out, size, "systemd itself ran %.1f s, and nothing tells what it waited for%s%s",
                 boot_queue_seconds(q->ran), also, who);
    else if (q->ready > q->ran) {
        if (q->ran >= SHOWN_NS)
            snprintf(more, sizeof more, ", and ran %.1f s", boot_queue_seconds(q->ran));
        snprintf(out, size, "systemd waited %.1f s for a processor%s%s%s", boot_queue_seconds(q->ready), more, also,
                 who);
    } else {
        if (q->ready >= SHOWN_NS)
            snprintf(more, sizeof more, ", and waited %.1f s for a processor", boot_queue_seconds(q->ready));
        snprintf(out, size, "systemd itself ran %.1f s%s%s%s", boot_queue_seconds(q->ran), more, also, who);
    }
    return out;
}
