#include "autologger/consumer/redact.h"

#include "autologger/consumer/redact_words.h"
#include "autologger/etl/record.h"
#include "autologger/schema/classic.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

enum { UID_FIRST = 1000, UID_NOBODY = 65534, ADDRESS_4 = 4, ADDRESS_6 = 16, FAMILY_4 = 2, FAMILY_6 = 23 };
struct redactor {
    unsigned             what;
    struct redact_words  words;
    struct redact_counts counts;
    struct schema_set   *own, *schemas; /* descriptions of events; schemas: its own, or a borrowed set */
    bool                 failed;
};

static const struct {
    const char *word;
    unsigned    bits;
} whats[] = {{"arguments", REDACT_ARGUMENTS}, {"names", REDACT_NAMES}, {"addresses", REDACT_ADDRESSES},
             {"paths", REDACT_PATHS},         {"usual", REDACT_USUAL}, {"all", REDACT_ALL}};

bool redact_parse(const char *text, unsigned *what)
{
    *what = 0;
    while (*text) {
        size_t   n    = strcspn(text, ",");
        unsigned bits = 0;
        for (size_t i = 0; i < sizeof whats / sizeof *whats; i++)
            if (strlen(whats[i].word) == n && memcmp(whats[i].word, text, n) == 0)
                bits = whats[i].bits;
        if (!bits)
            return false;
        *what |= bits;
        text += n + (text[n] == ',');
    }
    return *what != 0;
}

/* --- words --- */

bool redactor_word(struct redactor *r, const char *word)
{
    words_add(&r->words, word, strlen(word), TOKEN_NAME);
    return !r->words.failed;
}

/* Learns the users of this machine, and its host name. */
static void learn_machine(struct redactor *r)
{
    char           host[256] = "";
    struct passwd *p;

    setpwent();
    while ((p = getpwent()) != NULL)
        if (p->pw_uid >= UID_FIRST && p->pw_uid != UID_NOBODY)
            redactor_word(r, p->pw_name);
    endpwent();
    if (gethostname(host, sizeof host - 1) != 0)
        return;
    redactor_word(r, host);
    host[strcspn(host, ".")] = 0;
    redactor_word(r, host);
}

struct redactor *redactor_create(unsigned what)
{
    struct redactor *r = calloc(1, sizeof *r);

    if (!r || !(r->own = r->schemas = schema_set_new()) ||
        getrandom(r->words.key, sizeof r->words.key, 0) != (ssize_t)sizeof r->words.key) {
        redactor_destroy(r);
        return NULL;
    }
    r->what = what;
    if (what & REDACT_NAMES)
        learn_machine(r);
    return r;
}

void redactor_describe(struct redactor *r, struct schema_set *set) { r->schemas = set; }

void redactor_destroy(struct redactor *r)
{
    if (!r)
        return;
    words_finish(&r->words);
    schema_set_free(r->own);
    free(r);
}

const struct redact_counts *redactor_counts(const struct redactor *r) { return &r->counts; }
bool                        redactor_failed(const struct redactor *r) { return r->failed || r->words.failed; }

/* --- fields --- */

enum redact_role { ROLE_TEXT, ROLE_ARGUMENTS, ROLE_NAME, ROLE_PATH, ROLE_MAYBE_PATH /* where it begins like one */ };
static const struct {
    const char      *name;
    enum redact_role role;
} roles[] = {{"CommandLine", ROLE_ARGUMENTS},
             {"Arguments", ROLE_ARGUMENTS},
             {"Args", ROLE_ARGUMENTS},
             {"Argv", ROLE_ARGUMENTS},
             {"cmdline", ROLE_ARGUMENTS},
             {"command", ROLE_ARGUMENTS},
             {"ComputerName", ROLE_NAME},
             {"DomainName", ROLE_NAME},
             {"UserName", ROLE_NAME},
             {"User", ROLE_NAME},
             {"Login", ROLE_NAME},
             {"Account", ROLE_NAME},
             {"AccountName", ROLE_NAME},
             {"Host", ROLE_NAME},
             {"HostName", ROLE_NAME},
             {"Computer", ROLE_NAME},
             {"Domain", ROLE_NAME},
             {"Machine", ROLE_NAME},
             {"MachineName", ROLE_NAME},
             {"Owner", ROLE_NAME},
             {"FileName", ROLE_PATH},
             {"OpenPath", ROLE_PATH},
             {"Path", ROLE_PATH},
             {"FilePath", ROLE_PATH},
             {"PdbFileName", ROLE_PATH},
             {"OriginalFileName", ROLE_PATH},
             {"OrigFileName", ROLE_PATH},
             {"ImageFileName", ROLE_PATH},
             {"DevPath", ROLE_TEXT},
             {"Object", ROLE_MAYBE_PATH}};

