/* outcome_view.c - see outcome_view.h. */
#include "tools/view/outcome_view.h"

#include "tools/base/store_access.h"

#include <limits.h>
#include <string.h>

const char *outcome_status(wstatus status, char out[OUTCOME_STATUS_SIZE])
{
    if (status)
        snprintf(out, OUTCOME_STATUS_SIZE, "%u %s", status, wstatus_name(status));
    else
        snprintf(out, OUTCOME_STATUS_SIZE, "0");
    return out;
}

/* The advice: after "Do: " in the reason, else that of the Status; *length is the length of the reason before it. */
static const char *advice_of(const struct outcome *o, int *length)
{
    const char *advice = strstr(o->reason, " Do: ");
    *length            = advice ? (int)(advice - o->reason) : (int)strlen(o->reason);
    if (advice && *length && o->reason[*length - 1] == '.')
        --*length;
    return advice ? advice + 5 : wstatus_advice(o->status);
}

static void lines(const struct outcome *o, bool named, struct text_table *t)
{
    bool at = false;
    if (o->status) {
        int         length;
        const char *advice = advice_of(o, &length);
        text_table_line(t, "    why: %.*s%s%s%s", o->reason[0] ? length : INT_MAX,
                        o->reason[0] ? o->reason : wstatus_text(o->status), named ? " (" : "",
                        named ? wstatus_name(o->status) : "", named ? ")" : "");
        text_table_line(t, "    do:  %s", advice);
    } else if (o->reason[0]) {
        text_table_line(t, "    why: %s", o->reason);
    }
    for (unsigned i = 0; i < o->conditions->count; i++) {
        const struct condition *c   = &o->conditions->items[i];
        bool                    own = strstr(c->reason, " Do: ") || !c->advice[0];
        text_table_line(t, "    %s %u%s%s: %s%s%s%s", c->note ? "note" : "condition", c->number, c->item[0] ? " " : "",
                        c->item, c->reason, own ? "" : sentence_end(c->reason),
                        own ? "" : " Do: ", own ? "" : c->advice);
        if (!c->note && c->source_line)
            text_table_line(t, "        at %s:%u", c->source_file, c->source_line);
    }
    if (o->conditions->dropped)
        text_table_line(t, "    condition %u: %u more condition%s did not fit in memory", W_OUTOFMEMORY,
                        o->conditions->dropped, plural(o->conditions->dropped));
    at = o->status && o->source_file[0];
    if (at && o->source_line)
        text_table_line(t, "    at:  %s:%u", o->source_file, o->source_line);
    else if (at)
        text_table_line(t, "    at:  %s", o->source_file);
}

void outcome_lines(const struct outcome *o, struct text_table *t) { lines(o, false, t); }
void outcome_lines_named(const struct outcome *o, struct text_table *t) { lines(o, true, t); }

void outcome_json(const struct outcome *o, struct json *j)
{
    char        reason[sizeof(struct reason)];
    int         length;
    const char *advice = advice_of(o, &length);
    snprintf(reason, sizeof reason, "%.*s", length, o->reason);
    json_text(j, "result", o->result);
    json_number(j, "status", o->status);
    json_text(j, "status_name", wstatus_name(o->status));
    json_text(j, "reason", reason);
    json_text(j, "advice", o->status ? advice : "");
    json_text(j, "file", o->source_file);
    json_number(j, "line", o->source_line);
    json_array(j, "conditions");
    for (unsigned i = 0; i < o->conditions->count; i++) {
        const struct condition *c = &o->conditions->items[i];
        json_object(j, NULL);
        json_number(j, "number", c->number);
        json_flag(j, "note", c->note);
        json_text(j, "item", c->item);
        json_text(j, "reason", c->reason);
        json_text(j, "advice", c->advice);
        json_text(j, "file", c->source_file);
        json_number(j, "line", c->source_line);
        json_object_end(j);
    }
    json_array_end(j);
}
