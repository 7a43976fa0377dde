"""WPP (boot-tests/windows/wpp_program.c): autologger wpp makes the headers; gcc and clang build the program in C and C++, with wchar_t of 16 and of
32 bits. Its messages come out as their texts with every value, by flag and level, in dump, in JSON, as tracefmt's lines and by TdhGetWppProperty;
by the program itself, by a TMF file, by an installed description and by a merged file on a machine that has none of these; without one they stay
bytes and say so. One session at a time has a control GUID; a SECURE session has none.
Proves: LEG-01, LEG-02, LEG-05."""
import json
import os
import re
import shutil
import subprocess

from harness import BUILD, SOURCE, Machine, check, skip

if "asan" in BUILD or "tsan" in BUILD:
    skip("a sanitized library can't be linked to a plain program")
for needed in ("gcc", "clang", "g++", "clang++"):
    if not shutil.which(needed):
        skip(needed + " is not here")

WINDOWS = os.path.join(SOURCE, "boot-tests", "windows")
COMPILERS = ("gcc -std=gnu99", "gcc -std=gnu17", "clang -std=gnu17", "g++ -std=c++14 -x c++", "g++ -std=c++20 -x c++", "clang++ -std=c++14 -x c++",
             "clang++ -std=c++20 -x c++")
LIBRARIES = ["-L" + BUILD, "-lautologger-trace", "-lautologger", "-Wl,-rpath," + BUILD]
CONTROL, OTHER = "{5ea7c0de-0016-4a5b-8c6d-111111111111}", "{5ea7c0de-0017-4a5b-a24f-0e5330ce1e05}"
INIT = ["everything 0xc0000001 {12345678-9abc-def0-0102-030405060708} TRUE",
        "narrow h \U0001F600 a\u20acb a\u20acb w\u00e4|-7   |00042|+3|    ab", "123456789abcdef0 1099511627776 7 -1 2.50 z 0x1234",
        "abc|      xy|(null)", "100% 1, then 127.0.0.1 and 2", "plain"]
VALUES = ["values: -2147483648 4294967295 -2 200 -3 1099511627775 ffffffff -4 q",
          "inside a macro, DPC Small 01fe READ|EXECUTE"]
IO = ["level TRACE_LEVEL_WARNING_+_i, number %d, []" % i for i in range(3)]
AFTER = ["begun anew"]


def build(m, compiler, out, *arguments):
    path = os.path.join(m.dir, out)
    command = [*compiler.split(), "-O1", "-Wall", "-Wextra", "-Werror", "-I" + os.path.join(SOURCE, "autologger", "include"), "-I" + WINDOWS,
               "-I" + os.path.join(m.dir, "tmh"), *arguments, "-o", path]
    r = subprocess.run(command, capture_output=True, text=True, timeout=120)
    check(r.returncode == 0, " ".join(command), r.stderr)
    return path


def events(m, path, *more, expect=0):
    return [json.loads(line) for line in m.tool("dump", path, "--json", *more, expect=expect).stdout.splitlines()]


def written(found):
    """Messages and their level, in the order in which they were written."""
    return [e["message"] for e in found if "message" in e]


def program_run(m, program, wanted):
    r = subprocess.run([program], env=m.env, capture_output=True, text=True, timeout=60, input="\n")
    check(r.returncode == 0 and r.stdout == wanted + "\n", r.returncode, r.stdout, r.stderr)


def traced(m, program, name, guid, level, flags, wanted, settings=()):
    m.tool("start", name, "--output", name + ".etl", "--set", "BufferSize=64KB", *settings)
    m.tool("enable", name, guid, "--level", level, "--keywords", flags)
    program_run(m, program, wanted)
    m.tool("stop", name)
    return os.path.join(m.logs, name + ".etl")


