/* ini_place.c - see ini_place.h. */
#include "registry-sim/text/ini_place.h"
#include "registry-sim/base/nearest.h"
#include "registry-sim/store/regpath.h"
#include "registry-sim/text/textbuf.h"
#include "registry-sim/text/winpath.h"
#include "registry-sim/win32/guid.h"
#include "registry-sim/win32/utf16.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WMI_PARTS = 5 };

static wstatus ini_place_no_memory(struct reason *why)
{
    return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a path");
}

/* "a / b\c" -> "\a\b\c"; an empty part stays, and is refused with the path. */
static void ini_place_put_parts(struct textbuf *out, const char *section)
{
    for (const char *p = section;; p++) {
        size_t n = strcspn(p, "/\\"), from = 0, to = n;
        while (from < to && strchr(" \t", p[from]))
            from++;
        while (to > from && strchr(" \t", p[to - 1]))
            to--;
        textbuf_puts(out, "\\");
        textbuf_put(out, p + from, to - from);
        p += n;
        if (!*p)
            return;
    }
}

static wstatus is_absolute(const char *section, bool *out, struct reason *why)
{
    char *root = strndup(section, strcspn(section, "/\\ \t"));
    if (!root)
        return ini_place_no_memory(why);
    *out = regpath_root_get(root) != NULL;
    free(root);
    return W_SUCCESS;
}

/* The parts after the WMI key, or NULL when `path` lies elsewhere. */
static const char *below_wmi(const struct regpath *path)
{
    static const char *const wmi[WMI_PARTS] = {"HKEY_LOCAL_MACHINE", "SYSTEM", "ControlSet001", "Control", "WMI"};
    const char              *name           = path->names;

    if (path->count < WMI_PARTS)
        return NULL;
    for (unsigned i = 0; i < WMI_PARTS; i++, name = regpath_next(name))
        if (name_compare(name, wmi[i]) != 0)
            return NULL;
    return name;
}

/* The path as text, with `guid` (unless NULL) for its part number `at`. */
static char *path_dup(const struct regpath *path, unsigned at, const char *guid)
{
    struct textbuf out  = {0};
    const char    *name = path->names;
    for (unsigned i = 0; i < path->count; i++, name = regpath_next(name)) {
        if (i)
            textbuf_puts(&out, "\\");
        textbuf_puts(&out, guid && i == at ? guid : name);
    }
    if (out.bad)
        textbuf_finish(&out);
    return out.data;
}

/* Autologger\session\provider\Filters, or a part of it. */
static bool is_filters(const char *autologger, unsigned count)
{
    const char *part = regpath_next(regpath_next(regpath_next(autologger)));
    return count <= 5 && name_compare(part, "Filters") == 0;
}

static wstatus classify(const struct regpath *path, struct ini_place *out, struct reason *why)
{
    const char *first = below_wmi(path);
    unsigned    count = first ? path->count - WMI_PARTS : 0;
    struct guid guid;

    out->known = count == 0;
    if (count == 0)
        return W_SUCCESS;
    if (name_compare(first, "GlobalLogger") == 0) {
        const char *below = count > 1 ? regpath_next(first) : "{";
        out->known        = count <= 2 && *below == '{'; /* Windows keeps the flags of WPP providers there, by GUID */
        out->kind         = count == 1 ? INI_GLOBAL_LOGGER : INI_PLAIN;
        return W_SUCCESS;
    }
    if (name_compare(first, "CollectorSet") == 0) {
        out->known = count == 2;
        if (count < 3)
            return W_SUCCESS;
        out->in_set = true; /* from the set's name on it is as from Autologger on */
        first       = regpath_next(first);
        count--;
    }
    bool autologger = out->in_set || name_compare(first, "Autologger") == 0;
    out->known      = name_compare(first, "Security") == 0 || name_compare(first, "XPerfBootmgr") == 0 ||
                 (autologger && (count < 4 || is_filters(first, count)));
    if (!autologger || count < 2)
        return W_SUCCESS;
    const char *session = regpath_next(first);
    if (!(out->session = strdup(session)))
        return ini_place_no_memory(why);
    out->kind = count == 2 ? INI_SESSION : count == 3 ? INI_PROVIDER : INI_BELOW_PROVIDER;
    if (count > 2) {
        if (!(out->provider = strdup(regpath_next(session))))
            return ini_place_no_memory(why);
        out->braced = guid_parse_braced(out->provider, &guid);
    }
    return W_SUCCESS;
}

