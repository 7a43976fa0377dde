"""D-62: mc as Windows' mc: its options, hooks and contexts, arrays of strings, constants of maps, two providers that share names. A program in
Windows' style is compiled by gcc, g++ and clang, writes a trace, and the values in it are held against what it wrote.
Proves: MAN-14, MAN-15, MAN-16."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from harness import BUILD, SOURCE, check, skip

if os.environ.get("AL_SANITIZE") or "asan" in str(BUILD) or "tsan" in str(BUILD):
    skip("a sanitized library can't be linked to a plain program")
ONE, TWO = "{5a0f6c51-9f0e-4a56-8e5c-1d2a4a4b7c01}", "{5a0f6c51-9f0e-4a56-8e5c-1d2a4a4b7c02}"
MANIFEST = f"""<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events">
<instrumentation><events>
<provider name="Contoso-One" guid="{ONE}" symbol="ONE">
<keywords><keyword name="Shared" mask="0x1" symbol="KW_SHARED"/><keyword name="Mine" mask="0x2" symbol="KW_MINE"/></keywords>
<maps><valueMap name="Colour" symbol="Colour"><map value="1" symbol="Red"/><map value="2" symbol="Green"/></valueMap></maps>
<templates>
<template tid="Lists"><data name="n" inType="win:UInt8"/><data name="wide" inType="win:UnicodeString" count="n"/>
 <data name="narrow" inType="win:AnsiString" count="2"/><data name="bytes" inType="win:Int8" count="3"/>
 <struct name="pair" count="2"><data name="a" inType="win:UInt8"/><data name="b" inType="win:UInt16"/></struct>
 <data name="colour" inType="win:UInt32" map="Colour"/></template>
