/* json_out.c - see json_out.h. */
#include "tools/base/json_out.h"

#include "registry-sim/base/visible_print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_gen.h>

struct json {
    yajl_gen gen;
    FILE    *to; /* NULL: `gen` is the caller's */
};

static void json_out_put(void *ctx, const char *text, size_t size) { visible_json(ctx, text, size); }

struct json *json_create(FILE *to, bool pretty)
{
    struct json *j = calloc(1, sizeof *j);
    if (!j)
        return NULL;
    j->to  = to;
    j->gen = yajl_gen_alloc(NULL);
    if (!j->gen) {
        free(j);
        return NULL;
    }
    yajl_gen_config(j->gen, yajl_gen_print_callback, json_out_put, to);
    yajl_gen_config(j->gen, yajl_gen_beautify, pretty ? 1 : 0);
    yajl_gen_config(j->gen, yajl_gen_indent_string, "  ");
    yajl_gen_config(j->gen, yajl_gen_validate_utf8, 1);
    return j;
}

struct json *json_within(struct yajl_gen_t *gen)
{
    struct json *j = calloc(1, sizeof *j);
    if (j)
        j->gen = gen;
    return j;
}

void json_destroy(struct json *j)
{
    if (j && j->to) {
        yajl_gen_free(j->gen);
        fflush(j->to);
    }
    free(j);
}

static void json_out_string(struct json *j, const char *text)
{
    size_t size = strlen(text);
    if (yajl_gen_string(j->gen, (const unsigned char *)text, size) != yajl_gen_invalid_string)
        return;
    char *clean = strdup(text);
    if (!clean)
        return;
    for (char *p = clean; *p; p++)
        if (*p & 0x80)
            *p = '?';
    yajl_gen_string(j->gen, (const unsigned char *)clean, size);
    free(clean);
}

static void name_put(struct json *j, const char *name)
{
    if (name)
        json_out_string(j, name);
}

void json_object(struct json *j, const char *name)
{
    name_put(j, name);
    yajl_gen_map_open(j->gen);
}
void json_array(struct json *j, const char *name)
{
    name_put(j, name);
    yajl_gen_array_open(j->gen);
}
void json_object_end(struct json *j) { yajl_gen_map_close(j->gen); }
void json_array_end(struct json *j) { yajl_gen_array_close(j->gen); }
void json_text(struct json *j, const char *name, const char *value)
{
    name_put(j, name);
    if (value)
        json_out_string(j, value);
    else
        yajl_gen_null(j->gen);
}
void json_number(struct json *j, const char *name, uint64_t value)
{
    char text[24];
    int  n = snprintf(text, sizeof text, "%" PRIu64, value);
    name_put(j, name);
    yajl_gen_number(j->gen, text, (size_t)n);
}
void json_real(struct json *j, const char *name, double value)
{
    char text[40];
    int  n = snprintf(text, sizeof text, "%.4g", value);
    name_put(j, name);
    yajl_gen_number(j->gen, text, (size_t)n);
}
void json_flag(struct json *j, const char *name, bool value)
{
    name_put(j, name);
    yajl_gen_bool(j->gen, value);
}
