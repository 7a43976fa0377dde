#include "autologger/boot/explain.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NOTE = true, FAULT = false };

const char *explain_level(uint8_t level, char out[24])
{
    static const char *const names[] = {"all", "Critical", "Error", "Warning", "Informational", "Verbose"};
    if (level < sizeof names / sizeof *names)
        snprintf(out, 24, "%u (%s)", level, names[level]);
    else
        snprintf(out, 24, "%u", level);
    return out;
}

/* Starts an explanation; the advice is set by advise(). Returns true for the callers to return. */
static bool explain_say(struct condition *c, wstatus number, bool note, const char *item, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
static bool explain_say(struct condition *c, wstatus number, bool note, const char *item, const char *format, ...)
{
    va_list args;
    *c = (struct condition){.number = number, .note = note};
    snprintf(c->item, sizeof c->item, "%s", item);
    va_start(args, format);
    vsnprintf(c->reason, sizeof c->reason, format, args);
    va_end(args);
    return true;
}

static void advise(struct condition *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void advise(struct condition *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(c->advice, sizeof c->advice, format, args);
    va_end(args);
}

static const char *plural(uint64_t n) { return n == 1 ? "" : "s"; }

/* ---- providers ---- */

static void keywords_text(const struct result_row *p, char *out, size_t size)
{
    if (p->match_all)
        snprintf(out, size, "keywords 0x%" PRIx64 " (all of 0x%" PRIx64 ")", p->match_any, p->match_all);
    else
        snprintf(out, size, "keywords 0x%" PRIx64, p->match_any);
}

/* When some events failed the level and others, within the level, the keywords, advise to change the keywords: whether
 * the former would pass the keywords is not known. */
static bool kept_out(const struct result_row *p, struct condition *out)
{
    char level[24], lowest[24], keywords[80];

    keywords_text(p, keywords, sizeof keywords);
    if (p->refused_by_filter) { /* filters come last: the events that they kept out had passed the rest */
        explain_say(out, W_NOT_FOUND, NOTE, "Filters",
                    "its programs wrote events, and the filters of the provider kept all of them out");
        advise(out, "change or remove the key Filters of the provider");
    } else if (p->refused_by_level && !p->refused_by_keywords) {
        explain_say(
            out, W_NOT_FOUND, NOTE, "EnableLevel",
            "its programs wrote events, but none of level %s or below: the lowest that was kept out has level %s",
            explain_level(p->level, level), explain_level(p->refused_level, lowest));
        advise(out, "set EnableLevel to %s", explain_level(p->refused_level, lowest));
    } else if (p->refused_keywords) {
        explain_say(
            out, W_NOT_FOUND, NOTE, "MatchAnyKeyword",
            "its programs wrote events, but none that %s let through: what was kept out has keywords 0x%" PRIx64,
            keywords, p->refused_keywords);
        if (p->match_all & ~p->refused_keywords)
            advise(out, "set MatchAnyKeyword to 0x%" PRIx64 " and remove MatchAllKeyword",
                   p->match_any | p->refused_keywords);
        else
            advise(out, "set MatchAnyKeyword to 0x%" PRIx64 ", or to 0 for all", p->match_any | p->refused_keywords);
    } else {
        explain_say(out, W_NOT_FOUND, NOTE, "EnableProperty",
                    "its programs wrote events without any keyword, and EnableProperty (0x10) keeps these out");
        advise(out, "remove EnableProperty, or its bit 0x10");
    }
    return true;
}

static bool silent(const struct result_row *p, struct condition *out)
{
    char level[24], keywords[80];
    bool by_level = p->level != 0 && p->level < UINT8_MAX, by_keywords = p->match_any != 0;

    if (!by_level && !by_keywords) {
        explain_say(out, W_NOT_FOUND, NOTE, "events",
                    "registered by %u program%s that wrote no event while the session ran", p->registrations,
                    plural(p->registrations));
        advise(out, "use the program while the session runs");
        return true;
    }
    keywords_text(p, keywords, sizeof keywords);
    explain_level(p->level, level);
    explain_say(
        out, W_NOT_FOUND, NOTE, "events",
        "registered by %u program%s, and no event passed%s%s%s%s%s (macros of TraceLogging do not tell what is kept out)",
        p->registrations, plural(p->registrations), by_level ? " level " : "", by_level ? level : "",
        by_level && by_keywords ? " and" : "", by_keywords ? " " : "", by_keywords ? keywords : "");
    advise(out, "rehearse with EnableLevel = Verbose%s to see what it writes",
           by_keywords ? " and MatchAnyKeyword = 0" : "");
    return true;
}

/* The provider of "autologger mark" and "autologger write", declared beside others: without these commands nothing is
 * missing. */
static bool is_on_demand(const char *provider)
{
    const struct guid mark = guid_from_name("autologger-mark");
    struct guid       own;
    return guid_parse(provider, &own) && guid_equal(&own, &mark);
}

/* The condition, found while the session ran, that a program's user may not register the provider. */
static const struct condition *explain_denied(const struct result_row *p)
{
    for (unsigned i = 0; !p->registrations && i < p->conditions.count; i++)
        if (p->conditions.items[i].number == W_ACCESS_DENIED)
            return &p->conditions.items[i];
    return NULL;
}

static bool unregistered(const struct result_row *p, struct condition *out)
{
    static const char ready_boost[] = "{a6ad76e3-867a-4635-91b3-4904ba6374d7}";
    if (explain_denied(p)) {
        *out = *explain_denied(p);
        return true;
    }
    if (is_on_demand(p->provider))
        return false;
    explain_say(out, W_WMI_GUID_NOT_FOUND, FAULT, *p->name ? p->name : p->provider,
                "enabled, but no program registered this provider while the session ran");
    if (strcasecmp(p->provider, ready_boost) == 0)
        advise(
            out,
            "remove the provider: ReadyBoost is a part of Windows, and no program on Linux registers it; FILE_IO and DISK_IO show what is read");
    else
        advise(out, "start the program that registers it, check its GUID, or remove the provider");
    return true;
}

bool explain_provider(const struct result_row *p, struct condition *out)
{
    /* the row already says that no tracepoint could be opened */
    if (!p->start || p->status || p->written || (p->tracepoint && !p->tracepoints))
        return false;
    if (p->tracepoint) {
        explain_say(out, W_NOT_FOUND, NOTE, "events", "%u tracepoint%s open, and no event came while the session ran",
                    p->tracepoints, p->tracepoints == 1 ? " was" : "s were");
        advise(out, "check the pattern, and TracepointFilter if there is one");
        return true;
    }
    if (!p->registrations)
        return unregistered(p, out);
    return p->refused_by_level || p->refused_by_keywords || p->refused_by_filter ? kept_out(p, out) : silent(p, out);
}

/* ---- sessions ---- */

bool explain_provider_live(const struct result_row *p, const char *session, struct condition *out)
{
    if (!explain_provider(p, out))
        return false;
    if (p->registrations && strcmp(out->item, "events") == 0) {
        explain_say(out, W_NOT_FOUND, NOTE, "events",
                    "registered by %u program%s, and none of its events was read so far", p->registrations,
                    plural(p->registrations));
        advise(out, "autologger flush %.100s, and query again: what is still in memory is not counted", session);
    }
    return true;
}

bool explain_empty(const struct result_row *s, const struct result_row *providers, unsigned count,
                   struct condition *out)
{
    unsigned enabled = 0, unregistered = 0, kept = 0, refused = 0;
    char     refusals[64] = "";

    if (!s->start || s->status || !s->stopped || s->written || s->lost_file || s->lost_ring || s->lost_memory)
        return false;
    for (unsigned i = 0; i < count; i++) {
        if (!providers[i].start || providers[i].status)
            continue;
        enabled++;
        unregistered += !providers[i].registrations && !providers[i].tracepoint && !explain_denied(&providers[i]);
        refused += explain_denied(&providers[i]) != NULL;
        kept += providers[i].registrations &&
                (providers[i].refused_by_level || providers[i].refused_by_keywords || providers[i].refused_by_filter);
    }
    if (s->kernel && !enabled) {
        explain_say(out, W_NOT_FOUND, NOTE, "EnableKernelFlags",
                    "empty: the kernel had no event of the kinds asked for");
        advise(out, "ask for more kinds, PROC_THREAD+LOADER+CSWITCH for a start");
    } else if (!count) {
        explain_say(out, W_NOT_FOUND, NOTE, "providers",
                    "empty: no provider is declared in this session, so nothing can write to it");
        advise(out, "declare one: a section [Autologger/%.80s/NAME OF THE PROVIDER]", s->session);
    } else if (!enabled) {
        explain_say(out, W_NOT_FOUND, NOTE, "providers",
                    "empty: no provider of this session is both sound and enabled");
        advise(out, "see the rows of its providers; set Enabled to 1");
    } else {
        if (refused)
            snprintf(refusals, sizeof refusals, "%u denied to the users of its programs, ", refused);
        explain_say(
            out, refused ? W_ACCESS_DENIED : W_NOT_FOUND, NOTE, "providers",
            "empty: of %u provider%s %s%u never registered, %u kept out by level, keywords or filters, %u silent",
            enabled, plural(enabled), refusals, unregistered, kept, enabled - unregistered - refused - kept);
        advise(out, "see the rows of its providers");
    }
    return true;
}

bool explain_burst(const struct result_row *s)
{
    return !s->kernel && s->users_most > 1 &&
           s->peak_bytes * 5 < s->given.maximum_buffers * (s->given.buffer_kb * UINT64_C(1024)) * 4;
}

bool explain_lost(const struct result_row *s, struct condition *out)
{
    uint64_t no_room = s->kernel ? s->lost_memory : s->lost_ring + s->lost_memory;

    if (!no_room)
        return false;
    if (explain_burst(s)) {
        explain_say(
            out, W_NOT_ENOUGH_MEMORY, FAULT, "MaximumBuffers",
            "%" PRIu64
            " event%s found no room, though not all of %u buffers of %u KB were in use: %u users shared them, and a burst was larger "
            "than its user's part",
            no_room, plural(no_room), s->given.maximum_buffers, s->given.buffer_kb, s->users_most);
        advise(out, "set MaximumBuffers to %u", s->suggested_maximum);
        return true;
    }
    explain_say(out, W_NOT_ENOUGH_MEMORY, FAULT, "MaximumBuffers",
                "%" PRIu64 " event%s found no room: all of %u buffers of %u KB were in use", no_room, plural(no_room),
                s->given.maximum_buffers, s->given.buffer_kb);
    if (s->given.maximum_buffers < s->asked.maximum_buffers)
        advise(out, "allow more memory (MaxNonPagedPoolUsage, a percentage of RAM), or record fewer kinds of events");
    else
        advise(out, "set MaximumBuffers to %u", s->suggested_maximum);
    return true;
}
