/* session_view.c - see session_view.h. One table drives text and JSON. */
#include "tools/view/session_view.h"

#include "autologger/kernel/tables/flags.h"
#include "autologger/wire/etl.h"
#include "autologger/wire/state.h"
#include "registry-sim/base/visible_print.h"
#include "registry-sim/win32/wstatus.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

struct session_view_field {
    const char *json, *text;
    size_t      offset;
    bool        wide;
};
#define NARROW(member, text) \
    { \
#member, text, offsetof(struct ctl_session_info, member), false \
    }
#define WIDE(member, text) \
    { \
#member, text, offsetof(struct ctl_session_info, member), true \
    }
static const struct session_view_field session_view_fields[] = {
    NARROW(logger_id, "logger id"),
    NARROW(log_file_mode, "log file mode"),
    NARROW(clock_type, "clock type"),
    NARROW(buffer_kb, "buffer size, KB"),
    NARROW(minimum_buffers, "minimum buffers"),
    NARROW(maximum_buffers, "maximum buffers"),
    NARROW(number_of_buffers, "buffers now"),
    NARROW(free_buffers, "free buffers"),
    NARROW(buffers_written, "buffers written"),
    NARROW(log_buffers_lost, "log buffers lost"),
    NARROW(realtime_buffers_lost, "real-time buffers lost"),
    NARROW(logger_thread_id, "logger thread"),
    NARROW(flush_timer, "flush timer, s"),
    NARROW(flush_threshold, "flush threshold, buffers"),
    NARROW(max_file_size, "maximum file size, MB"),
    NARROW(provider_count, "providers"),
    WIDE(events_written, "events written"), /* SESSION_WRITTEN_NOTE */
    WIDE(overwritten, "of them overwritten"),
    WIDE(lost_ring, "lost: ring"),
    WIDE(lost_memory, "lost: memory bound"),
    WIDE(lost_conversion, "lost: conversion"),
    WIDE(lost_file, "lost: file"),
    WIDE(withheld, "lost: withheld by the kernel"),
    WIDE(filtered, "kept out by filters"),
    WIDE(attempted_kernel, "kernel records"),
    WIDE(corrupt, "damaged records"),
    WIDE(bytes_written, "bytes written"),
    WIDE(peak_bytes, "most memory in use, bytes"),
    WIDE(late_events, "late events"),
    NARROW(clock_error_ns, "clock error, ns"),
};

static uint64_t field_get(const struct ctl_session_info *s, const struct session_view_field *f)
{
    uint32_t narrow;
    uint64_t wide;
    memcpy(&narrow, (const char *)s + f->offset, sizeof narrow);
    if (!f->wide)
        return narrow;
    memcpy(&wide, (const char *)s + f->offset, sizeof wide);
    return wide;
}

const char *session_file_text(const struct ctl_session_info *s)
{
    return s->log_path[0]                          ? s->log_path
           : s->log_file_mode & ETL_MODE_REAL_TIME ? "(real time: autologger watch)"
           : s->log_file_mode & ETL_MODE_BUFFERING ? "(memory: autologger snapshot)"
                                                   : "(none)";
}

const char *session_state_name(uint32_t state)
{
    static const char *const names[] = {"starting", "in memory", "writing",
                                        "stopping", "stopped",   "stopped by an error"};
    return state < sizeof names / sizeof names[0] ? names[state] : "unknown";
}

static void events_text(const struct ctl_session_info *s, char *flags, size_t flags_size, char *stacks,
                        size_t stacks_size)
{
    group_mask_format(s->group_mask, flags, flags_size);
    hooks_format(s->hooks, s->hook_count < HOOK_MAX ? s->hook_count : HOOK_MAX, stacks, stacks_size);
}

