#include "autologger/boot/result.h"

#include "registry-sim/win32/utf16.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Number: of the boot saved last. Highest: the highest number ever given, so that none is given twice. */
#define LAST_KEY "HKEY_LOCAL_MACHINE\\SOFTWARE\\autologger\\LastBoot"

/* Every stored number of a row, listed once for saving and loading. */
/* clang-format off */
#define RESULT_NUMBERS(N) \
    N("Start", start) N("KeptOff", kept_off) N("ResultStatus", status) N("SourceLine", source_line) N("Kernel", kernel) \
    N("AskedBufferSize", asked.buffer_kb) N("AskedMinimumBuffers", asked.minimum_buffers) \
    N("AskedMaximumBuffers", asked.maximum_buffers) N("GivenBufferSize", given.buffer_kb) \
    N("GivenMinimumBuffers", given.minimum_buffers) N("GivenMaximumBuffers", given.maximum_buffers) \
    N("FileCreated", file_created) N("Stopped", stopped) N("Concluded", concluded) N("Attempted", attempted) N("Converted", converted) N("Written", written) N("Overwritten", overwritten) \
    N("LostRing", lost_ring) N("LostMemory", lost_memory) N("LostConversion", lost_conversion) N("LostFile", lost_file) N("Withheld", withheld) N("Filtered", filtered) \
    N("PeakBytes", peak_bytes) N("SuggestedMinimum", suggested_minimum) N("SuggestedMaximum", suggested_maximum) \
    N("LateEvents", late_events) N("ClockErrorNs", clock_error_ns) N("Registrations", registrations) N("Tracepoint", tracepoint) N("Tracepoints", tracepoints) \
    N("Level", level) N("MatchAny", match_any) N("MatchAll", match_all) N("RefusedByLevel", refused_by_level) \
    N("RefusedByKeywords", refused_by_keywords) N("RefusedByFilter", refused_by_filter) N("RefusedLevel", refused_level) N("RefusedKeywords", refused_keywords)
/* clang-format on */
/* clang-format off */
#define RESULT_TEXTS(T) \
    T("Session", session) T("Provider", provider) T("Name", name) T("Key", key) T("Reason", reason) T("SourceFile", source_file) T("LogPath", log_path) \
    T("MergedPath", merged_path)
/* clang-format on */

/* The same of a boot as a whole. */
/* clang-format off */
#define BOOT_NUMBERS(N) \
    N("Time", time) N("Rehearsal", rehearsal) N("EarlyNs", early_ns) N("ReadyNs", ready_ns) N("ArmedNs", armed_ns) \
    N("HeldNs", held_ns) N("FirstKernelNs", first_kernel_ns) N("FirstUserNs", first_user_ns) \
    N("StartNs", start_ns) N("InitNs", phases.init_ns) N("UserNs", phases.user_ns) N("FirmwareNs", phases.firmware_ns) \
    N("LoaderNs", phases.loader_ns) N("MachineAsked", phases.machine_asked) N("PhasesCounted", phases.counted) \
    N("KernelEvents", phases.events[RESULT_PHASE_KERNEL]) N("InitramfsEvents", phases.events[RESULT_PHASE_INITRAMFS]) \
    N("UserEvents", phases.events[RESULT_PHASE_USER]) N("SettlingEvents", phases.events[RESULT_PHASE_SETTLING]) \
    N("AfterEvents", phases.events[RESULT_PHASE_AFTER]) \
    N("TargetMs", target_ms) N("BootDoneMs", boot_done_ms) N("ChangeNumber", change_number) N("KernelPhase", kernel_phase)
/* clang-format on */
#define BOOT_TEXTS(T) T("BootId", boot_id) T("StopReason", stop_reason)

enum result_level result_level(const struct result_row *row)
{
    enum result_level level = row->status ? RESULT_FAILED : RESULT_OK;
    if (row->kept_off || (!row->start && !row->status))
        return RESULT_OFF;
    if (row->lost_ring || row->lost_memory || row->lost_conversion || row->lost_file)
        level = RESULT_FAILED;                                          /* a loss is never just a note */
    if (level == RESULT_OK && (row->conditions.count || row->withheld)) /* the row shows the number of withheld ones */
        level = RESULT_NOTE;
    return level;
}

