/* ini_import.c - reads INI text into a store; see dialect.h.
 * The pre-scan finds sections and values with their lines, iniparser reads the values, and both must agree. Then
 * sections become keys, words become typed values, and what the dialect implies (Start, Enabled, Guid,
 * ProviderFriendlyName) is added. All of it happens in one transaction, which any mistake rolls back. */
#include "registry-sim/base/nearest.h"
#include "registry-sim/store/regpath.h"
#include "registry-sim/text/dialect.h"
#include "registry-sim/text/encoding.h"
#include "registry-sim/text/foreign.h"
#include "registry-sim/text/ini_place.h"
#include "registry-sim/text/ini_scan.h"
#include "registry-sim/text/ini_values.h"
#include "registry-sim/text/literal.h"
#include "registry-sim/win32/guid.h"
#include "registry-sim/win32/utf16.h"

#include <stdlib.h>
#include <string.h>

struct section_state {
    struct ini_place place;
    char            *fold; /* of the key */
    unsigned         home; /* the first section with the same key; it collects `given` */
    unsigned         given;
    bool             stray; /* its name is unknown: reported once, not again for each value */
};
enum { GIVEN_START = 1, GIVEN_GUID = 2, GIVEN_ENABLED = 4, GIVEN_FRIENDLY = 8 };

struct importer {
    struct regstore             *store;
    const char                  *file;
    char                        *base_dir;
    const struct ini_vocabulary *words;
    struct ini_scan              scan;
    struct ini_values           *values;
    struct section_state        *sections;
    struct diag_sink            *sink;
    wstatus                      fatal;
    struct reason               *why;
};

static const char path_advice[] = "write a path such as [Autologger/name] or [HKLM/SYSTEM/...]";

static void ini_import_mistake(struct importer *m, uint32_t line, const char *advice, const char *what)
{
    diag_report(m->sink, DIAG_ERROR, m->file, line, advice, "%s", what);
}

static void ini_import_result(struct importer *m, uint32_t line, wstatus st, const struct reason *why,
                              const char *advice)
{
    if (st == W_INVALID_PARAMETER)
        ini_import_mistake(m, line, advice, why->text);
    else if (st != W_SUCCESS)
        m->fatal = reason_set(m->why, st, "%s", why->text);
}

/* ---- sections become keys ---- */

/* The value `name` of a section, or NULL. */
static const struct ini_value *ini_import_value_of(const struct importer *m, unsigned section, const char *name)
{
    for (unsigned i = m->scan.sections[section].last_value; i; i = m->scan.values[i - 1].previous)
        if (name_compare(m->scan.values[i - 1].name, name) == 0)
            return &m->scan.values[i - 1];
    return NULL;
}

static bool is_literal(const struct ini_value *v)
{
    return !v->quoted && (literal_looks_like(v->text, strlen(v->text)) || strcmp(v->text, "-") == 0);
}

/* The Guid line of a provider section names its key, unless it is a literal. */
static const struct ini_value *naming_guid(const struct importer *m, unsigned section)
{
    const struct ini_value *v = ini_import_value_of(m, section, "Guid");
    return v && !is_literal(v) ? v : NULL;
}

/* "{...}" of the provider in `section` into `out`. False after a mistake. */
static bool ini_import_provider_guid(struct importer *m, unsigned section, char out[GUID_TEXT_SIZE])
{
    const struct ini_place *place = &m->sections[section].place;
    const struct ini_value *given = naming_guid(m, section);
    struct guid             guid, own;

    if (given && !guid_parse(given->text, &guid)) {
        ini_import_mistake(m, given->line, "write it as {8-4-4-4-12} hex digits", "Guid is not a GUID");
        return false;
    }
    if (place->braced) {
        guid_parse(place->provider, &own);
        strcpy(out, place->provider);
        if (given && !guid_equal(&guid, &own)) {
            ini_import_mistake(m, given->line, "remove this line, or name the section otherwise",
                               "the section names another GUID");
            return false;
        }
        return true;
    }
    if (given && *given->text == '{') {
        strcpy(out, given->text); /* the key keeps its spelling */
        return true;
    }
    if (!given && (ini_import_value_of(m, section, "Unit") || ini_import_value_of(m, section, "Tracepoint"))) {
        size_t size = strlen(place->session) + strlen(place->provider) + 2;
        char  *name = malloc(size);
        if (!name) {
            m->fatal = reason_set(m->why, W_NOT_ENOUGH_MEMORY, "no memory for a name");
            return false;
        }
        strcpy(name, place->session);
        strcat(name, "/");
        strcat(name, place->provider);
        guid = guid_from_name(name);
        free(name);
    } else if (!given) {
        if (!m->words || !m->words->provider || !m->words->provider(m->words->ctx, place->provider, &guid))
            guid = guid_from_name(place->provider);
    }
    guid_format(&guid, out);
    return true;
}

