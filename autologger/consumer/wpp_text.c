#include "autologger/consumer/wpp_text.h"

#include "autologger/schema/message_format.h"
#include "autologger/schema/tmf.h"
#include "autologger/schema/value.h"
#include "registry-sim/win32/filetime.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum { WPP_WORD = 256, WPP_VARIABLES = 9 };

void wpp_text_time(uint64_t filetime, struct text *out)
{
    char iso[FILETIME_TEXT_SIZE];
    int  year, month, day, hour, minute, second, part;
    filetime_format(filetime, iso);
    if (sscanf(iso, "%d-%d-%dT%d:%d:%d.%3d", &year, &month, &day, &hour, &minute, &second, &part) == 7)
        text_printf(out, "%02d/%02d/%04d-%02d:%02d:%02d.%03d", month, day, year, hour, minute, second, part);
}

void wpp_text_module(const struct wpp_facts *f, struct text *out)
{
    const char *name = f->schema ? f->schema->provider->name : f->provider;
    if (name)
        text_add(out, name, f->schema && f->schema->formatted ? strcspn(name, ":") : strlen(name));
}

/* A word of %!FUNC!. */
static void wpp_text_named(const struct wpp_facts *f, const char *name, size_t size, struct text *out)
{
    static const char *const words[] = {"FUNC", "FLAGS", "LEVEL", "COMPNAME", "SUBCOMP"};
    char                     value[WPP_WORD];

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == size && strncmp(words[i], name, size) == 0) {
            tmf_attribute(f->schema ? f->schema->attributes : NULL, words[i], value, sizeof value);
            text_add(out, value, strlen(value));
        }
}

/* %1 to %9 with a format. */
static void wpp_text_variable(const struct wpp_facts *f, unsigned n, const char *spec, size_t size, struct text *out)
{
    const uint32_t            numbers[] = {[3] = f->thread_id, [5] = f->kernel_time, [6] = f->user_time,
                                           [7] = f->sequence,  [8] = f->process_id,  [9] = f->cpu};
    struct text               shown     = {0};
    const struct schema_field number = {.kind = VALUE_U32}, text = {.kind = VALUE_ANSI};
    const struct value        value   = {.data = (const uint8_t *)&numbers[n], .size = sizeof numbers[n]};
    const bool                textual = n == 1 || n == 2 || n == 4;

    if (n == 1)
        wpp_text_module(f, &shown);
    else if (n == 2 && f->schema && f->schema->name)
        text_add(&shown, f->schema->name, strlen(f->schema->name));
    else if (n == 4)
        wpp_text_time(f->filetime, &shown);
    else if (!textual)
        text_unsigned(&shown, numbers[n]);
    message_format(spec, size, textual ? &text : &number, &value, text_get(&shown), shown.length, out);
    text_finish(&shown);
}

void wpp_text_prefix(const char *format, const struct wpp_facts *f, struct text *out)
{
    const char *own = getenv("TRACE_FORMAT_PREFIX"), *p = format ? format : own && *own ? own : WPP_TEXT_PREFIX;

    p += strncmp(p, "%0", 2) == 0 ? 2 : 0;
    while (*p) {
        const size_t plain = strcspn(p, "%");
        text_add(out, p, plain);
        p += plain;
        if (!*p)
            return;
        const char *end = p[1] == '!' ? strchr(p + 2, '!') : NULL;
        if (end) {
            wpp_text_named(f, p + 2, (size_t)(end - p - 2), out);
            p = end + 1;
        } else if (p[1] >= '1' && p[1] <= '9' && !isdigit((unsigned char)p[2])) {
            const unsigned n    = (unsigned)(p[1] - '0');
            const char    *stop = p[2] == '!' ? strchr(p + 3, '!') : NULL;
            wpp_text_variable(f, n, p + 3, stop ? (size_t)(stop - p - 3) : 0, out);
            p = stop ? stop + 1 : p + 2;
        } else {
            text_add(out, p[1] == '%' ? "%" : p, 1);
            p += p[1] == '%' ? 2 : 1;
        }
    }
}
