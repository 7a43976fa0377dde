/* ini_place.h - where an INI section lives in the registry.
 * Sections are paths relative to the WMI key, or absolute from HKLM on; [Boot] is the key Autologger itself;
 * [CollectorSet/NAME/SESSION] has what [Autologger/SESSION] has. A provider
 * section is named freely; its key is a GUID: the name if that is a braced GUID, else its Guid value, else the hash of
 * "session/name" for Unit and Tracepoint providers, else the hash of its name.
 * Threads: pure, any. Ownership: ini_place_finish frees what the other functions fill in. */
#ifndef REGISTRY_SIM_TEXT_INI_PLACE_H
#define REGISTRY_SIM_TEXT_INI_PLACE_H
#include "registry-sim/win32/wstatus.h"

#include <stdbool.h>

enum ini_kind { INI_PLAIN, INI_GLOBAL_LOGGER, INI_SESSION, INI_PROVIDER, INI_BELOW_PROVIDER };

struct ini_place {
    enum ini_kind kind;
    char         *key;      /* full registry path; the provider's part is still its name until ini_place_set_provider */
    char         *session;  /* its name, or NULL */
    char         *provider; /* the provider's part as written, or NULL */
    bool          braced;   /* `provider` is a braced GUID */
    bool          in_set;   /* below CollectorSet/NAME, one part deeper */
    bool          known;    /* false: a path below WMI that neither this project nor Windows reads */
};

wstatus ini_place_resolve(const char *section, struct ini_place *out, struct reason *why);
/* Replaces the provider's part of the key by `guid` ("{...}"). */
wstatus ini_place_set_provider(struct ini_place *place, const char *guid, struct reason *why);
void    ini_place_finish(struct ini_place *place);
/* The known section nearest to an unknown one: "Autologger/web" for "Autolgger/web". False: no section is near. */
bool ini_place_suggest(const char *section, char *out, size_t size);
/* True for a canonical path of a key below WMI; *relative is what follows the WMI key ("" for itself). */
bool ini_place_below_wmi(const char *key, const char **relative);
#endif
