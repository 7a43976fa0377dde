/* boot_systemd.c - the entry's text for systemd-boot: a copy of a Type #1 entry. Pure; see boot_entry.h. */
#include "registry-sim/text/textbuf.h"
#include "tools/setup/boot_entry.h"

#include <stdio.h>
#include <string.h>

static bool boot_systemd_line_is(const char *line, const char *word)
{
    size_t n = strlen(word);
    return !strncmp(line, word, n) && (line[n] == ' ' || line[n] == '\t');
}

wstatus systemd_entry_make(const char *conf, const char *arguments, char **out, struct reason *why)
{
    struct textbuf text    = {0};
    bool           options = false, kernel = false;
    *out = NULL;
    textbuf_puts(&text,
                 "# made by 'autologger apply', taken away by 'autologger clean'\ntitle autologger: one traced boot\n");
    for (const char *p = conf, *end; *p; p = *end ? end + 1 : end) {
        end = p + strcspn(p, "\n");
        p += strspn(p, " \t");
        if (p >= end || *p == '#' || boot_systemd_line_is(p, "title") || boot_systemd_line_is(p, "sort-key"))
            continue;
        size_t n = (size_t)(end - p);
        while (n && (p[n - 1] == ' ' || p[n - 1] == '\t' || p[n - 1] == '\r'))
            n--;
        textbuf_put(&text, p, n);
        kernel |= boot_systemd_line_is(p, "linux");
        if (boot_systemd_line_is(p, "options") && !options) { /* the loader joins several options lines */
            options = true;
            textbuf_puts(&text, " ");
            textbuf_puts(&text, arguments);
        }
        textbuf_puts(&text, "\n");
    }
    if (!options) {
        textbuf_puts(&text, "options ");
        textbuf_puts(&text, arguments);
        textbuf_puts(&text, "\n");
    }
    wstatus st = text.bad ? reason_set(why, W_OUTOFMEMORY, "not enough memory")
                 : kernel
                     ? W_SUCCESS
                     : reason_set(why, W_NOT_SUPPORTED,
                                  "the entry of the running kernel names no kernel file (an EFI image carries its own "
                                  "arguments). Do: leave out KernelPhase");
    if (st)
        textbuf_finish(&text);
    *out = text.data;
    return st;
}
