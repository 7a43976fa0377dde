/* private_providers.h - providers that no session of the daemon may enable: they write inside of one program, to a
 * session of its own. Threads: pure, any. Not for: private sessions of ordinary providers (daemon/private.h). */
#ifndef AUTOLOGGER_WIRE_PRIVATE_PROVIDERS_H
#define AUTOLOGGER_WIRE_PRIVATE_PROVIDERS_H
#include "registry-sim/win32/guid.h"
#include "registry-sim/win32/wstatus.h"

/* W_NOT_SUPPORTED with the reason and what to do, or W_SUCCESS. */
static inline wstatus private_provider_refuse(const struct guid *provider, struct reason *why)
{
#define P(name, a, b, c, ...) {name, {a, b, c, {__VA_ARGS__}}}, /* a row */
    static const struct {
        const char *name;
        struct guid guid;
    } rows[] = {
#include "autologger/wire/private_providers.def"
    };
#undef P
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (guid_equal(&rows[i].guid, provider))
            return reason_set(why, W_NOT_SUPPORTED,
                              "%s has events for a program's private session only: autologger heap PROGRAM",
                              rows[i].name);
    return W_SUCCESS;
}
#endif
