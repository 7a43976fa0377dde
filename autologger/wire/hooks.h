/* hooks.h - the numbers of the kernel's events (hooks.def), the one place for each. Threads: constants. Not for: what
 * an event holds. */
#ifndef AUTOLOGGER_WIRE_HOOKS_H
#define AUTOLOGGER_WIRE_HOOKS_H
enum hook {
#define HOOK(name, number) HOOK_##name = number,
#include "autologger/wire/hooks.def"
#undef HOOK
};
#endif