/* The section that declares the provider whose subkey `section` is, or the section itself. */
static unsigned declaring(const struct importer *m, unsigned section)
{
    const struct ini_place *sub = &m->sections[section].place;
    for (unsigned i = 0; sub->kind == INI_BELOW_PROVIDER && i < m->scan.section_count; i++) {
        const struct ini_place *p = &m->sections[i].place;
        if (p->kind == INI_PROVIDER && name_compare(p->provider, sub->provider) == 0 &&
            name_compare(p->session, sub->session) == 0)
            return i;
    }
    return section;
}

/* Has the section a value in words, which only a known key could parse? */
static bool needs_words(struct importer *m, unsigned section)
{
    const char *key = m->sections[section].place.key;

    for (unsigned i = m->scan.sections[section].last_value; i && m->words; i = m->scan.values[i - 1].previous) {
        const struct ini_value *v   = &m->scan.values[i - 1];
        struct regvalue         out = {0};
        if (is_literal(v))
            continue;
        wstatus st = m->words->parse(m->words->ctx, key, v->name, v->text, m->base_dir, &out, NULL);
        free((void *)out.data);
        if (st == W_BAD_PATHNAME)
            return true;
    }
    return false;
}

/* A section that nothing reads: kept, as in the registry, when its values can be; else a mistake. */
static void report_stray(struct importer *m, unsigned section)
{
    const char *name = m->scan.sections[section].name;
    char        near[256];
    bool        found = ini_place_suggest(name, near, sizeof near);

    m->sections[section].stray = needs_words(m, section);
    diag_report(m->sink, m->sections[section].stray ? DIAG_ERROR : DIAG_WARNING, m->file,
                m->scan.sections[section].line,
                "use [Boot], [GlobalLogger], [Autologger/session] or [Autologger/session/provider]",
                "nothing reads the key of [%.100s]%s%s%s", name, found ? ", did you mean [" : "", found ? near : "",
                found ? "]?" : "");
}

static void resolve(struct importer *m, unsigned section)
{
    struct reason     why   = {0};
    const char       *name  = m->scan.sections[section].name;
    struct ini_place *place = &m->sections[section].place;
    uint32_t          line  = m->scan.sections[section].line;
    size_t            last  = strlen(name) - 1; /* no name is empty */
    const char       *below;
    wstatus           st = ini_place_resolve(name, place, &why);

    ini_import_result(m, line, st, &why, path_advice);
    if (st == W_SUCCESS && strchr("/\\", name[last]) && ini_place_below_wmi(place->key, &below) && *below) {
        diag_report(m->sink, DIAG_ERROR, m->file, line, path_advice, "[%.100s] lacks the name behind its last '%c'",
                    name, name[last]);
        ini_place_finish(place);
    } else if (st == W_SUCCESS && !place->known) {
        report_stray(m, section);
    }
}

static void resolve_provider(struct importer *m, unsigned section)
{
    struct section_state *s   = &m->sections[section];
    struct reason         why = {0};
    char                  guid[GUID_TEXT_SIZE];
    if (!s->place.key || (s->place.kind != INI_PROVIDER && s->place.kind != INI_BELOW_PROVIDER))
        return;
    if (!ini_import_provider_guid(m, declaring(m, section), guid))
        return;
    ini_import_result(m, m->scan.sections[section].line, ini_place_set_provider(&s->place, guid, &why), &why,
                      path_advice);
}

