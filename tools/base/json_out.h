/* json_out.h - JSON on stdout by yajl. `name` is a value's name in the enclosing object (NULL inside an array).
 * Threads: one. Ownership: create/destroy; destroy ends the line. In text that is not UTF-8 all bytes above 0x7F become
 * '?'. */
#ifndef TOOLS_JSON_OUT_H
#define TOOLS_JSON_OUT_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json;

struct json *json_create(FILE *to, bool pretty); /* NULL when out of memory */
/* Adds members to an object that the caller writes with `gen`; json_destroy leaves the object open. */
struct yajl_gen_t;
struct json *json_within(struct yajl_gen_t *gen);
void         json_destroy(struct json *j);
void         json_object(struct json *j, const char *name);
void         json_array(struct json *j, const char *name);
void         json_object_end(struct json *j);
void         json_array_end(struct json *j);
void         json_text(struct json *j, const char *name, const char *value); /* NULL value: null */
void         json_number(struct json *j, const char *name, uint64_t value);
void         json_real(struct json *j, const char *name, double value);
void         json_flag(struct json *j, const char *name, bool value);
#endif
