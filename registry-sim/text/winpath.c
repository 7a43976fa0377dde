/* winpath.c - see winpath.h. */
#include "registry-sim/text/winpath.h"
#include "registry-sim/text/encoding.h"
#include "registry-sim/text/textbuf.h"
#include "registry-sim/win32/utf16.h"
#include "registry-sim/win32/visible.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_NAME = 1024, MAX_PART = 255 };

static bool is_separator(char c) { return c == '/' || c == '\\'; }

static wstatus check_text(const char *name, struct reason *why)
{
    size_t length = strlen(name);

    if (!length)
        return reason_set(why, W_INVALID_NAME, "the file name is empty");
    if (utf8_to_utf16le(name, length, NULL, 0) > 2 * MAX_NAME)
        return reason_set(why, W_FILENAME_EXCED_RANGE, "the file name has more than 1,024 characters");
    if (!encoding_is_utf8(name, length))
        return reason_set(why, W_INVALID_NAME, "the file name is not UTF-8: %.200s", name);
    if (!visible_is(name)) /* it would be shown in terminals and in the journal */
        return reason_set(
            why, W_INVALID_NAME,
            "there is a control character in the file name, or one that turns the direction of text: %.200s", name);
    if ((is_separator(name[0]) && is_separator(name[1])) || (name[0] == '\\' && name[1] == '?'))
        return reason_set(why, W_BAD_PATHNAME, "%.80s: device and network paths are not supported", name);
    if (name[0] == '\\')
        return reason_set(why, W_BAD_PATHNAME, "%.80s: a path that starts with '\\' needs a drive, as in C:\\", name);
    return W_SUCCESS;
}

/* Appends "/part" for each part of `rest`. */
static wstatus winpath_put_parts(struct textbuf *out, const char *rest, struct reason *why)
{
    for (;; rest++) {
        size_t n = strcspn(rest, "/\\");
        if (!n)
            return reason_set(why, W_INVALID_NAME,
                              *rest ? "a part of the file name is empty" : "the file name ends in a folder");
        if ((n == 1 && *rest == '.') || (n == 2 && strncmp(rest, "..", 2) == 0))
            return reason_set(why, W_INVALID_NAME, "'.' and '..' are not allowed in a file name");
        if (n > MAX_PART)
            return reason_set(why, W_FILENAME_EXCED_RANGE, "a part of the file name has more than %d bytes", MAX_PART);
        textbuf_puts(out, "/");
        textbuf_put(out, rest, n);
        rest += n;
        if (!*rest)
            return W_SUCCESS;
    }
}

static bool winpath_is_below(const char *path, const char *folder, size_t length)
{
    return strncmp(path, folder, length) == 0 && path[length] == '/';
}

wstatus winpath_map(const char *file_name, const char *log_dir, bool absolute_ok, char **out, struct reason *why)
{
    static const char root[]   = "%SystemRoot%";
    struct textbuf    path     = {0};
    size_t            dir      = strlen(log_dir);
    bool              absolute = *file_name == '/';
    wstatus           st       = check_text(file_name, why);

    *out = NULL;
    while (dir > 1 && log_dir[dir - 1] == '/')
        dir--;
    if (st != W_SUCCESS)
        return st;
    if (absolute) {
        st = winpath_put_parts(&path, file_name + 1, why);
    } else if (strncasecmp(file_name, root, sizeof root - 1) == 0) {
        const char *rest = file_name + sizeof root - 1;
        textbuf_put(&path, log_dir, dir);
        textbuf_puts(&path, "/c/Windows");
        st = is_separator(*rest) ? winpath_put_parts(&path, rest + 1, why)
                                 : reason_set(why, W_INVALID_NAME, "%s is not followed by '\\' and a file name", root);
    } else if (file_name[1] == ':' && ((file_name[0] | 32) >= 'a' && (file_name[0] | 32) <= 'z')) {
        char drive[3] = {'/', (char)(file_name[0] | 32), 0};
        textbuf_put(&path, log_dir, dir);
        textbuf_puts(&path, drive);
        st = is_separator(file_name[2])
                 ? winpath_put_parts(&path, file_name + 3, why)
                 : reason_set(why, W_BAD_PATHNAME, "%.80s: the drive is not followed by '\\'", file_name);
    } else {
        textbuf_put(&path, log_dir, dir);
        st = winpath_put_parts(&path, file_name, why);
    }
    if (st == W_SUCCESS && path.bad)
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for a path");
    if (st == W_SUCCESS && absolute && !absolute_ok && !winpath_is_below(path.data, log_dir, dir))
        st = reason_set(
            why, W_BAD_PATHNAME,
            "%.200s lies outside of the log folder %.200s. Do: write a name below it, or one without a folder",
            file_name, log_dir);
    if (st == W_SUCCESS) {
        *out      = path.data;
        path.data = NULL;
    }
    textbuf_finish(&path);
    return st;
}
