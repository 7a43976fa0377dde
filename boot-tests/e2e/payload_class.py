"""A provider class without EventSetInformation (boot-tests/windows/payload_class.cpp): its events carry their metadata at the beginning of the
payload, and it tests level and keywords by its callback's arguments. Built by g++ and clang++ as C++14, 17 and 20, each build writes all of its
events to a session that states neither level nor keywords; disabling one session takes nothing from another. Each event decodes by name and type in
dump, in JSON and by tdh.h, to what this test's own reader finds in the bytes of the file.
D-60, D-61. Proves: API-08, TLG-14."""
import json
import os
import shutil
import struct
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
    (100, 0, 0, "Began", [("MyIntVal", 7, -5), ("MyMsg", 2, "three fields"), ("Address", 21, 0x1234)]),
    (101, 5, 0x2, "Sorted", [("Count", 10, 1000000), ("Seconds", 12, 0.5)]),
    (102, 4, 0x8000000000000000, "Ended", [("Why", 1, "all of it")]),
    (103, 1, 0, "Nothing", []),
]


def build(m, compiler, standard):
    out = os.path.join(m.dir, "payload-%s-%d" % (compiler, standard))
    command = [compiler, "-std=c++%d" % standard, "-O1", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-fshort-wchar",
               "-I" + os.path.join(SOURCE, "autologger", "include"), os.path.join(SOURCE, "boot-tests", "windows", "payload_class.cpp"),
               "-o", out, "-L" + BUILD, "-lautologger", "-Wl,-rpath," + BUILD]
    r = subprocess.run(command, capture_output=True, text=True, timeout=120)
    check(r.returncode == 0, " ".join(command), r.stderr)
    return out


def text(data, at, unit):
    end = at
    while data[end:end + unit] != bytes(unit):
        check(end < len(data), "a text without an end", data.hex())
        end += unit
    return data[at:end].decode("utf-16-le" if unit == 2 else "ascii"), end + unit


NUMBERS = {7: "<i", 10: "<Q", 12: "<d", 21: "<Q"}


def decode(data, at):
    """Provider, event and fields of a payload at `at`, which begins with the metadata of provider and event."""
    size, = struct.unpack_from("<H", data, at)
    provider, end = text(data, at + 2, 1)
    check(end == at + size, "the provider's block", data[at:end].hex())
    stop = end + struct.unpack_from("<H", data, end)[0]
    name, at = text(data, end + 3, 1)
    fields, value_at = [], stop
    while at < stop:
        field, at = text(data, at, 1)
        kind = data[at]
        at += 1
        if kind in NUMBERS:
            value, = struct.unpack_from(NUMBERS[kind], data, value_at)
            value_at += struct.calcsize(NUMBERS[kind])
        else:
            value, value_at = text(data, value_at, 2 if kind == 1 else 1)
        fields.append((field, kind, value))
    return provider, name, fields


def in_the_file(path):
    """The contents of the file's bytes, by the format's rules alone."""
    with open(path, "rb") as f:
        data = f.read()
    found, at = [], data.find(b"Contoso.Payload\0")
    while at >= 0:
        found.append(decode(data, at - 2))
        at = data.find(b"Contoso.Payload\0", at + 1)
    return found


def shown(kind, value):
    """A value as dump's text and tdh.h show it."""
    return "0x%x" % value if kind == 21 else str(value)


def by_tdh(m, path):
    r = subprocess.run([os.path.join(BUILD, "tests", "trace_fields"), path, GUID], env=m.env, capture_output=True, text=True, timeout=60)
    check(r.returncode == 0, "trace_fields", r.returncode, r.stdout, r.stderr)
    return r.stdout.splitlines()


def verify(m, session, events=EVENTS):
    path = os.path.join(m.logs, session + ".etl")
    found = in_the_file(path)
    check(found == [("Contoso.Payload", name, fields) for _, _, _, name, fields in events], session, found)
    got = traced(m, path)
    check(len(got) == len(events), session, got)
    for e, (number, level, keyword, name, fields) in zip(got, events):
        check((e["id"], e["channel"], e["level"], int(str(e["keyword"]), 0)) == (number, 11, level, keyword), session, e)
        check((e["provider"]["name"], e["event"], e["decoded"]) == ("Contoso.Payload", name, "ok"), session, e)
        values = {field: shown(kind, value) if kind == 21 else value for field, kind, value in fields}
        check(e["fields"] == values and list(e["fields"]) == list(values), session, e, values)
    lines = [line for line in m.tool("dump", path).stdout.splitlines() if "Contoso.Payload" in line]
    check(len(lines) == len(events), session, lines)
    for line, (_, _, _, name, fields) in zip(lines, events):
        check("Contoso.Payload/" + name in line, session, line)
        for field, kind, value in fields:
            check("%s=" % field in line and shown(kind, value) in line, session, field, line)
    told = by_tdh(m, path)
    want = ["|".join(["Contoso.Payload", name, str(number)] + ["%s:%d=%s" % (f, k, shown(k, v)) for f, k, v in fields])
            for number, _, _, name, fields in events]
    check(told == want, session, told, want)


def traced(m, path):
    r = m.tool("dump", path, "--json")
    return [e for e in map(json.loads, r.stdout.splitlines()) if e["provider"].get("guid", "").lower() == GUID]


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
    """The second session's level, keywords and end must not affect the first one's events."""
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
    verify(m, "goes", [EVENTS[0], EVENTS[3]])


with Machine() as m:
    m.start()
    every_build(m)
    two_sessions(m)
    m.shutdown()
