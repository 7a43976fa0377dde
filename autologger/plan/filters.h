/* filters.h - a provider's filters. Internal to this folder; see filters.c. Threads: one at a time. */
#ifndef AUTOLOGGER_PLAN_FILTERS_H
#define AUTOLOGGER_PLAN_FILTERS_H
#include "autologger/plan/values.h"

/* p->filter from the key Filters below p->key and from p->enable_property. The provider's Status, with p->reason and
 * its place; conditions for what has no effect. */
wstatus reading_filters(struct regstore *store, struct plan_provider *p);
#endif
