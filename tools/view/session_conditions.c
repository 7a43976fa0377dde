/* session_conditions.c - see session_conditions.h. */
#include "tools/view/session_conditions.h"

#include "registry-sim/base/visible_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

wstatus session_conditions_take(struct control_client *c, const char *session, struct session_conditions *out,
                                struct reason *why)
{
    *out       = (struct session_conditions){0};
    wstatus st = control_conditions(c, session, &out->row, &out->count, why);
    return st == W_NOT_SUPPORTED || st == W_WMI_INSTANCE_NOT_FOUND ? W_SUCCESS : st;
}

void session_conditions_finish(struct session_conditions *conditions)
{
    free(conditions->row);
    *conditions = (struct session_conditions){0};
}

bool session_condition_line(const struct ctl_condition_row *row, char *text, size_t size)
{
    snprintf(text, size, "%s %u %s: %s. Do: %s", row->note ? "note" : "condition", row->number, row->item, row->reason,
             row->advice);
    return !row->note || strcmp(row->item, "users") != 0;
}

void session_conditions_print(const struct session_conditions *conditions, FILE *to)
{
    char text[sizeof(struct ctl_condition_row) + 32];
    for (unsigned i = 0; i < conditions->count; i++)
        if (session_condition_line(&conditions->row[i], text, sizeof text))
            visible_printf(to, "%s\n", text);
}

void session_conditions_json(const struct session_conditions *conditions, struct json *j)
{
    json_array(j, "conditions");
    for (unsigned i = 0; i < conditions->count; i++) {
        const struct ctl_condition_row *c = &conditions->row[i];
        json_object(j, NULL);
        json_number(j, "number", c->number);
        json_flag(j, "note", c->note);
        json_text(j, "item", c->item);
        json_text(j, "reason", c->reason);
        json_text(j, "advice", c->advice);
        json_object_end(j);
    }
    json_array_end(j);
}
