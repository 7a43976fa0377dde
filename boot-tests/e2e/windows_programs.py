"""Small providers, written as for Windows (boot-tests/windows): built unchanged by gcc and clang, in C and in C++14, run in a session each, and their
events decode without a manifest; a provider class of constexpr metadata; a library's provider; a provider of the older kind, with its own headers in
the file, which only the last session to enable it has; a ninth session is refused by name.
Proves: API-02, API-13, API-19, API-20, API-23, API-27, API-28, API-29, TLG-01, TLG-12, TLG-13, TLG-14, TLG-15, ENB-02, ENB-08, ENB-10, ENB-11, ENB-14, ENB-15,
LEG-02, LEG-04, LEG-06, LEG-07, LEG-13."""
import json
import os
import shutil
import subprocess
import sys
import time

from harness import BUILD, SOURCE, Machine, check, skip

if "asan" in BUILD or "tsan" in BUILD:
    skip("a sanitized library can't be linked to a plain program")

C, CPP = ("gcc -std=gnu99", "clang -std=gnu17"), ("g++ -std=c++14", "clang++ -std=c++14")
GUID = "{5ea7c0de-%04x-4a5b-8c6d-111111111111}"
WINDOWS = os.path.join(SOURCE, "boot-tests", "windows")


def build(m, compiler, source, *more):
    out = os.path.join(m.dir, "%s-%s" % (source.replace(".", "-"), compiler.split()[0]))
    # its GUID is extern and initialised: C allows it, each compiler warns, and gcc's warning has no name
    quiet = [] if source != "manifest_provider.c" else ["-Wno-extern-initializer"] if "clang" in compiler else ["-w"]
    command = [*compiler.split(), "-O1", "-Wall", "-Wextra", "-Werror", *quiet, "-fshort-wchar", "-I" + os.path.join(SOURCE, "autologger", "include"),
               os.path.join(WINDOWS, source), "-o", out, *more]
    r = subprocess.run(command, capture_output=True, text=True)
    check(r.returncode == 0, " ".join(command), r.stderr)
    return out


def linked(m, compiler, source):
    return build(m, compiler, source, "-L" + BUILD, "-lautologger", "-Wl,-rpath," + BUILD)


def traced(m, name, providers, run):
    """The events that `run` writes to a session that enables the providers."""
    m.tool("start", name, "--output", name + ".etl", "--set", "BufferSize=64KB")
    for p in providers:
        m.tool("enable", name, GUID % p, "--level", "Verbose")
    run()
    m.tool("stop", name)
    return dump(m, name)


def dump(m, name):
    r = m.tool("dump", os.path.join(m.logs, name + ".etl"), "--json")
    return [json.loads(line) for line in r.stdout.splitlines()]


def run(m, path, *args):
    r = subprocess.run([path, *args], env=m.env, capture_output=True, text=True, timeout=60)
    check(r.returncode == 0, path, r.returncode, r.stdout, r.stderr)
    return r.stdout


def of(events, guid):
    return [e for e in events if e["provider"].get("guid", "").lower().strip("{}") == guid.strip("{}")]


def named(events, name):
    found = [e for e in events if name in (e.get("event"), e.get("name"))]
    check(found, name, "is not among", events)
    return found


def tracelogging_c(m, compiler):
    e = named(traced(m, "tlg", [2], lambda: run(m, linked(m, compiler, "tracelogging_c.c"))), "Everyday")
    check(len(e) == 1, e)
    f = e[0]["fields"]
    print(compiler, f)
    check(e[0]["provider"]["name"] == "Contoso.Sample.C" and e[0]["level"] == 3, e)
    check(f["ansi"] == "ansi" and f["wide"] == "wide" and f["yes"] is True, f)
    check(str(f["hex"]).lower() in ("0xabcdef", "11259375"), f)


