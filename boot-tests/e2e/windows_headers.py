"""Programs that take names from the SDK's headers (boot-tests/windows), built by gcc and clang in C and C++, with wchar_t of 16 and of 32 bits, then
run: a controller of the kernel's events with EVENT_TRACE_FLAG_* and SystemTraceControlGuid (D-40); GUIDs that are defined in C++ namespaces, and in
two files of one program (D-66); words, modules and functions of Windows' headers (D-68).
Proves: CTL-18, KRN-02, LEG-07."""
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
    """The one built last runs: a session with kernel events is expensive."""
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


with Machine() as m:
    m.start()
    kernel_controller(m)
    guid_scopes(m)
    everyday_words(m)
    m.shutdown()
