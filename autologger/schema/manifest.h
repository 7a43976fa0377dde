/* manifest.h - an instrumentation manifest as written: providers with their channels, levels, tasks, opcodes, keywords,
 * maps, templates and events, and the strings of each culture. Read from XML (manifest_read) or from the binary form
 * (manifest_pack.h). One run reports all mistakes, each with its line. Reads nothing but the given bytes: no network,
 * no other file, no DTD. There are two ways to read. Strict, for authors (mc, manifest check): a mistake that Windows'
 * compiler refuses is an error, and errors give no manifest. Forgiving, for decoding, because other programs made most
 * manifests that exist: a mistake is left out or taken as meant, and each kind of mistake (a flaw) is reported once,
 * with its first line. Only a file that is no manifest at all is refused.
 * Invariants: M1 a manifest from manifest_read has every reference resolved: indexes lie within their lists. M2 fields:
 * fields[0..top_count) are the template's own; members of a struct stand behind them in one run (as in schema.h).
 * Threads: reading: one per call. A read manifest is constant: any.
 * Ownership: manifest_free frees all below it. Texts are UTF-8; NULL where the manifest has none.
 * Not for: payloads (walk.h), decoding (manifest_model.h makes schemas of it), C code (mc.h). */
#ifndef AUTOLOGGER_SCHEMA_MANIFEST_H
#define AUTOLOGGER_SCHEMA_MANIFEST_H
#include "autologger/schema/pool.h"
#include "registry-sim/win32/guid.h"
#include "registry-sim/win32/wstatus.h"

enum {
    MANIFEST_NONE       = -1,               /* an index: nothing is referred to */
    MANIFEST_FILE_MAX   = 16 * 1024 * 1024, /* bytes of XML, or of the binary form */
    MANIFEST_MEMORY_MAX = 160 * 1024 * 1024,
    MANIFEST_TOLD_MAX   = 200 /* mistakes reported one by one; more are counted */
};

/* ---- mistakes ---- */
struct manifest_problem {
    bool        error; /* else a warning: Windows' own compiler, or a reader of traces, might mind */
    bool        flaw;  /* of a forgiving reading: an error in a strict one */
    const char *file;
    uint32_t    line; /* 0: the whole file */
    const char *what, *advice;
};
struct manifest_problems {
    void (*tell)(void *ctx, const struct manifest_problem *problem); /* may be NULL */
    void    *ctx;
    bool     forgiving;               /* how to read; false: strict */
    unsigned errors, warnings, flaws; /* counted for the caller; flaws: each place, not each kind */
};

