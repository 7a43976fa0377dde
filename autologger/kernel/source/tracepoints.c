/* tracepoints.c - patterns to tracepoints, their sources and layouts. See tracepoints.h. */
#include "autologger/kernel/source/tracepoints.h"
#include "autologger/kernel/source/sources.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FORMAT_MAX = 16384, LAYOUT_MAX = 8192 };

/* "*" is any text, "?" any character. libc's fnmatch would add 37 KB to the early program. */
static bool tracepoints_matches(const char *pattern, const char *text)
{
    for (; *pattern != '*'; pattern++, text++)
        if (!*text || (*pattern != '?' && *pattern != *text))
            return !*text && !*pattern;
    while (*pattern == '*')
        pattern++;
    for (;; text++) {
        if (tracepoints_matches(pattern, text))
            return true;
        if (!*text)
            return false;
    }
}

static int tracepoints_by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The names in a folder below tracefs, sorted; malloc. */
static char **names_in(int tracefs, const char *folder, size_t *count)
{
    int            fd   = openat(tracefs, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR           *dir  = fd < 0 ? NULL : fdopendir(fd);
    char         **list = NULL;
    struct dirent *e;
    *count = 0;
    if (!dir && fd >= 0)
        close(fd);
    while (dir && (e = readdir(dir))) {
        char **more = e->d_name[0] == '.' ? NULL : realloc(list, (*count + 1) * sizeof *list);
        if (!more)
            continue;
        list = more;
        if ((list[*count] = strdup(e->d_name)))
            ++*count;
    }
    if (dir)
        closedir(dir);
    if (list)
        qsort(list, *count, sizeof *list, tracepoints_by_name);
    return list;
}

static void names_free(char **list, size_t count)
{
    while (count)
        free(list[--count]);
    free(list);
}

struct matching {
    int         tracefs;
    const char *group, *name; /* patterns */
    void (*found)(void *ctx, const char *name, const char *folder);
    void *ctx;
    int   count;
};

static void match_group(struct matching *m, const char *group)
{
    char   folder[192];
    size_t count;
    snprintf(folder, sizeof folder, "events/%.60s", group);
    char **names = names_in(m->tracefs, folder, &count);
    for (size_t i = 0; i < count; i++) {
        char name[192];
        snprintf(folder, sizeof folder, "events/%.60s/%.100s", group, names[i]);
        snprintf(name, sizeof name, "%.60s:%.100s", group, names[i]);
        char id[sizeof folder + 4];
        snprintf(id, sizeof id, "%s/id", folder);
        if (!tracepoints_matches(m->name, names[i]) || faccessat(m->tracefs, id, F_OK, 0) != 0)
            continue;
        m->found(m->ctx, name, folder);
        m->count++;
    }
    names_free(names, count);
}

int tracepoints_match(int tracefs, const char *pattern, void (*found)(void *ctx, const char *name, const char *folder),
                      void *ctx)
{
    char            copy[TRACEPOINT_TEXT], *rest = copy, *one;
    struct matching m = {.tracefs = tracefs, .found = found, .ctx = ctx};
    size_t          count;
    char          **groups = names_in(tracefs, "events", &count);
    if (!groups)
        return errno ? -errno : -ENOENT;
    snprintf(copy, sizeof copy, "%s", pattern);
    while ((one = strsep(&rest, " ,;\t"))) {
        char *colon = strchr(one, ':');
        if (!*one)
            continue;
        if (colon)
            *colon = 0;
        m.group = one;
        m.name  = colon ? colon + 1 : "*";
        for (size_t i = 0; i < count; i++) /* "ftrace" has the tracer's own records: they are no events */
            if (strcmp(groups[i], "ftrace") != 0 && tracepoints_matches(m.group, groups[i]))
                match_group(&m, groups[i]);
    }
    names_free(groups, count);
    return m.count;
}

/* ---- sources ---- */

struct finding {
    const struct klog_config *config;
    int                       tracefs;
    unsigned                  wish, count, left_out;
    struct raw_source        *sources;
    int                      *ids;
};

static void tracepoints_add(void *ctx, const char *name, const char *folder)
{
    struct finding *f = ctx;
    char            path[224], text[32];
    for (unsigned i = 0; i < f->count; i++) /* two patterns of one provider may match the same one */
        if (f->sources[i].kind == SRC_TRACEPOINT && f->sources[i].wish == f->wish &&
            strcmp(f->sources[i].name, name) == 0)
            return;
    snprintf(path, sizeof path, "%s/id", folder);
    if (tracefs_read(f->tracefs, path, text, sizeof text) <= 0)
        return;
    if (f->count == RAW_SOURCES || strlen(name) >= sizeof f->sources->name) {
        f->left_out++;
        return;
    }
    struct raw_source s = {.kind = SRC_TRACEPOINT, .flags = RAW_SOURCE_COUNTER | RAW_SOURCE_RAW, .wish = f->wish};
    if (f->config->tracepoints[f->wish].stacks)
        s.flags |= RAW_SOURCE_CHAIN;
    for (int i = 0; i < RAW_FIELDS; i++)
        s.field[i] = (struct raw_field){RAW_NO_FIELD, 0};
    memcpy(s.name, name, strlen(name) + 1);
    f->ids[f->count]       = atoi(text);
    f->sources[f->count++] = s;
}

static void tracepoints_tell(const struct klog_config *config, const struct tracepoint_wish *w, const char *reason,
                             const char *advice)
{
    if (config->condition)
        config->condition(config->condition_ctx, W_NOT_SUPPORTED, false, w->name, reason, advice);
}

unsigned tracepoints_find(int tracefs, const struct klog_config *config, struct raw_source sources[RAW_SOURCES],
                          int ids[RAW_SOURCES], unsigned count)
{
    struct finding f = {.config = config, .tracefs = tracefs, .count = count, .sources = sources, .ids = ids};
    for (f.wish = 0; f.wish < config->tracepoint_count; f.wish++) {
        struct tracepoint_wish *w      = &config->tracepoints[f.wish];
        unsigned                before = f.count;
        char                    text[200];
        f.left_out = 0;
        int n      = tracefs < 0 ? tracefs : tracepoints_match(tracefs, w->pattern, tracepoints_add, &f);
        w->opened  = f.count - before;
        if (n < 0) {
            snprintf(text, sizeof text, "tracefs cannot be read: %s", strerror(-n));
            tracepoints_tell(config, w, text, "run with CAP_SYS_ADMIN, or mount tracefs at /sys/kernel/tracing");
        } else if (n == 0) {
            snprintf(text, sizeof text, "this kernel has no tracepoint '%.120s'", w->pattern);
            tracepoints_tell(config, w, text, "see: autologger providers --tracepoints");
        } else if (f.left_out) {
            snprintf(text, sizeof text,
                     "%u of the %d tracepoints of '%.80s' are left out: a session has at most %d sources", f.left_out,
                     n, w->pattern, RAW_SOURCES);
            tracepoints_tell(config, w, text, "make the pattern narrower, or spread it over several sessions");
        }
    }
    return f.count;
}

/* ---- layouts ---- */

/* "\tfield:TYPE NAME[N];\toffset:O;\tsize:S;\tsigned:B;" */
static bool field_parse(const char *line, struct tracepoint_field *out)
{
    const char              *end = line + strcspn(line, ";\n"), *name_end = end, *name;
    const char              *bracket = memchr(line, '[', (size_t)(end - line));
    unsigned                 offset, size;
    char                     number[3][12];
    const char              *p        = end;
    static const char *const labels[] = {";\toffset:", ";\tsize:", ";\tsigned:"};
    for (int i = 0; i < 3; i++) {
        size_t n = strlen(labels[i]);
        if (strncmp(p, labels[i], n) != 0)
            return false;
        p += n;
        size_t digits = strspn(p, "0123456789");
        if (!digits || digits >= sizeof *number)
            return false;
        memcpy(number[i], p, digits);
        number[i][digits] = 0;
        p += digits;
    }
    offset = (unsigned)atoi(number[0]);
    size   = (unsigned)atoi(number[1]);
    if (offset > 60000 || size > 60000)
        return false;
    bool located = strncmp(line, "__data_loc ", 11) == 0, relative = strncmp(line, "__rel_loc ", 10) == 0;
    bool array = bracket && !located && !relative;
    if (array)
        name_end = bracket;
    for (name = name_end; name > line && !strchr(" *\t", name[-1]); name--) {
    }
    size_t length = (size_t)(name_end - name);
    if (!length || length >= sizeof out->name)
        return false;
    bool text = strncmp(line + (located ? 11 : relative ? 10 : 0), "char", 4) == 0;
    *out      = (struct tracepoint_field){.offset = (uint16_t)offset, .size = (uint16_t)size};
    memcpy(out->name, name, length);
    if (located || relative)
        out->kind = (uint8_t)(text ? (relative ? TP_RELATIVE_TEXT : TP_TEXT) : relative ? TP_RELATIVE_ARRAY : TP_ARRAY);
    else if (array)
        out->kind = text ? TP_CHARS : TP_BYTES;
    else if (memchr(line, '*', (size_t)(name - line)) && size == 8)
        out->kind = TP_POINTER;
    else if (size == 1 || size == 2 || size == 4 || size == 8)
        out->kind = number[2][0] == '1' ? TP_SIGNED : TP_UNSIGNED;
    else
        out->kind = TP_BYTES;
    return true;
}

bool tracepoint_field_next(const char *format, const char **next, struct tracepoint_field *out)
{
    const char *p = strstr(*next ? *next : format, "\tfield:");
    for (; p; p = strstr(p + 1, "\tfield:")) {
        *next = p + 1;
        if (field_parse(p + 7, out) && strncmp(out->name, "common_", 7) != 0)
            return true;
    }
    return false;
}

void tracepoints_describe(struct drain *d, const struct klog_config *config)
{
    const struct raw_header *h    = d->log->header;
    int                      root = -1;
    char                    *text = malloc(FORMAT_MAX), *layout = malloc(LAYOUT_MAX);
    for (unsigned i = 0; i < h->source_count && text && layout; i++) {
        char        path[192];
        const char *name  = h->source[i].name + (h->source[i].flags & RAW_SOURCE_PHASE ? strlen(RAW_PHASE_NAME) : 0);
        const char *colon = strchr(name, ':');
        if (h->source[i].kind != SRC_TRACEPOINT || !colon)
            continue;
        if (root < 0)
            root = tracefs_open();
        snprintf(path, sizeof path, "events/%.*s/%s/format", (int)(colon - name), name, colon + 1);
        if (tracefs_read(root, path, text, FORMAT_MAX) <= 0)
            continue;
        unsigned wish = h->source[i].wish;
        if (wish >= config->tracepoint_count)
            continue;
        /* before its first record, T1 */
        uint64_t              time = h->source[i].flags & RAW_SOURCE_PHASE || !h->started ? 0 : raw_now();
        struct raw_tracepoint r    = {
               .own = {RAW_TRACEPOINT, 0, 0, time, 0, 0}, .source = i, .provider = config->tracepoints[wish].guid};
        struct tracepoint_field f;
        const char             *next = NULL;
        size_t                  used = 0;
        while (tracepoint_field_next(text, &next, &f) && used + sizeof f.name + 32 < LAYOUT_MAX)
            used +=
                (size_t)snprintf(layout + used, LAYOUT_MAX - used, "%s %u %u %u\n", f.name, f.offset, f.size, f.kind);
        layout[used] = 0;
        pthread_mutex_lock(&d->lock);
        own_add(d, d->notes, &r, sizeof r, (const char *const[]){config->tracepoints[wish].name, colon + 1, layout}, 3);
        pthread_mutex_unlock(&d->lock);
    }
    if (root >= 0)
        close(root);
    free(text);
    free(layout);
}
