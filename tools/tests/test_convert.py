#!/usr/bin/env python3
"""Every form of "autologger convert" has the trace's content, as read by other programs: CTF by babeltrace2 (as many events as the trace, names and
values of fields), Perfetto by protoc (switches, slices, marks, samples in the reported numbers), Chrome's JSON by a JSON parser. The events' counts
by result add up to the events read. Over the seeds of the reader's fuzzer and the traces of tools/dev/make_traces.c; with --foreign over files that
are no part of the project (AUTOLOGGER_DATA), else skipped; with arguments over these.
Proves: MRG-11 (readers of others give our counts), ANA-11 (the lines of flame graphs), CON-19 (viewers of others). Exit codes: 0 passed,
1 failed, 77 skipped."""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE, BINARY = (pathlib.Path(os.environ[name]) for name in ("AL_SOURCE_DIR", "AL_BINARY_DIR"))
DATA = pathlib.Path(os.environ.get("AUTOLOGGER_DATA") or SOURCE.parent / "shared" / "data") / "etl"


def convert(path, form, out, *more):
    r = subprocess.run([BINARY / "autologger", "convert", path, "--to", form, "-o", out, "--json", *more], capture_output=True, timeout=100)
    if r.returncode not in (0, 1):  # 1: damage, which the seeds have
        sys.exit(f"{path}: --to {form}: exit code {r.returncode}: {r.stderr.decode()}")
    return json.loads(r.stdout)


def adds_up(n):
    parts = ("switches", "wakes", "slices", "slice_begins", "instants", "counters", "samples", "stacks", "names")
    assert sum(n[part] for part in parts) == n["read"], n


def check_ctf(path, folder, events):
    n = convert(path, "ctf", folder)
    assert n["read"] == n["events"] == len(events), (n, len(events))
    r = subprocess.run(["babeltrace2", "--names", "none", "--clock-seconds", folder], capture_output=True, timeout=100)
    assert r.returncode == 0, r.stderr.decode()[-3000:]
    # a text in a field may have a line break
    lines = [line for line in r.stdout.decode(errors="replace").splitlines() if re.match(r"\[\d+\.\d{9}\] \(", line)]
    assert len(lines) == len(events), (len(lines), len(events))
    told = collections.Counter(re.match(r"\[[\d.]+\] \([^)]*\) (.*?): \{ ", line).group(1) for line in lines)
    ours = collections.Counter((e["provider"].get("name") or e["provider"]["guid"]) + ":" + e["event"] for e in events)
    assert told == ours or any(ch in "".join(ours) for ch in '"\\\n'), (told - ours, ours - told)
    return n["events"]


def check_perfetto(path, out):
    n = convert(path, "perfetto", out)
    adds_up(n)
    schema = SOURCE / "autologger" / "export"
    with open(out, "rb") as trace:
        r = subprocess.run(["protoc", "--decode=perfetto.Trace", f"-I{schema}", schema / "perfetto.proto"], stdin=trace, capture_output=True, timeout=100)
    assert r.returncode == 0, r.stderr.decode()[-2000:]
    text = r.stdout.decode(errors="replace")
    assert not re.search(r"^\s*\d+[ :]", text, re.M), "fields that the schema has not"
    has = collections.Counter(re.findall(r"^ *(sched_switch|sched_waking|perf_sample|type: TYPE_\w+)\b(?!_)", text, re.M))
    wanted = {"sched_switch": n["switches"], "sched_waking": n["wakes"], "perf_sample": n["samples_with_stack"], "type: TYPE_SLICE_BEGIN": n["slices"],
              "type: TYPE_SLICE_END": n["slices"], "type: TYPE_INSTANT": n["instants"], "type: TYPE_COUNTER": n["counter_values"]}
    assert {k: has[k] for k in wanted} == wanted, (has, wanted)
    # each track with events is declared before them
    known = set()
    for kind, uuid in re.findall(r"^ +(uuid|track_uuid): (\d+)", text, re.M):
        assert kind == "uuid" or uuid in known, uuid
        known.add(uuid)
    return n


def check_chrome(path, out, perfetto):
    n = convert(path, "chrome", out)
    adds_up(n)
    trace = json.loads(pathlib.Path(out).read_text(encoding="utf-8"))
    has = collections.Counter(e["ph"] for e in trace["traceEvents"])
    slices = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["cat"] != "sched"]
    assert len(slices) == n["slices"] and has["i"] == n["instants"] + n["wakes"] and has["P"] == n["samples_with_stack"] and has["C"] == n["counter_values"], (has, n)
    assert {k: v for k, v in n.items() if k not in ("form", "result")} == {k: v for k, v in perfetto.items() if k not in ("form", "result")}
    by_lane = collections.defaultdict(list)
    for e in slices:
        by_lane[e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
    for lane in by_lane.values():
        lane.sort()
        assert all(a[1] <= b[0] + 0.002 for a, b in zip(lane, lane[1:])), "slices of one lane overlap"
    for e in trace["traceEvents"]:
        assert e["ph"] != "P" or str(e["sf"]) in trace["stackFrames"]
    assert all(f.get("parent", number) in trace["stackFrames"] for number, f in trace["stackFrames"].items())


def check_folded(path, out, perfetto):
    n = convert(path, "folded", out)
    rows = [line.rsplit(" ", 1) for line in pathlib.Path(out).read_text(encoding="utf-8").splitlines()]
    assert len(rows) == len({text for text, _ in rows}) and sum(int(number) for _, number in rows) == n["weight"], n
    assert n["weight"] == n["stacks"] + n["without_stack"] and n["stacks"] == perfetto["samples_with_stack"], (n, perfetto)
    waits = convert(path, "folded", out + ".waits", "--waiting")
    total = sum(int(line.rsplit(" ", 1)[1]) for line in pathlib.Path(out + ".waits").read_text(encoding="utf-8").splitlines())
    assert total == waits["weight"], waits


def main():
    missing = [p for p in ("babeltrace2", "protoc") if not shutil.which(p)]
    if missing:
        print("skipped: not installed:", *missing)
        sys.exit(77)
    files, foreign = [pathlib.Path(p) for p in sys.argv[1:] if p != "--foreign"], "--foreign" in sys.argv
    if foreign:
        files = sorted(DATA.glob("*.etl"))
        if not files:
            print(f"skipped: no traces in {DATA} (AUTOLOGGER_DATA)")
            sys.exit(77)
    elif not files:
        files = sorted((SOURCE / "autologger" / "consumer" / "tests" / "corpus" / "fuzz_etl").glob("*.etl"))
        files += sorted((BINARY / "made").glob("*.etl"))
    total = 0
    for path in files:
        dumped = subprocess.run([BINARY / "autologger", "dump", "--json", path], capture_output=True, timeout=100)
        if not dumped.stdout:
            continue  # a seed that is no trace
        events = [json.loads(line) for line in dumped.stdout.splitlines()]
        with tempfile.TemporaryDirectory(prefix="al-convert-") as folder:
            try:
                total += check_ctf(path, folder + "/ctf", events)
                perfetto = check_perfetto(path, folder + "/t.pftrace")
                assert perfetto["read"] == len(events)
                check_chrome(path, folder + "/t.json", perfetto)
                check_folded(path, folder + "/t.folded", perfetto)
            except AssertionError as e:
                sys.exit(f"{path}: {e}")
    assert total > 1000 or sys.argv[1:], total
    print(f"{total} events of {len(files)} files in four forms")


main()