void session_view_print(const struct ctl_session_info *s, FILE *to)
{
    char guid[GUID_TEXT_SIZE];
    visible_printf(to, "%-26s %s%s\n", "session:", s->name, s->kernel ? " (kernel)" : "");
    visible_printf(to, "%-26s %s\n", "GUID:", guid_format(&s->guid, guid));
    visible_printf(to, "%-26s %s\n", "state:", session_state_name(s->state));
    visible_printf(to, "%-26s %u %s\n", "Status:", s->status, wstatus_name(s->status));
    if (s->status)
        visible_printf(to, "%-26s %s. Do: %s\n", "", wstatus_text(s->status), wstatus_advice(s->status));
    visible_printf(to, "%-26s %s\n", "file:", session_file_text(s));
    if (!s->kernel && s->processes.kind == STATE_WHOLE)
        visible_printf(to, "%-26s %u with a file each; %u got none\n", "processes:", s->processes.begun,
                       s->processes.refused);
    if (s->kernel) {
        char flags[2048], stacks[HOOK_MAX * 32];
        events_text(s, flags, sizeof flags, stacks, sizeof stacks);
        visible_printf(to, "%-26s %s\n", "kernel flags:", *flags ? flags : "(none)");
        visible_printf(to, "%-26s %s\n", "stacks:", *stacks ? stacks : "(none)");
    }
    for (size_t i = 0; i < sizeof session_view_fields / sizeof session_view_fields[0]; i++) {
        char label[40];
        snprintf(label, sizeof label, "%s:", session_view_fields[i].text);
        visible_printf(to, "%-26s %" PRIu64 "\n", label, field_get(s, &session_view_fields[i]));
    }
    visible_printf(to, "%-26s %" PRIu64 "\n", "events lost:", ctl_events_lost(s));
    visible_printf(to, "(%s)\n", SESSION_WRITTEN_NOTE);
}

static void members_json(const struct ctl_session_info *s, struct json *j)
{
    char guid[GUID_TEXT_SIZE];
    json_text(j, "name", s->name);
    json_text(j, "guid", guid_format(&s->guid, guid));
    json_flag(j, "kernel", s->kernel != 0);
    json_text(j, "state", session_state_name(s->state));
    json_number(j, "status", s->status);
    json_text(j, "status_name", wstatus_name(s->status));
    json_text(j, "log_path", s->log_path);
    if (!s->kernel && s->processes.kind == STATE_WHOLE) {
        json_number(j, "processes", s->processes.begun);
        json_number(j, "processes_refused", s->processes.refused);
    }
    if (s->kernel) {
        char flags[2048], stacks[HOOK_MAX * 32];
        events_text(s, flags, sizeof flags, stacks, sizeof stacks);
        json_text(j, "kernel_flags", flags);
        json_text(j, "stacks", stacks);
        json_number(j, "updates", s->updates);
    }
    for (size_t i = 0; i < sizeof session_view_fields / sizeof session_view_fields[0]; i++)
        json_number(j, session_view_fields[i].json, field_get(s, &session_view_fields[i]));
    json_number(j, "events_lost", ctl_events_lost(s));
}

void session_view_json(const struct ctl_session_info *s, const struct session_users *users,
                       const struct session_conditions *conditions, const char *name, struct json *j)
{
    json_object(j, name);
    members_json(s, j);
    if (users)
        session_users_json(s, users, j);
    if (conditions)
        session_conditions_json(conditions, j);
    json_object_end(j);
}

static void enabled_json(const struct session_enabled *e, struct json *j)
{
    char guid[GUID_TEXT_SIZE];
    json_object(j, NULL);
    json_text(j, "guid", guid_format(&e->guid, guid));
    json_text(j, "name", e->name);
    json_number(j, "level", e->terms.level);
    json_number(j, "match_any", e->terms.any);
    json_number(j, "match_all", e->terms.all);
    json_number(j, "property", e->terms.property);
    json_text(j, "filters", e->terms.filters);
    json_object_end(j);
}

static void enabled_print(const struct session_enabled *e)
{
    char guid[GUID_TEXT_SIZE];
    visible_printf(stdout, "%-26s %s (level %u, keywords 0x%" PRIx64 "%s%s)\n",
                   "enables:", *e->name ? e->name : guid_format(&e->guid, guid), e->terms.level, e->terms.any,
                   *e->terms.filters ? "; " : "", e->terms.filters);
}