/* Sections that reach one key share a home; two different names for one provider are a mistake. */
static void find_home(struct importer *m, unsigned section)
{
    struct section_state *s = &m->sections[section];

    s->home = section;
    if (!s->place.key || m->fatal)
        return;
    if (!(s->fold = name_fold_dup(s->place.key))) {
        m->fatal = reason_set(m->why, W_NOT_ENOUGH_MEMORY, "no memory for a path");
        return;
    }
    for (unsigned i = 0; i < section; i++)
        if (m->sections[i].fold && strcmp(m->sections[i].fold, s->fold) == 0) {
            s->home = i;
            if (s->place.kind == INI_PROVIDER)
                diag_report(m->sink, DIAG_ERROR, m->file, m->scan.sections[section].line,
                            "give it another name or Guid, or remove one of the two sections",
                            "the session has this provider already, in line %u", m->scan.sections[i].line);
            return;
        }
}

static void create_key(struct importer *m, unsigned section)
{
    const struct ini_place *place = &m->sections[section].place;
    uint32_t                line  = m->scan.sections[section].line;
    struct reason           why   = {0};

    if (!place->key)
        return;
    ini_import_result(m, line, regstore_create_key(m->store, place->key, m->file, line, &why), &why, path_advice);
}

/* ---- words become values ---- */

/* `text` as a REG_SZ, for files that are read without a vocabulary. */
static wstatus plain_string(const char *text, struct regvalue *out, struct reason *why)
{
    size_t   size = utf8_to_utf16le(text, strlen(text) + 1, NULL, 0);
    uint8_t *data = malloc(size);
    if (!data)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a string");
    utf8_to_utf16le(text, strlen(text) + 1, data, size);
    *out = (struct regvalue){.type = REG_TYPE_SZ, .data = data, .size = (uint32_t)size};
    return W_SUCCESS;
}

/* Reports a word that the vocabulary refused; the reason may hold advice after ". Do: ". */
static void word_mistake(struct importer *m, const struct ini_value *v, wstatus st, struct reason *why)
{
    char *advice = strstr(why->text, ". Do: ");
    if (st == W_NOT_ENOUGH_MEMORY) {
        m->fatal = reason_set(m->why, st, "%s", why->text);
        return;
    }
    if (advice) {
        *advice = 0;
        advice += 6;
    }
    diag_report(m->sink, DIAG_ERROR, m->file, v->line,
                advice ? advice : "correct the value, or write it as in .reg: dword:1, hex:01,02", "%.80s: %s", v->name,
                *why->text ? why->text : wstatus_text(st));
}

static bool parse_value(struct importer *m, const struct ini_value *v, const char *key, struct regvalue *out)
{
    struct reason  why = {0};
    struct literal lit;
    wstatus        st;

    *out = (struct regvalue){0};
    if (is_literal(v)) {
        st = literal_parse(v->text, strlen(v->text), &lit);
        if (st == W_NOT_ENOUGH_MEMORY)
            m->fatal = reason_set(m->why, st, "no memory for a value");
        else if (st != W_SUCCESS)
            ini_import_mistake(m, v->line, lit.advice, lit.what);
        *out = (struct regvalue){.type = lit.type, .data = lit.data, .size = lit.size};
        return st == W_SUCCESS;
    }
    const char *name = strcmp(v->name, "@") == 0 ? "" : v->name;
    st               = m->words ? m->words->parse(m->words->ctx, key, name, v->text, m->base_dir, out, &why)
                                : plain_string(v->text, out, &why);
    if (st != W_SUCCESS && !(st == W_BAD_PATHNAME && m->sections[v->section].stray))
        word_mistake(m, v, st, &why);
    return st == W_SUCCESS;
}

