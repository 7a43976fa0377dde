"""Programs that write manifests of their own events, as EventSource does (event 65534, in pieces): their events are decoded in a file, and by "watch"
and tdh.h while the session runs. Two programs of one provider at a time, with interleaved pieces; a second version with other fields; a manifest that
comes too late for an event. Each value is compared with the value that this test writes, and with the file's bytes, which the test reads by itself.
Proves: CON-05, CON-15. D-74."""
import base64
import ctypes
import json
import os
import re
import struct
import subprocess
import sys
import uuid

from harness import BUILD, SOURCE, Machine, check, skip

if "asan" in BUILD or "tsan" in BUILD:
    skip("a sanitized library can't be loaded by Python")
sys.path.insert(0, os.path.join(SOURCE, "boot-tests", "windows"))
from event_provider import EventData, EventDescriptor, EventProvider  # noqa: E402

GUID = uuid.UUID("{5ea7c0de-0015-4a5b-8c6d-111111111111}")
PIECE, MANIFEST_EVENT = 700, 0xFFFE
# inType: the value for a number, its bytes, its JSON form
KINDS = {
    "win:UnicodeString": (lambda i: f"text {i} \u00e4\u20ac", lambda v: (v + "\0").encode("utf-16-le"), lambda v: v),
    "win:Int32": (lambda i: -i * 70000, lambda v: struct.pack("<i", v), lambda v: v),
    "win:UInt64": (lambda i: i << 40 | 1, lambda v: struct.pack("<Q", v), lambda v: v),
    "win:Int64": (lambda i: -i << 33, lambda v: struct.pack("<q", v), lambda v: v),
    "win:UInt8": (lambda i: 200 + i % 50, lambda v: struct.pack("<B", v), lambda v: v),
    "win:Double": (lambda i: i + 0.25, lambda v: struct.pack("<d", v), lambda v: v),
    "win:Boolean": (lambda i: i % 2 == 1, lambda v: struct.pack("<i", v), lambda v: v),
    "win:GUID": (lambda i: uuid.UUID(int=i * 0x1234567890ABCDEF1234567), lambda v: v.bytes_le, lambda v: "{" + str(v) + "}"),
}
FIRST = {1: ("Begin", ["win:UnicodeString", "win:Int32"]), 2: ("Work", ["win:UInt64", "win:Double", "win:Boolean", "win:GUID"]),
         3: ("End", ["win:Int64", "win:UInt8", "win:UnicodeString"])}
SECOND = {4: ("Other", ["win:UInt64", "win:UnicodeString"])}


def manifest(version, events):
    """The XML that an EventSource makes of its class."""
    tasks = "".join(f'  <task name="{name}" message="$(string.task_{name})" value="{65534 - i}"/>\n' for i, (name, _) in events.items())
    rows = "".join(f'  <event value="{i}" version="{version}" level="win:Informational" symbol="{name}" message="$(string.event_{name})" task="{name}" '
                   f'template="{name}Args"/>\n' for i, (name, _) in events.items())
    templates = "".join(f'  <template tid="{name}Args">\n' + "".join(f'   <data name="f{n}" inType="{t}"/>\n' for n, t in enumerate(types)) + "  </template>\n"
                        for name, types in events.values())
    strings = "".join(f'   <string id="task_{name}" value="{name}"/>\n   <string id="event_{name}" value="{name} says %1 of {version}."/>\n'
                      for name, _ in events.values())
    return ('<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events">\n <instrumentation xmlns:xs="http://www.w3.org/2001/XMLSchema"'
            ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:win="http://manifests.microsoft.com/win/2004/08/windows/events">\n'
            '  <events xmlns="http://schemas.microsoft.com/win/2004/08/events">\n'
            f'<provider name="Contoso-Source" guid="{{{GUID}}}" resourceFileName="" messageFileName="" symbol="ContosoSource" >\n'
            f" <tasks>\n{tasks} </tasks>\n <opcodes>\n </opcodes>\n <events>\n{rows} </events>\n <templates>\n{templates} </templates>\n</provider>\n"
            "</events>\n</instrumentation>\n"
            f'<localization>\n <resources culture="en-US">\n  <stringTable>\n{strings}  </stringTable>\n </resources>\n</localization>\n</instrumentationManifest>\n')


