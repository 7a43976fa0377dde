/* dialect.h - imports and exports the two text forms of the store, .reg and INI.
 * Import is all or nothing: it reports every error of a file in one run, and changes nothing if there is one.
 * Threads: one at a time. Ownership: text belongs to the caller; *out of an export is malloc.
 * Not for: the meaning of values; the caller's vocabulary converts words in INI to typed values. */
#ifndef REGISTRY_SIM_TEXT_DIALECT_H
#define REGISTRY_SIM_TEXT_DIALECT_H
#include "registry-sim/store/regstore.h"

enum diag_kind { DIAG_ERROR, DIAG_WARNING };
/* One finding: "file:line: what. Do: advice". `line` 0 = the whole file. */
struct diag {
    enum diag_kind kind;
    const char    *file;
    uint32_t       line;
    const char    *what;
    const char    *advice; /* may be NULL */
};
typedef void (*diag_fn)(void *ctx, const struct diag *diag);
struct diag_sink {
    diag_fn  fn; /* may be NULL */
    void    *ctx;
    unsigned errors; /* counted by diag_report */
    unsigned warnings;
};
void diag_report(struct diag_sink *sink, enum diag_kind kind, const char *file, uint32_t line, const char *advice,
                 const char *format, ...) __attribute__((format(printf, 6, 7)));

#define INI_ABOVE "..\\"
/* The vocabulary of the INI dialect. Implemented by autologger/plan. */
struct ini_vocabulary {
    void *ctx;
    /* Human text -> typed value. `key` is the full registry path of the section, `name` the value name as written. The
     * result's data is malloc (freed by the importer); out->name may be a canonical spelling (borrowed, static).
     * Failure: why->text says what is wrong and, where it can, "did you mean ...". `base_dir` resolves @file.
     * W_BAD_PATHNAME: the key has no known values; the importer reports the section once. */
    wstatus (*parse)(void *ctx, const char *key, const char *name, const char *text, const char *base_dir,
                     struct regvalue *out, struct reason *why);
    /* Typed value -> human text that parse() turns back into the same bytes, malloc. NULL: no such text exists, and the
     * exporter writes a .reg literal. */
    char *(*print)(void *ctx, const char *key, const struct regvalue *value);
    /* The GUID of a known provider name, where it is not the hash of the name. A NULL function: there are no such
     * providers. */
    bool (*provider)(void *ctx, const char *name, struct guid *out);
    /* The REG_DWORD that the section of `key` (name NULL), or its value `name` = `text`, implies without stating it:
     * returns its name and sets *number; NULL: none. A name after INI_ABOVE belongs to the key above, unless that key
     * has a section of its own. An exporter passes no text (NULL) and uses the name alone. A NULL function: nothing is
     * implied. */
    const char *(*implies)(void *ctx, const char *key, const char *name, const char *text, uint32_t *number);
};

/* accept a missing header and typographic quotes (U+201C, U+201D, U+2033) with warnings */
enum { REG_IMPORT_LENIENT = 1 };

/* Imports `size` bytes of a .reg (UTF-16LE with BOM, UTF-8 with or without BOM, or REGEDIT4 8-bit). `file` is the name
 * for messages and for the source of each value. Status W_INVALID_DATA when anything was refused (details in
 * `sink`). */
wstatus reg_import(struct regstore *store, const void *data, size_t size, const char *file, unsigned flags,
                   struct diag_sink *sink, struct reason *why);
/* Exports the tree below `key` as regedit would write it, in UTF-8 (utf16: UTF-16LE with BOM), CRLF for utf16. */
wstatus reg_export(struct regstore *store, const char *key, bool utf16, void **out, size_t *size, struct reason *why);

/* Imports `size` bytes of INI (UTF-8; a BOM is fine) by the dialect: section = registry path, key = value name. */
wstatus ini_import(struct regstore *store, const void *data, size_t size, const char *file,
                   const struct ini_vocabulary *words, struct diag_sink *sink, struct reason *why);
/* Exports the tree below `key`; W_NOT_SUPPORTED: the reason names what INI cannot express, and recommends .reg. */
wstatus ini_export(struct regstore *store, const char *key, const struct ini_vocabulary *words, char **out,
                   size_t *size, struct reason *why);
/* Reads a file and imports it by its content: .reg header or "[HKEY_" -> .reg, else INI. */
wstatus dialect_import_file(struct regstore *store, const char *path, unsigned flags,
                            const struct ini_vocabulary *words, struct diag_sink *sink, struct reason *why);
#endif
