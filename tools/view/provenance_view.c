/* provenance_view.c - see provenance_view.h. */
#include "tools/view/provenance_view.h"

#include "registry-sim/base/visible_print.h"
#include "tools/base/json_out.h"

#include <inttypes.h>

static void provenance_view_print_text(const char *label, const char *text, FILE *to)
{
    visible_printf(to, *label == '\n' ? "\n%s%s" : "%s%s", label + (*label == '\n'), text);
}

void provenance_view_print(const struct provenance *p, FILE *to)
{
    if (p->host_told) {
        provenance_view_print_text("\nhost            ", p->host, to);
        provenance_view_print_text(": ", p->system, to);
        provenance_view_print_text(", Linux ", p->release, to);
        provenance_view_print_text(" ", p->architecture, to);
        visible_printf(to, ", %" PRIu32 " processor%s, %" PRIu64 " MB", p->processors, p->processors == 1 ? "" : "s",
                       p->memory >> 20);
        provenance_view_print_text("; merged by ", p->program, to);
        fputc('\n', to);
    }
    if (p->configuration_told) {
        fprintf(to, "configuration   number %" PRIu64, p->change_number);
        provenance_view_print_text(*p->hash ? ", SHA-1 " : ", changed before the files were merged", p->hash, to);
        provenance_view_print_text(*p->boot_id ? ", of boot " : "", p->boot_id, to);
        fputc('\n', to);
    }
    for (unsigned i = 0; i < p->sessions; i++) {
        const struct provenance_session *s = &p->session[i];
        provenance_view_print_text("merged from     ", s->file, to);
        provenance_view_print_text(": session ", s->name, to);
        if (s->of && *s->of)
            provenance_view_print_text(" of a ", s->of, to);
        visible_printf(to, ", %" PRIu64 " events, %" PRIu32 " lost, %" PRIu32 " buffers lost%s", s->events,
                       s->events_lost, s->buffers_lost, s->finished ? "" : ", never finished");
        if (s->damage)
            fprintf(to, ", damaged in %" PRIu32 " places", s->damage);
        fputc('\n', to);
    }
}

static void session_json(const struct provenance_session *s, struct json *j)
{
    json_object(j, NULL);
    json_text(j, "session", s->name);
    json_text(j, "file", s->file);
    json_text(j, "of", s->of ? s->of : "");
    json_number(j, "start", s->start);
    json_number(j, "end", s->end);
    json_number(j, "mode", s->mode);
    json_number(j, "bufferSize", s->buffer_size);
    json_number(j, "buffers", s->buffers);
    json_number(j, "events", s->events);
    json_number(j, "eventsLost", s->events_lost);
    json_number(j, "buffersLost", s->buffers_lost);
    json_number(j, "damage", s->damage);
    json_flag(j, "finished", s->finished);
    json_object_end(j);
}

void provenance_view_json(const struct provenance *p, struct json *j)
{
    json_object(j, "provenance");
    if (p->host_told) {
        json_object(j, "host");
        json_text(j, "name", p->host);
        json_text(j, "system", p->system);
        json_text(j, "release", p->release);
        json_text(j, "architecture", p->architecture);
        json_number(j, "processors", p->processors);
        json_number(j, "memory", p->memory);
        json_text(j, "program", p->program);
        json_object_end(j);
    }
    if (p->configuration_told) {
        json_object(j, "configuration");
        json_text(j, "bootId", p->boot_id);
        json_number(j, "changeNumber", p->change_number);
        json_text(j, "hash", p->hash);
        json_object_end(j);
    }
    json_array(j, "sessions");
    for (unsigned i = 0; i < p->sessions; i++)
        session_json(&p->session[i], j);
    json_array_end(j);
    json_object_end(j);
}