static unsigned given_flag(const struct ini_place *place, const char *name)
{
    bool session = place->kind == INI_SESSION, provider = place->kind == INI_PROVIDER;
    if (name_compare(name, "Start") == 0)
        return session || place->kind == INI_GLOBAL_LOGGER ? GIVEN_START : 0;
    if (name_compare(name, "Guid") == 0)
        return session ? GIVEN_GUID : 0;
    if (name_compare(name, "Enabled") == 0)
        return provider ? GIVEN_ENABLED : 0;
    return provider && name_compare(name, "ProviderFriendlyName") == 0 ? GIVEN_FRIENDLY : 0;
}

/* "-" deletes the value. */
static void set_or_delete(struct importer *m, const struct ini_value *v, const char *key, const char *name)
{
    struct reason   why = {0};
    struct regvalue value;
    wstatus         st;

    if (!v->quoted && strcmp(v->text, "-") == 0) {
        st = regstore_delete_value(m->store, key, name, &why);
        st = st == W_FILE_NOT_FOUND ? W_SUCCESS : st;
    } else {
        if (!parse_value(m, v, key, &value))
            return;
        void *data = (void *)value.data;
        /* another spelling of the same name is left as the user wrote it */
        value.name        = value.name && name_compare(value.name, name) != 0 ? value.name : name;
        value.source_file = m->file;
        value.source_line = v->line;
        st                = regstore_set(m->store, key, &value, &why);
        free(data);
    }
    ini_import_result(m, v->line, st, &why, "use shorter names and values");
}

static void import_value(struct importer *m, unsigned index)
{
    const struct ini_value   *v       = &m->scan.values[index];
    struct section_state     *s       = &m->sections[v->section];
    const struct ini_section *section = &m->scan.sections[v->section];
    const char               *read    = ini_values_get(m->values, section->name, v->name);

    if (!read || strcmp(read, v->text) != 0) {
        diag_report(m->sink, DIAG_ERROR, m->file, v->line, "write the line in a plainer way, or use .reg",
                    "iniparser reads %.80s as '%.80s', not as '%.80s'", v->name, read ? read : "(nothing)", v->text);
        return;
    }
    if (s->place.kind == INI_PROVIDER && naming_guid(m, v->section) == v)
        return; /* it is the key's name */
    if (!s->place.key)
        return; /* the section was refused */
    const char *name = strcmp(v->name, "@") == 0 ? "" : v->name;
    m->sections[s->home].given |= given_flag(&s->place, name);
    set_or_delete(m, v, s->place.key, name);
}

/* ---- what a declaration implies ---- */

static void imply_dword_at(struct importer *m, unsigned section, const char *key, const char *name, uint32_t number)
{
    struct reason   why     = {0};
    uint8_t         data[4] = {(uint8_t)number};
    struct regvalue v       = {.name        = name,
                               .type        = REG_TYPE_DWORD,
                               .data        = data,
                               .size        = 4,
                               .source_file = m->file,
                               .source_line = m->scan.sections[section].line};
    ini_import_result(m, v.source_line, regstore_set(m->store, key, &v, &why), &why, path_advice);
}
static void imply_dword(struct importer *m, unsigned section, const char *name, uint32_t number)
{
    imply_dword_at(m, section, m->sections[section].place.key, name, number);
}

/* Sets a value of the key above, unless that key has a section of its own. */
static void imply_above(struct importer *m, unsigned section, const char *name, uint32_t number)
{
    const char *key = m->sections[section].place.key, *last = strrchr(key, '\\');
    char       *above = last ? strndup(key, (size_t)(last - key)) : NULL;
    if (!above) {
        m->fatal = reason_set(m->why, W_NOT_ENOUGH_MEMORY, "no memory for a path");
        return;
    }
    bool spoken = false;
    for (unsigned i = 0; i < m->scan.section_count && !spoken; i++)
        spoken = m->sections[i].place.key && name_compare(m->sections[i].place.key, above) == 0;
    if (!spoken)
        imply_dword_at(m, section, above, name, number);
    free(above);
}