</templates>
<events><event value="1" symbol="One_Lists" template="Lists" level="win:Informational" keywords="Shared"/>
<event value="2" symbol="One_Plain" level="win:Verbose" keywords="Mine"/></events>
</provider>
<provider name="Contoso-Two" guid="{TWO}" symbol="TWO">
<keywords><keyword name="Shared" mask="0x1" symbol="KW_SHARED"/><keyword name="Mine" mask="0x4" symbol="KW_MINE"/></keywords>
<events><event value="1" symbol="Two_Plain" level="win:Error" keywords="Mine"/></events>
</provider>
</events></instrumentation></instrumentationManifest>
"""
PROGRAM = r"""
#include <TraceLoggingProvider.h>
#include <stdio.h>
#include <time.h>
static unsigned told, called;
static ULONGLONG told_any;
static VOID on_change(LPCGUID source, ULONG code, UCHAR level, ULONGLONG any, ULONGLONG all, PEVENT_FILTER_DESCRIPTOR filter, PVOID context)
{
    (void)source, (void)level, (void)all, (void)filter, (void)context;
    told += code == EVENT_CONTROL_CODE_ENABLE_PROVIDER;
    told_any = any;
}
#define MCGEN_PRIVATE_ENABLE_CALLBACK_V2(SourceId, ControlCode, Level, Any, All, Filter, Context) on_change(SourceId, ControlCode, Level, Any, All, Filter, Context)
#define MCGEN_CALLOUT(RegHandle, Descriptor, Count, Data) (called += (RegHandle) != 0 && (Descriptor)->Id != 0 && ((Count) == 0 || (Data) != NULL))
#include "pair.h"
int main(void)
{
    static const WCHAR wide[] = {'a', 'b', 0, 'c', 0};
    static const char narrow[] = "x\0yz";
    static const CHAR bytes[3] = {'p', 'q', 'r'};
    static const BYTE pairs[6] = {1, 2, 0, 3, 4, 0};
    MCGEN_TRACE_CONTEXT *context = &ONE_Context;
    struct timespec moment = {0, 10000000};
    ULONG failed = EventRegisterContoso_One() | EventRegisterContoso_Two();
    failed |= EventRegisterContoso_One(); /* again is fine */
    for (int i = 0; i < 500 && !(ONE_Context.IsEnabled && TWO_Context.IsEnabled); i++)
        nanosleep(&moment, NULL);
    failed |= context->RegistrationHandle == 0;
    failed |= context->IsEnabled != EVENT_CONTROL_CODE_ENABLE_PROVIDER;
    failed |= (ULONG)(context->Level != 4) << 1; /* the session's */
    failed |= (ULONG)(context->MatchAnyKeyword != 3) << 2;
    failed |= (ULONG)(ONEEnableBits[0] != 1) << 3; /* the second event is too verbose */
    failed |= (ULONG)!McGenLevelKeywordEnabled(&ONE_Context, 4, KW_SHARED) << 4;
    failed |= (ULONG)McGenLevelKeywordEnabled(&ONE_Context, 5, KW_SHARED) << 5;
    failed |= (ULONG)(told < 1 || EventEnabledLists() != TRUE || EventEnabledPlain() != FALSE) << 6;
    failed |= LogLists(2, 5, wide, 5, narrow, bytes, sizeof pairs, pairs, ColourGreen) << 7;
    failed |= LogPlain() << 8;
    failed |= LogTwo_Plain() << 9;
    failed |= (ULONG)(called != 2) << 10; /* the one that is not enabled is not called out */
    failed |= (ULONG)(KW_SHARED != 1 || KW_MINE != 2 || ColourRed != 1) << 11;
    failed |= EventUnregisterContoso_One() | EventUnregisterContoso_Two();
    failed |= (ULONG)(ONE_Context.RegistrationHandle != 0) << 12;
    if (failed)
        fprintf(stderr, "failed: 0x%x, level %u, any %llx, bits %x, told %u, called %u\n", failed, context->Level, (unsigned long long)context->MatchAnyKeyword,
                ONEEnableBits[0], told, called);
    (void)told_any;
    return failed != 0;
}
"""
COMPILERS = ("gcc -std=c99 -D_GNU_SOURCE", "clang -std=c17 -D_GNU_SOURCE", "clang++ -std=c++14 -x c++", "g++ -std=c++14 -x c++", "g++ -std=c++20 -x c++",
             "gcc -std=c17 -D_GNU_SOURCE")
DECLARED = f"""[Autologger/pair]
FileName = pair.etl
[Autologger/pair/Contoso-One]
Guid = {ONE}
EnableLevel = 4
MatchAnyKeyword = 0x3
[Autologger/pair/Contoso-Two]
Guid = {TWO}
"""


def run(work, *command, expect=0):
    done = subprocess.run([str(c) for c in command], cwd=work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                          env={**os.environ, "LC_ALL": "C", "AUTOLOGGER_PUBLISHERS": str(work / "publishers")})
    check(done.returncode == expect, " ".join(map(str, command)), done.returncode, done.stdout[-3000:], done.stderr[-3000:])
    return done


def tool(work, *arguments, **how):
    return run(work, pathlib.Path(BUILD) / "autologger", *arguments, **how)


def check_compiler(work):
    """Every option of Windows' build lines is accepted, and takes effect if it has one."""
    clash = "pair.man:16: warning: the C name KW_MINE is taken by line 4 with another value, 0x2"
    done = tool(work, "mc", "-um", "-v", "-co", "-p", "Log", "-P", "One_", "-U", "-A", "-n", "-b", "-c", "-s", "base", "-h", ".", "-r", ".", "-z", "pair", "pair.man")
    check(clash in done.stderr, done.stderr)
    check("without effect: -U -A -n -b -c" in done.stderr and "Contoso-One: 2 events" in done.stderr, done.stderr)
    check((work / "base/pair.bin").read_bytes() == (work / "pair.bin").read_bytes(), "the baseline")
    header = (work / "pair.h").read_text(encoding="utf-8")
    check(header.count("#define KW_SHARED ") == 1 and header.count("#define KW_MINE ") == 1, "constants of one name")
    checked = tool(work, "manifest", "check", "pair.man")
    check(clash in checked.stderr, "manifest check says the same", checked.stderr)
    done = tool(work, "mc", "-km", "-U", "-e", "hpp", "-z", "kernel", "pair.man")
    check("-km: the header is that of -um" in done.stderr and "without effect: -U:" in done.stderr, done.stderr)
    check("without effect" not in tool(work, "mc", "-z", "plain", "pair.man").stderr, "nothing to say")
    check((work / "kernel.hpp").exists(), "-e")
    for refused in ("-cs", "-mof", "-t"):
        tool(work, "mc", *([refused] if refused == "-mof" else [refused, "x"]), "pair.man", expect=100)
    tool(work, "mc", "-p", "1x", "pair.man", expect=100)