def every_compiler(m, tmf):
    """All build it; four of the programs are run."""
    for number, compiler in enumerate(COMPILERS):
        for wide in ("", "-fshort-wchar"):
            options = [wide] if wide else []
            other = build(m, compiler, "second.o", *options, "-c", os.path.join(WINDOWS, "wpp_second.c"))
            program = build(m, compiler, "wpp_program", *options, os.path.join(WINDOWS, "wpp_program.c"), "-x", "none", other, *LIBRARIES)
            if (number, bool(wide)) not in ((0, False), (2, True), (3, True), (6, False)):
                continue
            path = traced(m, program, "all%d" % number, CONTROL, "Verbose", "0xFFFFFFFF", "1 1 0")
            found = events(m, path, "--manifest", program)
            said = written(found)
            check(said == INIT + IO + ["a flag that no session wants"] + VALUES + ["--> other_source"] + AFTER, compiler, wide, said)
            check(written(events(m, path, "--manifest", tmf)) == said, "by the TMF file")
    return program


def by_level_and_flag(m, program):
    path = traced(m, program, "some", CONTROL, "Informational", "2", "0 1 0")
    check(written(events(m, path, "--manifest", program)) == IO[:2], "flag and level choose", path)
    path = traced(m, program, "other", OTHER, "Verbose", "1", "0 0 1")
    check(written(events(m, path, "--manifest", program)) == ["of the other GUID, 5 %"], path)


def fields(m, program):
    """Names and types of values, and what the header has, against the text of the message."""
    path = traced(m, program, "fields", CONTROL, "Verbose", "0xFFFFFFFF", "1 1 0")
    found = events(m, path, "--manifest", program)
    first = next(e for e in found if e.get("message") == INIT[0])
    check(first["fields"] == {"status": "0xc0000001", "&guid": "{12345678-9abc-def0-0102-030405060708}", "TRUE": "TRUE"}, first)
    check(first["provider"]["name"] == "wpp_program:wpp_program.c" and re.fullmatch(r"wpp_program_c\d+", first["event"]), first)
    twice = next(e for e in found if e.get("message") == INIT[1])["fields"]
    check(twice["text"] == twice["text#2"] == "a\u20acb" and twice["0xABu"] == "0xab" and twice["-7"] == -7, twice)
    lines = m.tool("dump", path, "--format", "wpp", "--manifest", program).stdout.splitlines()
    check(any(re.fullmatch(r"\[\d+\][0-9A-F]{4,8}\.[0-9A-F]{4,8}::\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\.\d{3} \[wpp_program\]plain", l) for l in lines), lines)
    r = subprocess.run([os.path.join(BUILD, "autologger"), "dump", path, "--format", "wpp", "--manifest", program], capture_output=True, text=True,
                       env={**m.env, "TRACE_FORMAT_PREFIX": "%2|%!FUNC!|%!LEVEL!|%!FLAGS!|%8!u!|"})
    line = next(l for l in r.stdout.splitlines() if l.endswith("|plain"))
    check(re.fullmatch(r"wpp_program_c\d+\|everything\|TRACE_LEVEL_ERROR\|FLAG_INIT\|%d\|plain" % first["process"]["pid"] if "process" in first else
                       r"wpp_program_c\d+\|everything\|TRACE_LEVEL_ERROR\|FLAG_INIT\|\d+\|plain", line), line)
    return path


def without_a_description(m, path):
    found = events(m, path)
    check(not written(found) and sum(e.get("decoded") == "unknown" for e in found) > 5, found[:3])
    lines = m.tool("dump", path, "--format", "wpp").stdout
    check("no format for message" in lines, lines)


