#include "autologger/schema/xml_library.h"
#include "autologger/schema/xml_reader.h"

#include <dlfcn.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/xmlerror.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the library ---- */

/* clang-format off */
#define FUNCTIONS(F) \
    F(xmlInitParser) F(xmlCreateMemoryParserCtxt) F(xmlCtxtUseOptions) F(xmlParseDocument) F(xmlFreeParserCtxt) F(xmlStopParser) \
    F(xmlByteConsumed) F(xmlGetPredefinedEntity)
/* clang-format on */
#pragma GCC diagnostic push /* xmlByteConsumed: deprecated since 2.14, but older versions have nothing else */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static struct {
#define F(name) __typeof__(name) *name;
    FUNCTIONS(F)
#undef F
} xml;
#pragma GCC diagnostic pop
static struct reason   xml_refused; /* status 0: loaded */

wstatus xml_library_load(const char *name, struct reason *why)
{
    void       *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    const char *missing = library ? NULL : dlerror();
#define F(function) \
    if (library && !missing) { \
        void *found = dlsym(library, #function); \
        memcpy(&xml.function, &found, sizeof found); /* an object's pointer as a function's */ \
        missing = found ? NULL : #function; \
    }
    FUNCTIONS(F)
#undef F
    if (!missing)
        return W_SUCCESS; /* it stays loaded */
    return reason_set(why, W_NOT_SUPPORTED,
                      "XML is read by libxml2, which cannot be loaded (%s). Do: apt-get install libxml2", missing);
}

static void xml_load(void) { xml_library_load(AL_XML2, &xml_refused); }

struct xml_reader_walk {
    const struct xml_walker *walker;
    xmlParserCtxtPtr         parser;
    const char              *text;
    size_t                   length;
    struct xml_element       element;
    /* lines are counted from here */
    size_t   counted;
    uint32_t line;
    unsigned depth, told;
};
enum { TOLD_MAX = 1 }; /* later mistakes in XML follow from the first */

/* Counts lines from the last place, forward or back: a short way, for elements come in order. */
static uint32_t line_at(struct xml_reader_walk *w, size_t offset)
{
    for (; w->counted < offset; w->counted++)
        w->line += w->text[w->counted] == '\n';
    for (; w->counted > offset; w->counted--)
        w->line -= w->text[w->counted - 1] == '\n';
    return w->line;
}

static size_t position(const struct xml_reader_walk *w)
{
    long at = xml.xmlByteConsumed(w->parser);
    return at < 0 || (size_t)at > w->length ? w->length : (size_t)at;
}

static void xml_reader_tell(struct xml_reader_walk *w, uint32_t line, const char *what, const char *advice)
{
    if (w->told++ < TOLD_MAX)
        w->walker->wrong(w->walker->ctx, line, what, advice);
}

static void xml_reader_stop(struct xml_reader_walk *w, const char *what, const char *advice)
{
    xml_reader_tell(w, line_at(w, position(w)), what, advice);
    xml.xmlStopParser(w->parser);
}

/* The '<' of the tag that ends at `end`: no '<' can stand inside of a start tag. */
static size_t tag_begin(const struct xml_reader_walk *w, size_t end)
{
    while (end > 0 && w->text[--end] != '<')
        ;
    return end;
}

/* The offset of the attribute `name` in the tag, behind *at. */
static size_t attribute_at(const struct xml_reader_walk *w, size_t *at, size_t end, const char *name)
{
    size_t n = strlen(name);

    for (size_t i = *at + 1; i + n < end; i++) {
        char c = w->text[i];
        if (c == '"' || c == '\'') { /* skip the value */
            const char *close = memchr(w->text + i + 1, c, end - i - 1);
            if (!close)
                break;
            i = (size_t)(close - w->text);
        } else if (memcmp(w->text + i, name, n) == 0 && strchr(" \t\r\n=", w->text[i + n]) &&
                   strchr(" \t\r\n", w->text[i - 1])) {
            *at = i;
            break;
        }
    }
    return *at;
}

static void xml_reader_on_begin(void *ctx, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri,
                                int namespaces, const xmlChar **declared, int count, int defaulted,
                                const xmlChar **attributes)
{
    struct xml_reader_walk *w   = ctx;
    struct xml_element     *e   = &w->element;
    size_t                  end = position(w), at = tag_begin(w, end);
    char                   *copies[XML_ATTRIBUTES];

    (void)prefix, (void)uri, (void)namespaces, (void)declared, (void)defaulted;
    *e = (struct xml_element){.name = (const char *)name, .line = line_at(w, at), .end = end};
    e->end += e->end < w->length && w->text[e->end] == '/';
    e->end += e->end < w->length;
    if (++w->depth > XML_DEPTH) {
        xml_reader_stop(w, "elements are nested too deeply", "bring it to at most 64 levels");
        return;
    }
    for (int i = 0; i < count; i++, attributes += 5) {
        if (attributes[1]) /* of another namespace: not ours */
            continue;
        if (e->count == XML_ATTRIBUTES) {
            xml_reader_tell(w, e->line, "the element has too many attributes",
                            "leave away those that the grammar does not have");
            break;
        }
        /* values are not NUL-terminated */
        copies[e->count]        = strndup((const char *)attributes[3], (size_t)(attributes[4] - attributes[3]));
        struct xml_attribute *a = &e->attributes[e->count];
        a->name                 = (const char *)attributes[0];
        a->value                = copies[e->count] ? copies[e->count] : "";
        a->line                 = line_at(w, attribute_at(w, &at, end, a->name));
        e->count++;
    }
    w->walker->begin(w->walker->ctx, e);
    for (unsigned i = 0; i < e->count; i++)
        free(copies[i]);
}

static void xml_reader_on_end(void *ctx, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri)
{
    struct xml_reader_walk *w     = ctx;
    size_t                  begin = tag_begin(w, position(w));

    (void)prefix, (void)uri;
    w->depth -= w->depth > 0;
    w->element = (struct xml_element){.name = (const char *)name, .line = line_at(w, begin), .end = begin};
    w->walker->end(w->walker->ctx, &w->element);
}

static void xml_reader_on_text(void *ctx, const xmlChar *text, int length)
{
    struct xml_reader_walk *w = ctx;
    if (length > 0)
        w->walker->text(w->walker->ctx, (const char *)text, (size_t)length);
}

static xmlEntityPtr on_entity(void *ctx, const xmlChar *name)
{
    (void)ctx;
    return xml.xmlGetPredefinedEntity(name);
}

static void on_dtd(void *ctx, const xmlChar *name, const xmlChar *external, const xmlChar *system)
{
    (void)name, (void)external, (void)system;
    xml_reader_stop(ctx, "the document has a DTD (<!DOCTYPE>), which manifests have not",
                    "remove it, and write out the entities it defines");
}

static void on_error(void *ctx, xmlErrorPtr error)
{
    struct xml_reader_walk *w = ctx;
    char                    text[256];
    size_t n = (size_t)snprintf(text, sizeof text, "this is not XML: %s", error->message ? error->message : "?");

    if (error->level < XML_ERR_ERROR || error->code == XML_ERR_USER_STOP ||
        error->code == XML_NS_ERR_UNDEFINED_NAMESPACE)
        return; /* fragments use undeclared prefixes */
    n = n < sizeof text ? n : sizeof text - 1;
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
        text[--n] = 0;
    xml_reader_tell(w, error->line > 0 ? (uint32_t)error->line : 0, text, "xmllint --noout FILE shows the place");
}

wstatus xml_walk(const char *text, size_t length, const struct xml_walker *walker, struct reason *why)
{
    struct xml_reader_walk w   = {.walker = walker, .text = text, .length = length, .line = 1};
    xmlSAXHandler          sax = {.initialized    = XML_SAX2_MAGIC,
                                  .startElementNs = xml_reader_on_begin,
                                  .endElementNs   = xml_reader_on_end,
                                  .characters     = xml_reader_on_text,
                                  .cdataBlock     = xml_reader_on_text,
                                  .getEntity      = on_entity,
                                  .internalSubset = on_dtd,
                                  .serror         = (xmlStructuredErrorFunc)on_error};
    xmlParserCtxtPtr       parser;
    static pthread_once_t  once = PTHREAD_ONCE_INIT;

    pthread_once(&once, xml_load);
    if (xml_refused.status)
        return reason_set(why, xml_refused.status, "%s", xml_refused.text);
    if (!length) {
        walker->wrong(walker->ctx, 0, "the file is empty",
                      "write a manifest into it: autologger manifest template NAME");
        return W_SUCCESS;
    }
    xml.xmlInitParser();
    if (length > INT32_MAX || !(parser = xml.xmlCreateMemoryParserCtxt(text, (int)length)))
        return reason_set(why, W_NOT_ENOUGH_MEMORY, "no memory to read the XML");
    w.parser = parser;
    /* NOENT: the five entities of XML become characters; there are no others */
    xml.xmlCtxtUseOptions(parser, XML_PARSE_NONET | XML_PARSE_NOENT | XML_PARSE_IGNORE_ENC | XML_PARSE_NOWARNING);
    *parser->sax     = sax;
    parser->userData = &w;
    xml.xmlParseDocument(parser);
    xml.xmlFreeParserCtxt(parser);
    return W_SUCCESS;
}
