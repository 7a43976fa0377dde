#include "tools/view/manifest_view.h"

#include "autologger/schema/schema.h"
#include "registry-sim/base/visible_print.h"
#include "tools/base/json_out.h"

#include <string.h>

static const char *const channel_types[] = {"imported", "Admin", "Operational", "Analytic", "Debug"};

static const char *either(const char *a, const char *b) { return a ? a : b; }

static const char *manifest_view_message(const struct manifest *m, const struct manifest_item *i, int culture)
{
    return manifest_text_get(m, &i->message, culture);
}

/* ---- text ---- */

static void items_print(const struct manifest *m, const char *title, const void *at, unsigned count, size_t stride,
                        int culture, FILE *to)
{
    for (unsigned i = 0; i < count; i++) {
        const struct manifest_item *item = (const void *)((const char *)at + i * stride);
        const char                 *text = manifest_view_message(m, item, culture);
        if (!i)
            visible_printf(to, "\n%s:\n", title);
        visible_printf(to, "  0x%llx %s%s%s\n", (unsigned long long)item->value, either(item->name, "?"),
                       text ? ": " : "", either(text, ""));
    }
}

static void field_print(const struct manifest_provider *p, const struct manifest_template *t, unsigned i, int depth,
                        FILE *to)
{
    const struct manifest_field *f = &t->fields.at[i];

    visible_printf(to, "    %*s%s", depth * 2, "", f->name);
    if (f->flags & FIELD_STRUCT)
        fprintf(to, " struct");
    else
        visible_printf(to, " %s %s", schema_in_word(f->in), schema_out_word(f->out));
    if (f->flags & FIELD_COUNT_OF)
        visible_printf(to, " [%s]", t->fields.at[f->count].name);
    else if (f->flags & FIELD_FIXED_COUNT)
        fprintf(to, " [%u]", f->count);
    if (f->flags & FIELD_LENGTH_OF)
        visible_printf(to, " length %s", t->fields.at[f->length].name);
    else if (f->flags & FIELD_FIXED_LENGTH)
        fprintf(to, " length %u", f->length);
    if (f->map >= 0)
        visible_printf(to, " map %s", either(p->maps.at[f->map].item.name, "?"));
    fputc('\n', to);
    for (unsigned k = 0; f->flags & FIELD_STRUCT && k < f->members && depth < 8; k++)
        field_print(p, t, f->first + k, depth + 1, to);
}

static void event_print(const struct manifest *m, const struct manifest_provider *p, const struct manifest_event *e,
                        int culture, FILE *to)
{
    const char *text = manifest_view_message(m, &e->item, culture);

    fprintf(to, "  %u", (unsigned)e->item.value);
    if (e->version)
        fprintf(to, " version %u", e->version);
    visible_printf(to, " %s: level %u, task %u, opcode %u, channel %u, keyword 0x%llx\n",
                   either(e->item.symbol, "(no symbol)"), e->level, e->task, e->opcode, e->channel,
                   (unsigned long long)e->keyword);
    if (text)
        visible_printf(to, "    \"%s\"\n", text);
    for (unsigned i = 0; e->template_index >= 0 && i < p->templates.at[e->template_index].top_count; i++)
        field_print(p, &p->templates.at[e->template_index], i, 0, to);
}

void manifest_view_print(const struct manifest *m, int culture, FILE *to)
{
    for (unsigned i = 0; i < m->providers.count; i++) {
        const struct manifest_provider *p   = &m->providers.at[i];
        struct manifest_item            own = {.message = p->message};
        char                            guid[GUID_TEXT_SIZE];
        visible_printf(to, i ? "\n%s %s\n" : "%s %s\n", p->name, guid_format(&p->guid, guid));
        if (manifest_view_message(m, &own, culture))
            visible_printf(to, "%s\n", manifest_view_message(m, &own, culture));
        if (p->resource_file)
            visible_printf(to, "resources: %s\n", p->resource_file);
        fprintf(to, "cultures:");
        for (unsigned k = 0; k < m->cultures.count; k++)
            visible_printf(to, " %s%s", m->cultures.at[k].name, (int)k == culture ? " (shown)" : "");
        fputc('\n', to);
        for (unsigned k = 0; k < p->channels.count; k++) {
            const struct manifest_channel *c = &p->channels.at[k];
            visible_printf(to, k ? "  %u %s (%s), keyword 0x%llx\n" : "\nchannels:\n  %u %s (%s), keyword 0x%llx\n",
                           (unsigned)c->item.value, c->item.name, channel_types[c->type],
                           (unsigned long long)c->keyword);
        }
        items_print(m, "levels", p->levels.at, p->levels.count, sizeof *p->levels.at, culture, to);
        items_print(m, "tasks", p->tasks.at, p->tasks.count, sizeof *p->tasks.at, culture, to);
        items_print(m, "opcodes", p->opcodes.at, p->opcodes.count, sizeof *p->opcodes.at, culture, to);
        items_print(m, "keywords", p->keywords.at, p->keywords.count, sizeof *p->keywords.at, culture, to);
        fprintf(to, "\nevents:\n");
        for (unsigned k = 0; k < p->events.count; k++)
            event_print(m, p, &p->events.at[k], culture, to);
    }
}