def tdh(m, path, tmf, program):
    """A program that reads by tdh.h: the TMF file, the folder of {guid}.tmf files, or the program as the place of the formats."""
    reader = build(m, "gcc -std=gnu17", "wpp_reader", os.path.join(WINDOWS, "wpp_reader.c"), *LIBRARIES)
    folder = os.path.join(m.dir, "tmf")
    os.makedirs(folder, exist_ok=True)
    with open(tmf) as f:
        text = f.read()
    for part in re.split(r"(?m)^(?=[0-9a-f]{8}-)", text):
        if part.strip():
            with open(os.path.join(folder, part.split()[0] + ".tmf"), "w") as f:
                f.write(part)
    nothing = {**m.env, "AUTOLOGGER_PUBLISHERS": os.path.join(m.dir, "no-publishers")}
    said = None
    for how, place in (("file", tmf), ("folder", folder), ("program", program), ("none", "")):
        env = {**nothing, "TRACE_FORMAT_SEARCH_PATH": folder} if how == "none" else nothing
        r = subprocess.run([reader, path, how, place], capture_output=True, text=True, env=env, timeout=60)
        check(r.returncode == 0, how, r.stdout, r.stderr)
        lines = r.stdout.splitlines()
        if how == "file":  # read twice
            half = len(lines) // 2
            check(lines[:half] == lines[half:] and lines[-1] == "unloaded 0", how, lines)
            lines = lines[:half - 1]
        check(INIT[0] + "|wpp_program|everything|TRACE_LEVEL_ERROR|FLAG_INIT|2" in lines, how, lines)
        check(said in (None, lines), how, said, lines)
        said = lines
    r = subprocess.run([reader, path, "none", ""], capture_output=True, text=True, env=nothing, timeout=60)
    check(r.returncode == 0 and set(r.stdout.split()) == {"1168"}, "no format: ERROR_NOT_FOUND", r.stdout)


def installed_and_merged(m, path, program):
    said = m.tool("manifest", "install", "--store", m.store, program).stdout
    check("installed wpp_program:wpp_program.c" in said and "installed CtlGuid " + CONTROL in said, said)
    text = written(events(m, path))
    check(INIT[1] in text, "installed:", text)
    merged = os.path.join(m.logs, "merged.etl")
    m.tool("merge", path, "--output", merged)
    listed = json.loads(m.tool("manifest", "list", "--store", m.store, "--json").stdout)
    check({"CtlGuid", "OtherGuid", "wpp_program:wpp_program.c"} <= {p["name"] for p in listed["publishers"]}, listed)
    m.tool("start", "byname", "--output", "byname.etl")
    m.tool("enable", "byname", "CtlGuid", "--manifest", program, "--keywords", "FLAG_IO", "--level", "Verbose")
    program_run(m, program, "0 1 0")
    m.tool("stop", "byname")
    check(written(events(m, os.path.join(m.logs, "byname.etl"))) == IO + ["--> other_source"], "flags by name")
    m.tool("manifest", "uninstall", "--store", m.store, program)
    check(not written(events(m, path)), "uninstalled")
    check(written(events(m, merged)) == text, "merged: the file describes itself", written(events(m, merged)))


def one_session(m, program):
    """The session that enables last has the provider; a SECURE session is denied."""
    for name in ("first", "second"):
        m.tool("start", name, "--output", name + ".etl")
        m.tool("enable", name, CONTROL, "--level", "Verbose", "--keywords", "1")
    program_run(m, program, "1 0 0")
    for name in ("first", "second"):
        m.tool("stop", name)
    counts = [len(written(events(m, os.path.join(m.logs, name + ".etl"), "--manifest", program))) for name in ("first", "second")]
    check(sorted(counts) == [0, len(INIT + VALUES + AFTER)], "one session:", counts)
    m.tool("start", "safe", "--output", "safe.etl", "--set", "LogFileMode=SECURE", "--provider", CONTROL)
    program_run(m, program, "0 0 0")
    info = json.loads(m.tool("stop", "safe", "--json").stdout)
    check(info["events_written"] == info["events_lost"] == 0, "a secure session:", info)


