/* rehearse_balance.c - see rehearse_balance.h. */
#include "tools/live/rehearse_balance.h"
#include "registry-sim/base/visible_print.h"

#include <inttypes.h>
#include <string.h>

void demo_report_read(const char *path, struct demo_report *out)
{
    char  line[256];
    FILE *from = fopen(path, "r");
    *out       = (struct demo_report){0};
    while (from && fgets(line, sizeof line, from) && out->count < BALANCE_PROVIDERS) {
        char     text[64];
        uint64_t attempted;
        if (sscanf(line, "provider=%63s attempted=%" SCNu64, text, &attempted) != 2 ||
            !guid_parse(text, &out->provider[out->count].guid))
            continue;
        out->provider[out->count].attempted = attempted;
        out->count++;
    }
    if (from)
        fclose(from);
}

/* Does the declaration keep some of the provider's events out? The demo writes at level 4 and below. */
static bool is_filtered(struct regstore *store, const struct result_row *row)
{
    uint32_t level = 0;
    uint64_t any = 0, all = 0;
    regstore_get_dword(store, row->key, "EnableLevel", &level, NULL);
    if (regstore_get_qword(store, row->key, "MatchAnyKeyword", &any, NULL)) {
        uint32_t narrow = 0;
        if (regstore_get_dword(store, row->key, "MatchAnyKeyword", &narrow, NULL) == W_SUCCESS)
            any = narrow;
    }
    regstore_get_qword(store, row->key, "MatchAllKeyword", &all, NULL);
    return (level && level < 4) || any || all;
}

static void add_demo(const struct demo_report *demo, const struct result_row *provider, struct regstore *store,
                     struct balance *out)
{
    struct guid guid;
    if (!guid_parse(provider->provider, &guid))
        return;
    for (unsigned i = 0; i < demo->count; i++)
        if (guid_equal(&demo->provider[i].guid, &guid)) {
            out->attempted += demo->provider[i].attempted;
            out->counted_by = "autologger-demo";
            out->filtered |= is_filtered(store, provider);
        }
}

bool balance_of(const struct result_list *list, const struct result_row *row, const struct demo_report *demo,
                struct regstore *store, struct balance *out)
{
    if (row->provider[0] || !row->start || (row->status && !row->stopped))
        return false;
    *out = (struct balance){
        .session = row->session, .written = row->written, .lost = result_lost(row), .lost_file = row->lost_file};
    if (row->kernel) {
        out->kernel     = true;
        out->counted_by = "the kernel";
        out->attempted  = row->attempted;
        out->converted  = row->converted;
        out->withheld   = row->withheld;
        return true;
    }
    for (unsigned i = 0; i < list->count; i++) {
        const struct result_row *p = &list->rows[i];
        if (p->provider[0] && p->start && !p->status && !strcmp(p->session, row->session))
            add_demo(demo, p, store, out);
    }
    return true;
}

bool balance_holds(const struct balance *b)
{
    if (!b->counted_by)
        return true;
    if (b->kernel)
        return b->attempted == b->converted + b->lost - b->lost_file;
    return b->filtered ? b->attempted >= b->written + b->lost : b->attempted == b->written + b->lost;
}

static void kernel_print(const struct balance *b, FILE *to)
{
    visible_printf(
        to, "%s: attempted %" PRIu64 " %s converted %" PRIu64 " + lost %" PRIu64 "   (records, counted by the kernel",
        b->session, b->attempted, balance_holds(b) ? "=" : "DIFFERS FROM", b->converted, b->lost - b->lost_file);
    if (b->withheld)
        fprintf(to, "; %" PRIu64 " of the lost were withheld by a filter of this kernel", b->withheld);
    fprintf(to, "); events written %" PRIu64, b->written);
    if (b->lost_file)
        fprintf(to, " + lost on the way to the file %" PRIu64, b->lost_file);
    fputc('\n', to);
}

void balance_print(const struct balance *b, FILE *to)
{
    if (b->kernel) {
        kernel_print(b, to);
        return;
    }
    if (!b->counted_by) {
        visible_printf(to, "%s: written %" PRIu64 " + lost %" PRIu64 " (nobody else counted)\n", b->session, b->written,
                       b->lost);
        return;
    }
    visible_printf(to, "%s: attempted %" PRIu64 " %s written %" PRIu64 " + lost %" PRIu64 "   (counted by %s%s)\n",
                   b->session, b->attempted,
                   b->attempted == b->written + b->lost ? "="
                   : b->filtered                        ? ">"
                                                        : "DIFFERS FROM",
                   b->written, b->lost, b->counted_by, b->filtered ? "; the session filters" : "");
}

void balance_json(const struct balance *b, struct json *j)
{
    json_object(j, NULL);
    json_text(j, "session", b->session);
    json_text(j, "counted_by", b->counted_by);
    json_number(j, "attempted", b->attempted);
    if (b->kernel)
        json_number(j, "converted", b->converted);
    json_number(j, "written", b->written);
    json_number(j, "lost", b->lost);
    json_number(j, "lost_file", b->lost_file);
    json_number(j, "withheld", b->withheld);
    json_flag(j, "filtered", b->filtered);
    json_flag(j, "balanced", balance_holds(b));
    json_object_end(j);
}
