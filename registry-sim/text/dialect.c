/* dialect.c - a file of either dialect; see dialect.h. */
#include "registry-sim/text/dialect.h"
#include "registry-sim/text/textbuf.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILE = 256 << 20 };

static wstatus read_file(const char *path, struct textbuf *out, struct reason *why)
{
    char        piece[16384];
    struct stat info;
    ssize_t     n  = 0;
    int         fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &info) < 0 || (S_ISDIR(info.st_mode) && (errno = EISDIR)))
        n = -1;
    else
        while ((n = read(fd, piece, sizeof piece)) > 0 && out->size < MAX_FILE && !out->bad)
            textbuf_put(out, piece, (size_t)n);
    wstatus st = W_SUCCESS;
    if (n < 0)
        st = reason_set(why, wstatus_from_errno(errno), "%s: %s", path, strerror(errno));
    else if (out->bad)
        st = reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory for %s", path);
    else if (n > 0)
        st = reason_set(why, W_INVALID_PARAMETER, "%s has more than 256 MB", path);
    if (fd >= 0)
        close(fd);
    return st;
}

/* "[HKEY_LOCAL_MACHINE/..." is INI. */
static bool slash_first(const char *text, size_t size)
{
    const char *slash = memchr(text, '/', size), *back = memchr(text, '\\', size);
    return slash && (!back || slash < back);
}

/* The first line that is not blank or a comment decides: a header or "[HKEY_...\" is .reg, and so is anything in
 * UTF-16. */
static bool is_reg(const char *text, size_t size)
{
    const char *end = text + size;
    if (size >= 2 && (memcmp(text, "\xFF\xFE", 2) == 0 || memcmp(text, "\xFE\xFF", 2) == 0))
        return true;
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        text += 3;
    while (text < end) {
        const char *nl = memchr(text, '\n', (size_t)(end - text)), *eol = nl ? nl : end;
        while (text < eol && strchr(" \t\r", *text) && *text)
            text++;
        if (text < eol && *text != ';') {
            size_t n = (size_t)(eol - text);
            return (n >= 24 && memcmp(text, "Windows Registry Editor ", 24) == 0) ||
                   (n >= 8 && memcmp(text, "REGEDIT4", 8) == 0) ||
                   (n >= 6 && (memcmp(text, "[HKEY_", 6) == 0 || memcmp(text, "[-HKEY", 6) == 0) &&
                    !slash_first(text, n));
        }
        text = nl ? nl + 1 : end;
    }
    return false;
}

wstatus dialect_import_file(struct regstore *store, const char *path, unsigned flags,
                            const struct ini_vocabulary *words, struct diag_sink *sink, struct reason *why)
{
    struct textbuf text = {0};
    wstatus        st   = read_file(path, &text, why);

    if (st == W_SUCCESS)
        st = text.size && is_reg(text.data, text.size)
                 ? reg_import(store, text.data, text.size, path, flags, sink, why)
                 : ini_import(store, text.data, text.size, path, words, sink, why);
    textbuf_finish(&text);
    return st;
}
