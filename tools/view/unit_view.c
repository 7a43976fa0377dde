/* unit_view.c - see unit_view.h. */
#include "tools/view/unit_view.h"

#include "autologger/schema/text.h"
#include "tools/base/json_out.h"
#include "tools/base/text_table.h"

#include <inttypes.h>
#include <string.h>

enum { TICKS = 10000000, NAME_MOST = 48 };

void unit_view_print(const struct unit_row *rows, unsigned count, FILE *to)
{
    static const char *const titles[] = {"unit", "processes", "CPU s", "disk read", "disk written", "events", NULL};
    struct text_table        t        = {0};

    if (!count)
        return;
    fputc('\n', to);
    text_table_init(&t, titles);
    t.right = 0xFE;
    for (unsigned i = 0; i < count; i++) {
        struct text clean = {0};
        char        name[4 * NAME_MOST + 4], cell[5][32];
        text_utf8(&clean, rows[i].name, strlen(rows[i].name));
        snprintf(cell[0], sizeof cell[0], "%" PRIu64, rows[i].processes);
        snprintf(cell[1], sizeof cell[1], "%.6f", (double)rows[i].cpu / (double)TICKS);
        snprintf(cell[2], sizeof cell[2], "%" PRIu64, rows[i].read);
        snprintf(cell[3], sizeof cell[3], "%" PRIu64, rows[i].written);
        snprintf(cell[4], sizeof cell[4], "%" PRIu64, rows[i].events);
        text_table_row(&t, text_table_cut(text_get(&clean), NAME_MOST, name, sizeof name), cell[0], cell[1], cell[2],
                       cell[3], cell[4]);
        text_finish(&clean);
    }
    text_table_print(&t, to);
    text_table_finish(&t);
}

void unit_view_json(const struct unit_row *rows, unsigned count, struct json *j)
{
    json_array(j, "units");
    for (unsigned i = 0; i < count; i++) {
        json_object(j, NULL);
        json_text(j, "unit", rows[i].name);
        json_number(j, "processes", rows[i].processes);
        json_real(j, "cpuSeconds", (double)rows[i].cpu / (double)TICKS);
        json_number(j, "diskRead", rows[i].read);
        json_number(j, "diskWritten", rows[i].written);
        json_number(j, "events", rows[i].events);
        json_object_end(j);
    }
    json_array_end(j);
}
