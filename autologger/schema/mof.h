/* mof.h - classes of classic events from a MOF file, as a struct manifest of MANIFEST_CLASSES: a provider class gives a
 * name and flags to its control GUID, a class below it is a class GUID, and each EventType of the classes below that is
 * an event (Microsoft Learn, "Event Tracing MOF Qualifiers", "Publishing Your Event Schema for a Classic Provider").
 * Classes that do not derive from EventTrace, instances and pragmas are left out.
 * Threads: one per reading. Ownership: manifest_free. Not for: the kernel's classes, which are built in (classic.h). */
#ifndef AUTOLOGGER_SCHEMA_MOF_H
#define AUTOLOGGER_SCHEMA_MOF_H
#include "autologger/schema/manifest.h"

/* Of a class without EventVersion: it describes all versions that no other class describes. */
enum { MOF_ANY_VERSION = 255 };

/* May the text be MOF: does it begin with a pragma, a qualifier or a class? */
bool mof_is(const char *text, size_t size);
/* Reads UTF-8 text with a NUL behind it. A syntax error ends the reading with W_INVALID_DATA; a property of an unknown
 * type costs the fields behind it. All are reported to `problems`. W_NOT_ENOUGH_MEMORY. */
wstatus mof_read(const char *text, size_t size, const char *origin, struct manifest_problems *problems,
                 struct manifest **out, struct reason *why);
#endif
