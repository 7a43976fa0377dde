#include "tools/files/served_run.h"

#include "registry-sim/base/visible_print.h"
#include "tools/base/json_out.h"
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/files/describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SERVED_ROWS = 10 };
/* Which tables a role has, in their order. */
static const enum resource_table served_tables[SERVED_ROLES][RESOURCE_TABLES] = {
    [SERVED_GENERAL]  = {RESOURCE_PROCESSES, RESOURCE_DISKS, RESOURCE_FILES, RESOURCE_ENDS},
    [SERVED_WEB]      = {RESOURCE_PROCESSES, RESOURCE_ENDS, RESOURCE_FILES, RESOURCE_DISKS},
    [SERVED_DATABASE] = {RESOURCE_DISKS, RESOURCE_FILES, RESOURCE_PROCESSES, RESOURCE_ENDS},
    [SERVED_FILE]     = {RESOURCE_FILES, RESOURCE_ENDS, RESOURCE_DISKS, RESOURCE_PROCESSES}};

bool served_role_find(const char *word, enum served_role *role)
{
    for (int i = 0; i < SERVED_ROLES; i++)
        if (strcmp(word, served_roles[i]) == 0) {
            *role = (enum served_role)i;
            return true;
        }
    return false;
}

static double served_ms(uint64_t time) { return (double)time / 1e4; }

static void served_transactions_print(const struct served *s)
{
    if (!s->kinds) {
        printf("\nTransactions: none. A transaction is a start and a stop event of one activity.\n");
        return;
    }
    visible_printf(stdout, "\nTransactions%23s count       mean        95 %%    longest   open\n", "");
    for (size_t i = 0; i < s->kinds && i < SERVED_ROWS; i++) {
        const struct served_kind *k = s->kind[i];
        visible_printf(stdout, "  %-32s %7" PRIu64 " %7.2f ms %7.2f ms %7.2f ms %6" PRIu64 "\n", k->name, k->time.count,
                       served_ms(histogram_mean(&k->time)), served_ms(histogram_percentile(&k->time, 950)),
                       served_ms(k->time.most), k->open);
    }
    if (s->kinds > SERVED_ROWS)
        printf("  and %zu more kinds: --json shows all\n", s->kinds - SERVED_ROWS);
}

static void served_table_print(const struct served *s, enum resource_table table)
{
    const size_t rows = s->resources->table[table].rows;
    if (!rows)
        return;
    visible_printf(stdout, "\n%c%s\n", resource_words[table][0] - 'a' + 'A', resource_words[table] + 1);
    for (size_t i = 0; i < rows && i < SERVED_ROWS; i++) {
        const struct resource_row *r = &s->resources->table[table].row[i];
        visible_printf(stdout, "  %-48s", r->name);
        if (table == RESOURCE_PROCESSES)
            printf(" %10.1f ms, %" PRIu64 " switches", served_ms(r->cpu), r->switches);
        if (r->read.count)
            printf(" read %" PRIu64 " (%" PRIu64 " KB)", r->read.count, r->read.bytes / 1024);
        if (r->written.count)
            visible_printf(stdout, " %s %" PRIu64 " (%" PRIu64 " KB)", table == RESOURCE_ENDS ? "sent" : "written",
                           r->written.count, r->written.bytes / 1024);
        if (r->read.time + r->written.time)
            printf(", %.1f ms", served_ms(r->read.time + r->written.time));
        printf("\n");
    }
    if (rows > SERVED_ROWS)
        printf("  and %zu more: --json shows all\n", rows - SERVED_ROWS);
}

static void served_print(const struct served *s, const char *file)
{
    visible_printf(stdout, "%s: a %s server for %.1f s, %u processors\n\n", file, served_roles[s->role], s->seconds,
                   s->resources->cpus);
    if (!s->findings)
        printf("Nothing stands out by the rules for this role.\n");
    for (size_t i = 0; i < s->findings; i++) {
        const struct served_finding *f = &s->finding[i];
        visible_printf(stdout, "* %s %.1f %s (limit %.0f)\n  Do: %s\n", f->text, f->value, f->unit, f->limit,
                       f->advice);
    }
    served_transactions_print(s);
    for (int i = 0; i < RESOURCE_TABLES; i++)
        served_table_print(s, served_tables[s->role][i]);
    if (!s->resources->has_cpu || !s->resources->has_disks || !s->resources->has_files || !s->resources->has_network)
        visible_printf(
            stdout,
            "\nNot in this trace:%s%s%s%s. Do: trace with PROC_THREAD+CSWITCH+DISK_IO+FILE_IO+FILE_IO_INIT+NETWORKTRACE\n",
            s->resources->has_cpu ? "" : " processors", s->resources->has_disks ? "" : " disks",
            s->resources->has_files ? "" : " files", s->resources->has_network ? "" : " network");
}

static void served_rows_json(struct json *j, const struct served *s)
{
    json_array(j, "transactions");
    for (size_t i = 0; i < s->kinds; i++) {
        const struct served_kind *k = s->kind[i];
        json_object(j, NULL);
        json_text(j, "name", k->name);
        json_number(j, "count", k->time.count);
        json_number(j, "open", k->open);
        json_number(j, "mean_ns", histogram_mean(&k->time) * 100);
        json_number(j, "p95_ns", histogram_percentile(&k->time, 950) * 100);
        json_number(j, "longest_ns", k->time.most * 100);
        json_object_end(j);
    }
    json_array_end(j);
    for (int t = 0; t < RESOURCE_TABLES; t++) {
        json_array(j, resource_words[t]);
        for (size_t i = 0; i < s->resources->table[t].rows; i++) {
            const struct resource_row *r = &s->resources->table[t].row[i];
            json_object(j, NULL);
            json_text(j, "name", r->name);
            json_number(j, "reads", r->read.count);
            json_number(j, "read_bytes", r->read.bytes);
            json_number(j, "writes", r->written.count);
            json_number(j, "written_bytes", r->written.bytes);
            json_number(j, "io_ns", (r->read.time + r->written.time) * 100);
            json_number(j, "cpu_ns", r->cpu * 100);
            json_number(j, "switches", r->switches);
            json_object_end(j);
        }
        json_array_end(j);
    }
}

static void served_print_json(const struct served *s, const char *file)
{
    struct json *j = json_create(stdout, true);
    if (!j)
        return;
    json_object(j, NULL);
    json_text(j, "file", file);
    json_text(j, "role", served_roles[s->role]);
    json_real(j, "seconds", s->seconds);
    json_array(j, "findings");
    for (size_t i = 0; i < s->findings; i++) {
        const struct served_finding *f = &s->finding[i];
        json_object(j, NULL);
        json_text(j, "finding", f->text);
        json_real(j, "value", f->value);
        json_text(j, "unit", f->unit);
        json_real(j, "limit", f->limit);
        json_text(j, "advice", f->advice);
        json_object_end(j);
    }
    json_array_end(j);
    served_rows_json(j, s);
    json_object_end(j);
    json_destroy(j);
}

int served_run(const char *file, enum served_role role, bool json)
{
    struct describe d   = {.traces = &file, .trace_count = 1};
    struct served  *s   = NULL;
    struct reason   why = {0};
    int             code;
    if (!describe_open(&d, "report", &code))
        return code;
    const wstatus st = served_create(&file, 1, role, d.set, &s, &why);
    if (!st && json)
        served_print_json(s, file);
    else if (!st)
        served_print(s, file);
    served_destroy(s);
    describe_close(&d);
    return st ? failure_print("report", st, &why) : VERB_FINE;
}
