/* regstore.h - the registry-like store: keys, typed values, transactions, last-write times.
 * Names compare without case (non-ASCII too) and keep the case they were created with. Paths are UTF-8, separated by
 * '\', and start at a root key: "HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\WMI". "HKLM" is accepted for the
 * root; "HKLM/SYSTEM/..." takes '/' for '\' (after "HKLM\" a '/' is part of a name, as names may hold it).
 * CurrentControlSet is an alias of ControlSet001: both names reach the same key.
 * Threads: one at a time per struct regstore. Ownership: see each function; regstore_close frees the handle.
 * Not for: text dialects (text/), meaning of values (autologger/plan). */
#ifndef REGISTRY_SIM_STORE_REGSTORE_H
#define REGISTRY_SIM_STORE_REGSTORE_H
#include "registry-sim/win32/guid.h"
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    REG_TYPE_NONE             = 0,
    REG_TYPE_SZ               = 1,
    REG_TYPE_EXPAND_SZ        = 2,
    REG_TYPE_BINARY           = 3,
    REG_TYPE_DWORD            = 4,
    REG_TYPE_DWORD_BIG_ENDIAN = 5,
    REG_TYPE_LINK             = 6,
    REG_TYPE_MULTI_SZ         = 7,
    REG_TYPE_QWORD            = 11,
};

/* One value. `data` is raw registry bytes: strings are UTF-16LE with their NUL if they had one. Any type number is
 * kept. */
struct regvalue {
    const char    *name; /* UTF-8; "" is the default value */
    uint32_t       type;
    const uint8_t *data;
    uint32_t       size;
    const char    *source_file; /* where it was declared, or NULL */
    uint32_t       source_line; /* 1-based, 0 = not known */
};
struct regkey_info {
    const char *name;       /* last part of the path, as created */
    uint64_t    last_write; /* FILETIME */
    const char *source_file;
    uint32_t    source_line;
};

struct regstore;

/* Opens a SQLite store. `write` creates a missing file (but no folder); without it the file is opened read-only. A
 * transaction left half written by a power cut is rolled back first (W_NOT_READY where the file or its folder cannot be
 * written). The busy timeout is always set. Status: W_FILE_NOT_FOUND missing, W_ACCESS_DENIED, W_INVALID_DATA not a
 * store, W_DISK_FULL, W_WRITE_PROTECT. */
wstatus regstore_open(const char *path, bool write, struct regstore **out, struct reason *why);
/* A store in memory: tests, and boots from a declaration file. */
wstatus regstore_open_memory(struct regstore **out, struct reason *why);
void    regstore_close(struct regstore *store); /* NULL is fine; an open transaction is rolled back */

/* Transactions do not nest. Without one, each change and each read is a transaction of its own. A read-only store's
 * transaction is one view and one lock from its first read on; writers wait while it lasts. */
wstatus regstore_begin(struct regstore *store, struct reason *why);
wstatus regstore_commit(struct regstore *store, struct reason *why);
void    regstore_rollback(struct regstore *store);

/* Keys. create: makes parents too, and succeeds when the key exists. delete: removes everything below too;
 * W_FILE_NOT_FOUND when the key is missing. */
wstatus regstore_create_key(struct regstore *store, const char *key, const char *source_file, uint32_t source_line,
                            struct reason *why);
wstatus regstore_delete_key(struct regstore *store, const char *key, struct reason *why);
bool    regstore_key_exists(struct regstore *store, const char *key);
wstatus regstore_rename_value(struct regstore *store, const char *key, const char *from, const char *to,
                              struct reason *why);
/* The key's own name, time and place; the strings live until the next call on this store. W_FILE_NOT_FOUND when it is
 * missing. */
wstatus regstore_key_info(struct regstore *store, const char *key, struct regkey_info *out);

/* Values. set creates the key. get: the bytes live until the next call on this store; W_FILE_NOT_FOUND when key or
 * value is missing. */
wstatus regstore_set(struct regstore *store, const char *key, const struct regvalue *value, struct reason *why);
wstatus regstore_get(struct regstore *store, const char *key, const char *name, struct regvalue *out);
wstatus regstore_delete_value(struct regstore *store, const char *key, const char *name, struct reason *why);

/* Enumeration in name order (folded). The callback must not change the store; a non-zero return ends it and is
 * returned. W_FILE_NOT_FOUND when the key is missing. */
typedef wstatus (*regkey_fn)(void *ctx, const struct regkey_info *info);
typedef wstatus (*regvalue_fn)(void *ctx, const struct regvalue *value);
wstatus regstore_enum_keys(struct regstore *store, const char *key, regkey_fn fn, void *ctx);
wstatus regstore_enum_values(struct regstore *store, const char *key, regvalue_fn fn, void *ctx);

/* Typed access. A value of another type, or too short, is W_INVALID_PARAMETER with its name in `why`; absent is
 * W_FILE_NOT_FOUND. */
wstatus regstore_get_dword(struct regstore *store, const char *key, const char *name, uint32_t *out,
                           struct reason *why);
wstatus regstore_get_qword(struct regstore *store, const char *key, const char *name, uint64_t *out,
                           struct reason *why);
/* REG_SZ or REG_EXPAND_SZ as UTF-8 (unexpanded), malloc, to be freed by the caller. */
wstatus regstore_get_string_dup(struct regstore *store, const char *key, const char *name, char **out,
                                struct reason *why);
wstatus regstore_set_dword(struct regstore *store, const char *key, const char *name, uint32_t value,
                           struct reason *why);
wstatus regstore_set_qword(struct regstore *store, const char *key, const char *name, uint64_t value,
                           struct reason *why);
wstatus regstore_set_string(struct regstore *store, const char *key, const char *name, const char *utf8,
                            struct reason *why);
/* regvalue_get_*: the same typed getters on a value in hand, plus the rest of the types. */
wstatus regvalue_get_dword(const struct regvalue *value, uint32_t *out, struct reason *why);
wstatus regvalue_get_dword_big_endian(const struct regvalue *value, uint32_t *out, struct reason *why);
wstatus regvalue_get_qword(const struct regvalue *value, uint64_t *out, struct reason *why);
wstatus regvalue_get_string_dup(const struct regvalue *value, char **out, struct reason *why); /* SZ, EXPAND_SZ */
wstatus regvalue_get_binary(const struct regvalue *value, const uint8_t **data, uint32_t *size, struct reason *why);
/* MULTI_SZ as a NULL-terminated array in one malloc block. */
wstatus regvalue_get_multi_dup(const struct regvalue *value, char ***out, struct reason *why);
#endif
