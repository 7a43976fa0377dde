#include "autologger/plan/plan.h"

#include "autologger/plan/modes.h"
#include "autologger/plan/reading.h"
#include "autologger/wire/stack_copy.h"
#include "registry-sim/base/cursor.h"
#include "registry-sim/win32/utf16.h"
#include "registry-sim/win32/visible.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reserved session GUIDs. `kernel`: the session holds kernel events whatever its mode. */
static const struct reserved {
    const char *guid, *name; /* name: forced, or NULL */
    bool        kernel, system;
} reserved[] = {
    {"{9e814aad-3204-11d2-9a82-006008a86939}", PLAN_KERNEL_LOGGER, true, true},
    {"{54dea73a-ed1f-42a4-af71-3e63d056f174}", PLAN_CIRCULAR_LOGGER, true, true},
    {"{0e66e20b-b802-ba6a-9272-31199d0ed295}", "Eventlog-Security", false, true},
};
static const char global_logger_guid[] = "{e8908abc-aa84-11d2-9a93-00805f85d7c6}";

void reading_blame(struct plan_reading *r, enum value_id id)
{
    const struct plan_value *v    = reading_value(r, id);
    char                    *file = v->source_file ? strdup(v->source_file) : NULL;

    if (file) {
        free(r->plan->source_file);
        r->plan->source_file = file;
        r->plan->source_line = v->source_line;
    }
}

static wstatus set_name(struct plan_reading *r, const char *name)
{
    char *copy = strdup(name);

    if (!copy)
        return reason_set(r->why, W_OUTOFMEMORY, "no memory for a session");
    free(r->plan->name);
    r->plan->name = copy;
    return W_SUCCESS;
}

static wstatus plan_begin(struct plan_reading *r)
{
    struct plan       *p     = r->plan;
    unsigned           scope = value_scope_of(r->key);
    struct regkey_info info;
    wstatus            st;

    if (scope != IN_GLOBAL_LOGGER && scope != IN_AUTOLOGGER)
        return reason_set(r->why, W_INVALID_PARAMETER, "%s is not the key of a boot session", r->key);
    st = regstore_key_info(r->store, r->key, &info);
    if (st != W_SUCCESS)
        return reason_set(r->why, st, "the key %s can't be read", r->key);
    if (!visible_is(info.name)) /* every list of sessions would print it on a terminal */
        return reason_set(
            r->why, W_INVALID_PARAMETER,
            "the session's name has a control character, one that turns the direction of text, or is not UTF-8: %.200s. Do: choose another name",
            info.name);
    p->global_logger = scope == IN_GLOBAL_LOGGER;
    p->source_line   = info.source_line;
    if (info.source_file && !(p->source_file = strdup(info.source_file)))
        return reason_set(r->why, W_OUTOFMEMORY, "no memory for a session");
    if (!(p->key = strdup(r->key)))
        return reason_set(r->why, W_OUTOFMEMORY, "no memory for a session");
    return set_name(r, p->global_logger ? "GlobalLogger" : info.name);
}

bool plan_guid_names(const char *text)
{
    struct guid known, guid;
    bool        names = false;
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved && guid_parse_braced(text, &guid); i++) {
        guid_parse(reserved[i].guid, &known);
        names |= guid_equal(&known, &guid);
    }
    return names;
}