def every_type():
    """A manifest with an event for each in-type as a value, as an array of a fixed and of a counted number, and with a length where it has one."""
    types = ("UnicodeString AnsiString Int8 UInt8 Int16 UInt16 Int32 UInt32 Int64 UInt64 Float Double Boolean GUID Pointer FILETIME SYSTEMTIME SID HexInt32 "
             "HexInt64 CountedUnicodeString CountedAnsiString CountedBinary").split()
    shapes = [(t, more) for t in types for more in ("", 'count="3"', 'count="n"')]
    shapes += [(t, more) for t in ("UnicodeString", "AnsiString", "Binary") for more in ('length="8"', 'length="n"', 'length="n" count="2"')]
    templates = "".join(f'<template tid="T{i}"><data name="n" inType="win:UInt16"/><data name="v" inType="win:{t}" {more}/></template>'
                        for i, (t, more) in enumerate(shapes))
    events = "".join(f'<event value="{i}" symbol="E{i}" template="T{i}"/>' for i in range(len(shapes)))
    return f'<provider name="Contoso-Types" guid="{ONE}" symbol="TYPES"><templates>{templates}</templates><events>{events}</events></provider>', len(shapes)


def compile_every_type(work):
    text, count = every_type()
    (work / "types.man").write_text(text, encoding="utf-8")
    tool(work, "mc", "types.man")
    (work / "types.c").write_text('#include "types.h"\nint main(void) { return sizeof E%d == 0; }\n' % (count - 1), encoding="utf-8")
    for compiler in COMPILERS:
        if shutil.which(compiler.split()[0]):
            run(work, *compiler.split(), *"-O2 -Wall -Wextra -Wshadow -Wconversion -Werror -I.".split(), f"-I{SOURCE}/autologger/include", "-c", "types.c",
                "-o", "types.o")


def compile_all(work):
    made = 0
    for compiler in COMPILERS:
        if not shutil.which(compiler.split()[0]):
            continue
        flags = "-O2 -Wall -Wextra -Wshadow -Werror -I.".split() + [f"-I{SOURCE}/autologger/include"]
        for source in ("program", "pair_metadata"):
            run(work, *compiler.split(), *flags, "-c", f"{source}.c", "-o", f"{source}.o")
        run(work, compiler.split()[0], "program.o", "pair_metadata.o", f"-L{BUILD}", f"-Wl,-rpath,{BUILD}", "-lautologger", "-o", "program")
        made += 1
    check(made >= 1, "no compiler")
    print("compiled by", made, "of", len(COMPILERS))


def check_trace(work):
    tool(work, "rehearse", "pair.ini", "--run", "./program", "--out", "out", "--keep-premerge")
    trace = next((work / "out").rglob("pair.etl"))
    lines = tool(work, "dump", trace, "--json", "--manifest", "pair.man").stdout.splitlines()
    got = [e for e in map(json.loads, lines) if e["provider"].get("name", "").startswith("Contoso-")]
    check([e["event"] for e in got] == ["One_Lists", "Two_Plain"] and all(e["decoded"] == "ok" for e in got), got)
    check(got[0]["fields"] == {"n": 2, "wide[0]": "ab", "wide[1]": "c", "narrow[0]": "x", "narrow[1]": "yz", "bytes[0]": 112, "bytes[1]": 113,
                               "bytes[2]": 114, "pair[0].a": 1, "pair[0].b": 2, "pair[1].a": 3, "pair[1].b": 4, "colour": "Green"}, got[0]["fields"])


def main():
    with tempfile.TemporaryDirectory(prefix="mc-") as folder:
        work = pathlib.Path(folder)
        (work / "base").mkdir()
        for name, text in (("pair.man", MANIFEST), ("program.c", PROGRAM), ("pair.ini", DECLARED)):
            (work / name).write_text(text, encoding="utf-8")
        check_compiler(work)
        compile_all(work)
        compile_every_type(work)
        check_trace(work)


if __name__ == "__main__":
    sys.exit(main())
