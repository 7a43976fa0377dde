/* boot_tracepoints.c - see boot_tracepoints.h. */
#include "tools/setup/boot_tracepoints.h"
#include "autologger/kernel/source/sources.h"
#include "autologger/kernel/source/tracepoints.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

enum { BUFFER_KB = 8192, BUFFER_LEAST_KB = 256 };

static void event_add(void *ctx, const char *name, const char *folder)
{
    struct boot_tracepoints *t = ctx;
    size_t                   n = strlen(t->events), length = strlen(name);
    (void)folder;
    for (const char *at = t->events; (at = strstr(at, name)) != NULL; at++)
        if ((at == t->events || at[-1] == ',') && (!at[length] || at[length] == ','))
            return;
    if (n + length + 2 <= sizeof t->events) /* an event without room is recorded from the initramfs on */
        snprintf(t->events + n, sizeof t->events - n, "%s%s", n ? "," : "", name);
}

/* Without tracefs: adds the words that the command line takes as they are. */
static void words_add(struct boot_tracepoints *t, const char *pattern)
{
    char copy[TRACEPOINT_TEXT], *rest = copy, *one;
    snprintf(copy, sizeof copy, "%s", pattern);
    while ((one = strsep(&rest, " ,;\t"))) {
        size_t group = strspn(one, LETTERS), name = one[group] == ':' ? strspn(one + group + 1, LETTERS) : 0;
        char  *end = one + group + 1 + name;
        if (group && one[group] == ':' && (name ? !*end : strcmp(end, "*") == 0))
            event_add(t, one, NULL);
    }
}

bool boot_tracepoints_find(const struct plan *plan, struct boot_tracepoints *out)
{
    int tracefs = tracefs_open();
    *out        = (struct boot_tracepoints){.events = ""};
    tracepoint_instance(&plan->guid, out->instance);
    for (unsigned i = 0; i < plan->provider_count; i++) {
        const struct plan_provider *p = &plan->providers[i];
        if (!p->enabled || p->status || !p->tracepoint || (p->tracepoint_filter && *p->tracepoint_filter))
            continue;
        out->stacks |= p->tracepoint_stacks;
        if (tracefs < 0 || tracepoints_match(tracefs, p->tracepoint, event_add, out) < 0)
            words_add(out, p->tracepoint);
    }
    if (tracefs >= 0)
        close(tracefs);
    return *out->events != 0;
}

bool boot_tracepoints_main(const struct boot_tracepoints *t, char *out, size_t size)
{
    return (size_t)snprintf(out, size, "autologger=kernel trace_event=%s trace_buf_size=8M trace_clock=perf%s",
                            t->events, t->stacks ? " trace_options=stacktrace" : "") < size;
}

/* Replaces one word of the text by another, if the result fits. */
static bool word_change(char *text, size_t size, const char *word, const char *other)
{
    char        *at  = strstr(text, word);
    const size_t old = strlen(word), new = strlen(other);
    if (!at || strlen(text) - old + new >= size)
        return false;
    memmove(at + new, at + old, strlen(at + old) + 1);
    memcpy(at, other, new);
    return true;
}

uint64_t boot_tracepoints_sizes(uint64_t count, uint64_t ram_bytes, char *text, size_t size)
{
    uint64_t kb = BUFFER_KB;
    char     word[40];
    while (kb > BUFFER_LEAST_KB && count * kb * 1024 > ram_bytes / 8)
        kb /= 2;
    snprintf(word, sizeof word, kb < 1024 ? " trace_buf_size=%uK" : " trace_buf_size=%uM",
             (unsigned)(kb < 1024 ? kb : kb / 1024));
    if (!word_change(text, size, " trace_buf_size=8M", word))
        kb = BUFFER_KB;
    return count * kb * 1024;
}

bool boot_tracepoints_instances(const struct boot_tracepoints *list, unsigned count, char *text, size_t size)
{
    bool stacks = false;
    if (count)
        word_change(text, size, " trace_clock=perf", " trace_clock=local");
    for (unsigned i = 0; i < count; i++)
        stacks |= list[i].stacks;
    size_t n = strlen(text);
    if (stacks && !strstr(text, " trace_options=stacktrace"))
        n += (size_t)snprintf(text + n, size - n, " trace_options=stacktrace");
    for (unsigned i = 0; i < count && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, " trace_instance=%s,%s", list[i].instance, list[i].events);
    return n < size;
}
