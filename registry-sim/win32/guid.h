/* guid.h - GUID values and their text, and the name-to-GUID hash of EventSource and TraceLogging providers.
 * Layout equals the SDK's GUID: first three fields little-endian. Threads: pure functions, any. */
#ifndef REGISTRY_SIM_WIN32_GUID_H
#define REGISTRY_SIM_WIN32_GUID_H
#include <stdbool.h>
#include <stdint.h>

struct guid {
    uint32_t data1;
    uint16_t data2;
    uint16_t data3;
    uint8_t  data4[8];
};
_Static_assert(sizeof(struct guid) == 16, "a GUID has 16 bytes");

enum { GUID_TEXT_SIZE = 39 }; /* "{8-4-4-4-12}" and NUL */

/* Reads "{8-4-4-4-12}" or the same without braces; nothing may follow. False leaves *out alone. */
bool guid_parse(const char *text, struct guid *out);
/* As guid_parse, but braces are required (what ETW's registry reader asks for). */
bool guid_parse_braced(const char *text, struct guid *out);
/* Writes "{8-4-4-4-12}" in lower case into `out` and returns it. */
char *guid_format(const struct guid *guid, char out[GUID_TEXT_SIZE]);
bool  guid_equal(const struct guid *a, const struct guid *b);
bool  guid_is_zero(const struct guid *guid);
/* The EventSource hash of a provider name (UTF-8): SHA-1 over a fixed namespace and the upper-cased UTF-16BE name. */
struct guid guid_from_name(const char *name);
#endif
