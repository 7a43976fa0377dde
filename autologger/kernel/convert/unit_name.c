#include "autologger/kernel/convert/unit_name.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool unit_name_ends_with(const char *text, size_t length, const char *end)
{
    size_t n = strlen(end);
    return length > n && memcmp(text + length - n, end, n) == 0;
}

/* A unit with processes of its own: not a slice, which only groups. */
static bool has_processes(const char *part, size_t length)
{
    static const char *const kinds[] = {".service", ".scope", ".socket", ".mount", ".swap"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (unit_name_ends_with(part, length, kinds[i]))
            return true;
    return false;
}

void unit_of_cgroup(const char *path, char *out, size_t size)
{
    *out = 0;
    for (const char *part = path; *part;) {
        part += strspn(part, "/");
        size_t length = strcspn(part, "/");
        if (has_processes(part, length)) {
            const bool escaped =
                *part == '_'; /* "_" precedes a name that would collide with one of the kernel's files */
            snprintf(out, size, "%.*s", (int)(length - escaped), part + escaped);
            return;
        }
        if (!unit_name_ends_with(part, length, ".slice"))
            return; /* cgroups below one of another owner are not systemd's */
        part += length;
    }
}
