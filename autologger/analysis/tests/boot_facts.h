/* boot_facts.h - the facts of a real boot that the path and the verdict need, as lines of text: small enough to be kept
 * with the tests. Fields are separated by tabs. Written by record_facts.c from a trace. */
#ifndef AUTOLOGGER_ANALYSIS_TESTS_BOOT_FACTS_H
#define AUTOLOGGER_ANALYSIS_TESTS_BOOT_FACTS_H
#include "autologger/analysis/boot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FACT_WAIT_NS = 100000000, FACT_LINE = 1 << 16, FACT_LANES = 2 };
static const enum boot_lane_kind fact_lanes[FACT_LANES] = {BOOT_LANE_CPU, BOOT_LANE_DISK};

/* ---- writing ---- */

static inline void facts_numbers(FILE *out, const int64_t *list, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        fprintf(out, "%s%" PRId64, i ? " " : "", list[i] / 1000); /* us */
}

/* On one line, whatever a program's command line holds. */
static inline void facts_words(FILE *out, const char *text)
{
    for (; *text; text++)
        fputc(*text < ' ' && *text > 0 ? ' ' : *text, out);
    fputc('\t', out);
}

/* Of the units that a unit is ordered after, only those started in this boot. */
static inline void facts_after(FILE *out, const struct boot *b, const char *after)
{
    char *copy = strdup(after ? after : ""), *next = copy, *name;
    while ((name = strsep(&next, " ")))
        for (unsigned i = 0; i < b->units; i++)
            if (strcmp(b->unit[i].name, name) == 0 && boot_unit_done(&b->unit[i]))
                fprintf(out, "%s ", name);
    free(copy);
}

static inline void facts_units(FILE *out, const struct boot *b)
{
    for (unsigned i = 0; i < b->units; i++) {
        const struct boot_unit *u = &b->unit[i];
        fprintf(out, "u\t%s\t", u->name);
        facts_numbers(out,
                      (const int64_t[]){u->queued, u->activating, u->active, u->deactivating, u->inactive, u->job_end,
                                        u->job_wait},
                      7);
        fprintf(out, "\t%d\t%s\t%s\t", u->failed, u->job_result ? u->job_result : "", u->result ? u->result : "");
        facts_numbers(out, u->time, BOOT_STATES);
        fputc('\t', out);
        facts_after(out, b, u->after);
        fputc('\n', out);
    }
}

static inline void facts_write(FILE *out, const struct boot *b)
{
    fprintf(out, "b\t%u\t", b->cpus);
    facts_numbers(out, (const int64_t[]){b->first, b->last, b->init, b->user, b->root, b->finish, b->settled}, 7);
    fprintf(out, "\t%d\n", b->switches);
    facts_units(out, b);
    for (unsigned i = 0; i < b->processes; i++) {
        const struct boot_process *p = &b->process[i];
        fprintf(out, "p\t%u\t%d\t%d\t%d\t", p->pid, p->parent, p->exec_of, p->unit);
        facts_numbers(out, (const int64_t[]){p->start, p->end}, 2);
        fprintf(out, "\t%d\t%d\t%" PRIu64 "\t%s\t%s\t", p->there, p->lives, p->read, p->name, p->label);
        facts_words(out, p->command);
        facts_numbers(out, p->time, BOOT_STATES);
        fputc('\n', out);
    }
    for (unsigned i = 0; i < b->waits; i++)
        if (b->wait[i].end - b->wait[i].start >= FACT_WAIT_NS) {
            fprintf(out, "w\t%d\t%d\t%u\t%d\t", b->wait[i].process, b->wait[i].waker, b->wait[i].thread,
                    b->wait[i].state);
            facts_numbers(out, (const int64_t[]){b->wait[i].start, b->wait[i].end}, 2);
            fputc('\n', out);
        }
    for (unsigned i = 0; i < b->looks; i++) {
        const struct boot_look *k = &b->look[i];
        fprintf(out, "k\t%d\t%u\t%u\t%s\t%d\t", k->unit, k->pid, k->holder, boot_look_words[k->kind], k->guessed);
        facts_numbers(out, &k->at, 1);
        fprintf(out, "\t%s\n", k->object);
    }
    for (unsigned i = 0; i < b->modules; i++)
        fprintf(out, "m\t%s\t%" PRId64 "\n", b->module[i].name, b->module[i].at / 1000);
    for (unsigned i = 0; i < b->probes; i++) {
        const struct boot_probe *p = &b->probe[i];
        fprintf(out, "v\t%s\t%s\t%s\t%d\t%u\t", p->device, p->driver, p->bus, p->process, p->thread);
        facts_numbers(out, (const int64_t[]){p->start, p->end}, 2);
        fprintf(out, "\t%d\t%d\n", p->result, p->open);
    }
    for (unsigned i = 0; i < b->deferrals; i++)
        fprintf(out, "e\t%s\t%s\t%s\t%" PRId64 "\n", b->deferral[i].device, b->deferral[i].reason,
                b->deferral[i].supplier, b->deferral[i].at / 1000);
    for (unsigned i = 0; i < b->firmware_requests; i++) {
        const struct boot_firmware *f = &b->firmware_request[i];
        fprintf(out, "f\t%s\t%s\t%u\t", f->name, f->device, f->thread);
        facts_numbers(out, (const int64_t[]){f->start, f->end}, 2);
        fprintf(out, "\t%d\n", f->result);
    }
    for (unsigned i = 0; i < b->disks; i++) {
        const struct boot_disk *d = &b->disk[i];
        fprintf(out, "d\t%u\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t", d->number, d->reads, d->writes,
                d->read, d->written);
        facts_numbers(out, (const int64_t[]){d->busy, d->waited, d->longest}, 3);
        fputc('\n', out);
    }
    for (unsigned k = 0; k < FACT_LANES; k++) {
        struct boot_lane l = b->lane[fact_lanes[k]];
        boot_lane_widen(&l, INT64_C(128000000));
        fprintf(out, "l\t%u\t%" PRId64 "\t", fact_lanes[k], l.width);
        for (int64_t i = 0; l.width && i <= b->last / l.width && i < LANE_BINS; i++)
            fprintf(out, "%.0f ", l.bin[i] / 1000);
        fputc('\n', out);
    }
}