def in_a_library(m):
    """A static library with control GUIDs of its own, in a program that has others: each part has its own, strictly compiled."""
    folder = os.path.join(m.dir, "library")
    os.mkdir(folder)
    texts = {"lib.c": """#define WPP_CONTROL_GUIDS WPP_DEFINE_CONTROL_GUID(LibA, (5ea7c0de,0021,4a5b,8c6d,111111111111), WPP_DEFINE_BIT(LA)) \\
    WPP_DEFINE_CONTROL_GUID(LibB, (5ea7c0de,0022,4a5b,8c6d,111111111111), WPP_DEFINE_BIT(LB))
#include "lib.tmh"
void begin(void);
void act(void);
void begin(void) { WPP_INIT_TRACING(0); }
void act(void) { DoTraceMessage(LB, "of the library, %d", 5); }
""", "own.c": """#define WPP_CONTROL_GUIDS WPP_DEFINE_CONTROL_GUID(Own, (5ea7c0de,0023,4a5b,8c6d,111111111111), WPP_DEFINE_BIT(A))
#include "own.tmh"
#include <stdio.h>
void begin(void);
void act(void);
int main(void)
{
    WPP_INIT_TRACING(0);
    begin();
    getchar();
    DoTraceMessage(A, "of the program, %d", /* a comment, */ 1);
    act();
    return 0;
}
"""}
    for name, text in texts.items():
        with open(os.path.join(folder, name), "w") as f:
            f.write(text)
    m.tool("wpp", *(os.path.join(folder, name) for name in texts))
    strict = ["-Wpedantic", "-Wconversion", "-I" + folder]
    for number, compiler in enumerate(("gcc -std=c99", "clang -std=c17", "gcc -flto")):
        library = build(m, compiler, "lib.o", *strict, "-c", os.path.join(folder, "lib.c"))
        program = build(m, compiler, "own", *strict, os.path.join(folder, "own.c"), library, *LIBRARIES)
        name = f"library{number}"
        m.tool("start", name, "--output", name + ".etl")
        for guid in ("0022", "0023"):
            m.tool("enable", name, "{5ea7c0de-%s-4a5b-8c6d-111111111111}" % guid, "--keywords", "1", "--level", "Verbose")
        r = subprocess.run([program], env=m.env, capture_output=True, text=True, timeout=60, input="\n")
        m.tool("stop", name)
        said = written(events(m, os.path.join(m.logs, name + ".etl"), "--manifest", program))
        check(r.returncode == 0 and said == ["of the program, 1", "of the library, 5"], compiler, r.returncode, said)


def refused(m):
    r = subprocess.run(["gcc", "-I" + os.path.join(SOURCE, "autologger", "include"), "-include", "autologger_wpp.h", "-x", "c", "-c", "/dev/null", "-o", "/dev/null"],
                       capture_output=True, text=True, timeout=60)
    check(r.returncode != 0 and "WPP_CONTROL_GUIDS is not defined" in r.stderr, "a .tmh without control GUIDs:", r.stderr)


with Machine() as m:
    m.env["AUTOLOGGER_PUBLISHERS"] = os.path.join(m.dir, "publishers")
    m.start()
    os.mkdir(os.path.join(m.dir, "tmh"))
    tmf = os.path.join(m.dir, "program.tmf")
    sources = [os.path.join(WINDOWS, name) for name in ("wpp_program.c", "wpp_second.c")]
    made = json.loads(m.tool("wpp", "--json", "--scan", os.path.join(WINDOWS, "wpp_trace.h"), "--module", "wpp_program", "--output-dir",
                             os.path.join(m.dir, "tmh"), "--tmf", tmf, *sources).stdout)["made"]
    check([f["messages"] for f in made] == [12, 2], made)
    program = every_compiler(m, tmf)
    extracted = m.tool("wpp", "--extract", program).stdout
    with open(tmf) as f:
        check(all(line in extracted for line in f.read().splitlines()), "the program holds its texts")
    by_level_and_flag(m, program)
    path = fields(m, program)
    without_a_description(m, path)
    tdh(m, path, tmf, program)
    installed_and_merged(m, path, program)
    one_session(m, program)
    in_a_library(m)
    refused(m)
    m.shutdown()