def tracelogging_cpp(m, compiler):
    events = traced(m, "tlgcpp", [3], lambda: run(m, linked(m, compiler, "tracelogging_cpp.cpp")))
    first = named(events, "My1stEvent")[0]
    check(first["fields"] == {"MyIntField": 42, "MyStrField": "some values"}, first)
    start, stop = named(events, "Request")
    steps = named(events, "Step")
    check([e["fields"]["value"] for e in steps] == [1.5, "text"], steps)
    ids = {e["activity"] for e in (start, stop, *steps)}
    check(len(ids) == 1 and start["opcode"] in (1, "Start") and stop["opcode"] in (2, "Stop"), start, stop, steps)
    print(compiler, "activity", ids)


def provider_class(m, compiler):
    events = traced(m, "class", [4], lambda: run(m, linked(m, compiler, "provider_class.cpp")))
    one, two = named(events, "my1stEvent")[0], named(events, "Sorted")[0]
    print(compiler, one["fields"], two["fields"])
    check(one["provider"]["name"] == "Contoso.Sort" and one["id"] == 100 and one["channel"] == 11, one)
    check(one["fields"]["MyIntVal"] == -5 and one["fields"]["MyMsg"] == "three fields" and str(one["fields"]["Address"]).lower() in ("0x1234", "4660"), one)
    check(two["fields"] == {"Count": 1000000, "Seconds": 0.5}, two)


def manifest_provider(m, compiler):
    program = linked(m, compiler, "manifest_provider.c")
    events = traced(m, "manifest", [1], lambda: check(run(m, program) == "1\n", "one session enabled it"))
    mine = of(events, GUID % 1)
    check(len(mine) == 4, mine)
    check([e["id"] for e in mine] == [1, 2, 0, 1] and [e["level"] for e in mine] == [4, 5, 4, 4], mine)
    check(len({e["activity"] for e in mine}) == 1, mine)
    check(mine[2]["fields"] == {"Message": "a message"} and mine[2]["decoded"] == "ok", "a text without a manifest", mine[2])


def library(m):
    """API-02: a library's provider is one of its own, from its constructor to its destructor."""
    so = build(m, "gcc -shared -fPIC", "library_provider.c", "-L" + BUILD, "-lautologger", "-Wl,-rpath," + BUILD)
    user = build(m, "gcc", "library_user.c", "-ldl")
    events = traced(m, "library", [6], lambda: run(m, user, so))
    check([e.get("event", e.get("name")) for e in of(events, GUID % 6)] == ["Loaded", "Unloaded"], events)


def managed(m):
    """LEG-06, LEG-07: the class EventProvider of a managed language, over the library's functions; its descriptor's fields are in their order."""
    program = os.path.join(WINDOWS, "event_provider.py")
    events = of(traced(m, "managed", [12], lambda: run(m, sys.executable, program, os.path.join(BUILD, "libautologger.so.0"))), GUID % 12)
    check([(e["id"], e["version"], e["channel"], e["level"], e["opcode"], e["task"]) for e in events] == [(5, 0, 0, 2, 0, 0)], events)
    check(events[0]["payload"] == (-7).to_bytes(4, "little", signed=True).hex() + "managed\0".encode("utf-16-le").hex(), events)