const char *result_level_name(enum result_level level)
{
    static const char *const names[] = {
        [RESULT_OK] = "ok", [RESULT_NOTE] = "note", [RESULT_FAILED] = "failed", [RESULT_OFF] = "off"};
    return names[level];
}

bool result_in_part(const struct result_row *row)
{
    bool fault = false;
    for (unsigned i = 0; i < row->conditions.count; i++)
        fault |= !row->conditions.items[i].note;
    return fault && result_level(row) == RESULT_NOTE;
}

uint64_t result_lost(const struct result_row *row)
{
    return row->lost_ring + row->lost_memory + row->lost_conversion + row->lost_file + row->withheld;
}

bool result_undone(const struct result_row *row)
{
    enum result_level level = result_level(row);
    return level == RESULT_FAILED || (level == RESULT_OFF && row->status) || result_in_part(row);
}

const char *result_row_word(const struct result_row *row)
{
    return result_in_part(row) ? "in part" : result_level_name(result_level(row));
}

struct result_row *result_add(struct result_list *list)
{
    if (list->count == list->capacity) {
        unsigned           more = list->capacity ? list->capacity * 2 : 16;
        struct result_row *rows = realloc(list->rows, more * sizeof *rows);
        if (!rows)
            return NULL;
        list->rows     = rows;
        list->capacity = more;
    }
    memset(&list->rows[list->count], 0, sizeof list->rows[0]);
    return &list->rows[list->count++];
}

struct result_row *result_find(struct result_list *list, const char *session, const char *provider)
{
    for (unsigned i = 0; i < list->count; i++)
        if (name_compare(list->rows[i].session, session) == 0 && name_compare(list->rows[i].provider, provider) == 0)
            return &list->rows[i];
    return NULL;
}

struct result_row *result_find_key(struct result_list *list, const char *key)
{
    for (unsigned i = 0; i < list->count; i++)
        if (name_compare(list->rows[i].key, key) == 0)
            return &list->rows[i];
    return NULL;
}

bool result_list_final(const struct result_list *list)
{
    bool final = list->count > 0;
    for (unsigned i = 0; i < list->count; i++) {
        const struct result_row *r = &list->rows[i];
        final &= *r->provider || !r->start || r->status || r->concluded;
    }
    return final;
}

void result_list_finish(struct result_list *list)
{
    for (unsigned i = 0; i < list->count; i++)
        condition_list_finish(&list->rows[i].conditions);
    free(list->rows);
    memset(list, 0, sizeof *list);
}

/* ---- the store ---- */

const char *result_key(uint32_t number, char out[RESULT_KEY_SIZE])
{
    snprintf(out, RESULT_KEY_SIZE, RESULT_BOOTS_KEY "\\%05u", number);
    return out;
}

uint32_t result_number(const char *name)
{
    char         *end;
    unsigned long number = strtoul(name, &end, 10);
    return *name >= '0' && *name <= '9' && !*end && number <= UINT32_MAX ? (uint32_t)number : 0;
}

static uint64_t load_number(struct regstore *store, const char *key, const char *name)
{
    uint64_t value = 0;
    uint32_t small;
    if (regstore_get_qword(store, key, name, &value, NULL) != W_SUCCESS)
        value = regstore_get_dword(store, key, name, &small, NULL) == W_SUCCESS ? small : 0;
    return value;
}

static void load_text(struct regstore *store, const char *key, const char *name, char *out, size_t size)
{
    char *text = NULL;
    *out       = 0;
    if (regstore_get_string_dup(store, key, name, &text, NULL) == W_SUCCESS)
        snprintf(out, size, "%s", text);
    free(text);
}

/* ---- saving ---- */

static wstatus save_condition(struct regstore *store, const char *key, unsigned number, const struct condition *c,
                              struct reason *why)
{
    char    path[1400];
    wstatus st;
    snprintf(path, sizeof path, "%s\\Condition%03u", key, number);
    const struct {
        const char *name, *text;
    } texts[] = {{"Item", c->item}, {"Reason", c->reason}, {"Advice", c->advice}, {"SourceFile", c->source_file}};
    st        = regstore_set_dword(store, path, "Number", c->number, why);
    st        = st ? st : regstore_set_dword(store, path, "Note", c->note, why);
    st        = st ? st : regstore_set_dword(store, path, "SourceLine", c->source_line, why);
    for (unsigned i = 0; i < sizeof texts / sizeof *texts && !st; i++)
        st = regstore_set_string(store, path, texts[i].name, texts[i].text, why);
    return st;
}

