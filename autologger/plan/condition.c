#include "autologger/plan/plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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
    snprintf(c->item, sizeof c->item, "%s", item ? item : "");
    snprintf(c->advice, sizeof c->advice, "%s", advice ? advice : "");
    snprintf(c->source_file, sizeof c->source_file, "%s", source_file ? source_file : "");
    va_list args;
    va_start(args, format);
    vsnprintf(c->reason, sizeof c->reason, format, args);
    va_end(args);
}

void condition_list_finish(struct condition_list *list)
{
    free(list->items);
    *list = (struct condition_list){0};
}
