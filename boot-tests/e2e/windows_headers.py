"""Programs that use names of the SDK's headers (boot-tests/windows), built by gcc and clang in C and C++, with wchar_t of 16 and of 32 bits, then
run: a controller of the kernel's events with EVENT_TRACE_FLAG_* and SystemTraceControlGuid (D-40); GUIDs that are defined in C++ namespaces, and in
two files of one program (D-66); words, modules and functions of Windows' headers, and WPP's macros without tracewpp: each message as text, in
sessions that choose by level and flag (D-68).
Proves: CTL-18, KRN-02, LEG-01."""
import json
import os
import shutil
import subprocess

from harness import BUILD, SOURCE, Machine, check, skip

if "asan" in BUILD or "tsan" in BUILD:
    skip("a sanitized library can't be linked to a plain program")
for needed in ("gcc", "clang", "g++", "clang++"):
    if not shutil.which(needed):
        skip(needed + " is not here")

WINDOWS = os.path.join(SOURCE, "boot-tests", "windows")
C = ("gcc -std=gnu99", "gcc -std=gnu17", "clang -std=gnu17")
CPP = ("g++ -std=c++14", "g++ -std=c++20", "clang++ -std=c++14", "clang++ -std=c++20")
WIDE = ("", "-fshort-wchar")
LIBRARIES = ["-L" + BUILD, "-lautologger-trace", "-lautologger", "-Wl,-rpath," + BUILD]


def build(m, compiler, out, *arguments):
    path = os.path.join(m.dir, out)
    command = [*compiler.split(), "-O1", "-Wall", "-Wextra", "-Werror", "-I" + os.path.join(SOURCE, "autologger", "include"), *arguments, "-o", path]
    r = subprocess.run(command, capture_output=True, text=True, timeout=120)
    check(r.returncode == 0, " ".join(command), r.stderr)
    return path


def run(m, path, *arguments):
    r = subprocess.run([path, *arguments], env=m.env, capture_output=True, text=True, timeout=60)
    check(r.returncode == 0, path, r.returncode, r.stdout, r.stderr)
    return r.stdout


def kernel_controller(m):
    """Only the program built last is run: a session with kernel events is expensive."""
    source = os.path.join(WINDOWS, "kernel_controller.c")
    for compiler in C + tuple(c + " -x c++" for c in CPP):
        program = build(m, compiler, "kernel_controller", source, "-x", "none", *LIBRARIES)
    if os.geteuid() == 0:
        run(m, program, os.path.join(m.logs, "kernel.etl"))
        check(os.path.getsize(os.path.join(m.logs, "kernel.etl")) > 0, "no file")


def guid_scopes(m):
    source = os.path.join(WINDOWS, "guid_scopes.cpp")
    for compiler in CPP:
        for wide in WIDE:
            options = [wide] if wide else []
            other = build(m, compiler, "second.o", *options, "-DSECOND_FILE", "-c", source)
            run(m, build(m, compiler, "guid_scopes", *options, source, other))


def everyday_words(m):
    source = os.path.join(WINDOWS, "everyday_words.c")
    m.tool("start", "words", "--output", "words.etl", "--set", "BufferSize=64KB")
    m.tool("enable", "words", "{5ea7c0de-000e-4a5b-8c6d-111111111111}", "--level", "3", "--keywords", "0x5")
    for compiler in C + tuple(c + " -x c++" for c in CPP):
        for wide in WIDE:
            options = [wide] if wide else []
            run(m, build(m, compiler, "everyday_words", *options, source, "-x", "none", *LIBRARIES), "query")
    m.tool("stop", "words")


MANIFEST = """<provider name="Contoso-Names" guid="{5ea7c0de-0019-4a5b-8c6d-111111111111}" symbol="NAMES">
<keywords><keyword name="Database" mask="0x1"/><keyword name="Network" mask="0x20"/></keywords>
<templates><template tid="T"><data name="step" inType="win:UInt32"/><data name="value" inType="win:UInt64"/></template></templates>
<events><event value="1" symbol="First" template="T" level="win:Informational"/><event value="7" symbol="Second" level="win:Error"/></events></provider>"""


