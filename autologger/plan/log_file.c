#include "autologger/plan/modes.h"
#include "autologger/plan/reading.h"
#include "registry-sim/text/winpath.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SYSTEM_ROOT "%SystemRoot%"
#define DRIVER_DATA "%DriverData%"
#define DRIVER_DATA_FOLDER SYSTEM_ROOT "\\System32\\Drivers\\DriverData"
#define DEFAULT_FOLDER SYSTEM_ROOT "\\System32\\LogFiles\\WMI\\"

void reading_file_number(struct plan_reading *r)
{
    uint64_t asked = reading_value(r, VALUE_FILE_MAX)->number, high = value_rows[VALUE_FILE_MAX].high;
    uint64_t next = reading_value(r, VALUE_FILE_COUNTER)->number + 1;

    r->plan->file_max = (uint32_t)(asked > high ? high : asked);
    if (asked == 0)
        return;
    r->plan->file_counter = next > r->plan->file_max ? 1 : (uint32_t)next;
    if (asked > high)
        reading_condition(r, W_INVALID_PARAMETER, true, VALUE_FILE_MAX, "lower FileMax to 16",
                          "FileMax %llu is more than %llu, the numbers start again after %llu",
                          (unsigned long long)asked, (unsigned long long)high, (unsigned long long)high);
}

static bool starts_with(const char *text, const char *prefix) { return strncasecmp(text, prefix, strlen(prefix)) == 0; }

/* The file name before mapping; *out is NULL when the session has no file. */
static wstatus file_name_dup(struct plan_reading *r, char **out)
{
    const struct plan_value *v    = reading_value(r, VALUE_FILE_NAME);
    const char              *name = v->text ? v->text : "";
    size_t                   n    = strlen(name);
    int                      made;

    *out = NULL;
    if (n == 0 && !mode_wants_file(r->plan->log_file_mode))
        return W_SUCCESS;
    if (n == 0 || strcasecmp(name, SYSTEM_ROOT) == 0)
        made = asprintf(out, "%s%s.etl", DEFAULT_FOLDER, r->plan->name);
    else if (starts_with(name, DRIVER_DATA))
        made = asprintf(out, "%s%s", DRIVER_DATA_FOLDER, name + strlen(DRIVER_DATA));
    else if (starts_with(name, SYSTEM_ROOT) && (name[n - 1] == '\\' || name[n - 1] == '/'))
        made = asprintf(out, "%s%s", name, r->plan->name); /* no .etl is added */
    else
        made = asprintf(out, "%s", name);
    if (made < 0) {
        *out = NULL;
        return reason_set(r->why, W_OUTOFMEMORY, "no memory for FileName");
    }
    if (*name == '%' && !starts_with(name, SYSTEM_ROOT) && !starts_with(name, DRIVER_DATA))
        reading_condition(r, W_INVALID_PARAMETER, true, VALUE_FILE_NAME, "write the full path",
                          "only a leading %%SystemRoot%% or %%DriverData%% is expanded; the name is taken as it is");
    return W_SUCCESS;
}

wstatus reading_log_file(struct plan_reading *r)
{
    struct plan *p = r->plan;
    char        *path;
    wstatus      st = file_name_dup(r, &p->file_name);

    if (st != W_SUCCESS || !p->file_name)
        return st;
    /* a controller's session may have its file wherever that user may create one; a boot's files never leave the log
     * folder */
    st = winpath_map(p->file_name, r->limits->log_dir, r->limits->now, &path, r->why);
    if (st != W_SUCCESS) {
        reading_blame(r, VALUE_FILE_NAME);
        return st;
    }
    if (p->file_max == 0) {
        p->log_path = path;
        return W_SUCCESS;
    }
    int made = asprintf(&p->log_path, "%s.%03u", path, p->file_counter);
    free(path);
    if (made < 0) {
        p->log_path = NULL;
        return reason_set(r->why, W_OUTOFMEMORY, "no memory for FileName");
    }
    return W_SUCCESS;
}
