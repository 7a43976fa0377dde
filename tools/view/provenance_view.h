/* provenance_view.h - where a merged file comes from, as lines and as JSON. Threads: one. Not for: reading it
 * (consumer/provenance.h). */
#ifndef TOOLS_PROVENANCE_VIEW_H
#define TOOLS_PROVENANCE_VIEW_H
#include "autologger/consumer/provenance.h"

#include <stdio.h>

struct json;
/* Prints nothing when the file is not a merged one. */
void provenance_view_print(const struct provenance *p, FILE *to);
/* "provenance": {host, configuration, sessions[]}. */
void provenance_view_json(const struct provenance *p, struct json *j);
#endif
