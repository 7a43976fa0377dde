/* hooks.h - the numbers of the kernel's events, each defined only in hooks.def. Threads: constants. Not for: what an
 * event holds. */
#ifndef AUTOLOGGER_WIRE_HOOKS_H
#define AUTOLOGGER_WIRE_HOOKS_H
enum hook {
#define HOOK(name, number) HOOK_##name = number,
#include "autologger/wire/hooks.def"
#undef HOOK
};
#endif