/* ---- JSON ---- */

static void items_json(const struct manifest *m, const char *name, const void *at, unsigned count, size_t stride,
                       int culture, struct json *j)
{
    json_array(j, name);
    for (unsigned i = 0; i < count; i++) {
        const struct manifest_item *item = (const void *)((const char *)at + i * stride);
        json_object(j, NULL);
        json_text(j, "name", item->name);
        json_number(j, "value", item->value);
        json_text(j, "symbol", item->symbol);
        json_text(j, "message", manifest_view_message(m, item, culture));
        json_object_end(j);
    }
    json_array_end(j);
}

static void field_json(const struct manifest_provider *p, const struct manifest_template *t, unsigned i, int depth,
                       struct json *j)
{
    const struct manifest_field *f = &t->fields.at[i];

    json_object(j, NULL);
    json_text(j, "name", f->name);
    if (f->flags & FIELD_COUNT_OF)
        json_text(j, "count", t->fields.at[f->count].name);
    else if (f->flags & FIELD_FIXED_COUNT)
        json_number(j, "count", f->count);
    if (f->flags & FIELD_LENGTH_OF)
        json_text(j, "length", t->fields.at[f->length].name);
    else if (f->flags & FIELD_FIXED_LENGTH)
        json_number(j, "length", f->length);
    if (f->map >= 0)
        json_text(j, "map", p->maps.at[f->map].item.name);
    if (f->flags & FIELD_STRUCT) {
        json_array(j, "fields");
        for (unsigned k = 0; k < f->members && depth < 8; k++)
            field_json(p, t, f->first + k, depth + 1, j);
        json_array_end(j);
    } else {
        json_text(j, "inType", schema_in_word(f->in));
        json_text(j, "outType", schema_out_word(f->out));
    }
    json_object_end(j);
}

static void events_json(const struct manifest *m, const struct manifest_provider *p, int culture, struct json *j)
{
    json_array(j, "events");
    for (unsigned k = 0; k < p->events.count; k++) {
        const struct manifest_event *e = &p->events.at[k];
        json_object(j, NULL);
        json_number(j, "id", e->item.value);
        json_number(j, "version", e->version);
        json_text(j, "symbol", e->item.symbol);
        json_number(j, "channel", e->channel);
        json_number(j, "level", e->level);
        json_number(j, "task", e->task);
        json_number(j, "opcode", e->opcode);
        json_number(j, "keyword", e->keyword);
        json_text(j, "message", manifest_view_message(m, &e->item, culture));
        json_array(j, "fields");
        for (unsigned i = 0; e->template_index >= 0 && i < p->templates.at[e->template_index].top_count; i++)
            field_json(p, &p->templates.at[e->template_index], i, 0, j);
        json_array_end(j);
        json_object_end(j);
    }
    json_array_end(j);
}

void manifest_view_json(const struct manifest *m, int culture, struct json *j)
{
    for (unsigned i = 0; i < m->providers.count; i++) {
        const struct manifest_provider *p   = &m->providers.at[i];
        struct manifest_item            own = {.message = p->message};
        char                            guid[GUID_TEXT_SIZE];
        json_object(j, NULL);
        json_text(j, "name", p->name);
        json_text(j, "guid", guid_format(&p->guid, guid));
        json_text(j, "symbol", p->symbol);
        json_text(j, "message", manifest_view_message(m, &own, culture));
        json_text(j, "culture", culture >= 0 ? m->cultures.at[culture].name : NULL);
        items_json(m, "channels", p->channels.at, p->channels.count, sizeof *p->channels.at, culture, j);
        items_json(m, "levels", p->levels.at, p->levels.count, sizeof *p->levels.at, culture, j);
        items_json(m, "tasks", p->tasks.at, p->tasks.count, sizeof *p->tasks.at, culture, j);
        items_json(m, "opcodes", p->opcodes.at, p->opcodes.count, sizeof *p->opcodes.at, culture, j);
        items_json(m, "keywords", p->keywords.at, p->keywords.count, sizeof *p->keywords.at, culture, j);
        events_json(m, p, culture, j);
        json_object_end(j);
    }
}

