/* losses.c - see losses.h. */
#include "autologger/consumer/losses.h"
#include "registry-sim/base/visible_print.h"
#include "registry-sim/win32/filetime.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_gen.h>

static void text_keep(char out[LOSS_TEXT], const char *text)
{
    size_t n = 0;
    for (; text[n] && n + 1 < LOSS_TEXT; n++)
        out[n] = (unsigned char)text[n] < ' ' || (unsigned char)text[n] > '~' ? '?' : text[n];
    out[n] = 0;
}

/* Room for one more entry, in steps; beyond the bound the last entry takes all. NULL: no memory. */
static void *one_more(void *list, unsigned *count, unsigned most, size_t size)
{
    if (*count == most)
        return list;
    void *grown = *count & (*count - 1) ? list : realloc(list, (*count ? *count * 2 : 1) * size);
    if (!grown)
        return NULL;
    memset((uint8_t *)grown + *count * size, 0, size);
    ++*count;
    return grown;
}

static void losses_gap_add(struct loss_row *r, const struct loss_gap *g)
{
    unsigned at = r->gaps, close = 1;
    while (at > 0 && r->gap[at - 1].from > g->from) {
        r->gap[at] = r->gap[at - 1];
        at--;
    }
    r->gap[at] = *g;
    if (++r->gaps <= LOSS_GAPS && (at == 0 || r->gap[at - 1].to < g->from || r->gaps == 1))
        return;
    if (r->gaps <= LOSS_GAPS)
        close = at; /* it continues the gap before */
    else
        for (unsigned i = 2; i < r->gaps; i++)
            if ((int64_t)(r->gap[i].from - r->gap[i - 1].to) < (int64_t)(r->gap[close].from - r->gap[close - 1].to))
                close = i;
    struct loss_gap *into = &r->gap[close - 1];
    into->to              = into->to > r->gap[close].to ? into->to : r->gap[close].to;
    into->count += r->gap[close].count;
    memmove(&r->gap[close], &r->gap[close + 1], (r->gaps - close - 1) * sizeof *r->gap);
    r->gaps--;
}

static bool gap_note(struct losses *l, uint32_t cpu, const char *cause, const struct loss_gap *g)
{
    char name[LOSS_TEXT];
    text_keep(name, cause);
    unsigned i = 0;
    while (i < l->rows && (l->row[i].cpu != cpu || strcmp(l->row[i].cause, name) != 0))
        i++;
    if (i == l->rows) {
        void *row = one_more(l->row, &l->rows, LOSS_ROWS, sizeof *l->row);
        if (!row)
            return false;
        l->row = row;
        i      = l->rows - 1;
        if (!l->row[i].gaps) {
            l->row[i].cpu = cpu;
            memcpy(l->row[i].cause, name, sizeof name);
        }
    }
    l->placed += g->count;
    losses_gap_add(&l->row[i], g);
    return true;
}

static bool source_note(struct losses *l, const char *source, const char *cause, uint64_t count)
{
    char     name[LOSS_TEXT], why[LOSS_TEXT];
    unsigned i = 0;
    text_keep(name, source);
    text_keep(why, cause);
    while (i < l->sources && (strcmp(l->source[i].name, name) != 0 || strcmp(l->source[i].cause, why) != 0))
        i++;
    if (i == l->sources) {
        void *list = one_more(l->source, &l->sources, LOSS_SOURCES, sizeof *l->source);
        if (!list)
            return false;
        l->source = list;
        i         = l->sources - 1;
        if (!l->source[i].count) {
            memcpy(l->source[i].name, name, sizeof name);
            memcpy(l->source[i].cause, why, sizeof why);
        }
    }
    l->source[i].count += count;
    return true;
}

static uint64_t losses_before(uint64_t filetime, uint64_t ns) { return ns / 100 < filetime ? filetime - ns / 100 : 0; }