/* ---- reading ---- */

static inline void *facts_grow(void *list, unsigned *count, size_t size)
{
    list = realloc(list, (*count + 1ul) * size);
    memset((char *)list + *count * size, 0, size);
    ++*count;
    return list;
}

static inline void facts_times(const char *text, int64_t *out, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        char *end;
        out[i] = strtoll(text, &end, 10) * 1000;
        text   = end;
    }
}

static inline char *facts_text(const char *text) { return text && *text ? strdup(text) : NULL; }

static inline void facts_unit(struct boot *b, char **f)
{
    b->unit             = facts_grow(b->unit, &b->units, sizeof *b->unit);
    struct boot_unit *u = &b->unit[b->units - 1];
    int64_t           at[7];
    facts_times(f[2], at, 7);
    u->name   = strdup(f[1]);
    u->queued = at[0], u->activating = at[1], u->active = at[2], u->deactivating = at[3], u->inactive = at[4],
    u->job_end = at[5], u->job_wait = at[6];
    u->failed     = atoi(f[3]);
    u->job_result = facts_text(f[4]);
    u->result     = facts_text(f[5]);
    facts_times(f[6], u->time, BOOT_STATES);
    u->after = facts_text(f[7]);
}

static inline void facts_process(struct boot *b, char **f)
{
    b->process             = facts_grow(b->process, &b->processes, sizeof *b->process);
    struct boot_process *p = &b->process[b->processes - 1];
    int64_t              at[2];
    facts_times(f[5], at, 2);
    p->pid = (uint32_t)atoi(f[1]), p->parent = atoi(f[2]), p->exec_of = atoi(f[3]), p->unit = atoi(f[4]);
    p->start = at[0], p->end = at[1], p->there = atoi(f[6]), p->lives = atoi(f[7]), p->read = strtoull(f[8], NULL, 10);
    p->name = strdup(f[9]), p->label = strdup(f[10]), p->command = strdup(f[11]);
    facts_times(f[12], p->time, BOOT_STATES);
}

static inline void facts_look(struct boot *b, char **f)
{
    b->look             = facts_grow(b->look, &b->looks, sizeof *b->look);
    struct boot_look *k = &b->look[b->looks - 1];
    *k                  = (struct boot_look){.unit    = atoi(f[1]),
                                             .pid     = (uint32_t)atoi(f[2]),
                                             .holder  = (uint32_t)atoi(f[3]),
                                             .guessed = atoi(f[5]) != 0,
                                             .object  = strdup(f[7] ? f[7] : "")};
    while (k->kind < LOOK_KINDS - 1 && strcmp(boot_look_words[k->kind], f[4]) != 0)
        k->kind++;
    facts_times(f[6], &k->at, 1);
}

