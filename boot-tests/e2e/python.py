"""The Python package: typed events of a program and events of a manifest, read back from the file, by dump, and from a live session; what it gives of a
trace is what dump gives; events that are kept; mistakes; the installed package with Debian's own Python; the managed EventProvider of Windows.
Proves: LEG-06, LEG-07."""
import array
import datetime
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

from harness import BUILD, SOURCE, Machine, check, skip, tool

PACKAGE = os.path.join(BUILD, "python")
if not os.path.exists(os.path.join(PACKAGE, "autologger", "_events.abi3.so")):
    skip("the Python package is not built here (it needs python3-dev, and no sanitizer)")
sys.path.insert(0, PACKAGE)
import autologger  # noqa: E402
import autologger.provider  # noqa: E402

autologger.provider.library(os.path.join(BUILD, "libautologger.so.0"))

WHEN = datetime.datetime(2024, 2, 29, 12, 30, 15, 250000, tzinfo=datetime.timezone.utc)
ID = uuid.UUID("{5ea7c0de-1111-4a5b-8c6d-222222222222}")
FIELDS = {"url": "/größe\u20ac", "status": 200, "big": 2**64 - 1, "minus": -5, "seconds": 0.25, "ok": True, "no": False, "raw": b"\x00\xff\x10", "id": ID,
          "when": WHEN, "small": autologger.UInt8(255), "short": autologger.Int16(-300), "word": autologger.UInt32(4000000000), "hex": autologger.HexInt32(0xABCD),
          "half": autologger.Float32(1.5), "list": [1, -2, 3], "words": ["a", "", "ccc"], "none": [], "empty": ""}
READ = {**{k: v for k, v in FIELDS.items()}, "id": "{%s}" % ID, "when": "2024-02-29T12:30:15.250000000Z"}


def same(mine, theirs, where):
    """A field of the package, and the same of dump: numbers as numbers, hex and texts as texts, bytes as hex."""
    if isinstance(mine, bool):
        check(theirs in (mine, str(mine).lower(), int(mine)), where, mine, theirs)
    elif isinstance(mine, (int, float)):
        number = float(theirs) if isinstance(mine, float) else int(str(theirs), 0)
        check(mine == number or abs(mine - number) < 1e-6 * abs(number), where, mine, theirs)
    elif isinstance(mine, bytes):
        check(str(theirs).lower().removeprefix("0x").replace(" ", "") == mine.hex(), where, mine, theirs)
    else:
        check(mine == theirs, where, mine, theirs)


def flat(fields, prefix=""):
    """The paths of dump: "a.b", "a[0]"."""
    for name, value in fields.items():
        at = prefix + name
        if isinstance(value, dict):
            yield from flat(value, at + ".")
        elif isinstance(value, list):
            for i, one in enumerate(value):
                if isinstance(one, dict):
                    yield from flat(one, f"{at}[{i}].")
                else:
                    yield f"{at}[{i}]", one
        else:
            yield at, value


def as_dump(path, *more):
    """Every event of a file, by the package and by dump."""
    lines = [json.loads(line) for line in tool("dump", str(path), "--json", *more).stdout.splitlines()]
    with autologger.open(path) as trace:
        count = 0
        for line, event in zip(lines, trace):
            count += 1
            where = f"{path} event {count}"
            check((event.provider, event.name) == (line["provider"].get("name", line["provider"]["guid"]), line["event"]), where, event, line)
            check((event.pid, event.tid, event.cpu, event.id, event.version, event.level, event.opcode, event.task, event.channel, event.raw_time) ==
                  tuple(line[k] for k in ("pid", "tid", "cpu", "id", "version", "level", "opcode", "task", "channel", "raw")), where, line)
            check(event.keyword == int(line["keyword"], 16) and event.guid == line["provider"]["guid"], where)
            check(event.decoded == (line["decoded"] == "ok"), where, event.decoded, line)
            if line["decoded"] == "ok":
                mine = dict(flat(event.fields))
                if isinstance(event.fields.get("Stack"), list):  # a list of dump's under one name
                    mine = {k: v for k, v in mine.items() if not k.startswith("Stack[")}
                    check(event.fields["Stack"] == [int(a, 16) for a in line["fields"].pop("Stack")], where, event.fields["Stack"])
                check(list(mine) == list(line["fields"]), where, list(mine), list(line["fields"]))
                for name, value in mine.items():
                    same(value, line["fields"][name], f"{where} {name}")
        check(count == len(lines) and next(iter(trace), None) is None, path, count, len(lines))
        return count