bool losses_add(struct losses *l, const struct etl_event *e, const struct decoded *names)
{
    enum { PHASE_NUMBERS = 6 * 8 }; /* from OffsetNs to Entries, Kept */
    if (!names->provider || strncmp(names->provider, "Autologger-", 11) != 0)
        return true;
    struct cursor   c    = cur_make(e->payload, e->payload_size);
    struct loss_gap g    = {e->filetime, e->filetime, 0};
    bool            loss = strcmp(names->provider + 11, "Loss") == 0;
    if (loss && strcmp(names->event, "Throttled") == 0)
        l->throttled++;
    if (loss && strcmp(names->event, "Lost") == 0) {
        uint32_t    cpu   = cur_u32(&c);
        const char *cause = cur_zstring(&c), *source = cur_zstring(&c);
        g.count = cur_u64(&c);
        g.from  = losses_before(e->filetime, cur_u64(&c));
        g.to    = losses_before(e->filetime, cur_u64(&c));
        return !cur_ok(&c) || (gap_note(l, cpu, cause, &g) && source_note(l, source, cause, g.count));
    }
    if (strcmp(names->provider + 11, "Kernel-Boot") == 0 && strcmp(names->event, "KernelPhaseEnd") == 0) {
        uint32_t cpu = cur_u32(&c);
        cur_zstring(&c); /* its clock */
        cur_take(&c, PHASE_NUMBERS);
        g.count = cur_u64(&c);
        return !cur_ok(&c) || !g.count ||
               (gap_note(l, cpu, "kernel phase", &g) && source_note(l, "", "kernel phase", g.count));
    }
    return true;
}

void losses_finish(struct losses *l)
{
    free(l->row);
    free(l->source);
    *l = (struct losses){0};
}

static double losses_seconds(uint64_t filetime, uint64_t first) { return (double)(int64_t)(filetime - first) / 1e7; }

void losses_print(const struct losses *l, uint64_t counted, uint64_t first, FILE *out)
{
    if (l->throttled)
        fprintf(out, "throttled       %" PRIu64 " times\n", l->throttled);
    if (!l->placed && !counted)
        return;
    fprintf(out, "loss over time  %" PRIu64 " of %" PRIu64 " events lost have a place\n", l->placed, counted);
    for (unsigned i = 0; i < l->rows; i++)
        for (unsigned j = 0; j < l->row[i].gaps; j++) {
            const struct loss_gap *g       = &l->row[i].gap[j];
            char                   cpu[16] = "-";
            if (l->row[i].cpu != UINT32_MAX)
                snprintf(cpu, sizeof cpu, "%" PRIu32, l->row[i].cpu);
            visible_printf(out, "  cpu %-4s %12.6f s .. %12.6f s %12" PRIu64 "  %s\n", cpu,
                           losses_seconds(g->from, first), losses_seconds(g->to, first), g->count, l->row[i].cause);
        }
    for (unsigned i = 0; i < l->sources; i++)
        visible_printf(out, "  of %-40s %12" PRIu64 "  %s\n", *l->source[i].name ? l->source[i].name : "(not known)",
                       l->source[i].count, l->source[i].cause);
}

/* --- JSON --- */

static void losses_put_text(yajl_gen g, const char *key, const char *text)
{
    yajl_gen_string(g, (const unsigned char *)key, strlen(key));
    yajl_gen_string(g, (const unsigned char *)text, strlen(text));
}

static void losses_put_number(yajl_gen g, const char *key, uint64_t value)
{
    char text[24];
    int  n = snprintf(text, sizeof text, "%" PRIu64, value);
    yajl_gen_string(g, (const unsigned char *)key, strlen(key));
    yajl_gen_number(g, text, (size_t)n);
}

static void put_gap(yajl_gen g, const struct loss_row *r, const struct loss_gap *gap)
{
    char text[FILETIME_TEXT_SIZE];
    yajl_gen_map_open(g);
    if (r->cpu != UINT32_MAX)
        losses_put_number(g, "cpu", r->cpu);
    losses_put_text(g, "cause", r->cause);
    losses_put_text(g, "from", filetime_format(gap->from, text));
    losses_put_text(g, "to", filetime_format(gap->to, text));
    losses_put_number(g, "count", gap->count);
    yajl_gen_map_close(g);
}

void losses_print_json(const struct losses *l, uint64_t counted, yajl_gen g)
{
    yajl_gen_map_open(g);
    losses_put_number(g, "counted", counted);
    losses_put_number(g, "placed", l->placed);
    losses_put_number(g, "throttled", l->throttled);
    yajl_gen_string(g, (const unsigned char *)"gaps", 4);
    yajl_gen_array_open(g);
    for (unsigned i = 0; i < l->rows; i++)
        for (unsigned j = 0; j < l->row[i].gaps; j++)
            put_gap(g, &l->row[i], &l->row[i].gap[j]);
    yajl_gen_array_close(g);
    yajl_gen_string(g, (const unsigned char *)"sources", 7);
    yajl_gen_array_open(g);
    for (unsigned i = 0; i < l->sources; i++) {
        yajl_gen_map_open(g);
        losses_put_text(g, "source", l->source[i].name);
        losses_put_text(g, "cause", l->source[i].cause);
        losses_put_number(g, "count", l->source[i].count);
        yajl_gen_map_close(g);
    }
    yajl_gen_array_close(g);
    yajl_gen_map_close(g);
}
