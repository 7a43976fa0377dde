/* summary_view.c - see summary_view.h. */
#include "tools/summary_view.h"
#include "autologger/consumer/summary.h"
#include "tools/store_access.h"
#include "tools/verb.h"

#include <inttypes.h>

enum { DAMAGE_SHOWN = 10 };

bool damage_print(const char *verb, const char *path, const struct etl_reader *reader)
{
    unsigned                 count  = 0;
    const struct etl_damage *damage = etl_reader_damage(reader, &count);
    fflush(stdout);
    for (unsigned i = 0; i < count && i < DAMAGE_SHOWN; i++)
        fprintf(stderr, "%s: %s: offset %" PRIu64 ": %s\n", verb, path, damage[i].offset, damage[i].text);
    if (count)
        fprintf(stderr, "%s: %s is damaged in %u place%s; what lies between was read. Do: copy the file again from where it was "
                        "written\n", verb, path, count, plural(count));
    return count != 0;
}

int summary_view_file(const char *verb, const char *path, bool as_json)
{
    struct etl_reader *reader  = NULL;
    struct summary    *summary = NULL;
    struct reason      why     = {0};
    int                code    = VERB_FINE;
    wstatus            st      = etl_reader_open(path, &reader, &why);
    if (!st)
        st = summary_create(reader, &summary, &why);
    if (!st && as_json)
        st = summary_print_json(summary, stdout);
    else if (!st)
        summary_print(summary, stdout);
    if (st)
        code = failure_print_about(reader ? ABOUT_ANY : ABOUT_TRACE, verb, st, &why);
    else if (damage_print(verb, path, reader))
        code = VERB_FAILED;
    summary_destroy(summary);
    etl_reader_close(reader);
    return code;
}
