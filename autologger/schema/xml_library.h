/* xml_library.h - libxml2, which is loaded when XML is read for the first time. Linked to it every start of the command
 * would load it and ICU, and every installation would need them: 10.1 of the 11.4 MB that are downloaded for the
 * packages.
 * Threads: xml_walk loads it once; a test may call this with another name. Not for: anything but xml_reader.c. */
#ifndef AUTOLOGGER_SCHEMA_XML_LIBRARY_H
#define AUTOLOGGER_SCHEMA_XML_LIBRARY_H
#include "registry-sim/win32/wstatus.h"

/* W_NOT_SUPPORTED with what is missing and what to do. */
wstatus xml_library_load(const char *name, struct reason *why);
#endif
