/* message.h - the message of an event with its values: "%1 said %2" (facts: tracelogging-manifest-tdh 3.2). %N is the
 * N-th value of the event's own fields (a struct counts as its members), also as %N!s! or with another format; %n is a
 * new line, %t, %b, %r, %., %!, %% are escapes; %0 ends the message; %%N, a message of the provider's parameter file,
 * stays as it is.
 * Threads: pure, any. */
#ifndef AUTOLOGGER_SCHEMA_MESSAGE_H
#define AUTOLOGGER_SCHEMA_MESSAGE_H
#include "autologger/schema/walk.h"

/* Adds the text. A number without a value stays: "%7". The elements of an array are joined by ", ". False: no
 * memory. */
bool message_text(const struct schema_event *event, const void *payload, size_t size, bool is_64bit, struct text *out);
/* The same for the XML in UserData of a manifest's template (e->user_data): values are escaped for XML. */
bool message_user_data(const struct schema_event *event, const void *payload, size_t size, bool is_64bit,
                       struct text *out);
#endif
