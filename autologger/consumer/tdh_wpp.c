/* tdh_wpp.c - messages of WPP by tdh.h: where their formats are, their properties and texts. See there, and wpp_text.h.
 * Threads: any; the state is under the lock of tdh_state.h. */
#include "autologger/consumer/tdh_describe.h"
#include "autologger/consumer/wide_text.h"
#include "autologger/consumer/wpp_text.h"
#include "autologger/schema/hash_index.h"
#include "autologger/schema/message.h"
#include "autologger/schema/tmf.h"
#include "registry-sim/win32/utf16.h"

#include <stdio.h>
#include <unistd.h>

enum { TDH_WPP_PATH = 4096, TDH_WPP_GUID = 36, TDH_WPP_WORD = 512 };

/* ---- where the formats are ---- */

static struct tdh_wpp_file {
    char *path;
    bool  tried; /* a file that could not be read is not tried again */
} * tdh_wpp_files;
static uint32_t          tdh_wpp_count, tdh_wpp_room;
static struct hash_index tdh_wpp_paths;

static uint64_t tdh_wpp_hash(const void *ctx, uint32_t number)
{
    (void)ctx;
    return hash_index_hash(tdh_wpp_files[number].path, strlen(tdh_wpp_files[number].path), 0);
}

static bool tdh_wpp_same(const void *ctx, uint32_t number, const void *path)
{
    (void)ctx;
    return strcmp(tdh_wpp_files[number].path, path) == 0;
}

/* Makes a missing entry. NULL: no memory. */
static struct tdh_wpp_file *tdh_wpp_file_of(const char *path)
{
    static const struct hash_index_of of = {tdh_wpp_hash, tdh_wpp_same};
    uint32_t *slot = hash_index_slot(&tdh_wpp_paths, &of, NULL, hash_index_hash(path, strlen(path), 0), path);

    if (!slot || *slot)
        return slot ? &tdh_wpp_files[*slot - 1] : NULL;
    if (tdh_wpp_count == tdh_wpp_room) {
        const uint32_t       room = tdh_wpp_room ? tdh_wpp_room * 2 : 16;
        struct tdh_wpp_file *more = realloc(tdh_wpp_files, room * sizeof *more);
        if (!more)
            return NULL;
        tdh_wpp_files = more;
        tdh_wpp_room  = room;
    }
    struct tdh_wpp_file *f = &tdh_wpp_files[tdh_wpp_count];
    *f                     = (struct tdh_wpp_file){.path = strdup(path)};
    if (!f->path)
        return NULL;
    *slot = ++tdh_wpp_count;
    return f;
}

static void tdh_wpp_load(struct schema_set *set, const char *path)
{
    struct reason why;
    if (access(path, R_OK) < 0)
        return;
    struct tdh_wpp_file *f = tdh_wpp_file_of(path);
    if (f && !f->tried) {
        f->tried = true;
        tdh_manifest_load(set, path, &why);
    }
}

void tdh_formats_forget(const char *path)
{
    struct tdh_wpp_file *f = tdh_wpp_file_of(path);
    if (f)
        f->tried = false;
}

/* {GUID}.tmf in each folder of a list; Windows' separator, or ours. */
static void tdh_wpp_search(struct schema_set *set, const char *folders, const struct guid *message)
{
    char guid[GUID_TEXT_SIZE], path[TDH_WPP_PATH];
    guid_format(message, guid);
    for (const char *p = folders; *p; p += strspn(p, ";:")) {
        const size_t n = strcspn(p, ";:");
        if (n && snprintf(path, sizeof path, "%.*s/%.*s.tmf", (int)n, p, TDH_WPP_GUID, guid + 1) < TDH_WPP_PATH)
            tdh_wpp_load(set, path);
        p += n;
    }
}