def provider_names(m):
    manifest = os.path.join(m.dir, "names.man")
    with open(manifest, "w") as f:
        f.write(MANIFEST)
    for compiler in (C[0], C[2], CPP[0], CPP[3]):
        language = " -x c++" if compiler in CPP else ""
        for wide in WIDE:
            program = build(m, compiler + language, "provider_names", *([wide] if wide else []), *(["-Wno-extern-initializer"] if "clang" in compiler else []),
                            os.path.join(WINDOWS, "provider_names.c"), "-x", "none", *LIBRARIES)
            said = run(m, program, manifest, program)
            check(said == "Database 0x1\nNetwork 0x20\n1 step value\n7\n", compiler, wide, said)


WPP = ["everything 0xc0000001 12345678-9abc-def0-0102-030405060708 TRUE", "narrow h \U0001F600 a\u20acb a\u20acb w\u00e4|-7   |00042|+3|    ab",
       "123456789abcdef0 1099511627776 7 -1 2.50 z 0x1234", "abc|      xy|(null)", "100% 1, then %!IPADDR! and %d", "plain"]
WPP_IO = ["level 3, number 0, [(null)]", "level 4, number 1, [(null)]", "level 5, number 2, [(null)]", "--> other_source"]
GUID = "{5ea7c0de-%s}"
CONTROL, OTHER = GUID % "0016-4a5b-8c6d-111111111111", GUID % "0017-4a5b-a24f-0e5330ce1e05"


def messages(m, name):
    events = map(json.loads, m.tool("dump", os.path.join(m.logs, name + ".etl"), "--json").stdout.splitlines())
    return [(e["level"], int(e["keyword"], 16), e["fields"]["Message"]) for e in events if e["provider"].get("guid", "") in (CONTROL, OTHER)]


def wpp_run(m, program, run_name):
    names = [run_name + kind for kind in ("all", "some", "other")]
    for name, guid, more in zip(names, (CONTROL, CONTROL, OTHER), (("Verbose", "3"), ("Informational", "2"), ("Verbose", "1"))):
        m.tool("start", name, "--output", name + ".etl", "--set", "BufferSize=64KB")
        m.tool("enable", name, guid, "--level", more[0], "--keywords", more[1])
    r = subprocess.run([program], env=m.env, capture_output=True, text=True, timeout=60, input="\n")
    check(r.returncode == 0 and r.stdout == "1 1 1\n", run_name, r.returncode, r.stdout)
    for name in names:
        m.tool("stop", name)
    io = [(3 + i if i < 3 else 5, 2, text) for i, text in enumerate(WPP_IO)]
    found = [messages(m, name) for name in names]
    check(found[0] == [(2, 1, text) for text in WPP] + io + [(0, 1, "begun anew")], run_name, found[0])
    check(found[1] == io[:2], run_name, found[1])
    check(found[2] == [(0, 1, "of the other GUID, 5 %")], run_name, found[2])


def wpp(m):
    """All compilers build it; four of the programs are run."""
    source, folder = os.path.join(WINDOWS, "wpp_program.c"), os.path.join(m.dir, "tmh")
    os.mkdir(folder)
    for name in ("wpp_program", "wpp_second"):
        with open(os.path.join(folder, name + ".tmh"), "w") as f:
            f.write("#include <autologger_wpp.h>\n")
    for number, compiler in enumerate(C + tuple(c + " -x c++" for c in CPP)):
        for wide in WIDE:
            options = ["-I" + folder, "-I" + WINDOWS] + ([wide] if wide else [])
            other = build(m, compiler, "second.o", *options, "-DSECOND_FILE", "-c", source)
            program = build(m, compiler, "wpp_program", *options, source, "-x", "none", other, *LIBRARIES)
            if (number, wide) in ((0, ""), (2, WIDE[1]), (3, WIDE[1]), (6, "")):
                wpp_run(m, program, f"wpp{number}")
    r = subprocess.run(["gcc", "-I" + os.path.join(SOURCE, "autologger", "include"), "-include", "autologger_wpp.h", "-x", "c", "-c", "/dev/null", "-o", "/dev/null"],
                       capture_output=True, text=True, timeout=60)
    check(r.returncode != 0 and "WPP_CONTROL_GUIDS is not defined" in r.stderr, "a .tmh without control GUIDs:", r.stderr)


with Machine() as m:
    m.start()
    kernel_controller(m)
    guid_scopes(m)
    everyday_words(m)
    provider_names(m)
    wpp(m)
    m.shutdown()