wstatus ini_place_resolve(const char *section, struct ini_place *out, struct reason *why)
{
    struct textbuf text     = {0};
    struct regpath path     = {0};
    bool           absolute = false;

    *out       = (struct ini_place){0};
    wstatus st = is_absolute(section, &absolute, why);
    if (!absolute)
        textbuf_puts(&text, WINPATH_WMI);
    ini_place_put_parts(&text, name_compare(section, "Boot") == 0 ? "Autologger" : section);
    if (st == W_SUCCESS)
        st = text.bad ? ini_place_no_memory(why)
                      : regpath_split(text.data + absolute, &path, why); /* without the first '\\' */
    if (st == W_SUCCESS && !(out->key = path_dup(&path, 0, NULL)))
        st = ini_place_no_memory(why);
    if (st == W_SUCCESS)
        st = classify(&path, out, why);
    out->known |= absolute && !below_wmi(&path);
    regpath_finish(&path);
    textbuf_finish(&text);
    return st;
}

wstatus ini_place_set_provider(struct ini_place *place, const char *guid, struct reason *why)
{
    struct regpath path;
    wstatus        st  = regpath_split(place->key, &path, why);
    char          *key = st == W_SUCCESS ? path_dup(&path, WMI_PARTS + 2 + place->in_set, guid) : NULL;

    regpath_finish(&path);
    if (st != W_SUCCESS || !key)
        return st != W_SUCCESS ? st : ini_place_no_memory(why);
    free(place->key);
    place->key = key;
    return W_SUCCESS;
}

/* The part at `p`, trimmed, into `out`; returns where the next begins, or NULL after the last. */
static const char *part_copy(const char *p, char out[64])
{
    size_t n = strcspn(p, "/\\"), from = 0, to = n;
    while (from < to && strchr(" \t", p[from]))
        from++;
    while (to > from && strchr(" \t", p[to - 1]))
        to--;
    snprintf(out, 64, "%.*s", (int)(to - from < 63 ? to - from : 63), p + from);
    return p[n] ? p + n + 1 : NULL;
}

bool ini_place_suggest(const char *section, char *out, size_t size)
{
    const char *relative = strcasestr(section, "WMI/"), *p = relative ? relative + 4 : section;
    char        part[64];
    const char *rest = part_copy(p, part);

    struct nearest near = nearest_make(part, 3);
    nearest_try(&near, "Autologger");
    nearest_try(&near, "GlobalLogger");
    nearest_try(&near, "CollectorSet");
    if (!rest)
        nearest_try(&near, "Boot");
    if (near.found && near.distance) {
        snprintf(out, size, "%s%s%s", near.found, rest ? "/" : "", rest ? rest : "");
        return true;
    }
    for (unsigned i = 1; i < 4 && rest; i++) { /* session, provider, and what lies below */
        p    = rest;
        rest = part_copy(p, part);
        if (i < 3)
            continue;
        near = nearest_make(part, 2);
        nearest_try(&near, "Filters");
        if (near.found && near.distance)
            snprintf(out, size, "%.*sFilters%s%s", (int)(p - section), section, rest ? "/" : "", rest ? rest : "");
        return near.found && near.distance;
    }
    return false;
}

void ini_place_finish(struct ini_place *place)
{
    free(place->key);
    free(place->session);
    free(place->provider);
    *place = (struct ini_place){0};
}

bool ini_place_below_wmi(const char *key, const char **relative)
{
    /* spelled exactly so; any other spelling is written as an absolute path, which keeps it */
    static const char canonical[] = "HKEY_LOCAL_MACHINE\\SYSTEM\\ControlSet001\\Control\\WMI";
    size_t            n           = sizeof canonical - 1;
    if (strncmp(key, canonical, n) != 0 || (key[n] && key[n] != '\\'))
        return false;
    *relative = key[n] ? key + n + 1 : key + n;
    return true;
}
