"""Programs that use names of the SDK's headers (boot-tests/windows), built by gcc and clang in C and C++, with wchar_t of 16 and of 32 bits, then
run: a controller of the kernel's events with EVENT_TRACE_FLAG_* and SystemTraceControlGuid (D-40); GUIDs that are defined in C++ namespaces, and in
two files of one program (D-66); words, modules and functions of Windows' headers (D-68).
Proves: CTL-18, KRN-02."""
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


with Machine() as m:
    m.start()
    kernel_controller(m)
    guid_scopes(m)
    everyday_words(m)
    provider_names(m)
    m.shutdown()