static enum redact_role redact_role_of(const char *name)
{
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcasecmp(name, roles[i].name) == 0)
            return roles[i].role;
    return ROLE_TEXT;
}

/* The width of a text's units, 1 or 2 bytes; 0: no text. */
static unsigned text_width(enum value_kind kind)
{
    switch (kind) {
    case VALUE_UTF16:
    case VALUE_COUNTED_UTF16:
    case VALUE_REVERSED_UTF16:
    case VALUE_REST_UTF16: return 2;
    case VALUE_ANSI:
    case VALUE_COUNTED_ANSI:
    case VALUE_REVERSED_ANSI:
    case VALUE_REST_ANSI: return 1;
    default: return 0;
    }
}

static bool is_system(const struct decoded *names)
{
    return names->provider && strncmp(names->provider, "Autologger-", 11) == 0;
}

/* --- learning --- */

struct learning {
    struct redactor      *r;
    const struct decoded *names;
};
struct learned_text {
    struct redactor    *r;
    struct redact_units units;
};

static void learn_units(struct redactor *r, const struct redact_units *u, size_t from, size_t to, enum redact_kind kind)
{
    struct text text = {0};

    if (u->width == 2)
        text_utf16(&text, u->data + 2 * from, 2 * (to - from));
    else
        text_add(&text, u->data + from, to - from);
    words_add(&r->words, text_get(&text), text.length, kind);
    r->failed |= text.failed;
    text_finish(&text);
}

static void learn_argument(void *ctx, size_t from, size_t to)
{
    struct learned_text *l      = ctx;
    bool                 option = true, number = true;

    /* "--password=x": the value is the secret, and stands elsewhere without the name of its option */
    for (size_t i = from; i < to; i++)
        if (unit_at(&l->units, i) == '=' && to - i > ARGUMENT_LEAST) {
            learn_units(l->r, &l->units, i + 1, to, TOKEN_ARGUMENT);
            break;
        }
    for (size_t i = from; i < to; i++) {
        unsigned c = unit_at(&l->units, i);
        option &= c == '-' || (c < 0x80 && c >= 'a' && c <= 'z');
        number &= c >= '0' && c <= '9';
        if (c == '/' || c == '\\') /* paths belong to the names of files */
            return;
    }
    option &= unit_at(&l->units, from) == '-';
    if (!option && !number && to - from >= ARGUMENT_LEAST)
        learn_units(l->r, &l->units, from, to, TOKEN_ARGUMENT);
}

/* Learns NAME of "/home/NAME/" in any path. */
static void learn_homes(struct redactor *r, const struct redact_units *u)
{
    static const char *const homes[] = {"/home/", "\\home\\", "\\Users\\", "/Users/"};

    for (size_t h = 0; h < sizeof homes / sizeof *homes; h++) {
        const size_t n = strlen(homes[h]);
        for (size_t i = 0; i + n < u->count; i++) {
            size_t k = 0, end;
            while (k < n && unit_at(u, i + k) == (unsigned char)homes[h][k])
                k++;
            if (k < n)
                continue;
            for (end = i + n; end < u->count; end++) {
                unsigned c = unit_at(u, end);
                if (c <= ' ' || c == '/' || c == '\\' || c == '"' || c == '\'' || c == ':' || c == ',' || c == ';')
                    break;
            }
            if (end > i + n)
                learn_units(r, u, i + n, end, TOKEN_NAME);
        }
    }
}