/* GUID, forced name, and whether kernel flags count. W_INVALID_PARAMETER: the Guid is missing or bad. */
static wstatus plan_identity(struct plan_reading *r, uint32_t mode, bool *system)
{
    struct plan             *p    = r->plan;
    const struct plan_value *guid = reading_value(r, VALUE_GUID);

    if (p->global_logger) {
        guid_parse(global_logger_guid, &p->guid);
        p->kernel = *system = reading_value(r, VALUE_ENABLE_KERNEL_FLAGS)->present;
        return p->kernel ? set_name(r, PLAN_KERNEL_LOGGER) : W_SUCCESS;
    }
    if (!guid->present) {
        struct guid own = guid_from_name(p->name);
        char        text[GUID_TEXT_SIZE];
        return reason_set(
            r->why, W_INVALID_PARAMETER,
            "Guid is missing; an Autologger session must have one. Do: add \"Guid\"=\"%s\", or another of its own",
            guid_format(&own, text));
    }
    if (!guid_parse_braced(guid->text, &p->guid)) {
        reading_blame(r, VALUE_GUID);
        return reason_set(r->why, W_INVALID_PARAMETER,
                          "Guid '%.64s' is not of the form {xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx}", guid->text);
    }
    if (guid_is_zero(&p->guid))
        p->guid = guid_from_name(p->name); /* zero asks for a generated GUID: always the same for one name */
    p->kernel = *system = (mode & MODE_SYSTEM_LOGGER) != 0;
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        struct guid known;
        guid_parse(reserved[i].guid, &known);
        /* a reserved name implies its GUID, and a reserved GUID its name */
        if (reserved[i].kernel && name_compare(p->name, reserved[i].name) == 0)
            p->guid = known;
        if (!guid_equal(&known, &p->guid))
            continue;
        p->kernel = p->kernel || reserved[i].kernel;
        *system   = true;
        return set_name(r, reserved[i].name);
    }
    return W_SUCCESS;
}

/* The number of "%d" in a file's name, behind a leading folder %Name%; any other '%' counts as 2. */
static unsigned numbers_in(const char *name)
{
    unsigned n = 0;
    if (name && *name == '%' && name[1] != 'd' && strchr(name + 1, '%'))
        name = strchr(name + 1, '%') + 1;
    for (; name && (name = strchr(name, '%')); name++)
        n += name[1] == 'd' ? 1 : 2;
    return n;
}

static wstatus mode_and_size(struct plan_reading *r, bool system)
{
    struct plan             *p    = r->plan;
    const struct plan_value *mode = reading_value(r, VALUE_LOG_FILE_MODE),
                            *size = reading_value(r, VALUE_MAX_FILE_SIZE);
    const struct plan_value *name = reading_value(r, VALUE_FILE_NAME);
    uint32_t                 bits = (uint32_t)mode->number;

    p->max_file_size = (uint32_t)size->number;
    if (!size->present && (bits & MODE_USE_KBYTES_FOR_SIZE))
        p->max_file_size *= 1024; /* the default is in MB whatever the unit */
    struct mode_facts facts = {name->text && *name->text, p->max_file_size != 0, system, !r->limits->now,
                               numbers_in(name->text)};
    wstatus           st    = mode_check(bits, &facts, r->why);
    if (st != W_SUCCESS) {
        reading_blame(r, VALUE_LOG_FILE_MODE);
        return st;
    }
    const uint32_t own = r->limits->now ? bits & (MODE_PRIVATE_LOGGER | MODE_PRIVATE_IN_PROC) : 0; /* not for boots */
    p->log_file_mode   = mode_adjust(bits & ~own, mode, &p->conditions) | own;
    if (p->kernel && bits & MODE_NO_PER_PROCESSOR_BUFFERING)
        condition_add(&p->conditions, W_NOT_SUPPORTED, false, "NO_PER_PROCESSOR_BUFFERING", mode->source_file,
                      mode->source_line, "remove the mode",
                      "what the kernel tells is of a processor: its buffers stay so");
    p->forget_realtime = reading_value(r, VALUE_DISABLE_REALTIME_PERSISTENCE)->number != 0;
    p->devices         = reading_value(r, VALUE_DEVICE_EVENTS)->number != 0;
    if (reading_value(r, VALUE_ENABLE_SECURITY_PROVIDER)->number) {
        reading_blame(r, VALUE_ENABLE_SECURITY_PROVIDER);
        return reason_set(
            r->why, W_ACCESS_DENIED,
            "EnableSecurityProvider is for protected processes (PPL) alone, and Linux has none. Do: remove it");
    }
    return W_SUCCESS;
}

