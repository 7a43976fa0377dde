/* See boot_besides.h. */
#include "autologger/analysis/boot_besides.h"

#include <string.h>

/* A finding about the verdict's device covers all findings of its unit. */
static bool repeats(const struct boot_finding *f, const struct boot_finding *verdict)
{
    return f->unit != BOOT_NONE && f->unit == verdict->unit &&
           (strcmp(verdict->rule, "device") == 0 || strcmp(f->rule, "slow-unit") == 0);
}

unsigned boot_besides(const struct boot_verdict *v, const struct boot_finding *out[BOOT_BESIDES_MOST])
{
    unsigned count = 0;
    for (unsigned i = 1; i < v->findings && count < BOOT_BESIDES_MOST; i++)
        if (!repeats(&v->finding[i], &v->finding[0]))
            out[count++] = &v->finding[i];
    return count;
}

static bool is_part_of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_';
}

/* True: the text has the name as a word. 1-1 is not in "usb 1-10: new device". */
static bool names_device(const char *text, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at++) {
        const bool begins = at == text || (!is_part_of_name(at[-1]) && at[-1] != ':'),
                   ends   = !is_part_of_name(at[n]) && (at[n] != ':' || at[n + 1] == ' ' || !at[n + 1]);
        if (begins && ends)
            return true;
    }
    return false;
}

unsigned boot_log_lines(const struct boot *b, const struct boot_finding *f,
                        const struct boot_text *out[BOOT_LINES_MOST])
{
    const int64_t around = 50000000;
    unsigned      count  = 0;
    for (unsigned i = 0; f && f->about && *f->about && i < b->texts && count < BOOT_LINES_MOST; i++)
        if (!b->text[i].provider && b->text[i].at >= f->start - around && b->text[i].at <= f->end + around &&
            names_device(b->text[i].text, f->about))
            out[count++] = &b->text[i];
    return count;
}