static void imply_string(struct importer *m, unsigned section, const char *name, const char *text)
{
    struct reason   why = {0};
    struct regvalue v;
    wstatus         st   = plain_string(text, &v, &why);
    void           *data = (void *)v.data;
    if (st == W_SUCCESS) {
        v.name        = name;
        v.source_file = m->file;
        v.source_line = m->scan.sections[section].line;
        st            = regstore_set(m->store, m->sections[section].place.key, &v, &why);
        free(data);
    }
    ini_import_result(m, m->scan.sections[section].line, st, &why, path_advice);
}

/* Adds the value that the vocabulary implies for a section, or for one of its values, unless a section of that key
 * gives it. */
static void imply_words(struct importer *m, unsigned section, const struct ini_value *v)
{
    const unsigned home   = m->sections[section].home;
    uint32_t       number = 0;
    const char    *name   = m->words->implies(m->words->ctx, m->sections[section].place.key, v ? v->name : NULL,
                                         v ? v->text : NULL, &number);
    if (name && strncmp(name, INI_ABOVE, strlen(INI_ABOVE)) == 0) {
        imply_above(m, section, name + strlen(INI_ABOVE), number);
        return;
    }
    for (unsigned i = 0; name && i < m->scan.section_count; i++)
        if (m->sections[i].place.key && m->sections[i].home == home && ini_import_value_of(m, i, name))
            return;
    if (name)
        imply_dword(m, section, name, number);
}

static void imply_below_provider(struct importer *m, unsigned section)
{
    if (!m->words || !m->words->implies || !m->sections[section].place.key ||
        m->sections[section].place.kind != INI_BELOW_PROVIDER)
        return;
    if (m->sections[section].home == section)
        imply_words(m, section, NULL);
    for (unsigned i = m->scan.sections[section].last_value; i && !m->fatal; i = m->scan.values[i - 1].previous)
        if (!is_literal(&m->scan.values[i - 1]))
            imply_words(m, section, &m->scan.values[i - 1]);
}

static void imply(struct importer *m, unsigned section)
{
    const struct section_state *s = &m->sections[section];
    char                        text[GUID_TEXT_SIZE];

    if (!m->fatal)
        imply_below_provider(m, section);
    if (s->home != section || !s->place.key || m->fatal)
        return;
    if ((s->place.kind == INI_SESSION || s->place.kind == INI_GLOBAL_LOGGER) && !(s->given & GIVEN_START))
        imply_dword(m, section, "Start", 1);
    if (s->place.kind == INI_SESSION && !(s->given & GIVEN_GUID)) {
        struct guid guid = guid_from_name(s->place.session);
        imply_string(m, section, "Guid", guid_format(&guid, text));
    }
    if (s->place.kind != INI_PROVIDER)
        return;
    if (!(s->given & GIVEN_ENABLED))
        imply_dword(m, section, "Enabled", 1);
    if (!(s->given & GIVEN_FRIENDLY) && !s->place.braced)
        imply_string(m, section, "ProviderFriendlyName", s->place.provider);
}

/* Warns of a provider whose session is not declared: it is kept, as in the registry, but will not start. */
static void warn_orphan(struct importer *m, unsigned section)
{
    const struct ini_place *place = &m->sections[section].place;
    char                   *up    = place->kind == INI_PROVIDER && place->key ? strdup(place->key) : NULL;
    struct regvalue         start;

    if (place->kind == INI_PROVIDER && place->key && !up)
        m->fatal = reason_set(m->why, W_NOT_ENOUGH_MEMORY, "no memory for a path");
    if (up && strrchr(up, '\\')) {
        *strrchr(up, '\\') = 0;
        wstatus st         = regstore_get(m->store, up, "Start", &start);
        if (st != W_SUCCESS && st != W_FILE_NOT_FOUND)
            m->fatal = reason_set(m->why, st, "%.300s can't be read: %s", up, wstatus_text(st));
        struct nearest near = nearest_make(place->session, 2);
        for (unsigned i = 0; i < m->scan.section_count; i++)
            if (m->sections[i].place.kind == INI_SESSION)
                nearest_try(&near, m->sections[i].place.session);
        if (st == W_FILE_NOT_FOUND)
            diag_report(m->sink, DIAG_WARNING, m->file, m->scan.sections[section].line,
                        "add its section, [Autologger/session]",
                        "the session %.80s of this provider is not declared%s%s%s", place->session,
                        near.found ? ", did you mean " : "", near.found ? near.found : "", near.found ? "?" : "");
    }
    free(up);
}

