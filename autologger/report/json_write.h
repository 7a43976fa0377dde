/* json_write.h - members of a JSON document by yajl: short names for frequent calls. Times are milliseconds.
 * Threads: one. Not for: the meaning of the members. Private to this folder. */
#ifndef AUTOLOGGER_REPORT_JSON_WRITE_H
#define AUTOLOGGER_REPORT_JSON_WRITE_H
#include "autologger/schema/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <yajl/yajl_gen.h>

static inline void jw_name(yajl_gen g, const char *name)
{
    if (name)
        yajl_gen_string(g, (const unsigned char *)name, strlen(name));
}
static inline void jw_open(yajl_gen g, const char *name) { jw_name(g, name), yajl_gen_map_open(g); }
static inline void jw_close(yajl_gen g) { yajl_gen_map_close(g); }
static inline void jw_list(yajl_gen g, const char *name) { jw_name(g, name), yajl_gen_array_open(g); }
static inline void jw_end(yajl_gen g) { yajl_gen_array_close(g); }
static inline void jw_text(yajl_gen g, const char *name, const char *value)
{
    struct text clean = {0};
    jw_name(g, name);
    if (value) {
        text_utf8(&clean, value, strlen(value));
        yajl_gen_string(g, (const unsigned char *)text_get(&clean), clean.length);
        text_finish(&clean);
    } else {
        yajl_gen_null(g);
    }
}
static inline void jw_int(yajl_gen g, const char *name, int64_t value) { jw_name(g, name), yajl_gen_integer(g, value); }
static inline void jw_flag(yajl_gen g, const char *name, bool value) { jw_name(g, name), yajl_gen_bool(g, value); }
/* With at most `digits` decimals, without trailing zeros. */
static inline void jw_real(yajl_gen g, const char *name, double value, int digits)
{
    char text[64];
    int  n = snprintf(text, sizeof text, "%.*f", digits, isfinite(value) ? value : 0);
    while (digits && n > 1 && text[n - 1] == '0')
        n--;
    if (text[n - 1] == '.')
        n--;
    if (n == 2 && text[0] == '-' && text[1] == '0')
        text[0] = '0', n = 1;
    jw_name(g, name);
    yajl_gen_number(g, text, (size_t)n);
}
static inline void jw_ms(yajl_gen g, const char *name, int64_t ns) { jw_real(g, name, (double)ns / 1e6, 3); }
#endif