void tdh_formats_load(struct schema_set *set, const struct guid *message, ULONG count, const TDH_CONTEXT *context)
{
    const char *own = getenv("TRACE_FORMAT_SEARCH_PATH");

    for (ULONG i = 0; i < count && context; i++) {
        const TDH_CONTEXT_TYPE type = context[i].ParameterType;
        if (type != TDH_CONTEXT_WPP_TMFFILE && type != TDH_CONTEXT_WPP_TMFSEARCHPATH && type != TDH_CONTEXT_PDB_PATH)
            continue;
        char *text = utf8_of_wide((const WCHAR *)(uintptr_t)context[i].ParameterValue, TDH_WPP_PATH);
        if (text && type == TDH_CONTEXT_WPP_TMFSEARCHPATH)
            tdh_wpp_search(set, text, message);
        else if (text)
            tdh_wpp_load(set, text); /* a program holds its texts, as a PDB does on Windows */
        free(text);
    }
    if (own)
        tdh_wpp_search(set, own, message);
}

/* ---- properties ---- */

enum tdh_wpp_kind { TDH_WPP_NUMBER, TDH_WPP_TEXT, TDH_WPP_ATTRIBUTE, TDH_WPP_BYTES };
struct tdh_wpp_facts {
    struct wpp_facts facts;
    struct guid      message;
    FILETIME         time;
    SYSTEMTIME       system_time;
};

static const EVENT_EXTENDED_ITEM_INSTANCE *tdh_wpp_instance(const EVENT_RECORD *r)
{
    for (unsigned i = 0; i < r->ExtendedDataCount; i++)
        if (r->ExtendedData[i].ExtType == EVENT_HEADER_EXT_TYPE_INSTANCE_INFO &&
            r->ExtendedData[i].DataSize >= sizeof(EVENT_EXTENDED_ITEM_INSTANCE))
            return (const EVENT_EXTENDED_ITEM_INSTANCE *)(uintptr_t)r->ExtendedData[i].DataPtr;
    return NULL;
}

static void tdh_wpp_facts_of(const EVENT_RECORD *r, const struct schema_event *e, struct tdh_wpp_facts *out)
{
    const EVENT_EXTENDED_ITEM_INSTANCE *instance = tdh_wpp_instance(r);
    const uint64_t                      time     = (uint64_t)r->EventHeader.TimeStamp.QuadPart;
    struct text                         date     = {0};
    unsigned                            n[7]     = {0};

    *out = (struct tdh_wpp_facts){.facts = {.schema      = e,
                                            .process_id  = r->EventHeader.ProcessId,
                                            .thread_id   = r->EventHeader.ThreadId,
                                            .kernel_time = r->EventHeader.KernelTime,
                                            .user_time   = r->EventHeader.UserTime,
                                            .sequence    = instance ? instance->InstanceId : 0,
                                            .cpu         = r->BufferContext.ProcessorIndex,
                                            .filetime    = time},
                                  .time  = {(DWORD)time, (DWORD)(time >> 32)}};
    memcpy(&out->message, &r->EventHeader.ProviderId, sizeof out->message);
    wpp_text_time(time, &date);
    if (sscanf(text_get(&date), "%u/%u/%u-%u:%u:%u.%u", &n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6]) == 7)
        out->system_time = (SYSTEMTIME){.wYear         = (WORD)n[2],
                                        .wMonth        = (WORD)n[0],
                                        .wDay          = (WORD)n[1],
                                        .wDayOfWeek    = (WORD)((time / 864000000000 + 1) % 7),
                                        .wHour         = (WORD)n[3],
                                        .wMinute       = (WORD)n[4],
                                        .wSecond       = (WORD)n[5],
                                        .wMilliseconds = (WORD)n[6]};
    text_finish(&date);
}

/* The message with its values; false: no memory. */
static bool tdh_wpp_message(const EVENT_RECORD *r, const struct schema_event *e, struct text *out)
{
    return message_text(e, r->UserData, r->UserDataLength, !(r->EventHeader.Flags & EVENT_HEADER_FLAG_32_BIT_HEADER),
                        out);
}

