/* regpath.c - see regpath.h. */
#include "registry-sim/store/regpath.h"
#include "registry-sim/win32/utf16.h"

#include <stdlib.h>
#include <string.h>

static const char *const regpath_roots[][2] = {
    {"HKEY_LOCAL_MACHINE", "HKLM"}, {"HKEY_CURRENT_USER", "HKCU"},   {"HKEY_USERS", "HKU"},
    {"HKEY_CLASSES_ROOT", "HKCR"},  {"HKEY_CURRENT_CONFIG", "HKCC"},
};

const char *regpath_root_get(const char *name)
{
    for (size_t i = 0; i < sizeof regpath_roots / sizeof *regpath_roots; i++)
        if (name_compare(name, regpath_roots[i][0]) == 0 || name_compare(name, regpath_roots[i][1]) == 0)
            return regpath_roots[i][0];
    return NULL;
}

bool regpath_name_fits(const char *name, unsigned units)
{
    size_t bytes = strlen(name); /* no character has more units in UTF-16 than bytes in UTF-8 */
    return bytes <= units || utf8_to_utf16le(name, bytes, NULL, 0) <= (size_t)units * 2;
}

/* Appends one part and its NUL at *end. */
static void regpath_append(struct regpath *path, char **end, const char *name)
{
    size_t size = strlen(name) + 1;
    memmove(*end, name, size);
    *end += size;
    path->count++;
}

static wstatus regpath_take_part(struct regpath *path, char **end, const char *part, struct reason *why)
{
    if (!*part)
        return reason_set(why, W_INVALID_PARAMETER, "a part of the key's path is empty");
    if (!regpath_name_fits(part, REGPATH_MAX_NAME))
        return reason_set(why, W_INVALID_PARAMETER, "a key name has more than %d characters: %.40s...",
                          REGPATH_MAX_NAME, part);
    if (path->count == REGPATH_MAX_PARTS)
        return reason_set(why, W_INVALID_PARAMETER, "the path has more than %d parts", REGPATH_MAX_PARTS);
    if (path->count == 0) {
        const char *root = regpath_root_get(part);
        if (!root)
            return reason_set(why, W_INVALID_PARAMETER, "'%.60s' is not a root key such as HKEY_LOCAL_MACHINE", part);
        part = root;
    } else if (path->count == 2 && name_compare(part, "CurrentControlSet") == 0 &&
               name_compare(regpath_next(path->names), "SYSTEM") == 0 &&
               strcmp(path->names, "HKEY_LOCAL_MACHINE") == 0) {
        path->alias = true;
        part        = "ControlSet001";
    }
    regpath_append(path, end, part);
    return W_SUCCESS;
}

wstatus regpath_split(const char *key, struct regpath *out, struct reason *why)
{
    *out         = (struct regpath){0};
    size_t first = strcspn(key, "\\/");
    /* only the root can grow, "HKLM" to "HKEY_LOCAL_MACHINE"; the copy to cut follows the list */
    size_t  room = strlen(key) + sizeof "HKEY_CURRENT_CONFIG", size = strlen(key) + 1;
    char   *end = out->names = malloc(room + size);
    wstatus st               = W_SUCCESS;

    if (!end)
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a path");
    char       *rest      = memcpy(end + room, key, size);
    const char *separator = key[first] == '/' ? "\\/" : "\\";
    while (st == W_SUCCESS && rest) {
        char *part = strsep(&rest, separator);
        if (!*part && !rest && out->count)
            break; /* one separator at the end is fine */
        st = regpath_take_part(out, &end, part, why);
    }
    return st;
}

void regpath_finish(struct regpath *path)
{
    free(path->names);
    *path = (struct regpath){0};
}
