/* file_name.c - see file_name.h. */
#include "tools/windows/file_name.h"
#include "registry-sim/text/winpath.h"
#include "tools/live/daemon_memory.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "C:\x", "%SystemRoot%\x", "\x": a place below the log folder. "C:x" is the first as a shell without quotes gives it. */
static bool file_is_windows(const char *name)
{
    return *name == '\\' || *name == '%' || (isalpha((unsigned char)name[0]) && name[1] == ':');
}

static const char *file_with_slashes(const char *name, struct translation *t)
{
    char *text = translation_text(t, "%s", name);
    for (char *p = text; *p; p++)
        if (*p == '\\')
            *p = '/';
    return text;
}

static const char *file_with_drive(const char *name, struct translation *t)
{
    if (*name == '\\')
        return translation_text(t, "C:%s", name);
    return *name != '%' && name[2] != '\\' && name[2] != '/' ? translation_text(t, "%.2s\\%s", name, name + 2) : name;
}

const char *file_of_session(const char *name, struct translation *t)
{
    if (file_is_windows(name))
        return file_with_drive(name, t);
    const char *text = file_with_slashes(name, t);
    return *text == '/' || strncmp(text, "./", 2) == 0 || strncmp(text, "../", 3) == 0
               ? text
               : translation_text(t, "./%s", text);
}

const char *file_from_anywhere(const char *name, struct translation *t)
{
    char        folder[PATH_MAX];
    const char *text = file_of_session(name, t);
    if (*text != '.')
        return text;
    if (!getcwd(folder, sizeof folder)) {
        translation_fault(t, "the current folder: %s", strerror(errno));
        return text;
    }
    return translation_text(t, "%s/%s", folder, strncmp(text, "./", 2) == 0 ? text + 2 : text);
}

bool file_is_below_logs(const char *name) { return file_is_windows(name); }

const char *file_below_logs(const char *name, struct translation *t)
{
    if (file_is_windows(name))
        return file_with_drive(name, t);
    if (strpbrk(name, "/\\"))
        translation_fault(
            t, "%s: such a file lies below the log folder. Do: write its name alone, or C:\\FOLDER\\NAME.etl", name);
    return name;
}

const char *file_of_verb(const char *name, struct translation *t)
{
    struct reason why    = {0};
    char         *mapped = NULL;
    const char   *text   = name;
    char          folder[PATH_MAX];
    if (!file_is_windows(name))
        return access(name, F_OK) == 0 ? name : file_with_slashes(name, t);
    if (winpath_map(file_with_drive(name, t), daemon_memory_log_folder(NULL, folder, sizeof folder), true, &mapped,
                    &why))
        translation_fault(t, "%s: %s", name, why.text);
    else
        text = translation_text(t, "%s", mapped);
    free(mapped);
    return text;
}