def pieces(version, events):
    data = manifest(version, events).encode()
    total = (len(data) + PIECE - 1) // PIECE
    return [struct.pack("<BBBBHH", 1, version, 0, 0x5B, total, i) + data[i * PIECE: (i + 1) * PIECE] for i in range(total)]


def payload(types, i):
    return b"".join(KINDS[t][1](KINDS[t][0](i)) for t in types)


def shown(types, i):
    return {f"f{n}": KINDS[t][2](KINDS[t][0](i)) for n, t in enumerate(types)}


class Source(EventProvider):
    """One program's provider: it writes what it is told, one line of standard input each."""

    def write(self, number, version, data, opcode=0):
        kept = ctypes.create_string_buffer(data, len(data))
        one = EventData(ctypes.addressof(kept), len(data), 0)
        return self.api.EventWrite(self.handle, ctypes.byref(EventDescriptor(number, version, 0, 4, opcode, 0, 0)), 1, ctypes.byref(one))


def program():
    source = Source(os.path.join(BUILD, "libautologger.so.0"), GUID)
    for line in sys.stdin:
        number, version, data = line.split()
        print(source.write(int(number), int(version), base64.b64decode(data), 0xFE if int(number) == MANIFEST_EVENT else 0), flush=True)
    source.Close()


class Program:
    def __init__(self, m):
        self.p = subprocess.Popen([sys.executable, os.path.abspath(__file__), "program"], env=m.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        m.processes.append(self.p)

    def write(self, number, version, data):
        self.p.stdin.write(f"{number} {version} {base64.b64encode(data).decode()}\n")
        self.p.stdin.flush()
        check(self.p.stdout.readline() == "0\n", "an event was not written:", number)

    def event(self, events, number, version, i):
        """Writes the event, and returns its expected decoding."""
        name, types = events[number]
        self.write(number, version, payload(types, i))
        return {"pid": self.p.pid, "bytes": payload(types, i), "id": number, "version": version, "event": name, "fields": shown(types, i),
                "message": f"{name} says {KINDS[types[0]][0](i)} of {version}."}

    def end(self):
        self.p.stdin.close()
        check(self.p.wait(20) == 0, "a program ended with", self.p.returncode)


def the_programs(m):
    """The expected events, in order; the first is before its manifest."""
    one, two = Program(m), Program(m)
    wanted = [one.event(FIRST, 1, 1, 1)]
    first, second = pieces(1, FIRST), pieces(2, SECOND)
    check(len(first) > 3 and len(second) > 1, "a manifest is not in pieces")
    for i in range(max(len(first), len(second))):  # two programs at once
        for p, parts, version in ((one, first, 1), (two, second, 2)):
            if i < len(parts):
                p.write(MANIFEST_EVENT, version, parts[i])
    for i in range(2, 42):
        wanted.append(one.event(FIRST, 1 + i % 3, 1, i))
        if i % 4 == 0:
            wanted.append(two.event(SECOND, 4, 2, i))
    one.end()
    two.end()
    return wanted


def own(lines):
    return [e for e in lines if e["provider"].get("guid", "").strip("{}").lower() == str(GUID) and e["id"] != MANIFEST_EVENT]


def same(got, want, what):
    check(got["pid"] == want["pid"] and got["id"] == want["id"] and got["version"] == want["version"], what, got, want)
    if got["decoded"] != "ok":
        return False
    check(got["event"] == want["event"] and got["provider"]["name"] == "Contoso-Source", what, got, want)
    check(got["fields"] == want["fields"], what, got["fields"], "written was", want["fields"])
    check(got.get("message") == want["message"], what, got.get("message"), "written was", want["message"])
    return True


IN_TYPES = {1: str, 4: int, 7: int, 9: int, 10: int, 12: float, 13: lambda text: text == "true", 15: str}


def by_tdh(lines, wanted):
    """tdh.h's result for each event of the session (boot-tests/trace_fields.c, which writes ? for each character that is not ASCII)."""
    lines = [line for line in lines if line.split("|")[2] != str(MANIFEST_EVENT) and line.split("|")[1] != str(MANIFEST_EVENT)]
    check(len(lines) == len(wanted) and lines[0].startswith(f"?|{wanted[0]['id']}|"), "tdh.h:", len(lines), lines[:1])
    for line, want in zip(lines[1:], wanted[1:]):
        check(not line.startswith("?"), "tdh.h left it raw:", line)
        provider, _, number, *fields = line.split("|")
        got = {}
        for field in fields:
            name, kind, text = re.fullmatch(r"(\w+):(\d+)=(.*)", field).groups()
            got[name] = IN_TYPES[int(kind)](text)
        ascii_only = {k: re.sub(r"[^\x00-\x7f]", "?", v) if isinstance(v, str) else v for k, v in want["fields"].items()}
        check((provider, int(number), got) == ("Contoso-Source", want["id"], ascii_only), "tdh.h:", line, ascii_only)


def bytes_of(path):
    """(id, payload) of the provider's events in the bytes of the file: EVENT_HEADER, found by the provider's GUID at offset 24."""
    data, found, at = open(path, "rb").read(), [], -1
    while (at := data.find(GUID.bytes_le, at + 1)) >= 0:
        head = at - 24
        size, kind = struct.unpack_from("<HH", data, head)
        if kind & 0xC000 == 0xC000 and kind & 0xFF in (0x13, 0x12) and 80 <= size:
            found.append((struct.unpack_from("<q", data, head + 16)[0], struct.unpack_from("<H", data, head + 40)[0], data[head + 80: head + size]))
    return [(number, body) for _, number, body in sorted(found)]


def main():
    with Machine() as m:
        m.start()
        for name, more in (("source", ("--output", "source.etl")), ("tdh", ())):  # a session each: only one reader gets the waiting events
            m.tool("start", name, "--real-time", "--set", "BufferSize=64KB", *more)
            m.tool("enable", name, "{%s}" % GUID, "--level", "Verbose")
        live = os.path.join(m.dir, "watched")
        with open(live, "w") as f:
            watch = subprocess.Popen([os.path.join(BUILD, "autologger"), "watch", "source", "--json"], env=m.env, stdout=f, stderr=subprocess.PIPE, text=True)
        m.processes.append(watch)
        fields = subprocess.Popen([os.path.join(BUILD, "tests", "trace_fields"), "live:tdh", "{%s}" % GUID], env=m.env, stdout=subprocess.PIPE, text=True)
        m.processes.append(fields)
        wanted = the_programs(m)
        for name in ("source", "tdh"):
            m.tool("stop", name)
        check(watch.wait(60) == 0, "watch ended with", watch.returncode, watch.stderr.read())
        watched = own(map(json.loads, open(live)))
        said, _ = fields.communicate(timeout=60)
        check(fields.returncode == 0, "trace_fields ended with", fields.returncode)
        by_tdh(said.splitlines(), wanted)
        path = os.path.join(m.logs, "source.etl")
        dumped = own(map(json.loads, m.tool("dump", path, "--json").stdout.splitlines()))
        check(len(watched) == len(dumped) == len(wanted) == 51, "watched", len(watched), "dumped", len(dumped), "written", len(wanted))
        for got, want in zip(dumped, wanted):
            check(same(got, want, "dump:"), "dump left it raw:", got)
        raw = [not same(got, want, "watch:") for got, want in zip(watched, wanted)]
        check(raw == [True] + [False] * 50, "watch left raw:", [i for i, r in enumerate(raw) if r])  # the first one came before its manifest
        check(watched[0]["payload"] == payload(FIRST[1][1], 1).hex(), watched[0])
        stored = [body for number, body in bytes_of(path) if number != MANIFEST_EVENT]
        check(stored == [want["bytes"] for want in wanted], "in the bytes of the file:", stored)
        print(len(dumped), "events of two programs by their own manifests in the file,", 51 - sum(raw), "of them watched")
        m.shutdown()


if __name__ == "__main__":
    program() if sys.argv[1:] == ["program"] else main()
