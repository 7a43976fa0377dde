/* sources.c - the source table and tracefs. See sources.h. */
#include "autologger/kernel/source/sources.h"
#include "autologger/kernel/source/probes.h"
#include "autologger/kernel/source/reach.h"
#include "autologger/wire/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS(...) \
    { \
        __VA_ARGS__ \
    }
#define ALL_WORDS \
    { \
        ~0u, ~0u, ~0u, ~0u \
    }
#define NEWER SOURCE_NEWER
#define PHASE SOURCE_PHASE
#define DEVICES SOURCE_DEVICES
#define ADDRESS SOURCE_ADDRESS
#define OPTIONAL SOURCE_OPTIONAL
#define LIVE SOURCE_LIVE
#define TAP SOURCE_TAP
#define UNITS SOURCE_UNITS
#define KPROBE SOURCE_KPROBE
const struct source_row source_table[SRC_COUNT] = {
#define SOURCE(kind, name, words, fields, hooks, flags, converter) {name, words, fields, flags},
#include "autologger/kernel/source/sources.def"
#undef SOURCE
};

bool source_wanted(const struct source_row *row, const struct klog_config *config)
{
    if ((row->flags & SOURCE_UNITS) && !config->units)
        return false;
    return (config->mask[0] & row->words.w0) || (config->mask[1] & row->words.w1) ||
           (config->mask[2] & row->words.w2) || (config->mask[4] & row->words.w4);
}

bool source_has_hook(const struct source_row *row, uint16_t hook)
{
    const struct hook_range *hooks = source_hooks[row - source_table];
    for (unsigned j = 0; j < SOURCE_HOOKS; j++)
        if (hook && hook >= hooks[j].low && hook <= hooks[j].high)
            return true;
    return false;
}

bool source_wants_chain(const struct source_row *row, const struct klog_config *config)
{
    for (unsigned i = 0; i < config->hook_count && i < HOOK_MAX; i++)
        if (source_has_hook(row, config->hooks[i]))
            return true;
    return false;
}

int tracefs_open(void)
{
    static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int fd = open(places[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0 && faccessat(fd, "events", F_OK, 0) == 0)
            return fd;
        if (fd >= 0)
            close(fd);
    }
    /* not mounted: a detached mount, which no other process sees and which ends with its descriptor */
    return reach_tracefs();
}

int tracefs_read(int root, const char *path, char *out, size_t size)
{
    int    fd   = openat(root, path, O_RDONLY | O_CLOEXEC);
    size_t have = 0;
    if (fd < 0)
        return -errno;
    while (have + 1 < size) {
        ssize_t n = read(fd, out + have, size - 1 - have);
        if (n <= 0)
            break;
        have += (size_t)n;
    }
    close(fd);
    out[have] = 0;
    return (int)have;
}

/* The number after `label` at *p; moves *p after it. */
static bool format_number(const char **p, const char *label, unsigned long *out)
{
    size_t n = strlen(label);
    char  *end;
    if (strncmp(*p, label, n) != 0 || (*p)[n] < '0' || (*p)[n] > '9')
        return false;
    *out = strtoul(*p + n, &end, 10);
    *p   = end;
    return *out <= 60000;
}

/* "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;": the name ends before '[' or ';' */
bool format_field(const char *text, const char *name, size_t name_length, struct raw_field *out)
{
    for (const char *p = strstr(text, "\tfield:"); p; p = strstr(p + 1, "\tfield:")) {
        const char *end = p + strcspn(p, ";\n"), *stop = end;
        const char *bracket = memchr(p, '[', (size_t)(end - p));
        if (bracket && (bracket[1] != ']' || bracket[2] != ' ')) /* "__data_loc char[] name" has its bracket before */
            stop = bracket;
        if ((size_t)(stop - p) <= name_length || memcmp(stop - name_length, name, name_length) != 0 ||
            !strchr(" *\t", stop[-(ptrdiff_t)name_length - 1]))
            continue;
        unsigned long offset, size;
        if (!format_number(&end, ";\toffset:", &offset) || !format_number(&end, ";\tsize:", &size))
            return false;
        *out = (struct raw_field){(uint16_t)offset, (uint16_t)size};
        return true;
    }
    return false;
}

/* Reads a format file; for an event without a folder in the main place, from an instance (probes_instance_end). */
static int format_read(int root, const struct source_row *row, const char *path, char *text, size_t size)
{
    int n = tracefs_read(root, path, text, size);
    if (n != -ENOENT || !(row->flags & SOURCE_KPROBE) || faccessat(root, "kprobe_events", F_OK, 0) < 0)
        return n;
    const int instance = probes_instance(root);
    if (instance < 0)
        return n;
    return tracefs_read(instance, path, text, size);
}

int tracefs_tracepoint(int root, const struct source_row *row, struct raw_source *out, const char **missing,
                       char missing_text[32])
{
    char        path[128], text[16384];
    const char *colon = strchr(row->name, ':');
    *missing          = NULL;
    for (int i = 0; i < RAW_FIELDS; i++)
        out->field[i] = (struct raw_field){RAW_NO_FIELD, 0};
    snprintf(path, sizeof path, "events/%.*s/%s/format", (int)(colon - row->name), row->name, colon + 1);
    int n = format_read(root, row, path, text, sizeof text);
    if (n < 0)
        return n;
    const char *id = strstr(text, "\nID: ");
    if (!id)
        return -EINVAL;
    unsigned i = 0;
    for (const char *p = row->fields; *p && i < RAW_FIELDS; i++) {
        size_t length = strcspn(p, " ");
        if (!format_field(text, p, length, &out->field[i]) && !*missing) {
            snprintf(missing_text, 32, "%.*s", (int)length, p);
            *missing = missing_text;
        }
        p += length + (p[length] == ' ');
    }
    return atoi(id + 5);
}

int64_t raw_field_value(const struct raw_field *field, const uint8_t *raw, uint32_t raw_size)
{
    uint32_t v4;
    uint16_t v2;
    uint64_t v8;
    if (field->offset == RAW_NO_FIELD || (uint32_t)field->offset + field->size > raw_size)
        return 0;
    raw += field->offset;
    switch (field->size) {
    case 8: memcpy(&v8, raw, 8); return (int64_t)v8;
    case 4: memcpy(&v4, raw, 4); return (int32_t)v4;
    case 2: memcpy(&v2, raw, 2); return v2;
    case 1: return *raw;
    default: return 0;
    }
}
