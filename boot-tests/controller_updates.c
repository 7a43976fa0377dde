/* controller_updates.c - UPDATE, and CONVERT_TO_REALTIME: what may change, what may not. A part of trace_controller. */
#include "boot-tests/trace_controller.h"

#include <stdio.h>
#include <string.h>

static ULONG update(TRACEHANDLE handle, struct block *b)
{
    return ControlTraceA(handle, NULL, &b->p, EVENT_TRACE_CONTROL_UPDATE);
}

/* An update as a controller makes it: QUERY's result with one thing changed. LogFileNameOffset is then 0, unless a file
 * is named. */
static struct block asked(TRACEHANDLE handle)
{
    struct block q = fresh("", 0);
    expect("query", ControlTraceA(handle, NULL, &q.p, EVENT_TRACE_CONTROL_QUERY), ERROR_SUCCESS);
    q.p.LogFileNameOffset = 0;
    return q;
}

static void update_errors(void)
{
    static const struct {
        const char *what;
        const char *file; /* of the session */
        ULONG       mode, size;
        const char *new_file;
        ULONG       set, clear; /* bits of LogFileMode */
        ULONG       flush, maximum, expected, convert;
    } rows[] = {
        {"its own file", "u.etl", 0, 0, "u.etl", 0, 0, 0, 0, ERROR_BAD_PATHNAME, ERROR_SUCCESS},
        {"another session's file", "u.etl", 0, 0, "taken.etl", 0, 0, 0, 0, ERROR_BAD_PATHNAME, ERROR_SUCCESS},
        {"a file outside", "u.etl", 0, 0, "../x.etl", 0, 0, 0, 0, ERROR_INVALID_NAME, ERROR_SUCCESS},
        {"circular from now on", "u.etl", 0, 0, NULL, EVENT_TRACE_FILE_MODE_CIRCULAR, 0, 0, 0, ERROR_INVALID_PARAMETER,
         ERROR_SUCCESS},
        {"buffering from now on", "u.etl", 0, 0, NULL, EVENT_TRACE_BUFFERING_MODE, 0, 0, 0, ERROR_INVALID_PARAMETER,
         ERROR_SUCCESS},
        {"newfile, another file", "u-%d.etl", EVENT_TRACE_FILE_MODE_NEWFILE, 1, "v-%d.etl", 0, 0, 0, 0,
         ERROR_INVALID_PARAMETER, ERROR_SUCCESS},
        {"ring, a file", NULL, EVENT_TRACE_BUFFERING_MODE, 0, "v.etl", 0, 0, 0, 0, ERROR_INVALID_PARAMETER,
         ERROR_INVALID_PARAMETER},
        /* ignored */
        {"ring, a flush timer", NULL, EVENT_TRACE_BUFFERING_MODE, 0, NULL, 0, 0, 5, 0, ERROR_SUCCESS,
         ERROR_INVALID_PARAMETER},
        {"ring, real time", NULL, EVENT_TRACE_BUFFERING_MODE, 0, NULL, EVENT_TRACE_REAL_TIME_MODE, 0, 0, 0,
         ERROR_INVALID_PARAMETER, ERROR_INVALID_PARAMETER},
        {"no file, real time off", NULL, EVENT_TRACE_REAL_TIME_MODE, 0, NULL, 0, EVENT_TRACE_REAL_TIME_MODE, 0, 0,
         ERROR_INVALID_PARAMETER, ERROR_INVALID_PARAMETER},
        {"no file, a file", NULL, EVENT_TRACE_REAL_TIME_MODE, 0, "v.etl", 0, 0, 0, 0, ERROR_SUCCESS, ERROR_SUCCESS},
        {"more buffers", "u.etl", 0, 0, NULL, 0, 0, 0, 90, ERROR_SUCCESS, ERROR_SUCCESS},
        {"sequential, as it is", "u.etl", 0, 0, NULL, EVENT_TRACE_FILE_MODE_SEQUENTIAL, 0, 0, 0, ERROR_SUCCESS,
         ERROR_SUCCESS},
    };
    struct block taken = fresh("taken.etl", 0), q;
    TRACEHANDLE  other, handle;
    expect("the other one", StartTraceA(&other, "taken", &taken.p), ERROR_SUCCESS);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct block b      = fresh(rows[i].file, rows[i].mode);
        b.p.MaximumFileSize = rows[i].size;
        expect(rows[i].what, StartTraceA(&handle, "update", &b.p), ERROR_SUCCESS);
        q = asked(handle);
        if (rows[i].new_file) {
            q.p.LogFileNameOffset = offsetof(struct block, file);
            strcpy(q.file, rows[i].new_file);
        }
        q.p.LogFileMode    = (q.p.LogFileMode | rows[i].set) & ~rows[i].clear;
        q.p.FlushTimer     = rows[i].flush;
        q.p.MaximumBuffers = rows[i].maximum;
        expect(rows[i].what, update(handle, &q), rows[i].expected);
        if (rows[i].maximum)
            expect_true("so many", q.p.MaximumBuffers == rows[i].maximum);
        q = fresh("", 0);
        expect("convert to real time", ControlTraceA(handle, NULL, &q.p, EVENT_TRACE_CONTROL_CONVERT_TO_REALTIME),
               rows[i].convert);
        if (!rows[i].convert)
            expect_true("real time alone",
                        q.p.LogFileMode == EVENT_TRACE_REAL_TIME_MODE && !*q.file && q.p.FlushTimer == 1);
        q = fresh("", 0);
        expect("stop", StopTraceA(handle, NULL, &q.p), ERROR_SUCCESS);
    }
    q = fresh("", 0);
    expect("of nobody", ControlTraceA(0, "nobody", &q.p, EVENT_TRACE_CONTROL_UPDATE), ERROR_WMI_INSTANCE_NOT_FOUND);
    expect("unknown code", ControlTraceA(other, NULL, &q.p, EVENT_TRACE_CONTROL_CONVERT_TO_REALTIME + 1),
           ERROR_NOT_SUPPORTED);
    expect("stop the other", StopTraceA(other, NULL, &q.p), ERROR_SUCCESS);
}