def classic(m):
    """API-27, API-28: the older API, with one session at a time."""
    program = linked(m, C[0], "classic_provider.c")
    for name in ("first", "second"):
        m.tool("start", name, "--output", name + ".etl", "--set", "BufferSize=64KB")
    m.tool("enable", "first", GUID % 5, "--level", "Informational", "--keywords", "0x1000000A5")
    p = subprocess.Popen([program], env=m.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    m.processes.append(p)
    check(p.stdout.readline() == "1\n", "enabled once")
    model(m, p.pid, {"first": (4, 0x1000000A5)})
    m.tool("enable", "second", GUID % 5, "--level", "Verbose", "--keywords", "0x77", "--wait", "5000")
    p.stdin.write("again\n")
    p.stdin.flush()
    check(p.stdout.readline() == "2\n", "and by the second session")
    model(m, p.pid, {"second": (5, 0x77)})
    refused = m.tool("enable", "second", GUID % 5, "--filter", "EventIds=1", expect=1)  # LEG-04: its events are filtered where they are written
    check("(50 " in refused.stderr, refused.stderr)
    refused = m.tool("enable", "second", GUID % 5, "--pid", str(p.pid), expect=1)
    check("(50 " in refused.stderr, refused.stderr)
    model(m, p.pid, {"second": (5, 0x77)})
    p.stdin.close()
    check(p.wait(20) == 0, "classic_provider")
    for name in ("first", "second"):
        m.tool("stop", name)
    for name, flags in (("first", 0xA5), ("second", 0x77)):
        events = dump(m, name)
        text = json.dumps(events)
        full = of(events, "5ea7c0de-0105-4a5b-8c6d-111111111111")
        print(name, full)
        check(len(full) >= 2, text)
        payload = flags.to_bytes(4, "little") + b"classic\0"
        check(payload.hex() in text.lower().replace(" ", ""), name, text)
        verify(m, name, flags)


def classic_counted(m):
    """D-79: Status counts the events of a provider of the older API, whose records carry a class GUID instead of the provider's."""
    program, rounds = linked(m, C[0], "classic_provider.c"), 100
    ini, lines, out = (os.path.join(m.dir, name) for name in ("classic.ini", "lines", "rehearsal"))
    with open(ini, "w") as f:
        f.write("[Autologger/old]\nStart = 1\nBufferSize = 64 KB\n[Autologger/old/%s]\nEnableLevel = Verbose\n" % (GUID % 5))
    with open(lines, "w") as f:
        f.write("\n" * (rounds - 1))
    said = json.loads(m.tool("rehearse", ini, "--run", f"{program} < {lines} > {lines}.out", "--out", out, "--json").stdout)
    session = said["sessions"][0]
    print("rehearsed", session["written"], [p["written"] for p in session["providers"]])
    check(session["written"] == 3 * rounds, "an event, an instance and a message a round", session)
    check([p["written"] for p in session["providers"]] == [3 * rounds], "the provider's row", session)


def verify(m, name, flags):
    """The headers themselves: FULL64, INSTANCE64 and MESSAGE, in this order."""
    with open(os.path.join(m.logs, name + ".etl"), "rb") as f:
        data = f.read()
    guid = bytes.fromhex("dec0a75e05015b4a8c6d111111111111")
    at, kinds = data.find(guid), []
    while at >= 0:
        for back, kind in ((0x18, 0x14), (0x18, 0x15)):
            if data[at - back + 2] == kind and data[at - back + 3] == 0xC0:
                kinds.append(kind)
                check(data[at - back + 8:at - back + 16] != bytes(8), "thread and process")
        if data[at - 8 + 3] == 0x90:
            kinds.append(0x90)
            check(data[at - 8 + 4:at - 8 + 8] == b"\x0c\x00\xaa\x00", "number 12, GUID, time, ids, 64 bits")
            check(data[at + 32:at + 36] == flags.to_bytes(4, "little"), "the argument")
        at = data.find(guid, at + 1)
    check(kinds == [0x14, 0x15, 0x90], name, kinds)


MINIMAL = """<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events"><instrumentation><events>
<provider name="Contoso-Minimal" guid="{5ea7c0de-0007-4a5b-8c6d-111111111111}" symbol="MINIMAL">
<events><event value="7"/><event value="7" version="1" template="t"/></events>
<templates><template tid="t"><data name="n" inType="win:UInt32"/></template></templates>
</provider></events></instrumentation></instrumentationManifest>"""


def minimal(m):
    """API-20, API-19: a manifest need only state an event's number; its versions are decoded each by its own template."""
    path = os.path.join(m.dir, "minimal.man")
    with open(path, "w") as f:
        f.write(MINIMAL)
    m.tool("mc", path, "-h", m.dir, "-r", m.dir)
    program = os.path.join(m.dir, "minimal.c")
    with open(program, "w") as f:
        f.write("""#include "minimal.h"
int main(void)
{
    const EVENT_DESCRIPTOR plain = {7, 0, 0, 0, 0, 0, 0}, other = {7, 1, 0, 0, 0, 0, 0};
    UINT32                 n     = 77;
    EVENT_DATA_DESCRIPTOR  data;
    REGHANDLE              h;
    if (EventRegister(&MINIMAL, 0, 0, &h))
        return 1;
    EventDataDescCreate(&data, &n, sizeof n);
    return (int)(EventWrite(h, &plain, 0, 0) | EventWrite(h, &other, 1, &data) | EventUnregister(h));
}
""")
    out = os.path.join(m.dir, "minimal")
    r = subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", "-I" + m.dir, "-I" + os.path.join(SOURCE, "autologger", "include"), program, "-o", out,
                        "-L" + BUILD, "-lautologger", "-Wl,-rpath," + BUILD], capture_output=True, text=True)
    check(r.returncode == 0, r.stderr)
    traced(m, "minimal", [7], lambda: run(m, out))
    r = m.tool("dump", os.path.join(m.logs, "minimal.etl"), "--json", "--manifest", path)
    mine = of([json.loads(line) for line in r.stdout.splitlines()], GUID % 7)
    check([(e["id"], e["version"], e["decoded"], e["fields"]) for e in mine] == [(7, 0, "ok", {}), (7, 1, "ok", {"n": 77})], mine)


