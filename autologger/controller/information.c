/* information.c - TraceSetInformation, TraceQueryInformation: a table row for each supported class. */
#include "autologger/controller/named.h"
#include "autologger/kernel/tables/flags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LOGGERS = 64 };

/* ---- setting ---- */

static wstatus set_stacks(struct ctl_update_request *r, const void *in, ULONG length)
{
    const CLASSIC_EVENT_ID *ids   = in;
    const size_t            count = length / sizeof *ids;
    if (length % sizeof *ids)
        return W_BAD_LENGTH;
    if (count > HOOK_MAX)
        return W_INVALID_PARAMETER;
    for (size_t i = 0; i < count; i++) {
        char text[64], guid[GUID_TEXT_SIZE];
        struct guid class;
        uint16_t      hook[HOOK_MAX];
        unsigned      n;
        struct reason why;
        memcpy(&class, &ids[i].EventGuid, sizeof class);
        snprintf(text, sizeof text, "%s:%u", guid_format(&class, guid), ids[i].Type);
        if (hooks_parse(text, hook, &n, &why))
            return W_NOT_SUPPORTED;
        r->hooks[i] = hook[0];
    }
    r->hook_count = (uint32_t)count;
    r->what       = CTL_UPDATE_STACKS;
    return W_SUCCESS;
}

static wstatus set_flags(struct ctl_update_request *r, const void *in, ULONG length)
{
    struct reason why;
    if (length != sizeof r->group_mask)
        return W_BAD_LENGTH;
    r->what = CTL_UPDATE_FLAGS;
    return group_mask_from_bytes(in, length, r->group_mask, &why);
}

/* ---- querying: the bytes of the answer ---- */

static wstatus query_stacks(const struct ctl_session_info *s, uint8_t *out, ULONG *length)
{
    *length = 0;
    for (uint32_t i = 0; i < s->hook_count && i < HOOK_MAX; i++) {
        CLASSIC_EVENT_ID id = {.Type = 0};
        struct guid class;
        if (!hook_class(s->hooks[i], &class, &id.Type))
            continue; /* a bare hook id that has no class */
        memcpy(&id.EventGuid, &class, sizeof class);
        memcpy(out + *length, &id, sizeof id);
        *length += (ULONG)sizeof id;
    }
    return W_SUCCESS;
}

static wstatus query_flags(const struct ctl_session_info *s, uint8_t *out, ULONG *length)
{
    memcpy(out, s->group_mask, sizeof s->group_mask);
    *length = sizeof s->group_mask;
    return W_SUCCESS;
}

static wstatus query_max_loggers(const struct ctl_session_info *s, uint8_t *out, ULONG *length)
{
    struct ctl_state_answer state;
    struct control_client  *client = NULL;
    struct reason           why;
    ULONG                   most = MAX_LOGGERS; /* also without a daemon */
    (void)s;
    if (control_open(NULL, &client, &why) == W_SUCCESS && control_state(client, &state, &why) == W_SUCCESS)
        most = state.sessions_most;
    control_close(client);
    memcpy(out, &most, sizeof most);
    *length = sizeof most;
    return W_SUCCESS;
}

/* The input names the source of the interval. Only the clock is supported. */
static wstatus interval_check(const void *in, ULONG length, TRACE_PROFILE_INTERVAL *out)
{
    if (length < sizeof *out)
        return W_BAD_LENGTH;
    if (!in)
        return W_INVALID_PARAMETER;
    memcpy(out, in, sizeof *out);
    return out->Source == 0 ? W_SUCCESS : W_INVALID_PARAMETER;
}
static wstatus query_interval(const void *in, ULONG in_length, uint8_t *out, ULONG *length)
{
    TRACE_PROFILE_INTERVAL i;
    wstatus                st = interval_check(in, in_length, &i);
    if (st)
        return st;
    i.Interval = KERNEL_PROFILE_INTERVAL;
    memcpy(out, &i, sizeof i);
    *length = sizeof i;
    return W_SUCCESS;
}
static wstatus set_interval(const void *in, ULONG length)
{
    TRACE_PROFILE_INTERVAL i;
    wstatus                st = interval_check(in, length, &i);
    return st ? st : i.Interval == KERNEL_PROFILE_INTERVAL ? W_SUCCESS : W_NOT_SUPPORTED;
}

