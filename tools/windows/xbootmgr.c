/* xbootmgr.c - xbootmgr: writes the configuration of a traced boot, with its names of files, and traces the next boots by
 * it. */
#include "autologger/kernel/tables/flags.h"
#include "tools/windows/personality.h"
#include "tools/windows/session_asked.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct xbootmgr {
    bool        boot, remove, brief;
    const char *flags, *stacks, *path, *runs, *tag, *delay;
};
typedef const struct windows_option option;

static void xbootmgr_trace(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o, (void)count;
    if (strcasecmp(value[0], "boot") != 0)
        translation_fault(t, "-trace %s is not there: boots alone are traced. Do: -trace boot", value[0]);
    ((struct xbootmgr *)into)->boot = true;
}

static void xbootmgr_remove(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o, (void)value, (void)count, (void)t;
    ((struct xbootmgr *)into)->remove = true;
}

static void xbootmgr_short(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o, (void)value, (void)count, (void)t;
    ((struct xbootmgr *)into)->brief = true;
}

static void xbootmgr_flags(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    uint32_t      mask[GROUP_MASK_WORDS];
    struct reason why = {0};
    (void)count;
    if (group_mask_parse(value[0], mask, &why))
        translation_fault(t, "-%s: %s", o->word, why.text);
    ((struct xbootmgr *)into)->flags = value[0];
}

static void xbootmgr_stacks(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    uint16_t      hooks[HOOK_MAX];
    unsigned      n;
    struct reason why = {0};
    (void)count;
    if (hooks_parse(value[0], hooks, &n, &why))
        translation_fault(t, "-%s: %s", o->word, why.text);
    ((struct xbootmgr *)into)->stacks = value[0];
}

static void xbootmgr_path(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o, (void)count;
    char  *path = translation_text(t, "%s", value[0]);
    size_t n    = strlen(path);
    while (n > 1 && (path[n - 1] == '\\' || path[n - 1] == '/'))
        path[--n] = 0;
    ((struct xbootmgr *)into)->path = path;
}

static bool xbootmgr_number(option *o, const char *text, struct translation *t)
{
    const bool ok = *text && !text[strspn(text, "0123456789")] && strlen(text) < 6;
    if (!ok)
        translation_fault(t, "-%s takes a number, not \"%s\"", o->word, text);
    return ok;
}

static void xbootmgr_runs(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)count;
    if (xbootmgr_number(o, value[0], t))
        ((struct xbootmgr *)into)->runs = value[0];
}

static void xbootmgr_delay(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)count;
    if (xbootmgr_number(o, value[0], t))
        ((struct xbootmgr *)into)->delay = value[0];
}

static void xbootmgr_tag(void *into, option *o, char *const *value, unsigned count, struct translation *t)
{
    (void)o, (void)count;
    for (const char *p = value[0]; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("-_.", *p))
            translation_fault(t, "-runTag is a word of letters, digits, - _ and ., not \"%s\"", value[0]);
    ((struct xbootmgr *)into)->tag = value[0];
}

static const struct windows_option xbootmgr_options[] = {
#define O(word, least, most, take, as, verbs, values, help) {word, least, most, take, as, verbs, values, help},
#include "tools/windows/xbootmgr.def"
#undef O
    {0}};

static void xbootmgr_word(void *into, char *word, struct translation *t)
{
    (void)into;
    translation_fault(t, "\"%s\" is no option. Do: see autologger windows xbootmgr --help", word);
}

const struct windows_syntax xbootmgr_syntax = {xbootmgr_options, xbootmgr_word, false, NULL};

/* The values are those that XBootMgr itself declares, but for the size of the user session's buffers. */
static char *xbootmgr_configuration(const struct xbootmgr *x, const char *stem, struct translation *t)
{
    const char *path = x->path ? x->path : "C:\\boot", *slash = *path == '/' ? "/" : "\\";
    return translation_text(t,
                            "[Boot]\nOnce      = yes\nStopAfter = boot-done + %s s\nMaxWait   = %lu min\n\n"
                            "[GlobalLogger]\nEnableKernelFlags  = %s\n%s%s%sBufferSize         = 1024 KB\n"
                            "MinimumBuffers     = 300\nMaximumBuffers     = 600\nMaxFileSize        = 2048 MB\n"
                            "FileName           = %s%s%s_km_premerge.etl\n\n"
                            "[Autologger/XBootMgrSession]\nBufferSize     = 64 KB\nMinimumBuffers = 8\n"
                            "MaximumBuffers = 64\nMaxFileSize    = 128 MB\nFileName       = %s%s%s_um_premerge.etl\n\n"
                            "[Autologger/XBootMgrSession/autologger-mark]\nEnableLevel = Verbose\n",
                            x->delay ? x->delay : "120", 10 + (x->delay ? (strtoul(x->delay, NULL, 10) + 59) / 60 : 2),
                            x->flags ? x->flags : "BASE+CSWITCH", x->stacks ? "StackWalkingFilter = " : "",
                            x->stacks ? x->stacks : "", x->stacks ? "\n" : "", path, slash, stem, path, slash, stem);
}

void xbootmgr_translate(unsigned count, char *const *word, struct windows_passed *passed, struct translation *t)
{
    struct xbootmgr x = {0};
    windows_options_read(&xbootmgr_syntax, count, word, &x, passed, t);
    if (!t->fault && x.boot == x.remove)
        translation_fault(t, "%s. Do: xbootmgr -trace boot, or xbootmgr -remove",
                          x.boot ? "-trace and -remove do not go together" : "nothing was asked for");
    if (t->fault)
        return;
    line_begin(t, "autologger");
    if (x.remove) {
        line_word(t, "clean");
        return;
    }
    const char *flags = x.brief ? NULL : x.flags ? x.flags : "BASE+CSWITCH";
    const char *stem  = translation_text(t, "boot%s%s%s%s_1", flags ? "_" : "", flags ? flags : "", x.tag ? "_" : "",
                                        x.tag ? x.tag : "");
    char       *file  = translation_text(t, "%s.ini", stem);
    translation_file(t, file, xbootmgr_configuration(&x, stem, t));
    line_word(t, "trace-boot");
    line_word(t, "./%s", file);
    line_option(t, "--runs", x.runs);
    line_word(t, "--reboot");
}
