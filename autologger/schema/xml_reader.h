/* xml_reader.h - walks an XML document, element by element, with the line of each element and of each attribute. The
 * only file that sees libxml2 is xml_reader.c, which loads it on demand (xml_library.h); a build without it (AL_STATIC)
 * has xml_reader_none.c, which reports that. Reads nothing but the given text; refuses a document with a DTD, so the
 * only entities are the five of XML.
 * Threads: one per call. Ownership: names and values are lent for the call. Not for: what elements mean
 * (manifest_build). */
#ifndef AUTOLOGGER_SCHEMA_XML_READER_H
#define AUTOLOGGER_SCHEMA_XML_READER_H
#include "registry-sim/win32/wstatus.h"

#include <stddef.h>

enum { XML_ATTRIBUTES = 32, XML_DEPTH = 64 };

struct xml_attribute {
    const char *name, *value; /* name: without its prefix */
    uint32_t    line;
};
struct xml_element {
    const char          *name; /* without its prefix */
    uint32_t             line; /* of its '<' */
    size_t               end;  /* offset behind the start tag; of an end tag: its beginning */
    unsigned             count;
    struct xml_attribute attributes[XML_ATTRIBUTES]; /* those of no namespace */
};
struct xml_walker {
    void (*begin)(void *ctx, const struct xml_element *element);
    /* `element`: name, line and end of the end tag; no attributes */
    void (*end)(void *ctx, const struct xml_element *element);
    void (*text)(void *ctx, const char *text, size_t length); /* also white space; in pieces */
    /* the document is no accepted XML */
    void (*wrong)(void *ctx, uint32_t line, const char *what, const char *advice);
    void *ctx;
};
/* Walks `length` bytes of UTF-8, whatever encoding the document declares. W_SUCCESS: it was XML to its end, or `wrong`
 * was called; W_NOT_ENOUGH_MEMORY; W_NOT_SUPPORTED: this build has no reader, or libxml2 is not installed. `text` must
 * be followed by a NUL. */
wstatus xml_walk(const char *text, size_t length, const struct xml_walker *walker, struct reason *why);
#endif