static bool learn_value(void *ctx, const struct walk_place *place, const struct value *v)
{
    const struct learning     *l     = ctx;
    const struct schema_field *f     = place->levels[place->depth].field;
    unsigned                   width = text_width((enum value_kind)f->kind);

    if (!width || !v->size)
        return true;
    struct learned_text t    = {l->r, {(uint8_t *)(uintptr_t)v->data, v->size / width, width}};
    enum redact_role    role = redact_role_of(f->name);
    if (role == ROLE_ARGUMENTS && l->r->what & REDACT_ARGUMENTS)
        redact_each_argument(&t.units, learn_argument, &t);
    if (l->r->what & REDACT_NAMES) {
        if (role == ROLE_NAME)
            learn_units(l->r, &t.units, 0, t.units.count, TOKEN_NAME);
        learn_homes(l->r, &t.units);
    }
    return true;
}

void redactor_learn(struct redactor *r, const struct etl_event *e, const struct decoded *names)
{
    struct learning l = {r, names};
    uint32_t        used;
    if (names->schema)
        walk_payload(names->schema, e->payload, e->payload_size, e->is_64bit, learn_value, &l, &used);
}

wstatus redactor_learn_file(struct redactor *r, const char *path, struct reason *why)
{
    struct etl_reader *reader;
    struct etl_event   e;
    struct decoded     names;
    wstatus            st = etl_reader_open(path, &reader, why);

    if (!st) {
        while (etl_next(reader, &e)) {
            decoded_names(r->schemas, &e, &names);
            redactor_learn(r, &e, &names);
        }
        etl_reader_close(reader);
    }
    return st                   ? st
           : redactor_failed(r) ? reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for words that are private")
                                : W_SUCCESS;
}

/* --- replacing --- */

struct redact_replacing {
    struct redactor        *r;
    const struct etl_event *e;
    const struct decoded   *names;
    uint8_t                *record;
};

static uint8_t *in_record(const struct redact_replacing *p, const uint8_t *data)
{
    return p->record + (data - p->e->record);
}

/* The token is an address too: 240.x.y.z (reserved), fd00::... Loopback and "any" stay. */
static void replace_4(struct redactor *r, uint8_t *a)
{
    if (a[0] == 127 || (!a[0] && !a[1] && !a[2] && !a[3]) || a[0] == 255)
        return;
    uint64_t h = words_hash(&r->words, a, ADDRESS_4);
    memcpy(a, &h, ADDRESS_4);
    a[0] = (uint8_t)(240 | (a[0] & 14));
    r->counts.addresses++;
}

static void replace_6(struct redactor *r, uint8_t *a)
{
    static const uint8_t loopback[16] = {[15] = 1}, any[16], mapped[12] = {[10] = 0xFF, [11] = 0xFF};

    if (memcmp(a, loopback, sizeof loopback) == 0 || memcmp(a, any, sizeof any) == 0)
        return;
    if (memcmp(a, mapped, sizeof mapped) == 0) {
        replace_4(r, a + 12);
        return;
    }
    uint64_t h[2] = {words_hash(&r->words, a, ADDRESS_6), 0};
    h[1]          = words_hash(&r->words, h, 8);
    memcpy(a, h, ADDRESS_6);
    a[0] = 0xFD;
    a[1] = 0;
    r->counts.addresses++;
}

static void replace_socket(struct redactor *r, uint8_t *a, uint32_t size)
{
    unsigned family = size >= 4 ? (unsigned)(a[0] | a[1] << 8) : 0;
    if (family == FAMILY_4 && size >= 8)
        replace_4(r, a + 4);
    else if (family == FAMILY_6 && size >= 24)
        replace_6(r, a + 8);
    else
        memset(a, 0, size);
}