/* In steps of 8 bytes, as the kernel requires; a copy must fit into a buffer together with its event. */
static void user_stacks(struct plan_reading *r)
{
    enum { STEP = 8, EVENT_HEAD = 1024, KB = 1024 };
    struct plan *p = r->plan;
    uint64_t asked = reading_value(r, VALUE_USER_STACKS)->number, most = p->given.buffer_kb * (uint64_t)KB - EVENT_HEAD;
    uint64_t least = asked < STACK_COPY_LEAST ? STACK_COPY_LEAST : asked,
             given = (least < most ? least : most) / STEP * STEP;
    if (!asked)
        return;
    p->user_stack_bytes = (uint32_t)(given > STACK_COPY_MOST ? STACK_COPY_MOST : given);
    if (p->user_stack_bytes != asked)
        reading_condition(r, W_INVALID_PARAMETER, true, VALUE_USER_STACKS, "512 bytes to 32 KB, less than BufferSize",
                          "%" PRIu64 " bytes of each stack were asked for, %u are given", asked, p->user_stack_bytes);
    if (!p->hook_count)
        reading_condition(r, W_INVALID_PARAMETER, true, VALUE_USER_STACKS, "add StackWalkingFilter, or leave it out",
                          "no kernel event of this session has a stack");
}

/* StackCaching: two numbers. Not with REAL_TIME: a later consumer would not know the keys. */
static void stack_caching(struct plan_reading *r)
{
    enum { KB = 1024, MOST_KB = 65536, BUCKETS_MOST = 65536 };
    const struct plan_value *v  = reading_value(r, VALUE_STACK_CACHING);
    struct plan             *p  = r->plan;
    struct cursor            c  = cur_make(v->bytes, v->size);
    uint32_t                 kb = cur_u32(&c), buckets = cur_u32(&c);
    if (!v->present || v->size != 2 * sizeof kb || !kb)
        return;
    if (p->log_file_mode & MODE_REAL_TIME || !p->hook_count) {
        bool live = p->log_file_mode & MODE_REAL_TIME;
        reading_condition(r, W_INVALID_PARAMETER, true, VALUE_STACK_CACHING,
                          live ? "leave REAL_TIME or StackCaching out" : "add StackWalkingFilter, or leave it out",
                          live ? "stacks are written whole: who listens later could not know the keys"
                               : "no kernel event of this session has a stack");
        return;
    }
    p->stack_cache_bytes   = (kb > MOST_KB ? MOST_KB : kb) * KB;
    p->stack_cache_buckets = !buckets ? 1 : buckets > BUCKETS_MOST ? BUCKETS_MOST : buckets;
    if (kb > MOST_KB || p->stack_cache_buckets != buckets)
        reading_condition(r, W_INVALID_PARAMETER, true, VALUE_STACK_CACHING, "at most 65536 KB, and 1 to 65536 buckets",
                          "%u KB in %u buckets were asked for, %u KB in %u are given", kb, buckets,
                          p->stack_cache_bytes / KB, p->stack_cache_buckets);
}

/* Clock and flushing: adjusted, never refused. The logger bounds the threshold: MaximumBuffers and FlushTimer may
 * change while it runs. */
static void clock_and_flush(struct plan_reading *r)
{
    struct plan *p         = r->plan;
    uint64_t     clock     = reading_value(r, VALUE_CLOCK_TYPE)->number;
    uint64_t     threshold = reading_value(r, VALUE_FLUSH_THRESHOLD)->number;
    bool         known     = clock >= value_rows[VALUE_CLOCK_TYPE].low && clock <= value_rows[VALUE_CLOCK_TYPE].high;

    p->clock_type = (uint32_t)(known ? clock : value_rows[VALUE_CLOCK_TYPE].fallback);
    if (!known)
        reading_condition(r, W_INVALID_PARAMETER, true, VALUE_CLOCK_TYPE, "use QPC, SystemTime or CPUCycle",
                          "ClockType %llu is not known and counts as 1, QPC", (unsigned long long)clock);
    p->flush_timer = (uint32_t)reading_value(r, VALUE_FLUSH_TIMER)->number;
    if (p->log_file_mode & MODE_BUFFERING)
        p->flush_timer = 0;
    else if (p->flush_timer == 0 && (p->log_file_mode & MODE_REAL_TIME))
        p->flush_timer = p->log_file_mode & MODE_USE_MS_FLUSH_TIMER ? 1000 : 1;
    p->flush_threshold = threshold > value_rows[VALUE_FLUSH_THRESHOLD].high ? 0 : (uint32_t)threshold;
}