static const struct {
    TRACE_INFO_CLASS class;
    bool of_session;
    wstatus (*set)(struct ctl_update_request *r, const void *in, ULONG length);
    wstatus (*query)(const struct ctl_session_info *s, uint8_t *out, ULONG *length);
} information_classes[] = {
    {TraceStackTracingInfo, true, set_stacks, query_stacks},
    {TraceSystemTraceEnableFlagsInfo, true, set_flags, query_flags},
    {TraceMaxLoggersQuery, false, NULL, query_max_loggers},
};

/* Classes of the machine, with an input for their query. */
static const struct {
    TRACE_INFO_CLASS class;
    wstatus (*set)(const void *in, ULONG length);
    wstatus (*query)(const void *in, ULONG in_length, uint8_t *out, ULONG *length);
} machine[] = {
    {TraceSampledProfileIntervalInfo, set_interval, query_interval},
};

static int find_machine(TRACE_INFO_CLASS class)
{
    for (size_t i = 0; i < sizeof machine / sizeof *machine; i++)
        if (machine[i].class == class)
            return (int)i;
    return -1;
}
static int information_find(TRACE_INFO_CLASS class)
{
    for (size_t i = 0; i < sizeof information_classes / sizeof *information_classes; i++)
        if (information_classes[i].class == class)
            return (int)i;
    return -1;
}

ULONG TraceSetInformation(TRACEHANDLE SessionHandle, TRACE_INFO_CLASS InformationClass, PVOID TraceInformation,
                          ULONG InformationLength)
{
    const int                 row = information_find(InformationClass), own = find_machine(InformationClass);
    struct ctl_update_request request = {.what = 0};
    struct ctl_session_info   info;
    struct control_client    *client = NULL;
    struct reason             why;
    if (own >= 0)
        return machine[own].set(TraceInformation, InformationLength);
    if (row < 0 || !information_classes[row].set)
        return W_NOT_SUPPORTED;
    if (!TraceInformation && InformationLength)
        return W_INVALID_PARAMETER;
    wstatus                   st     = information_classes[row].set(&request, TraceInformation, InformationLength);
    struct ctl_update_answer *answer = st ? NULL : calloc(1, sizeof *answer);
    if (!st && !answer)
        st = W_NOT_ENOUGH_MEMORY;
    st = st ? st : control_open(NULL, &client, &why);
    st = st ? st : session_named(client, NULL, SessionHandle, &info);
    st = st ? st : control_update(client, &request, info.name, answer, &why);
    control_close(client);
    free(answer);
    return st;
}

ULONG TraceQueryInformation(TRACEHANDLE SessionHandle, TRACE_INFO_CLASS InformationClass, PVOID TraceInformation,
                            ULONG InformationLength, PULONG ReturnLength)
{
    const int               row = information_find(InformationClass), own = find_machine(InformationClass);
    uint8_t                 out[HOOK_MAX * sizeof(CLASSIC_EVENT_ID)];
    ULONG                   length;
    struct ctl_session_info info   = {.hook_count = 0};
    struct control_client  *client = NULL;
    struct reason           why;
    wstatus                 st = W_SUCCESS;
    if (row < 0 && own < 0)
        return W_NOT_SUPPORTED;
    if (!TraceInformation && InformationLength)
        return W_INVALID_PARAMETER;
    if (own < 0 && information_classes[row].of_session) {
        st = control_open(NULL, &client, &why);
        st = st ? st : session_named(client, NULL, SessionHandle, &info);
        control_close(client);
    }
    if (!st)
        st = own >= 0 ? machine[own].query(TraceInformation, InformationLength, out, &length)
                      : information_classes[row].query(&info, out, &length);
    if (st)
        return st;
    if (ReturnLength)
        *ReturnLength = length;
    if (InformationLength < length)
        return W_INSUFFICIENT_BUFFER;
    if (length)
        memcpy(TraceInformation, out, length);
    return W_SUCCESS;
}
