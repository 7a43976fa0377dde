#include "autologger/consumer/classes_page.h"

#include "autologger/kernel/tables/written.h"
#include "autologger/schema/classic.h"
#include "registry-sim/win32/guid.h"

#include <ctype.h>
#include <string.h>

/* Types in the words of the page; all others stay as they are. */
static const char *type_word(const char *kind, size_t length)
{
    /* clang-format off */
    static const struct { const char *kind, *word; } words[] = {
        {"p", "pointer"}, {"p*", "pointers to the end"}, {"w", "UTF-16 text"}, {"a", "8-bit text"},
         {"sidblock", "SID, or 4 bytes of 0"},
        {"x8", "u8"}, {"x16", "u16"}, {"x32", "u32"}, {"x64", "u64"}, {"port", "port, big endian"},
         {"ip4", "IPv4 address"}, {"ip6", "IPv6 address"},
        {"guid", "GUID"}, {"filetime", "FILETIME"}, {"bool8", "bool, 1 byte"}, {"rest", "UTF-16 texts to the end"},
         {"utf8", "UTF-8 text"}, {"hex32", "uint32"}, {"hex64", "uint64"},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].kind) == length && memcmp(words[i].kind, kind, length) == 0)
            return words[i].word;
    return NULL;
}

/* One word of a layout: "Name:kind", "?Name:kind", "-N". */
static void classes_page_field(FILE *out, const struct written_class *row, const char *word, size_t length, bool first)
{
    bool        optional = *word == '?';
    const char *colon    = memchr(word, ':', length);
    char        name[64];

    fputs(first ? "" : "; ", out);
    if (*word == '-' || !colon) {
        fprintf(out, "(%.*s bytes left out)", (int)length - 1, word + 1);
        return;
    }
    snprintf(name, sizeof name, "%.*s", (int)(colon - word) - optional, word + optional);
    const char *kind = colon + 1, *shown = type_word(kind, (size_t)(word + length - kind));
    if (!shown && *kind == 'w' && isdigit((unsigned char)kind[1]))
        fprintf(out, "%s: %.*s UTF-16 units", name, (int)(word + length - kind) - 1, kind + 1);
    else
        fprintf(out, "%s: %.*s", name, shown ? (int)strlen(shown) : (int)(word + length - kind), shown ? shown : kind);
    if (optional)
        fputs(" (may be absent)", out);
    if (written_has_word(row->never, name))
        fputs(" (always empty)", out);
}

static void classes_page_fields(FILE *out, const struct written_class *row, const char *layout)
{
    if (!layout || !*layout)
        fputs("none", out);
    for (const char *word = layout; word && *word;) {
        size_t length = strcspn(word, " ");
        classes_page_field(out, row, word, length, word == layout);
        word += length + strspn(word + length, " ");
    }
}

static void classic_line(FILE *out, const struct written_class *row)
{
    char        name[128], guid[GUID_TEXT_SIZE];
    struct guid g = classic_guid(row->hook);

    classic_name(row->hook, name, sizeof name);
    guid_format(&g, guid);
    fprintf(out, "| %s | `%s` | %u | %u | ", name, guid, row->hook & 0xFF, row->version);
    classes_page_fields(out, row, classic_fields(row->hook, row->version));
    fprintf(out, " | %s | %s | %s |\n", row->keywords, row->source, row->proof);
}

static void own_line(FILE *out, const struct written_class *row)
{
    fprintf(out, "| %s | ", row->event);
    classes_page_fields(out, row, row->fields);
    fprintf(out, " | %s | %s | %s |\n", row->keywords, row->source, row->proof);
}

static void own_tables(FILE *out, const struct written_class *rows, size_t count)
{
    const char *provider = "";

    for (size_t i = 0; i < count; i++) {
        if (rows[i].hook != WRITTEN_OWN)
            continue;
        if (strcmp(provider, rows[i].provider) != 0) {
            char        guid[GUID_TEXT_SIZE];
            struct guid g = guid_from_name(rows[i].provider);
            provider      = rows[i].provider;
            guid_format(&g, guid);
            fprintf(out, "\n### %s\n\n", provider);
            if (strcmp(provider, "systemd-Units") == 0)
                fputs(
                    "Its GUID is the one that the configuration gives: that of the Service Control Manager, or a row's own.\n\n",
                    out);
            else if (strcmp(provider, "Microsoft-Windows-Kernel-Process") == 0)
                fputs("GUID `{22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716}`, for sessions of programs.\n\n", out);
            else
                fprintf(out, "GUID `%s`\n\n", guid);
            fputs("| Event | Fields | Brought by | Linux source | Read back by |\n|---|---|---|---|---|\n", out);
        }
        own_line(out, &rows[i]);
    }
}

void classes_page(FILE *out)
{
    size_t                      count;
    const struct written_class *rows = written_classes(&count);

    fputs(
        "# Classes of events\n\nEvery class that kernel sessions, the merge and the providers of units and processes write, with what of Linux it is made "
        "of. Made from the tables of the source by `autologger_classes_reference`; do not edit. A field that is \"always empty\" is there "
        "because the class has it on Windows; nothing on Linux has that meaning. The last column names the test that makes the event and "
        "reads it back field by field.\n\n"
        "\"Brought by\" is the keyword of `EnableKernelFlags`; \"any\" is in every kernel session, \"merge\" is added when files become one, "
        "\"kernel phase\" comes from the kernel's own trace buffer. Classes of the system configuration (`SYSCFG_...`) come without being "
        "asked for, unless the mask has `NO_SYSCONFIG` or names some of them.\n\n"
        "Kernel tracepoints (`Tracepoint = group:name`) are not listed: such an event has the tracepoint's name and the fields of its format "
        "file (`autologger providers --tracepoints --fields`).\n\n## Windows' classes\n\nTimes that are fields (InitialTime, "
        "HighResResponseTime, EventTimeStamp) are in the clock of the session.\n\n"
        "| Class and event | GUID | Opcode | Version | Fields | Brought by | Linux source | Read back by |\n|---|---|---|---|---|---|---|---|\n",
        out);
    for (size_t i = 0; i < count; i++)
        if (rows[i].hook != WRITTEN_OWN)
            classic_line(out, &rows[i]);
    fputs(
        "\n## Events of our own\n\nWhat Windows has no event for, or one of another meaning. They describe themselves, as those of "
        "TraceLogging do: any reader shows their names and fields.\n",
        out);
    own_tables(out, rows, count);
}