static void session_view_losses_print(const struct ctl_session_info *s, const struct session_users *users)
{
    struct condition loss;
    char             misuse[400];
    for (unsigned i = 0; i < users->count; i++) {
        if (user_loss(s, &users->row[i], &loss))
            visible_printf(stdout, "condition %u %s: %s. Do: %s\n", loss.number, loss.item, loss.reason, loss.advice);
        if (user_misuse(&users->row[i], misuse, sizeof misuse))
            visible_printf(stdout, "note %u uid %u: %s. Do: look at the programs of this user\n", W_INVALID_DATA,
                           users->row[i].uid, misuse);
    }
}

void session_view_show_enabled(const struct ctl_session_info *s, const struct session_users *users,
                               const struct session_conditions *conditions, const struct session_enabled *enabled,
                               unsigned count, const struct condition *notes, unsigned note_count, bool as_json)
{
    struct json *j = as_json ? json_create(stdout, true) : NULL;
    if (!as_json)
        session_view_print(s, stdout);
    for (unsigned i = 0; i < count && !as_json; i++)
        enabled_print(&enabled[i]);
    for (unsigned i = 0; i < note_count && !as_json; i++)
        visible_printf(stdout, "note %u %s: %s. Do: %s\n", notes[i].number, notes[i].item, notes[i].reason,
                       notes[i].advice);
    if (!j) {
        session_view_losses_print(s, users);
        session_conditions_print(conditions, stdout);
        return;
    }
    json_object(j, NULL);
    members_json(s, j);
    session_users_json(s, users, j);
    session_conditions_json(conditions, j);
    json_array(j, "enables");
    for (unsigned i = 0; i < count; i++)
        enabled_json(&enabled[i], j);
    json_array_end(j);
    json_array(j, "notes");
    for (unsigned i = 0; i < note_count; i++) {
        json_object(j, NULL);
        json_number(j, "number", notes[i].number);
        json_text(j, "provider", notes[i].item);
        json_text(j, "reason", notes[i].reason);
        json_text(j, "advice", notes[i].advice);
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
    json_destroy(j);
}

void session_view_show(const struct ctl_session_info *s, const struct session_conditions *conditions, bool as_json)
{
    if (!as_json) {
        session_view_print(s, stdout);
        return;
    }
    struct json *j = json_create(stdout, true);
    if (j)
        session_view_json(s, NULL, conditions, NULL, j);
    json_destroy(j);
}

static const char *session_view_user_text(uint32_t uid, char text[32])
{
    if (uid == UINT32_MAX)
        snprintf(text, 32, "other users");
    else
        snprintf(text, 32, "uid %" PRIu32, uid);
    return text;
}

void session_refused_print(const struct ctl_state_answer *state, FILE *to)
{
    char     text[32];
    unsigned count = 0;
    for (size_t i = 0; i < sizeof state->refused / sizeof *state->refused && state->refused[i].programs; i++, count++)
        visible_printf(to, "not recorded: %" PRIu32 " program%s of %s: the daemon had no place for %s\n",
                       state->refused[i].programs, state->refused[i].programs == 1 ? "" : "s",
                       session_view_user_text(state->refused[i].uid, text),
                       state->refused[i].programs == 1 ? "it" : "them");
    if (count && state->places < state->places_most)
        fprintf(
            to,
            "    do:  allow the daemon more open files (LimitNOFILE= of autologgerd.service, or ulimit -n): it has %" PRIu32
            " places, and could have %" PRIu32 "\n",
            state->places, state->places_most);
    else if (count)
        fprintf(to,
                "    do:  run fewer programs with providers at one time (%" PRIu32
                " places, half of them for one user); those that wait get a place within 5 s\n",
                state->places);
}

void session_refused_json(const struct ctl_state_answer *state, struct json *j)
{
    json_number(j, "places", state->places);
    json_array(j, "refused");
    for (size_t i = 0; i < sizeof state->refused / sizeof *state->refused && state->refused[i].programs; i++) {
        json_object(j, NULL);
        if (state->refused[i].uid != UINT32_MAX)
            json_number(j, "uid", state->refused[i].uid);
        json_number(j, "programs", state->refused[i].programs);
        json_object_end(j);
    }
    json_array_end(j);
}
