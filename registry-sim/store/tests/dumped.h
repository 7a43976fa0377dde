/* dumped.h - for the snapshot's tests: a store's keys and values as text with all that a snapshot keeps, and a small
 * store. */
#ifndef REGISTRY_SIM_STORE_TESTS_DUMPED_H
#define REGISTRY_SIM_STORE_TESTS_DUMPED_H
#include "registry-sim/store/change_number.h"
#include "registry-sim/store/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WMI "HKLM\\SYSTEM\\CurrentControlSet\\Control\\WMI"

struct dump {
    struct regstore *store;
    FILE            *out;
    char             path[2048];
};

static inline wstatus dump_value(void *ctx, const struct regvalue *v)
{
    struct dump *d = ctx;
    fprintf(d->out, "  %s %u %s:%u ", v->name, v->type, v->source_file ? v->source_file : "-", v->source_line);
    for (uint32_t i = 0; i < v->size; i++)
        fprintf(d->out, "%02x", v->data[i]);
    fputc('\n', d->out);
    return W_SUCCESS;
}

static inline wstatus dump_key(void *ctx, const struct regkey_info *info)
{
    struct dump *d = ctx;
    size_t       n = strlen(d->path);
    snprintf(d->path + n, sizeof d->path - n, "\\%s", info->name);
    fprintf(d->out, "%s %" PRIu64 " %s:%u\n", d->path, info->last_write, info->source_file ? info->source_file : "-",
            info->source_line);
    wstatus st = regstore_enum_values(d->store, d->path, dump_value, d);
    if (st == W_SUCCESS)
        st = regstore_enum_keys(d->store, d->path, dump_key, d);
    d->path[n] = 0;
    return st;
}

/* The key `key` with all below; malloc. */
static inline char *dump_dup(struct regstore *store, const char *key)
{
    char       *text;
    size_t      size;
    struct dump d = {.store = store, .out = open_memstream(&text, &size)};
    snprintf(d.path, sizeof d.path, "%s", key);
    regstore_enum_values(store, key, dump_value, &d);
    regstore_enum_keys(store, key, dump_key, &d);
    fclose(d.out);
    return text;
}

static inline void add_dword(struct regstore *s, const char *key, const char *name, uint32_t value, uint32_t line)
{
    if (regstore_set(s, key,
                     &(struct regvalue){.name        = name,
                                        .type        = REG_TYPE_DWORD,
                                        .data        = (const uint8_t *)&value,
                                        .size        = 4,
                                        .source_file = "boot.ini",
                                        .source_line = line},
                     NULL))
        abort();
}

/* Sessions, a provider, names and bytes of every kind, keys beside WMI that are not packed. */
static inline struct regstore *small_store(void)
{
    struct regstore *s;
    if (regstore_open_memory(&s, NULL))
        abort();
    add_dword(s, WMI "\\GlobalLogger", "Start", 1, 2);
    add_dword(s, WMI "\\Autologger\\web", "Start", 1, 5);
    add_dword(s, WMI "\\Autologger\\web", "FileCounter", 3, 6);
    add_dword(s, WMI "\\Autologger\\web\\{0063715b-eeda-4007-9429-ad526f62696e}", "Enabled", 1, 8);
    regstore_set_string(s, WMI "\\Autologger\\\xc3\x84pfel\xf0\x9f\x8d\x8f", "", "default value", NULL);
    regstore_set(s, WMI "\\Autologger\\web", &(struct regvalue){.name = "none", .type = 77, .data = NULL, .size = 0},
                 NULL);
    regstore_create_key(s, WMI "\\Autologger\\empty", "other.ini", 12, NULL);
    regstore_create_key(s, WMI "\\Autologger\\emptier", NULL, 0, NULL);
    regstore_set_string(s, "HKLM\\SYSTEM\\CurrentControlSet\\Control", "beside", "not packed", NULL);
    regstore_set_string(s, "HKLM\\SOFTWARE\\else", "beside", "not packed", NULL);
    return s;
}

static const struct snapshot_head small_head = {.time       = 1234567,
                                                .store_path = "/var/lib/autologger/registry.db",
                                                .log_dir    = "/var/log/autologger"};
#endif
