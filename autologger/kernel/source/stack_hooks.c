/* stack_hooks.c - which kernel events can have a call stack: the column HOOKS of sources.def. A separate file without
 * event sources, because a plan needs it too. See flags.h, sources.h. */
#include "autologger/kernel/source/sources.h"
#include "autologger/kernel/tables/flags.h"
#include "autologger/wire/hooks.h"

#define HOOKS(...) \
    { \
        __VA_ARGS__ \
    }
#define ONE(hook) \
    { \
        hook, hook \
    }
const struct hook_range source_hooks[SRC_COUNT][SOURCE_HOOKS] = {
#define SOURCE(kind, name, words, fields, hooks, flags, converter) hooks,
#include "autologger/kernel/source/sources.def"
#undef SOURCE
};

bool hook_has_stack(uint16_t hook)
{
    for (size_t i = 0; hook && i < SRC_COUNT; i++)
        for (unsigned j = 0; j < SOURCE_HOOKS; j++)
            if (hook >= source_hooks[i][j].low && hook <= source_hooks[i][j].high)
                return true;
    return false;
}
