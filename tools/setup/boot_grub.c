/* boot_grub.c - the entry's text for GRUB: a copy of a menuentry of grub.cfg. Pure; see boot_entry.h. */
#include "registry-sim/text/textbuf.h"
#include "tools/setup/boot_entry.h"

#include <stdio.h>
#include <string.h>

#define MARK_BEGIN "# autologger: one traced boot; made by 'autologger apply', taken away by 'autologger clean'"
#define MARK_END "# autologger: end"

/* One "menuentry ... { ... }" of grub.cfg. */
struct boot_grub_block {
    const char *start, *body, *end; /* body: after the line of the '{'; end: the line of the '}' */
};

static const char *boot_grub_line_end(const char *p) { return p + strcspn(p, "\n"); }

/* The first word of a line is `word`. */
static bool boot_grub_line_is(const char *line, const char *word)
{
    line += strspn(line, " \t");
    size_t n = strlen(word);
    return !strncmp(line, word, n) && (line[n] == ' ' || line[n] == '\t' || line[n] == '\n' || !line[n]);
}

static bool is_linux_line(const char *line)
{
    return boot_grub_line_is(line, "linux") || boot_grub_line_is(line, "linux16") ||
           boot_grub_line_is(line, "linuxefi");
}

/* The next menuentry at or after `p`; grub-mkconfig closes each with a line that is '}' alone. */
static bool block_next(const char *p, struct boot_grub_block *b)
{
    for (; *p; p = boot_grub_line_end(p) + (*boot_grub_line_end(p) == '\n')) {
        if (!boot_grub_line_is(p, "menuentry"))
            continue;
        const char *end  = boot_grub_line_end(p);
        const char *open = end;
        while (open > p && *open != '{')
            open--;
        if (*open != '{')
            continue;
        b->start = p;
        b->body  = *end ? end + 1 : end;
        for (const char *q = b->body; *q; q = boot_grub_line_end(q) + (*boot_grub_line_end(q) == '\n'))
            if (boot_grub_line_is(q, "}")) {
                b->end = q;
                return true;
            }
        return false;
    }
    return false;
}

/* Does this linux line start the kernel of this release, and not its recovery mode? */
static bool line_starts(const char *line, const char *kernel)
{
    char   name[MACHINE_KERNEL + 16];
    size_t length = (size_t)(boot_grub_line_end(line) - line);
    snprintf(name, sizeof name, "-%s", kernel);
    const char *at = memmem(line, length, name, strlen(name));
    if (!at || !(at[strlen(name)] == ' ' || at[strlen(name)] == '\n' || at[strlen(name)] == '\t' || !at[strlen(name)]))
        return false;
    static const char *const rescue[] = {" single", " recovery", " rescue", " systemd.unit=", " autologger="};
    for (size_t i = 0; i < sizeof rescue / sizeof *rescue; i++)
        if (memmem(line, length, rescue[i], strlen(rescue[i])))
            return false;
    return true;
}

static bool block_of(const char *cfg, const char *kernel, struct boot_grub_block *b)
{
    for (const char *p = cfg; block_next(p, b); p = b->end)
        for (const char *q = b->body; q < b->end; q = boot_grub_line_end(q) + 1)
            if (is_linux_line(q) && line_starts(q, kernel))
                return true;
    return false;
}

/* The entry's module that shows a /boot where GRUB cannot write its environment block; NULL: none. */
static const char *unwritable(const struct boot_grub_block *b)
{
    static const char *const modules[] = {"lvm",      "diskfilter", "mdraid09", "mdraid1x", "btrfs",
                                          "zfs",      "cryptodisk", "luks",     "luks2",    "raid5rec",
                                          "raid6rec", "f2fs",       "squash4",  "iso9660"};
    for (const char *p = b->body; p < b->end; p = boot_grub_line_end(p) + 1) {
        if (!boot_grub_line_is(p, "insmod"))
            continue;
        const char *word = p + strspn(p, " \t") + strlen("insmod");
        word += strspn(word, " \t");
        for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
            if (strlen(modules[i]) == strcspn(word, " \t\n") && !strncmp(word, modules[i], strlen(modules[i])))
                return modules[i];
    }
    return NULL;
}