static void replace_text(const struct redact_replacing *p, const char *name, const struct redact_units *u)
{
    struct redactor *r = p->r;

    switch (redact_role_of(name)) {
    case ROLE_ARGUMENTS:
        if (r->what & REDACT_ARGUMENTS)
            redact_arguments(&r->words, u, &r->counts);
        break;
    case ROLE_NAME:
        if (r->what & REDACT_NAMES && u->count) {
            size_t end = 0;
            while (end < u->count && unit_at(u, end)) /* texts of fixed length are filled up with zeros */
                end++;
            words_token(&r->words, u, 0, end, TOKEN_NAME);
            r->counts.names += end > 0;
            return;
        }
        break;
    case ROLE_PATH:
    case ROLE_MAYBE_PATH:
        if (r->what & REDACT_PATHS && (redact_role_of(name) == ROLE_PATH || (u->count && unit_at(u, 0) == '/'))) {
            redact_path(&r->words, u, 0, u->count, &r->counts);
            return;
        }
        break;
    case ROLE_TEXT: break;
    }
    redact_text(&r->words, r->what, !is_system(p->names), u, &r->counts);
}

static bool replace_value(void *ctx, const struct walk_place *place, const struct value *v)
{
    const struct redact_replacing *p     = ctx;
    const struct schema_field     *f     = place->levels[place->depth].field;
    const enum value_kind          kind  = (enum value_kind)f->kind;
    uint8_t                       *data  = in_record(p, v->data);
    unsigned                       width = text_width(kind);

    if (f->flags & FIELD_HIDDEN)
        return true;
    if (width) {
        replace_text(p, f->name, &(struct redact_units){data, v->size / width, width});
        return true;
    }
    bool addresses = p->r->what & REDACT_ADDRESSES;
    switch (kind) {
    case VALUE_IPV4:
        if (addresses && v->size == ADDRESS_4)
            replace_4(p->r, data);
        break;
    case VALUE_IPV6:
    case VALUE_BINARY_IPV6:
    case VALUE_BYTES_IPV6:
        if (addresses && v->size == ADDRESS_6)
            replace_6(p->r, data);
        break;
    case VALUE_BINARY_SOCKADDR:
    case VALUE_BYTES_SOCKADDR:
        if (addresses)
            replace_socket(p->r, data, v->size);
        break;
    case VALUE_CHAR8:
    case VALUE_CHAR16: /* a text in an array */
        if (place->levels[place->depth].in_array)
            memset(data, v->size == 1 ? '*' : 0, v->size);
        break;
    case VALUE_BINARY:
    case VALUE_BYTES:
    case VALUE_HEXDUMP:
        memset(data, 0, v->size);
        p->r->counts.zeroed += v->size > 0;
        break;
    default:
        if (addresses && strcasecmp(f->name, "PhysicalAddr") == 0) { /* of a network card */
            memset(data, 0, v->size);
            p->r->counts.addresses++;
        }
    }
    return true;
}

void redactor_event(struct redactor *r, const struct etl_event *e, const struct decoded *names, uint8_t *record)
{
    struct redact_replacing p      = {r, e, names, record};
    uint32_t                used   = 0;
    enum decode_result      result = DECODE_UNKNOWN;

    if (e->payload < e->record || e->payload + e->payload_size > e->record + e->record_size)
        return; /* the payload is not in the record */
    if (names->hook >> 8 == CLASSIC_EVENT_METADATA >> 8 ||
        (names->provider && strcmp(names->provider, "Autologger-Kernel-Names") == 0))
        return; /* descriptions of events from manifests; kernel functions and build ids, which are not private */
    if (names->schema)
        result = walk_payload(names->schema, e->payload, e->payload_size, e->is_64bit, replace_value, &p, &used);
    if (result == DECODE_OK || used >= e->payload_size)
        return;
    memset(in_record(&p, e->payload) + used, 0, e->payload_size - used);
    r->counts.zeroed++;
}

bool redactor_record(struct redactor *r, uint8_t *record, uint32_t size)
{
    struct etl_event e = {0};
    struct decoded   names;

    if (!etl_record_decode(record, size, 0, &e))
        return false;
    decoded_names(r->schemas, &e, &names);
    redactor_event(r, &e, &names, record);
    return true;
}

void redactor_text(struct redactor *r, void *text, size_t size, unsigned width)
{
    redact_text(&r->words, r->what, true, &(struct redact_units){text, size / width, width}, &r->counts);
}
