"""A provider class without EventSetInformation (boot-tests/windows/payload_class.cpp): its events carry their metadata at the beginning of the
payload, and it tests level and keywords by what its callback got. Built by g++ and clang++ as C++14, 17 and 20, each build writes all of its
events to a session that states neither level nor keywords; a session that is disabled takes nothing from another one.
D-61, and D-60: dump decodes what stands in the payload. Proves: API-08, TLG-14."""
import json
import os
import shutil
import subprocess

from harness import BUILD, SOURCE, Machine, check, skip

if "asan" in BUILD or "tsan" in BUILD:
    skip("a sanitized library can't be linked to a plain program")
for needed in ("g++", "clang++"):
    if not shutil.which(needed):
        skip(needed + " is not here")

GUID = "{5ea7c0de-000d-4a5b-8c6d-111111111111}"
BUILDS = [(compiler, standard) for compiler in ("g++", "clang++") for standard in (14, 17, 20)]
EVENTS = [
    (100, 0, 0, "Began", {"MyIntVal": -5, "MyMsg": "three fields", "Address": "0x1234"}),
    (101, 5, 0x2, "Sorted", {"Count": 1000000, "Seconds": 0.5}),
    (102, 4, 0x8000000000000000, "Ended", {"Why": "all of it"}),
    (103, 1, 0, "Nothing", {}),
]


def build(m, compiler, standard):
    out = os.path.join(m.dir, "payload-%s-%d" % (compiler, standard))
    command = [compiler, "-std=c++%d" % standard, "-O1", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-fshort-wchar",
               "-I" + os.path.join(SOURCE, "autologger", "include"), os.path.join(SOURCE, "boot-tests", "windows", "payload_class.cpp"),
               "-o", out, "-L" + BUILD, "-lautologger", "-Wl,-rpath," + BUILD]
    r = subprocess.run(command, capture_output=True, text=True, timeout=120)
    check(r.returncode == 0, " ".join(command), r.stderr)
    return out


def traced(m, session):
    r = m.tool("dump", os.path.join(m.logs, session + ".etl"), "--json")
    return [e for e in map(json.loads, r.stdout.splitlines()) if e["provider"].get("guid", "").lower() == GUID]


def verify(m, session):
    events = traced(m, session)
    check(len(events) == len(EVENTS), session, events)
    for e, (number, level, keyword, name, fields) in zip(events, EVENTS):
        check((e["id"], e["channel"], e["level"], int(str(e["keyword"]), 0)) == (number, 11, level, keyword), session, e)
        check((e["provider"]["name"], e["event"], e["fields"], e["decoded"]) == ("Contoso.Payload", name, fields, "ok"), session, e)


def every_build(m):
    for compiler, standard in BUILDS:
        session = "%s%d" % (compiler.replace("+", "x"), standard)
        program = build(m, compiler, standard)
        m.tool("start", session, "--output", session + ".etl", "--set", "BufferSize=64KB")
        m.tool("enable", session, GUID)
        r = subprocess.run([program], env=m.env, timeout=60)
        check(r.returncode == 0, program, r.returncode)
        m.tool("stop", session)
        verify(m, session)
        print(session, "wrote", len(EVENTS), "events")


def two_sessions(m):
    """What the second session is refused or ends must not reach the first one's events."""
    program = build(m, *BUILDS[0])
    for name in ("stays", "goes"):
        m.tool("start", name, "--output", name + ".etl", "--set", "BufferSize=64KB")
    m.tool("enable", "goes", GUID, "--level", "Critical", "--keywords", "0x1")
    m.tool("enable", "stays", GUID)
    r = subprocess.run([program], env=m.env, timeout=60)
    check(r.returncode == 0, r.returncode)
    for name in ("goes", "stays"):
        m.tool("stop", name)
    verify(m, "stays")
    check([e["id"] for e in traced(m, "goes")] == [100, 103], traced(m, "goes"))


with Machine() as m:
    m.start()
    every_build(m)
    two_sessions(m)
    m.shutdown()