def written(m):
    m.tool("start", "web", "--output", "web.etl", "--provider", "{%s}" % autologger.guid_of("Contoso-Web"), "--provider", "{5ea7c0de-000c-4a5b-8c6d-111111111111}")
    provider = autologger.Provider("Contoso-Web")
    end = time.time() + 10
    while not provider.enabled(4, 1) and time.time() < end:
        time.sleep(0.01)
    activity = uuid.uuid4()
    check(provider.write("Request", level=autologger.INFORMATIONAL, keyword=0x41, opcode=1, activity=activity, fields=FIELDS) == 0, "write")
    check(provider.write("Nothing") == 0 and provider.write("Two words", a=1) == 0, "write")
    for wrong in ({"x": object()}, {"x": [1, "a"]}, {"x": 2**64}):
        try:
            provider.write("Wrong", fields=wrong)
            check(False, "taken", wrong)
        except (TypeError, OverflowError, Exception) as error:  # struct.error too
            check(type(error).__name__ in ("TypeError", "error", "OverflowError"), error)
    check(provider.write("Large", a="x" * 40000, b="y" * 40000) == 534 and provider.write("Large", a="x" * 70000) == 534, "ERROR_ARITHMETIC_OVERFLOW")
    for call in (lambda: provider.write("a\0b"), lambda: provider.write("x", fields={"a\0b": 1}), lambda: provider.write("x", level=300), lambda: provider.write("x", opcode=-1),
                 lambda: provider.write("x", keyword=2**64), lambda: autologger.Provider("a\0b")):
        try:
            call()
            check(False, "taken")
        except ValueError:
            pass
    check(provider.write("Wide", v=memoryview(array.array("I", [1, 2, 3])), after=7) == 0, "write")
    with autologger.EventProvider(uuid.UUID("{5ea7c0de-000c-4a5b-8c6d-111111111111}")) as managed:
        check(managed.IsEnabled() and managed.WriteEvent(autologger.EventDescriptor(5, 0, 0, 2, 0, 0, 0), -7, "managed", autologger.UInt64(2**63)) == 0, "managed")
        check(managed.WriteMessageEvent("a text", 4) == 0, "text")
    check(managed.WriteEvent(autologger.EventDescriptor(5, 0, 0, 2, 0, 0, 0)) == 6, "closed: ERROR_INVALID_HANDLE")
    provider.close()
    provider.close()
    m.tool("stop", "web")
    path = os.path.join(m.logs, "web.etl")
    kept = [e for e in autologger.open(path) if e.provider == "Contoso-Web"]
    check([e.name for e in kept] == ["Request", "Nothing", "Two words", "Wide"], kept)
    check(kept[3].fields == {"v": array.array("I", [1, 2, 3]).tobytes(), "after": 7}, kept[3])
    first = kept[0]
    check(first.fields == READ, first.fields, READ)
    check((first.level, first.keyword, first.opcode, first.channel, first.pid) == (4, 0x41, 1, 11, os.getpid()), first)
    check(first.activity == "{%s}" % activity and kept[1].fields == {} and kept[2]["a"] == 1, kept)
    managed = [e for e in autologger.open(path) if e.guid == "{5ea7c0de-000c-4a5b-8c6d-111111111111}"]
    check((managed[0].id, managed[0].level) == (5, 2), managed[0])
    check(managed[0].payload == (-7).to_bytes(4, "little", signed=True) + "managed\0".encode("utf-16-le") + (2**63).to_bytes(8, "little"), managed[0].payload)
    check(managed[1].fields == {"Message": "a text"}, managed[1])
    as_dump(path)
    print("19 types of fields, the managed class, a text")