static void updates(void)
{
    struct block b = fresh("update-1.etl", 0), q;
    TRACEHANDLE  handle;
    expect("start", StartTraceA(&handle, "update", &b.p), ERROR_SUCCESS);
    q = asked(handle);
    q.p.LogFileMode |= EVENT_TRACE_REAL_TIME_MODE;
    expect("real time on", update(handle, &q), ERROR_SUCCESS);
    expect_true("in force, with a flush timer of 1 s",
                q.p.LogFileMode & EVENT_TRACE_REAL_TIME_MODE && q.p.FlushTimer == 1);
    q                     = asked(handle);
    q.p.LogFileNameOffset = offsetof(struct block, file);
    strcpy(q.file, "update-2.etl");
    q.p.FlushTimer     = 7;
    q.p.MaximumBuffers = 100;
    expect("file, timer and buffers at once", UpdateTraceA(handle, NULL, &q.p), ERROR_SUCCESS);
    expect_true("all of it", strstr(q.file, "/update-2.etl") && q.p.FlushTimer == 7 && q.p.MaximumBuffers == 100);
    q                  = asked(handle);
    q.p.LogFileMode    = 0;
    q.p.MaximumBuffers = 20;
    expect("real time off, fewer buffers", update(handle, &q), ERROR_SUCCESS);
    expect_true("both", !(q.p.LogFileMode & EVENT_TRACE_REAL_TIME_MODE) && q.p.MaximumBuffers == 20 &&
                            strcmp(q.name, "update") == 0);
    q = fresh("", 0);
    expect("stop", StopTraceA(handle, NULL, &q.p), ERROR_SUCCESS);
    expect_true("the last file", strstr(q.file, "/update-2.etl") != NULL);
}

void controller_updates(void)
{
    update_errors();
    updates();
}