/* ---- a manifest to begin with ---- */

static void manifest_view_escaped(const char *s, FILE *to) /* text in an example's XML */
{
    for (; *s; s++) {
        const char *as = *s == '&' ? "&amp;" : *s == '<' ? "&lt;" : *s == '"' ? "&quot;" : NULL;
        if (as)
            fputs(as, to); /* visible: an entity */
        else
            fputc(*s, to);
    }
}

void manifest_template_print(const char *provider, FILE *to)
{
    struct guid guid = guid_from_name(provider); /* as for TraceLogging: a configuration may then give the name alone */
    char        text[GUID_TEXT_SIZE], symbol[128];
    size_t      n = 0;

    for (; provider[n] && n < sizeof symbol - 1; n++) {
        char c    = provider[n];
        symbol[n] = (char)(c >= 'a' && c <= 'z'                                    ? c - 32
                           : (c >= 'A' && c <= 'Z') || (n && c >= '0' && c <= '9') ? c
                                                                                   : '_');
    }
    symbol[n] = 0;
    fprintf(
        to,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<instrumentationManifest xmlns=\"http://schemas.microsoft.com/win/2004/08/events\"\n"
        "    xmlns:win=\"http://manifests.microsoft.com/win/2004/08/windows/events\" xmlns:xs=\"http://www.w3.org/2001/XMLSchema\">\n"
        "  <instrumentation>\n    <events>\n      <!-- 1: the provider -->\n      <provider name=\"");
    manifest_view_escaped(provider, to);
    visible_printf(to, "\" guid=\"%s\" symbol=\"%s\">\n", guid_format(&guid, text), symbol);
    visible_printf(
        to,
        "        <!-- 2: tasks are the parts of the program, opcodes what happens in them -->\n"
        "        <tasks>\n          <task name=\"Request\" value=\"1\" symbol=\"%s_TASK_REQUEST\"/>\n        </tasks>\n"
        "        <opcodes>\n          <opcode name=\"Retry\" value=\"10\" symbol=\"%s_OPCODE_RETRY\"/>\n        </opcodes>\n"
        "        <!-- 3: keywords choose among the events, a bit each -->\n"
        "        <keywords>\n          <keyword name=\"Network\" mask=\"0x1\" symbol=\"%s_KEYWORD_NETWORK\"/>\n        </keywords>\n"
        "        <!-- 4: channels are for readers: Admin, Operational, Analytic, Debug -->\n        <channels>\n          <channel name=\"",
        symbol, symbol, symbol);
    manifest_view_escaped(provider, to);
    visible_printf(
        to,
        "/Analytic\" chid=\"Analytic\" type=\"Analytic\" symbol=\"%s_CHANNEL_ANALYTIC\"/>\n        </channels>\n"
        "        <!-- 5: templates are the data of events -->\n"
        "        <templates>\n          <template tid=\"Request\">\n            <data name=\"url\" inType=\"win:AnsiString\" outType=\"win:Utf8\"/>\n"
        "            <data name=\"status\" inType=\"win:UInt32\"/>\n          </template>\n        </templates>\n"
        "        <!-- 6: the events -->\n        <events>\n",
        symbol);
    static const char *const events[][3] = {
        {"1", "Start", "win:Start"}, {"2", "Stop", "win:Stop"}, {"3", "Retry", "Retry"}};
    for (int i = 0; i < 3; i++)
        visible_printf(
            to,
            "          <event value=\"%s\" symbol=\"Request%s\" template=\"Request\" channel=\"Analytic\" level=\"win:Informational\"\n"
            "              task=\"Request\" opcode=\"%s\" keywords=\"Network\" message=\"$(string.Request.%s)\"/>\n",
            events[i][0], events[i][1], events[i][2], events[i][1]);
    fprintf(to, "        </events>\n      </provider>\n    </events>\n  </instrumentation>\n"
                "  <localization>\n    <resources culture=\"en-US\">\n      <stringTable>\n"
                "        <string id=\"Request.Start\" value=\"A request for %%1 begins.\"/>\n"
                "        <string id=\"Request.Stop\" value=\"The request for %%1 ended with %%2.\"/>\n"
                "        <string id=\"Request.Retry\" value=\"The request for %%1 is tried again after %%2.\"/>\n"
                "      </stringTable>\n    </resources>\n  </localization>\n</instrumentationManifest>\n");
}