LIVE = """
import sys
sys.path.insert(0, sys.argv[1])
import autologger
for event in autologger.live("now", runtime_dir=sys.argv[2]):
    if event.provider == "Contoso-Live":
        print(event.name, event["n"], flush=True)
print("ended", flush=True)
"""


def live(m):
    m.tool("start", "now", "--real-time", "--provider", "{%s}" % autologger.guid_of("Contoso-Live"))
    consumer = subprocess.Popen([sys.executable, "-c", LIVE, PACKAGE, m.runtime], stdout=subprocess.PIPE, text=True, env=m.env)
    provider = autologger.Provider("Contoso-Live")
    end = time.time() + 10
    while not provider.enabled() and time.time() < end:
        time.sleep(0.01)
    for n in range(500):
        check(provider.write("Tick", n=n) == 0, n)
    m.tool("flush", "now")
    got = [consumer.stdout.readline() for _ in range(500)]
    check(got == [f"Tick {n}\n" for n in range(500)], got[:3], got[-3:])
    m.tool("stop", "now")
    check(consumer.stdout.readline() == "ended\n" and consumer.wait(20) == 0, "the session's end ends the loop")
    m.tool("start", "now", "--real-time")
    consumer = subprocess.Popen([sys.executable, "-c", LIVE, PACKAGE, m.runtime], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=m.env)
    time.sleep(1)
    consumer.send_signal(signal.SIGINT)
    check(consumer.wait(20) != 0 and "KeyboardInterrupt" in consumer.stderr.read(), "Ctrl-C ends it")
    m.tool("stop", "now")
    print("500 live events, in their order; the end of a session, and Ctrl-C")


WAITS = """
import signal, sys, threading, time
sys.path.insert(0, sys.argv[1])
import autologger
trace = autologger.live("waits", runtime_dir=sys.argv[2])
how = sys.argv[3]
ran = []
if how == "close":
    threading.Timer(0.5, trace.close).start()
elif how == "handler":
    signal.signal(signal.SIGALRM, lambda *_: trace.close())
elif how == "raises":
    def stop(*_):
        raise RuntimeError("mine")
    signal.signal(signal.SIGALRM, stop)
elif how == "goes on":
    signal.signal(signal.SIGALRM, lambda *_: ran.append(1))
    signal.signal(signal.SIGINT, lambda *_: ran.append(2))
    threading.Timer(1.2, trace.close).start()
elif how == "two":
    def second():
        try:
            next(trace)
        except ValueError as error:
            ran.append(str(error))
        trace.close()
    threading.Timer(0.5, second).start()
if how in ("handler", "raises", "goes on"):
    signal.setitimer(signal.ITIMER_REAL, 0.4)
if how == "goes on":
    threading.Timer(0.8, lambda: __import__("os").kill(__import__("os").getpid(), signal.SIGINT)).start()
try:
    for event in trace:
        pass
    print("ended", ran)
except RuntimeError as error:
    print("raised", error)
print(list(trace))
"""


def waits(m):
    """What may come while a loop waits for a session that says nothing."""
    m.tool("start", "waits", "--real-time")
    for how, said in (("close", "ended []"), ("handler", "ended []"), ("raises", "raised mine"), ("goes on", "ended [1, 2]"), ("two", "ended [\"another thread waits")):
        r = subprocess.run([sys.executable, "-X", "dev", "-c", WAITS, PACKAGE, m.runtime, how], capture_output=True, text=True, env=m.env, timeout=30, check=False)
        check(r.returncode == 0 and r.stdout.startswith(said) and r.stdout.endswith("[]\n"), how, r.returncode, r.stdout, r.stderr)
    m.tool("stop", "waits")