/* ---- the document ---- */
/* message="$(string.ID)", "$(mc.ID)", or the text itself. */
enum manifest_text_kind { MANIFEST_TEXT_NONE, MANIFEST_TEXT_LITERAL, MANIFEST_TEXT_STRING, MANIFEST_TEXT_MC };
struct manifest_text {
    enum manifest_text_kind kind;
    const char             *text; /* the id, or the text */
};
/* A level, keyword, map entry or message; channels, tasks, opcodes, maps and events begin with one. */
struct manifest_item {
    const char          *name, *symbol;
    uint64_t             value;
    struct manifest_text message;
    uint32_t             line;
};
enum manifest_channel_type { CHANNEL_NO_TYPE, CHANNEL_ADMIN, CHANNEL_OPERATIONAL, CHANNEL_ANALYTIC, CHANNEL_DEBUG };
struct manifest_setting {
    const char *name, *value; /* "maxSize": of a channel's logging and publishing */
};
struct manifest_channel {
    struct manifest_item       item;
    const char                *chid; /* NULL: events name it by its name */
    enum manifest_channel_type type;
    bool                       imported, has_value;
    uint64_t                   keyword; /* its own bit in the keyword of its events */
    const char                *isolation, *access, *enabled;
    POOL_LIST(struct manifest_setting) settings;
};
struct manifest_task {
    struct manifest_item item;
    bool                 has_guid;
    struct guid          guid; /* eventGUID */
};
struct manifest_opcode {
    struct manifest_item item;
    int                  task; /* MANIFEST_NONE: of all tasks */
};
struct manifest_map {
    struct manifest_item item; /* value is not used */
    bool                 bits;
    POOL_LIST(struct manifest_item) entries;
};
struct manifest_field {
    const char *name;
    uint16_t    in, out; /* schema_in, schema_out */
    uint16_t    flags;   /* FIELD_... of schema.h */
    uint16_t    first, members;
    uint16_t    count, length;
    int         map;
    uint32_t    tags, line;
    /* as written, until resolved */
    const char *map_name, *count_word, *length_word;
    int         parent; /* index of the struct, MANIFEST_NONE at the top */
    bool        unlaid; /* its size is unknown, so no place behind it is known either */
};
struct manifest_template {
    const char *tid, *name;
    uint32_t    line, tags;
    unsigned    top_count;
    const char *user_data; /* the XML below UserData, as written; NULL: EventData */
    bool        used;
    bool        cut; /* of a forgiving reading: payloads have undescribed bytes behind these fields */
    POOL_LIST(struct manifest_field) fields;
};
struct manifest_event {
    struct manifest_item item; /* value: the id; name is not used */
    uint8_t              version, channel, level, opcode;
    uint16_t             task;
    uint64_t             keyword; /* with the channel's bit */
    /* MANIFEST_NONE: none, or a predefined one */
    int         template_index, channel_index, task_index, opcode_index;
    uint32_t    tags;
    bool        not_logged;
    const char *attributes;
    bool        lost; /* of a forgiving reading: id or version is no number, so it describes nothing */
    /* as written */
    const char *template_word, *channel_word, *level_word, *task_word, *opcode_word, *keyword_words;
};
struct manifest_provider {
    const char          *name, *symbol, *resource_file, *message_file, *parameter_file;
    struct guid          guid, control_guid, group_guid; /* zero: none */
    struct manifest_text message;
    uint32_t             line;
    POOL_LIST(struct manifest_channel) channels;
    POOL_LIST(struct manifest_item) levels;
    POOL_LIST(struct manifest_task) tasks;
    POOL_LIST(struct manifest_opcode) opcodes;
    POOL_LIST(struct manifest_item) keywords;
    POOL_LIST(struct manifest_map) maps;
    POOL_LIST(struct manifest_template) templates;
    POOL_LIST(struct manifest_event) events;
};
struct manifest_string {
    const char *id, *value;
    uint32_t    line;
};
struct manifest_culture {
    const char *name; /* "en-US" */
    uint32_t    line;
    POOL_LIST(struct manifest_string) strings; /* in order of ids once read */
};
/* What the document is; it decides how its events are found. */
enum manifest_kind {
    MANIFEST_EVENTS,  /* an instrumentation manifest: by provider, id and version */
    MANIFEST_CLASSES, /* MOF (mof.h): a provider is a class, its events are found by class, opcode and version */
    MANIFEST_MESSAGES /* WPP (tmf.h): a provider is a message GUID; printf's formats in the messages count */
};
struct manifest {
    enum manifest_kind kind;
    const char        *origin; /* the file it was read from */
    POOL_LIST(struct manifest_provider) providers;
    POOL_LIST(struct manifest_culture) cultures; /* as written; the first is the fallback */
    POOL_LIST(struct manifest_item) messages;    /* messageTable: name is the id of $(mc.ID) */
    struct pool *pool;
};

/* Reads `size` bytes of XML (UTF-8, or UTF-16 with its mark). `file` is the name for messages. W_INVALID_DATA: there
 * was an error; all were reported to `problems`. W_NOT_ENOUGH_MEMORY. */
wstatus manifest_read(const void *data, size_t size, const char *file, struct manifest_problems *problems,
                      struct manifest **out, struct reason *why);
void    manifest_free(struct manifest *m); /* NULL is fine */
/* The end of each reader of a kind of file: no memory, mistakes in `file`, or W_SUCCESS. */
wstatus manifest_read_status(const char *file, bool no_memory, const struct manifest_problems *problems,
                             struct reason *why);

/* The culture for a locale ("de_DE.UTF-8", "de-DE", NULL): the same one, else one of its language, else the first. -1:
 * no cultures. */
int manifest_culture_find(const struct manifest *m, const char *locale);
/* The text in that culture, else in the first that has it; NULL: none has it. */
const char *manifest_text_get(const struct manifest *m, const struct manifest_text *text, int culture);
/* Predefined words: "win:Informational" for 4, and the shown text "Information"; NULL: none. */
enum manifest_words { WORDS_CHANNEL, WORDS_LEVEL, WORDS_TASK, WORDS_OPCODE, WORDS_KEYWORD };
const struct manifest_predefined {
    enum manifest_words kind;
    uint64_t            value;
    const char         *name, *text, *symbol;
} * manifest_predefined(size_t *count);
#endif
