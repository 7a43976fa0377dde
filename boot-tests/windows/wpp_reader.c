/* Reads a trace's WPP messages by tdh.h: wpp_reader FILE file|folder|program|none PLACE. A line each: message, program,
 * function, level, flags, and the size of SequenceNum's value in halves; or the error's number. */
#include <windows.h>
#include <evntcons.h>
#include <evntrace.h>
#include <stdio.h>
#include <string.h>
#include <tdh.h>

static TDH_CONTEXT context;
static ULONG       contexts;

static void widen(WCHAR *out, const char *text)
{
    while ((*out++ = (WCHAR)(unsigned char)*text++))
        ;
}

/* UTF-16 as UTF-8. */
static void put(const WCHAR *text)
{
    for (; *text; text++) {
        unsigned c = *text;
        if (c >= 0xD800 && c < 0xDC00)
            c = 0x10000 + ((c & 0x3FF) << 10) + (*++text & 0x3FF);
        if (c < 0x80)
            putchar((int)c);
        else if (c < 0x800)
            printf("%c%c", (int)(0xC0 | c >> 6), (int)(0x80 | (c & 0x3F)));
        else if (c < 0x10000)
            printf("%c%c%c", (int)(0xE0 | c >> 12), (int)(0x80 | (c >> 6 & 0x3F)), (int)(0x80 | (c & 0x3F)));
        else
            printf("%c%c%c%c", (int)(0xF0 | c >> 18), (int)(0x80 | (c >> 12 & 0x3F)), (int)(0x80 | (c >> 6 & 0x3F)),
                   (int)(0x80 | (c & 0x3F)));
    }
}

static void WINAPI see(PEVENT_RECORD record)
{
    static const char *const names[] = {"FormattedString", "GuidName", "FunctionName", "LevelName", "FlagsName"};
    WCHAR                    name[64], text[512];
    ULONG                    size = sizeof text, number = 0;
    if (!(record->EventHeader.Flags & EVENT_HEADER_FLAG_TRACE_MESSAGE))
        return;
    ULONG status = TdhGetWppMessage(record, contexts, &context, &size, (PBYTE)text);
    for (unsigned i = 0; i < sizeof names / sizeof *names && !status; i++) {
        widen(name, names[i]);
        size   = sizeof text;
        status = TdhGetWppProperty(record, contexts, &context, name, &size, (PBYTE)text);
        if (!status) {
            put(text);
            putchar('|');
        }
    }
    widen(name, "SequenceNum");
    size = sizeof number;
    if (!status)
        status = TdhGetWppProperty(record, contexts, &context, name, &size, (PBYTE)&number);
    printf("%u\n", status ? (unsigned)status : (unsigned)size / 2);
}

int main(int argc, char **argv)
{
    static WCHAR         place[4096], file[4096];
    EVENT_TRACE_LOGFILEW log;
    static const struct {
        const char      *word;
        TDH_CONTEXT_TYPE type;
    } kinds[] = {{"file", TDH_CONTEXT_WPP_TMFFILE},
                 {"folder", TDH_CONTEXT_WPP_TMFSEARCHPATH},
                 {"program", TDH_CONTEXT_PDB_PATH}};
    if (argc != 4)
        return 100;
    widen(place, argv[3]);
    widen(file, argv[1]);
    for (unsigned i = 0; i < 3; i++)
        if (strcmp(kinds[i].word, argv[2]) == 0) {
            context.ParameterType  = kinds[i].type;
            context.ParameterValue = (ULONGLONG)(size_t)place;
            context.ParameterSize  = 0;
            contexts               = 1;
        }
    memset(&log, 0, sizeof log);
    log.LogFileName         = file;
    log.ProcessTraceMode    = PROCESS_TRACE_MODE_EVENT_RECORD;
    log.EventRecordCallback = see;
    for (int again = 0; again < 2; again++) { /* a file that was unloaded is read again where a context names it */
        TRACEHANDLE handle = OpenTraceW(&log);
        if (handle == INVALID_PROCESSTRACE_HANDLE || ProcessTrace(&handle, 1, NULL, NULL))
            return 1;
        CloseTrace(handle);
        if (strcmp(argv[2], "file") != 0)
            break;
        printf("unloaded %u\n", (unsigned)TdhUnloadManifest(place));
    }
    return 0;
}