/* `number`: of the row; names are not unique: two declarations may give their sessions one name, and the second one
 * fails. `past`: the declarations have a later boot's Status. */
static wstatus save_row(struct regstore *store, const char *rows_key, const struct result_row *row, unsigned number,
                        bool past, struct reason *why)
{
    char    key[160];
    wstatus st = W_SUCCESS;

    snprintf(key, sizeof key, "%s\\%05u", rows_key, number);
#define N(value, field) \
    if (!st) \
        st = regstore_set_qword(store, key, value, row->field, why);
#define T(value, field) \
    if (!st) \
        st = regstore_set_string(store, key, value, row->field, why);
    RESULT_NUMBERS(N)
    RESULT_TEXTS(T)
#undef N
#undef T
    for (unsigned i = 0; i < row->conditions.count && !st; i++)
        st = save_condition(store, key, i, &row->conditions.items[i], why);
    /* as Windows does: Status at the declaration itself, also when Start is 0 */
    if (!st && !past && *row->key && regstore_key_exists(store, row->key))
        st = regstore_set_dword(store, row->key, "Status", row->status, why);
    return st;
}

/* ---- boots by number ---- */

struct seeking {
    struct regstore *store;
    const char      *boot_id;
    uint32_t         number;
};

static wstatus boot_matches(void *ctx, const struct regkey_info *info)
{
    struct seeking *s = ctx;
    char            key[RESULT_KEY_SIZE], id[sizeof((struct result_list *)0)->boot_id];
    uint32_t        number = result_number(info->name);

    if (!number)
        return W_SUCCESS;
    load_text(s->store, result_key(number, key), "BootId", id, sizeof id);
    if (strcmp(id, s->boot_id) != 0)
        return W_SUCCESS;
    s->number = number;
    return W_CANCELLED; /* found */
}

wstatus result_number_of(struct regstore *store, const char *boot_id, uint32_t *out, struct reason *why)
{
    struct seeking s  = {.store = store, .boot_id = boot_id};
    wstatus        st = regstore_enum_keys(store, RESULT_BOOTS_KEY, boot_matches, &s);

    *out = s.number;
    if (s.number)
        return W_SUCCESS;
    if (st && st != W_FILE_NOT_FOUND)
        return reason_set(why, st, "the boots in the store could not be listed");
    *out = (uint32_t)load_number(store, LAST_KEY, "Highest") + 1;
    return W_SUCCESS;
}

static wstatus save_boot(struct regstore *store, const struct result_list *list, const char *key, bool past,
                         struct reason *why)
{
    char    rows[RESULT_KEY_SIZE];
    wstatus st = W_SUCCESS;

    snprintf(rows, sizeof rows, "%s\\Rows", key);
    if (regstore_key_exists(store, rows))
        st = regstore_delete_key(store, rows, why);
#define N(value, field) \
    if (!st) \
        st = regstore_set_qword(store, key, value, list->field, why);
#define T(value, field) \
    if (!st) \
        st = regstore_set_string(store, key, value, list->field, why);
    BOOT_NUMBERS(N)
    BOOT_TEXTS(T)
#undef N
#undef T
    for (unsigned i = 0; i < list->count && !st; i++)
        st = save_row(store, rows, &list->rows[i], i, past, why);
    return st;
}

wstatus result_save(struct regstore *store, const struct result_list *list, struct reason *why)
{
    char     key[RESULT_KEY_SIZE];
    uint32_t number = 0;
    wstatus  st     = regstore_begin(store, why);
    if (st)
        return st;
    st = result_number_of(store, list->boot_id, &number, why);
    if (!st && number > load_number(store, LAST_KEY, "Highest"))
        st = regstore_set_dword(store, LAST_KEY, "Highest", number, why);
    st = st ? st : save_boot(store, list, result_key(number, key), false, why);
    st = st ? st : regstore_set_dword(store, LAST_KEY, "Number", number, why);
    if (st) {
        regstore_rollback(store);
        return st;
    }
    return regstore_commit(store, why);
}

