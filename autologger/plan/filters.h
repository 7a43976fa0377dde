/* filters.h - a provider's filters. Internal to this folder; see filters.c. Threads: one at a time. */
#ifndef AUTOLOGGER_PLAN_FILTERS_H
#define AUTOLOGGER_PLAN_FILTERS_H
#include "autologger/plan/values.h"

/* Sets p->filter from the key Filters below p->key and from p->enable_property. Returns the provider's Status, with
 * p->reason and the place; values without effect give conditions. */
wstatus reading_filters(struct regstore *store, struct plan_provider *p);
#endif