/* "{guid}{guid}", as Windows writes it; blanks, ',' and ';' between them are fine. */
static wstatus disallow_list(struct plan_reading *r)
{
    enum { TEXT = 38 /* a GUID in braces */ };
    const struct plan_value *v  = reading_value(r, VALUE_DISALLOW_LIST);
    struct plan             *p  = r->plan;
    const char              *at = v->text ? v->text : "";
    char                     one[TEXT + 1];

    if (*at && !(p->disallowed = calloc(PLAN_DISALLOWED, sizeof *p->disallowed)))
        return reason_set(r->why, W_OUTOFMEMORY, "no memory for DisallowList");
    for (at += strspn(at, " ,;"); *at; at += strspn(at, " ,;")) {
        snprintf(one, sizeof one, "%s", at);
        if (p->disallowed_count == PLAN_DISALLOWED || !guid_parse_braced(one, &p->disallowed[p->disallowed_count])) {
            reading_blame(r, VALUE_DISALLOW_LIST);
            return reason_set(r->why, W_INVALID_PARAMETER,
                              "DisallowList '%.48s': at most %d GUIDs, each as {xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx}",
                              at, PLAN_DISALLOWED);
        }
        p->disallowed_count++;
        at += TEXT;
    }
    return W_SUCCESS;
}

static wstatus read_session(struct plan_reading *r)
{
    enum value_id failed = VALUE_START;
    bool          system = false;
    struct plan  *p      = r->plan;
    wstatus       st     = plan_begin(r);

    if (st != W_SUCCESS)
        return st;
    if ((st = value_read(r->store, r->key, VALUE_START, &r->set, &p->conditions, r->why)) != W_SUCCESS) {
        reading_blame(r, VALUE_START);
        return st;
    }
    p->start = reading_value(r, VALUE_START)->number != 0;
    if (!p->start)
        return W_SUCCESS;
    st = value_set_read(r->store, r->key, p->global_logger ? IN_GLOBAL_LOGGER : IN_AUTOLOGGER, &r->set, &p->conditions,
                        &failed, r->why);
    if (st != W_SUCCESS) {
        reading_blame(r, failed);
        return st;
    }
    reading_file_number(r); /* before anything that can fail: the counter moves even when the session does not start */
    if ((st = plan_identity(r, (uint32_t)reading_value(r, VALUE_LOG_FILE_MODE)->number, &system)) != W_SUCCESS ||
        (st = mode_and_size(r, system)) != W_SUCCESS || (st = reading_kernel_events(r)) != W_SUCCESS ||
        (st = reading_log_file(r)) != W_SUCCESS || (st = reading_buffers(r)) != W_SUCCESS ||
        (st = disallow_list(r)) != W_SUCCESS)
        return st;
    clock_and_flush(r);
    user_stacks(r);
    stack_caching(r);
    value_report_strangers(r->store, r->key, p->global_logger ? IN_GLOBAL_LOGGER : IN_AUTOLOGGER, &p->conditions);
    return reading_providers(r);
}

wstatus plan_from_key(struct regstore *store, const char *key, const struct plan_limits *limits, struct plan *out,
                      struct reason *why)
{
    struct plan_reading *r;
    wstatus              st;

    memset(out, 0, sizeof *out);
    if (!(r = calloc(1, sizeof *r)))
        return reason_set(why, W_OUTOFMEMORY, "no memory to read a session");
    *r = (struct plan_reading){.store = store, .key = key, .limits = limits, .plan = out, .why = why};
    st = read_session(r);
    value_set_finish(&r->set);
    free(r);
    return st;
}

void plan_finish(struct plan *p)
{
    for (unsigned i = 0; i < p->provider_count; i++)
        plan_provider_finish(&p->providers[i]);
    free(p->providers);
    free(p->disallowed);
    condition_list_finish(&p->conditions);
    free(p->name);
    free(p->key);
    free(p->file_name);
    free(p->log_path);
    free(p->source_file);
    memset(p, 0, sizeof *p);
}