/* A text as the caller gets it: UTF-16 with its NUL. */
static void tdh_wpp_put_text(const char *text, struct text *out)
{
    const size_t need = utf8_to_utf16le(text, strlen(text), NULL, 0);
    char        *wide = malloc(need + 2);
    if (!wide) {
        out->failed = true;
        return;
    }
    utf8_to_utf16le(text, strlen(text), wide, need);
    wide[need] = wide[need + 1] = 0;
    text_add(out, wide, need + 2);
    free(wide);
}

/* Adds the bytes of a property; false: no such property. */
static bool tdh_wpp_property(const EVENT_RECORD *r, const struct schema_event *e, const char *name, struct text *out)
{
    struct tdh_wpp_facts f;
    struct text          text = {0};
    char                 word[TDH_WPP_WORD];
    const uint32_t       zero = 0;
    tdh_wpp_facts_of(r, e, &f);
    const struct {
        const char *name, *attribute; /* attribute: of the message's description */
        const void *data;
        size_t      size;
    } rows[] = {{"Version", NULL, &zero, sizeof zero},
                {"TraceGuid", NULL, &f.message, sizeof f.message},
                {"ProviderGuid", NULL, &f.message, sizeof f.message},
                {"ThreadId", NULL, &f.facts.thread_id, 4},
                {"ProcessId", NULL, &f.facts.process_id, 4},
                {"UserTime", NULL, &f.facts.user_time, 4},
                {"KernelTime", NULL, &f.facts.kernel_time, 4},
                {"SequenceNum", NULL, &f.facts.sequence, 4},
                {"CpuNumber", NULL, &(uint32_t){f.facts.cpu}, 4},
                {"Indent", NULL, &zero, sizeof zero},
                {"SystemTime", NULL, &f.system_time, sizeof f.system_time},
                {"RawSystemTime", NULL, &f.time, sizeof f.time},
                {"FlagsName", "FLAGS", NULL, 0},
                {"LevelName", "LEVEL", NULL, 0},
                {"FunctionName", "FUNC", NULL, 0},
                {"ComponentName", "COMPNAME", NULL, 0},
                {"SubComponentName", "SUBCOMP", NULL, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, name) != 0)
            continue;
        if (rows[i].data) {
            text_add(out, rows[i].data, rows[i].size);
            return true;
        }
        tmf_attribute(e->attributes, rows[i].attribute, word, sizeof word);
        tdh_wpp_put_text(word, out);
        return true;
    }
    bool known = true;
    if (strcmp(name, "GuidName") == 0)
        wpp_text_module(&f.facts, &text);
    else if (strcmp(name, "GuidTypeName") == 0)
        text_printf(&text, "%s", e->name ? e->name : "");
    else if (strcmp(name, "FormattedString") == 0)
        text.failed |= !tdh_wpp_message(r, e, &text);
    else
        known = false;
    if (known)
        tdh_wpp_put_text(text_get(&text), out);
    out->failed |= text.failed;
    text_finish(&text);
    return known;
}

TDHSTATUS TdhGetWppProperty(PEVENT_RECORD r, ULONG contexts, PTDH_CONTEXT context, PWSTR name, PULONG size,
                            PBYTE buffer)
{
    const struct schema_event *e;
    struct text                out  = {0};
    char                      *word = size && name ? utf8_of_wide(name, TDH_WPP_WORD) : NULL;

    if (!word)
        return ERROR_INVALID_PARAMETER;
    TDHSTATUS st = tdh_describe(r, contexts, context, &e);
    if (!st) {
        const bool known = e->formatted && tdh_wpp_property(r, e, word, &out);
        tdh_unlock();
        st = known ? tdh_deliver(&out, true, buffer, size) : ERROR_NOT_FOUND;
    }
    text_finish(&out);
    free(word);
    return st;
}

TDHSTATUS TdhGetWppMessage(PEVENT_RECORD r, ULONG contexts, PTDH_CONTEXT context, PULONG size, PBYTE buffer)
{
    static WCHAR name[] = {'F', 'o', 'r', 'm', 'a', 't', 't', 'e', 'd', 'S', 't', 'r', 'i', 'n', 'g', 0};
    return TdhGetWppProperty(r, contexts, context, name, size, buffer);
}