/* Copies the --class words; title and id are autologger's. */
static void header_write(const struct boot_grub_block *b, const char *kernel, struct textbuf *out)
{
    textbuf_puts(out, "menuentry 'autologger: one traced boot of Linux ");
    textbuf_puts(out, kernel);
    textbuf_puts(out, "'");
    const char *end = boot_grub_line_end(b->start);
    for (const char *p = b->start; (p = memmem(p, (size_t)(end - p), " --class ", 9)); p += 9) {
        textbuf_puts(out, " --class ");
        textbuf_put(out, p + 9, strcspn(p + 9, " \t\n{"));
    }
    textbuf_puts(out, " --id autologger {\n");
}

static wstatus boot_grub_possible(const char *grub_cfg, const char *kernel, struct boot_grub_block *b,
                                  struct reason *why)
{
    if (!strstr(grub_cfg, "custom.cfg"))
        return reason_set(why, W_NOT_SUPPORTED,
                          "GRUB's configuration does not read custom.cfg. Do: restore /etc/grub.d/41_custom and "
                          "run update-grub, or leave out KernelPhase");
    if (!strstr(grub_cfg, "next_entry"))
        return reason_set(why, W_NOT_SUPPORTED,
                          "GRUB's configuration knows no entry for one boot (next_entry). Do: run update-grub "
                          "of GRUB 2.00 or later, or leave out KernelPhase");
    if (!kernel[0] || !block_of(grub_cfg, kernel, b))
        return reason_set(why, W_NOT_SUPPORTED,
                          "GRUB's configuration has no entry for the kernel %s. Do: run update-grub, or leave "
                          "out KernelPhase",
                          kernel[0] ? kernel : "(none)");
    const char *module = unwritable(b);
    if (module)
        return reason_set(why, W_NOT_SUPPORTED,
                          "/boot lies on %s, where GRUB cannot take back the choice of an entry: every boot "
                          "would be traced. Do: leave out KernelPhase",
                          module);
    return W_SUCCESS;
}

/* Escapes the words for GRUB's shell. */
static void words_put(struct textbuf *text, const char *words)
{
    for (; *words; words++) {
        if (strchr("$;&|<>{}'\"\\", *words))
            textbuf_puts(text, "\\");
        textbuf_put(text, words, 1);
    }
}

wstatus grub_entry_make(const char *grub_cfg, const char *kernel, const char *arguments, char **out, struct reason *why)
{
    struct boot_grub_block b    = {0};
    struct textbuf         text = {0};
    wstatus                st   = boot_grub_possible(grub_cfg, kernel, &b, why);
    *out                        = NULL;
    if (st)
        return st;
    header_write(&b, kernel, &text);
    for (const char *p = b.body; p < b.end; p = boot_grub_line_end(p) + 1) {
        size_t n = (size_t)(boot_grub_line_end(p) - p);
        while (n && (p[n - 1] == ' ' || p[n - 1] == '\t'))
            n--;
        textbuf_put(&text, p, n);
        if (is_linux_line(p)) {
            textbuf_puts(&text, " ");
            words_put(&text, arguments);
        }
        textbuf_puts(&text, "\n");
    }
    textbuf_puts(&text, "}\n");
    if (text.bad) {
        textbuf_finish(&text);
        return reason_set(why, W_OUTOFMEMORY, "not enough memory");
    }
    *out = text.data;
    return W_SUCCESS;
}

static bool line_equals(const char *p, const char *mark)
{
    size_t n = strlen(mark);
    return !strncmp(p, mark, n) && (p[n] == '\n' || !p[n]);
}

char *grub_custom_make(const char *custom, const char *entry)
{
    struct textbuf text = {0};
    bool           ours = false;
    textbuf_puts(&text, "");
    for (const char *p = custom ? custom : ""; *p;) {
        const char *end = boot_grub_line_end(p) + (*boot_grub_line_end(p) == '\n');
        /* after a begin mark without an end mark nothing is autologger's */
        bool begin = line_equals(p, MARK_BEGIN), over = line_equals(p, MARK_END);
        if (!ours && begin && strstr(p, MARK_END))
            ours = true;
        if (!ours && !begin && !over)
            textbuf_put(&text, p, (size_t)(end - p));
        ours &= !over;
        p = end;
    }
    if (entry) {
        if (text.size && text.data[text.size - 1] != '\n')
            textbuf_puts(&text, "\n");
        textbuf_puts(&text, MARK_BEGIN "\n");
        textbuf_puts(&text, entry);
        textbuf_puts(&text, MARK_END "\n");
    }
    if (text.bad)
        textbuf_finish(&text);
    return text.data;
}
