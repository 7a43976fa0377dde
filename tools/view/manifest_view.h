/* manifest_view.h - a manifest as text for people, and as JSON. Threads: one. */
#ifndef TOOLS_MANIFEST_VIEW_H
#define TOOLS_MANIFEST_VIEW_H
#include "autologger/schema/manifest.h"

#include <stdio.h>

struct json;
/* All providers; `culture` by manifest_culture_find. */
void manifest_view_print(const struct manifest *m, int culture, FILE *to);
/* an array's elements: an object a provider */
void manifest_view_json(const struct manifest *m, int culture, struct json *j);
/* A complete manifest to begin with, for a provider of that name. */
void manifest_template_print(const char *provider, FILE *to);
#endif