static inline void facts_device(struct boot *b, char **f)
{
    int64_t at[2];
    switch (*f[0]) {
    case 'm':
        b->module = facts_grow(b->module, &b->modules, sizeof *b->module);
        facts_times(f[2], at, 1);
        b->module[b->modules - 1] = (struct boot_module){strdup(f[1]), at[0]};
        break;
    case 'v':
        b->probe = facts_grow(b->probe, &b->probes, sizeof *b->probe);
        facts_times(f[6], at, 2);
        b->probe[b->probes - 1] = (struct boot_probe){strdup(f[1]),         strdup(f[2]), strdup(f[3]), atoi(f[4]),
                                                      (uint32_t)atoi(f[5]), at[0],        at[1],        atoi(f[7]),
                                                      atoi(f[8]) != 0,      false,        BOOT_NONE};
        break;
    case 'e':
        b->deferral = facts_grow(b->deferral, &b->deferrals, sizeof *b->deferral);
        facts_times(f[4], at, 1);
        b->deferral[b->deferrals - 1] = (struct boot_deferral){strdup(f[1]), strdup(f[2]), strdup(f[3]), at[0]};
        break;
    case 'f':
        b->firmware_request = facts_grow(b->firmware_request, &b->firmware_requests, sizeof *b->firmware_request);
        facts_times(f[4], at, 2);
        b->firmware_request[b->firmware_requests - 1] =
            (struct boot_firmware){strdup(f[1]), strdup(f[2]), (uint32_t)atoi(f[3]), at[0], at[1], atoi(f[5])};
    }
}

static inline void facts_line(struct boot *b, char **f)
{
    int64_t at[7];
    switch (*f[0]) {
    case 'b':
        b->cpus = (unsigned)atoi(f[1]);
        facts_times(f[2], at, 7);
        b->first = at[0], b->last = at[1], b->init = at[2], b->user = at[3], b->root = at[4], b->finish = at[5],
        b->settled  = at[6];
        b->switches = atoi(f[3]);
        break;
    case 'u': facts_unit(b, f); break;
    case 'p': facts_process(b, f); break;
    case 'k': facts_look(b, f); break;
    case 'm':
    case 'v':
    case 'e':
    case 'f': facts_device(b, f); break;
    case 'w':
        b->wait = facts_grow(b->wait, &b->waits, sizeof *b->wait);
        facts_times(f[5], at, 2);
        b->wait[b->waits - 1] = (struct boot_wait){
            atoi(f[1]), atoi(f[2]), (uint32_t)atoi(f[3]), at[0], at[1], (enum boot_state)atoi(f[4]), BOOT_NONE};
        break;
    case 'd':
        b->disk = facts_grow(b->disk, &b->disks, sizeof *b->disk);
        facts_times(f[6], at, 3);
        b->disk[b->disks - 1] = (struct boot_disk){(uint32_t)atoi(f[1]),
                                                   strtoull(f[2], NULL, 10),
                                                   strtoull(f[3], NULL, 10),
                                                   strtoull(f[4], NULL, 10),
                                                   strtoull(f[5], NULL, 10),
                                                   at[0],
                                                   at[1],
                                                   at[2]};
        break;
    case 'l': {
        struct boot_lane *l = &b->lane[atoi(f[1])];
        char             *p = f[3];
        l->width            = strtoll(f[2], NULL, 10);
        for (unsigned i = 0; i < LANE_BINS && *p; i++, p += strspn(p, " "))
            l->bin[i] = strtod(p, &p) * 1000;
    }
    }
}

/* NULL: no such file. */
static inline struct boot *facts_read(const char *path)
{
    struct boot *b    = calloc(1, sizeof *b);
    FILE        *in   = fopen(path, "r");
    char        *line = malloc(FACT_LINE);
    while (in && fgets(line, FACT_LINE, in)) {
        char *field[16] = {0}, *next = line;
        line[strcspn(line, "\n")] = 0;
        for (unsigned n = 0; n < 16 && next; n++)
            field[n] = strsep(&next, "\t");
        facts_line(b, field);
    }
    free(line);
    if (in)
        fclose(in);
    else
        boot_destroy(b);
    return in ? b : NULL;
}
#endif
