/* xml_library.h - libxml2, loaded when XML is read for the first time. Linked, it and ICU would be loaded at every
 * start of the command, and needed by every installation: 10.1 of the 11.4 MB of downloads for the packages.
 * Threads: xml_walk loads it once; a test may call this with another name. Not for: files other than xml_reader.c. */
#ifndef AUTOLOGGER_SCHEMA_XML_LIBRARY_H
#define AUTOLOGGER_SCHEMA_XML_LIBRARY_H
#include "registry-sim/win32/wstatus.h"

/* W_NOT_SUPPORTED with what is missing and what to do. */
wstatus xml_library_load(const char *name, struct reason *why);
#endif