def example(m):
    """LEG-13: the example of a controller and a consumer, built by its own instructions, records a provider and names its events; without one, an
    error."""
    source = os.path.join(SOURCE, "docs", "examples", "record.c")
    with open(source, encoding="utf-8") as f:
        words = next(line for line in f if line.startswith(" *     cc ")).split()[2:]
    program = os.path.join(m.dir, "record")
    places = {"-Iautologger/include": "-I" + os.path.join(SOURCE, "autologger", "include"), "docs/examples/record.c": source, "-Lbuild/release": "-L" + BUILD,
              "-Wl,-rpath,$PWD/build/release": "-Wl,-rpath," + BUILD, "record": program}
    for compiler in ("gcc", "clang"):
        command = [compiler, "-Wall", "-Wextra", "-Wconversion", "-Werror", *(places.get(w, w) for w in words)]
        r = subprocess.run(command, capture_output=True, text=True, timeout=60)
        check(r.returncode == 0, " ".join(command), r.stderr)
        said = run(m, program, compiler + ".etl", GUID % 2, linked(m, C[0], "tracelogging_c.c"))
        check(said == "Contoso.Sample.C/Everyday 10 values\n", compiler, said)
    said = run(m, program, "text.etl", GUID % 1, linked(m, C[0], "manifest_provider.c") + " >/dev/null")
    check(said.splitlines() == ["event 1, not described", "event 2, not described", "String 1 values", "event 1, not described"], said)
    r = subprocess.run([program, "none.etl", GUID % 2, "true"], env=dict(m.env, AUTOLOGGER_RUNTIME_DIR=m.dir), capture_output=True, text=True, timeout=60)
    check(r.returncode == 1 and r.stderr == "StartTrace: error 4201\n", r)


def levels(m):
    """API-23: the predefined levels by their names, as input for the wanted level and in decoded events."""
    names = ("LogAlways", "Critical", "Error", "Warning", "Informational", "Verbose")
    m.tool("start", "levels", "--output", "levels.etl")
    for number, name in enumerate(names):
        r = json.loads(m.tool("enable", "levels", GUID % 8, "--level", name, "--json").stdout)
        check(r["level"] == number, name, r)
    for name in names:
        m.tool("write", GUID % 8, "Event" + name, "--level", name)
    m.tool("stop", "levels")
    xml = os.path.join(m.dir, "levels.xml")
    m.tool("tracerpt", os.path.join(m.logs, "levels.etl"), "-o", xml, "-y")
    with open(xml) as f:
        text = f.read()
    for number, name in enumerate(names):
        event = text[:text.index("<Task>Event%s</Task>" % name)].rsplit("<Event ", 1)[1]
        check("<Level>%d</Level>" % number in event, name, event)
        shown = {0: None, 4: "Information"}.get(number, name)
        check(shown is None or "<Level>%s</Level>" % shown in event, name, event)


