#include "autologger/plan/plan.h"

#include "registry-sim/win32/visible.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Conditions quote names that any user chose, and are shown in many places. */
static void condition_take(char *to, size_t size, const char *text)
{
    visible_escape(text ? text : "", text ? strlen(text) : 0, to, size);
}

void condition_add(struct condition_list *list, wstatus number, bool note, const char *item, const char *source_file,
                   uint32_t source_line, const char *advice, const char *format, ...)
{
    if (list->count == list->capacity) {
        unsigned          capacity = list->capacity ? 2 * list->capacity : 8;
        struct condition *items    = realloc(list->items, capacity * sizeof *items);
        if (!items) {
            list->dropped++;
            return;
        }
        list->items    = items;
        list->capacity = capacity;
    }
    struct condition *c = &list->items[list->count++];
    *c                  = (struct condition){.number = number, .note = note, .source_line = source_line};
    condition_take(c->item, sizeof c->item, item);
    condition_take(c->advice, sizeof c->advice, advice);
    condition_take(c->source_file, sizeof c->source_file, source_file);
    char    text[2 * sizeof c->reason];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    condition_take(c->reason, sizeof c->reason, text);
}

void condition_list_finish(struct condition_list *list)
{
    free(list->items);
    *list = (struct condition_list){0};
}