def raising():
    """An exception of the loop's body is the caller's, for each kind of event."""

    def loop(name):
        for event in autologger.open(os.path.join(BUILD, "made", "programs.etl")):
            if event.name == name:
                raise KeyError("mine")

    for name in {e.name for e in autologger.open(os.path.join(BUILD, "made", "programs.etl"))}:
        try:
            loop(name)
            check(False, name)
        except KeyError as error:
            check(error.args == ("mine",), name, error)


def damaged():
    """Any damage to a file ends as events, as None decoded, or as a TraceError."""
    random.seed(18)
    folder = tempfile.mkdtemp(prefix="autologger-python-")
    try:
        for name in ("programs.etl", "kernel.etl", "small.etl"):
            good = pathlib.Path(BUILD, "made", name).read_bytes()
            for _ in range(60):
                bad = bytearray(good)
                for _ in range(random.randrange(1, 40)):
                    bad[random.randrange(len(bad))] = random.randrange(256)
                path = pathlib.Path(folder, "bad.etl")
                path.write_bytes(bad)
                try:
                    with autologger.open(path) as trace:
                        kept = [(e, e.fields) for e in trace]
                        check(all(e.fields == f for e, f in kept) and trace.headers, name)
                except autologger.TraceError:
                    pass
        strange = os.fsencode(folder) + b"/\xfe.etl"
        shutil.copy(os.path.join(BUILD, "made", "small.etl"), strange)
        check(os.fsencode(autologger.open(strange).headers[0]["path"]) == strange, "a path of any bytes")
    finally:
        shutil.rmtree(folder)


def mistakes(m):
    for path, number in (("/nowhere.etl", (2, 3)), ("/etc/hostname", (13,)), ("/tmp", (5, 13, 87, 6, 1))):
        try:
            autologger.open(path)
            check(False, path)
        except autologger.TraceError as error:
            check(error.errno in number and str(error), path, error.errno, error)
    try:
        autologger.live("nothing", runtime_dir=m.runtime)
        check(False, "no session")
    except autologger.TraceError as error:
        check(error.errno == 4201, error)
    with autologger.open(os.path.join(BUILD, "made", "kernel.etl")) as trace:
        one = next(trace)
        two = next(trace)
        fields = dict(one.fields)
    check(one.fields == fields and one.name == "Header" and two.name != "Header" and two.payload, "kept, after the trace was closed")
    check(list(trace) == [], "closed")
    check(len(list(autologger.open([os.path.join(BUILD, "made", name) for name in ("kernel.etl", "programs.etl")]))) > 900, "two files")


def installed():
    """As the package is installed, with Debian's own Python."""
    python = "/usr/bin/python3"
    if not os.path.exists(python):
        return
    folder = tempfile.mkdtemp(prefix="autologger-python-")
    try:
        subprocess.run(["cmake", "--install", BUILD, "--component", "python", "--prefix", folder], check=True, capture_output=True)
        at = next(pathlib.Path(folder).rglob("autologger/__init__.py")).parent.parent
        r = subprocess.run([python, "-c", "import sys, autologger; print(sum(1 for e in autologger.open(sys.argv[1]) if e.fields))", os.path.join(BUILD, "made", "kernel.etl")],
                           env={**os.environ, "PYTHONPATH": str(at)}, capture_output=True, text=True, check=False)
        check(r.returncode == 0 and int(r.stdout) > 800, r.stdout, r.stderr)
    finally:
        shutil.rmtree(folder)


def main():
    made = [os.path.join(BUILD, "made", name) for name in sorted(os.listdir(os.path.join(BUILD, "made"))) if name.endswith(".etl")]
    print(sum(as_dump(path) for path in made), "events as dump has them")
    with Machine() as m:
        os.environ["AUTOLOGGER_RUNTIME_DIR"] = m.runtime
        m.start()
        written(m)
        live(m)
        waits(m)
        mistakes(m)
    raising()
    damaged()
    installed()


main()