def model(m, pid, levels_of):
    """ENB-10: the listing of a provider: its programs, and each session that wants it with its terms."""
    r = json.loads(m.tool("providers", "--registered", "--json").stdout)
    one = [p for p in r["registered"] if p["guid"] == GUID % 5]
    check(len(one) == 1 and [p["pid"] if isinstance(p, dict) else p for p in one[0]["programs"]] == [pid], r)
    check({s["name"]: (s["level"], s["match_any"]) for s in one[0]["sessions"]} == levels_of, one)


def row_of(m, guid, until):
    """The row of `providers` for a provider, as soon as `until` holds for it."""
    for _ in range(200):
        found = [p for p in json.loads(m.tool("providers", "--registered", "--json").stdout)["registered"] if p["guid"] == guid]
        if found and until(found[0]):
            return found[0]
        time.sleep(0.05)
    check(False, guid, found)


def two_registrations(m):
    """ENB-10, D-41: each registration of a process is a row of its own: callback, traits, API, and the mask of sessions; the provider's references."""
    for name in ("r1", "r2"):
        m.tool("start", name, "--output", name + ".etl", "--set", "BufferSize=64KB")
    m.tool("enable", "r1", GUID % 15)
    m.tool("enable", "r2", GUID % 15, "--level", "Error")
    p = subprocess.Popen([linked(m, C[0], "two_registrations.c")], env=m.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    m.processes.append(p)
    check(p.stdout.readline() == "registered 0\n", "two of one provider, and one of the older API")
    row = row_of(m, GUID % 15, lambda r: [x["traits"] for x in r["registrations"]] == [False, True])
    one, two = row["registrations"]
    print(one, two)
    check(row["programs"] == [p.pid] and row["name"] == "Contoso.Two" and row["references"] == 4, row)
    check(one["pid"] == two["pid"] == p.pid and one["index"] != two["index"], one, two)
    check((one["callback"], one["classic"], two["callback"], two["classic"]) == (True, False, False, False), one, two)
    check(one["sessions"] == two["sessions"] == ["r1", "r2"] and one["group"] == "", one, two)
    older = row_of(m, GUID % 16, lambda r: r["registrations"])["registrations"]
    check([(x["classic"], x["callback"], x["sessions"]) for x in older] == [(True, True, [])], older)
    m.tool("access", GUID % 15, "--only", "--allow", "4242=log", "--allow", "4243=register")
    shown = json.loads(m.tool("access", GUID % 15, "--json").stdout)
    given = [(e["who"], e["allow"], e["rights"]) for e in shown["entries"] if e["who"] in ("4242", "4243")]
    check(shown["own"] and given == [("4242", True, "log"), ("4243", True, "register")], "its security descriptor", shown)
    m.tool("access", GUID % 15, "--reset")
    text = [line for line in m.tool("providers", "--registered").stdout.splitlines() if GUID % 15 in line]
    check(len(text) == 1 and "%d (2 times)" % p.pid in text[0], text)
    m.tool("disable", "r1", GUID % 15)
    p.stdin.write("go\n")
    p.stdin.flush()
    check(p.stdout.readline() == "one left 0\n", "the first is gone")
    row = row_of(m, GUID % 15, lambda r: len(r["registrations"]) == 1)
    check(row["registrations"][0]["index"] == two["index"] and row["registrations"][0]["sessions"] == ["r2"] and row["references"] == 2, row)
    p.stdin.close()
    check(p.wait(20) == 0, "two_registrations")
    for name in ("r1", "r2"):
        m.tool("stop", name)


def terms_of(m, guid):
    """The terms of a provider in `providers`: {session: level}."""
    r = json.loads(m.tool("providers", "--registered", "--json").stdout)
    return {s["name"]: s["level"] for p in r["registered"] if p["guid"] == guid for s in p["sessions"]}


def group(m):
    """ENB-15: enabling a group enables its members, later ones too, also over the daemon's death; a member's own enablement goes before the
    group's."""
    member, all_of_it = GUID % 3, GUID % 0xffff
    program = linked(m, CPP[0], "tracelogging_cpp.cpp")
    for name in ("g1", "g2", "g3"):
        m.tool("start", name, "--output", name + ".etl", "--set", "BufferSize=64KB")
    m.tool("enable", "g1", all_of_it, "--level", "Verbose")
    run(m, program)  # registered after the group was enabled
    m.tool("disable", "g1", all_of_it)
    check(terms_of(m, member) == {}, "the group's end is the members'")
    p = subprocess.Popen([program], env=m.env)  # waits until it is enabled
    m.processes.append(p)
    while not [q for q in json.loads(m.tool("providers", "--registered", "--json").stdout)["registered"] if q["guid"] == member]:
        check(p.poll() is None, "it ended")
    os.kill(p.pid, 19)  # SIGSTOP: it stays registered meanwhile; its own wait is 5 s
    os.kill(m.daemon_pid(), 9)
    m.wait_ready()
    m.tool("enable", "g3", all_of_it, "--level", "Informational")  # first: the program writes as soon as it learns of one session
    m.tool("enable", "g2", member, "--level", "Warning")
    m.tool("enable", "g2", all_of_it, "--level", "Verbose")
    check(terms_of(m, member) == {"g2": 3, "g3": 4}, terms_of(m, member))
    m.tool("enable", "g3", all_of_it, "--level", "Verbose")
    m.tool("disable", "g2", all_of_it)
    check(terms_of(m, member) == {"g2": 3, "g3": 5}, terms_of(m, member))
    os.kill(p.pid, 18)
    check(p.wait(20) == 0, "tracelogging_cpp")
    for name in ("g1", "g2", "g3"):
        m.tool("stop", name)
    counts = {name: len(of(dump(m, name), member)) for name in ("g1", "g2", "g3")}
    print("events by the group:", counts)
    check(counts == {"g1": 5, "g2": 0, "g3": 5}, counts)


def nine(m):
    """ENB-08: eight sessions may have a provider; the ninth is refused with this reason."""
    for i in range(9):
        m.tool("start", "n%d" % i, "--output", "n%d.etl" % i, "--set", "BufferSize=4KB")
    for i in range(8):
        m.tool("enable", "n%d" % i, GUID % 2)
    r = m.tool("enable", "n8", GUID % 2, expect=None)
    check(r.returncode != 0 and "1450" in r.stdout + r.stderr, r.stdout, r.stderr)
    m.tool("disable", "n3", GUID % 2)
    m.tool("enable", "n8", GUID % 2)
    for i in range(9):
        m.tool("stop", "n%d" % i)


def silo(m):
    """ENB-11: a daemon with a runtime folder of its own, as in a container, has its own tables: an enablement here has no effect there."""
    program = linked(m, CPP[0], "tracelogging_cpp.cpp")
    with Machine() as inner:
        inner.start()
        for where in (m, inner):
            where.tool("start", "silo", "--output", "silo.etl", "--set", "BufferSize=64KB")
        inner.tool("enable", "silo", GUID % 3, "--level", "Verbose")
        check(terms_of(m, GUID % 3) == {} and terms_of(inner, GUID % 3) == {"silo": 5}, "one table")
        m.tool("enable", "silo", GUID % 3, "--level", "Critical")
        run(inner, program)
        for where in (m, inner):
            where.tool("stop", "silo")
        check((len(of(dump(m, "silo"), GUID % 3)), len(of(dump(inner, "silo"), GUID % 3))) == (0, 5), "events of the inner one alone")
        inner.shutdown()


for needed in ("gcc", "clang", "g++", "clang++"):
    if not shutil.which(needed):
        skip(needed + " is not here")
with Machine() as m:
    m.start()
    for compiler in C:
        tracelogging_c(m, compiler)
        manifest_provider(m, compiler)
    for compiler in CPP:
        tracelogging_cpp(m, compiler)
        provider_class(m, compiler)
    library(m)
    managed(m)
    classic(m)
    two_registrations(m)
    classic_counted(m)
    nine(m)
    group(m)
    minimal(m)
    levels(m)
    example(m)
    silo(m)
    m.shutdown()
