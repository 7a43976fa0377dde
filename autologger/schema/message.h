/* message.h - the message of an event with its values: "%1 said %2" (facts: tracelogging-manifest-tdh 3.2). %N is the
 * N-th value of the event's own fields (a struct counts as its members); %N!s! and other formats are the same; %n a new
 * line, %t, %b, %r, %., %!, %%; %0 ends it; %%N a message of the provider's parameters, which stays as it is. Threads:
 * pure, any. */
#ifndef AUTOLOGGER_SCHEMA_MESSAGE_H
#define AUTOLOGGER_SCHEMA_MESSAGE_H
#include "autologger/schema/walk.h"

/* Adds the text. A number without a value stays: "%7". The elements of an array are joined by ", ". False: no
 * memory. */
bool message_text(const struct schema_event *event, const void *payload, size_t size, bool is_64bit, struct text *out);
/* The same of the XML that a manifest's template has in UserData (e->user_data): values are escaped as XML wants it. */
bool message_user_data(const struct schema_event *event, const void *payload, size_t size, bool is_64bit,
                       struct text *out);
#endif
