/* analyse_view.h - the results of `autologger analyse`, as text and as JSON. One function a topic.
 * Threads: one. Ownership: everything is borrowed. Not for: finding the results (autologger/analysis). */
#ifndef TOOLS_ANALYSE_VIEW_H
#define TOOLS_ANALYSE_VIEW_H
#include "autologger/analysis/activities.h"
#include "autologger/analysis/counts.h"
#include "autologger/analysis/delta.h"
#include "autologger/analysis/images.h"
#include "autologger/analysis/moment.h"

struct analyse_view {
    bool               json;
    unsigned           rows;  /* of a table, at most; 0: all */
    uint64_t           start; /* FILETIME that times are counted from */
    const char *const *files;
    unsigned           file_count;
};
void delta_view(const struct delta *d, const struct analyse_view *v);
void counts_view(const struct counts *c, const struct analyse_view *v);
void activities_view(const struct activities *a, const struct guid *only, const struct analyse_view *v);
void images_view(const struct images *i, const struct analyse_view *v);
void moment_view(struct moment *m, const struct analyse_view *v);

struct json;
/* "1.2345678": seconds of a time since the start. Returns `out`. */
const char *view_seconds(const struct analyse_view *v, uint64_t filetime, char out[32]);
/* "12.345 ms" of 100 ns. */
const char *view_span(uint64_t ticks, char out[32]);
const char *view_number(uint64_t value, char out[32]);
/* JSON: begins with the names of the files. */
struct json *view_json(const struct analyse_view *v, const char *topic);
void         view_json_seconds(struct json *j, const char *name, const struct analyse_view *v, uint64_t filetime);
#endif
