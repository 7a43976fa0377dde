/* message_format.h - one value in a message of WPP by its printf format, "08x" of "%10!08x!".
 * Threads: pure, any. Not for: messages of manifests, whose formats do not count (message.h). */
#ifndef AUTOLOGGER_SCHEMA_MESSAGE_FORMAT_H
#define AUTOLOGGER_SCHEMA_MESSAGE_FORMAT_H
#include "autologger/schema/value.h"

/* Adds the value. `spec`: what stands between the two "!". `shown`: the value's text; it is what is added when the
 * format does not fit the value's type, with the format's width. */
void message_format(const char *spec, size_t size, const struct schema_field *field, const struct value *value,
                    const char *shown, size_t length, struct text *out);
#endif