/* ---- the file ---- */

static wstatus import_all(struct importer *m)
{
    unsigned count = m->scan.section_count;
    m->sections    = calloc(count + 1, sizeof *m->sections);
    if (!m->sections)
        return reason_set(m->why, W_NOT_ENOUGH_MEMORY, "no memory for the sections");
    for (unsigned i = 0; i < count && !m->fatal; i++)
        resolve(m, i);
    for (unsigned i = 0; i < count && !m->fatal; i++)
        resolve_provider(m, i);
    for (unsigned i = 0; i < count && !m->fatal; i++)
        find_home(m, i);
    for (unsigned i = 0; i < count && !m->fatal; i++)
        create_key(m, i);
    for (unsigned i = 0; i < m->scan.value_count && !m->fatal; i++)
        import_value(m, i);
    for (unsigned i = 0; i < count && !m->fatal; i++)
        imply(m, i);
    for (unsigned i = 0; i < count && !m->fatal; i++)
        warn_orphan(m, i);
    return m->fatal;
}

static char *folder_dup(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash ? strndup(file, slash == file ? 1 : (size_t)(slash - file)) : strdup(".");
}

static wstatus import_text(struct importer *m, const char *text, size_t length)
{
    unsigned before = m->sink->errors;
    wstatus  st     = ini_scan_run(text, length, m->file, m->sink, &m->scan);

    if (st != W_SUCCESS || !(m->base_dir = folder_dup(m->file)))
        return reason_set(m->why, W_NOT_ENOUGH_MEMORY, "no memory for %s", m->file);
    st = ini_values_open(m->scan.clean.data, m->scan.clean.size, &m->values, m->why);
    if (st == W_INVALID_DATA && m->why)
        ini_import_mistake(m, 0, "write the lines in a plainer way, or use .reg", m->why->text);
    if (st == W_SUCCESS)
        st = regstore_begin(m->store, m->why);
    if (st != W_SUCCESS)
        return st;
    st = import_all(m);
    if (st == W_SUCCESS && m->sink->errors != before)
        st = reason_set(m->why, W_INVALID_DATA, "%s: %u mistake%s, nothing was imported", m->file,
                        m->sink->errors - before, m->sink->errors - before == 1 ? "" : "s");
    if (st == W_SUCCESS)
        st = regstore_commit(m->store, m->why);
    if (st != W_SUCCESS)
        regstore_rollback(m->store);
    return st;
}

wstatus ini_import(struct regstore *store, const void *data, size_t size, const char *file,
                   const struct ini_vocabulary *words, struct diag_sink *sink, struct reason *why)
{
    struct diag_sink own   = {0};
    struct reason    local = {0};
    struct importer  m     = {
             .store = store, .file = file, .words = words, .sink = sink ? sink : &own, .why = why ? why : &local};
    const char *text = size ? data : "";
    const char *what = NULL, *advice = "save it as UTF-8";

    wstatus known = foreign_refuse(text, size, file, m.sink, why);
    if (known != W_SUCCESS)
        return known;
    if (size >= 2 && (memcmp(text, "\xFF\xFE", 2) == 0 || memcmp(text, "\xFE\xFF", 2) == 0))
        what = "the file is UTF-16";
    else if (size > 4u << 20)
        what = "the file has more than 4 MB", advice = "split it, or use .reg";
    if (what) {
        ini_import_mistake(&m, 0, advice, what);
        return reason_set(why, W_INVALID_DATA, "%s: %s, nothing was imported", file, what);
    }
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        size -= 3;
    }
    wstatus st = import_text(&m, text, size);
    for (unsigned i = 0; m.sections && i < m.scan.section_count; i++) {
        ini_place_finish(&m.sections[i].place);
        free(m.sections[i].fold);
    }
    free(m.sections);
    ini_values_close(m.values);
    ini_scan_finish(&m.scan);
    free(m.base_dir);
    return st;
}