wstatus result_save_past(struct regstore *store, const struct result_list *list, struct reason *why)
{
    char    key[RESULT_KEY_SIZE];
    wstatus st = regstore_begin(store, why);
    if (st)
        return st;
    st = regstore_key_exists(store, result_key(list->number, key))
             ? save_boot(store, list, key, true, why)
             : reason_set(why, W_FILE_NOT_FOUND, "the store has no boot %u, or no longer", list->number);
    if (!st)
        return regstore_commit(store, why);
    regstore_rollback(store);
    return st;
}

/* ---- loading ---- */

static void load_conditions(struct regstore *store, const char *key, struct condition_list *list)
{
    for (unsigned i = 0;; i++) {
        char             path[1400];
        struct condition c;
        snprintf(path, sizeof path, "%s\\Condition%03u", key, i);
        if (!regstore_key_exists(store, path))
            return;
        load_text(store, path, "Item", c.item, sizeof c.item);
        load_text(store, path, "Reason", c.reason, sizeof c.reason);
        load_text(store, path, "Advice", c.advice, sizeof c.advice);
        load_text(store, path, "SourceFile", c.source_file, sizeof c.source_file);
        condition_add(list, (wstatus)load_number(store, path, "Number"), load_number(store, path, "Note") != 0, c.item,
                      c.source_file, (uint32_t)load_number(store, path, "SourceLine"), c.advice, "%s", c.reason);
    }
}

struct loading {
    struct regstore    *store;
    const char         *rows_key;
    struct result_list *list;
};

static wstatus load_row(void *ctx, const struct regkey_info *info)
{
    struct loading    *l   = ctx;
    struct result_row *row = result_add(l->list);
    char               key[512];

    if (!row)
        return W_NOT_ENOUGH_MEMORY;
    snprintf(key, sizeof key, "%s\\%s", l->rows_key, info->name);
#define N(value, field) row->field = (__typeof__(row->field))load_number(l->store, key, value);
#define T(value, field) load_text(l->store, key, value, row->field, sizeof row->field);
    RESULT_NUMBERS(N)
    RESULT_TEXTS(T)
#undef N
#undef T
    load_conditions(l->store, key, &row->conditions);
    return W_SUCCESS;
}

wstatus result_load_number(struct regstore *store, uint32_t number, struct result_list *list, struct reason *why)
{
    char           key[RESULT_KEY_SIZE], rows[RESULT_KEY_SIZE];
    struct loading l  = {store, rows, list};
    wstatus        st = W_SUCCESS;

    memset(list, 0, sizeof *list);
    if (!regstore_key_exists(store, result_key(number, key)))
        return reason_set(why, W_FILE_NOT_FOUND, "the store has no boot %u, or no longer", number);
    list->number = number;
#define N(value, field) list->field = (__typeof__(list->field))load_number(store, key, value);
#define T(value, field) load_text(store, key, value, list->field, sizeof list->field);
    BOOT_NUMBERS(N)
    BOOT_TEXTS(T)
#undef N
#undef T
    snprintf(rows, sizeof rows, "%s\\Rows", key);
    if (regstore_key_exists(store, rows))
        st = regstore_enum_keys(store, rows, load_row, &l);
    if (st)
        return reason_set(why, st, "the results of boot %u could not be read", number);
    return W_SUCCESS;
}

uint32_t result_last(struct regstore *store) { return (uint32_t)load_number(store, LAST_KEY, "Number"); }

wstatus result_load(struct regstore *store, struct result_list *list, struct reason *why)
{
    uint32_t number = result_last(store);

    memset(list, 0, sizeof *list);
    if (!number && regstore_key_exists(store, LAST_KEY "\\Rows")) /* from before boots had numbers */
        return reason_set(why, W_REVISION_MISMATCH,
                          "the results in this store were written by an older autologger, which kept them otherwise");
    if (!number)
        return reason_set(why, W_FILE_NOT_FOUND, "no boot and no rehearsal has been run with this store yet");
    return result_load_number(store, number, list, why);
}
