/* reading.h - the state that the steps of plan.c share while they read one session. Internal to this folder. Each step
 * fills its part of r->plan from r->set and adds conditions; a non-zero return is the session's Status.
 * Threads: one at a time. Ownership: plan_from_key owns it all. */
#ifndef AUTOLOGGER_PLAN_READING_H
#define AUTOLOGGER_PLAN_READING_H
#include "autologger/plan/values.h"

struct plan_reading {
    struct regstore          *store;
    const char               *key;
    const struct plan_limits *limits;
    struct plan              *plan;
    struct value_set          set;
    struct reason            *why;
};

static inline const struct plan_value *reading_value(const struct plan_reading *r, enum value_id id)
{
    return &r->set.at[id];
}
/* Makes the place of a value the place of the whole row: a failure points at the line to correct. */
void reading_blame(struct plan_reading *r, enum value_id id);
/* A condition of the session, at the place of the value. */
#define reading_condition(r, number, note, id, ...) \
    condition_add(&(r)->plan->conditions, (number), (note), value_rows[id].name, (r)->set.at[id].source_file, \
                  (r)->set.at[id].source_line, __VA_ARGS__)

wstatus reading_buffers(struct plan_reading *r);       /* buffers.c: sizes, counts, memory ceiling */
wstatus reading_kernel_events(struct plan_reading *r); /* events.c: EnableKernelFlags, StackWalkingFilter */
void    reading_file_number(struct plan_reading *r);   /* log_file.c: FileMax and FileCounter */
wstatus reading_log_file(struct plan_reading *r);      /* log_file.c: FileName */
wstatus reading_providers(struct plan_reading *r);     /* provider.c */
void    plan_provider_finish(struct plan_provider *provider);
#endif
