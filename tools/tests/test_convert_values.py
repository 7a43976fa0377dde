#!/usr/bin/env python3
"""D-70, D-72. The output of "autologger convert" has the values of the trace: thread, time, processor and name of each context switch, wake-up,
sample, transfer and mark, decoded by other programs (protoc, Python's JSON, babeltrace2) and compared one by one with "dump --json" of the trace.
Several exports can be read together. Over a trace of tests/make_timeline.c, docs/examples/boot.etl.xz, and the given files.
Proves: MRG-11 (readers of others give our values), CON-19 (viewers of others), ANA-11 (which stacks samples, waits and events of one kind have, and how much of them). Exit codes: 0 passed, 1 failed, 77 skipped."""
import collections
import decimal
import json
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE, BINARY = (pathlib.Path(os.environ[name]) for name in ("AL_SOURCE_DIR", "AL_BINARY_DIR"))
NOBODY = 0xFFFFFFFF
SLEEPS, ENDED = 5, 4  # OldThreadState of a waiting thread, and of one that ended
LINUX = {SLEEPS: 1, ENDED: 16}


def run(*command, ok=(0,), **more):
    r = subprocess.run([str(part) for part in command], capture_output=True, timeout=200, **more)
    assert r.returncode in ok, f"{command}: exit code {r.returncode}: {r.stderr.decode(errors='replace')[-2000:]}"
    return r.stdout


class Model:
    """The trace's threads and processors, from the lines of dump: a second way to the answers of analysis/traced.c."""

    def __init__(self, events):
        self.pid, self.name, self.image, self.over, self.running = {}, {}, {}, set(), {}
        self.start = None
        self.switches, self.wakes, self.samples, self.transfers, self.others = (collections.defaultdict(list), collections.defaultdict(list), [], [], [])
        self.kinds, self.thread_at = collections.defaultdict(list), {}
        self.stacks, self.names_of, self.waits, self.out = {}, collections.defaultdict(set), [], {}
        for e in events:
            self.see(e)

    def at(self, raw):
        return (raw - self.start) * 10**9 // self.frequency

    def thread(self, tid):
        if tid == 0:
            return "swapper"
        if tid not in self.pid:
            return ""
        return self.name.get(tid) or self.image.get(self.pid[tid], "")

    def see(self, e):
        what, f = f"{e['provider'].get('name')}/{e['event']}", e["fields"]
        if self.start is None:
            self.start, self.frequency = e["raw"], f["PerfFreq"]
        t, cpu = self.at(e["raw"]), e["cpu"]
        self.kinds[what].append((e["raw"], cpu, 1))
        if what in ("Process/Start", "Process/DCStart", "Process/End", "Process/DCEnd"):
            self.image[f["ProcessId"]] = f["ImageFileName"] or self.image.get(f["ProcessId"], "")
            self.names_of[f["ProcessId"]].add(self.image[f["ProcessId"]])
        elif what in ("Thread/Start", "Thread/DCStart", "Thread/End", "Thread/DCEnd", "Thread/SetName"):
            tid = f["ThreadId" if what == "Thread/SetName" else "TThreadId"]
            self.pid[tid], self.name[tid] = f["ProcessId"], f["ThreadName"] or self.name.get(tid, "")
            if what == "Thread/Start":
                self.out[tid] = t
        elif what == "Thread/CSwitch":
            new, old = f["NewThreadId"], f["OldThreadId"]
            self.switches[cpu].append((t, self.thread(old), old, f["OldThreadPriority"], LINUX.get(f["OldThreadState"], 0), self.thread(new), new,
                                       f["NewThreadPriority"], self.pid.get(new, NOBODY) if new else 0))
            self.running[cpu] = new
            if new and new in self.out:
                self.waits.append((e["raw"], new, t - self.out.pop(new)))
            self.out[old] = t
        elif what == "Thread/ReadyThread":
            by = self.running.get(cpu, NOBODY) if e["tid"] is None else e["tid"]
            self.wakes[cpu].append((t, self.thread(f["TThreadId"]), f["TThreadId"], 0 if by == NOBODY else by))
        elif what == "PerfInfo/SampledProfile":
            self.samples.append((e["raw"], t, cpu, f["ThreadId"]))
        elif what == "StackWalk/Stack":
            self.stacks[f["EventTimeStamp"], f["StackThread"]] = (f["StackProcess"], f["Stack"])
            self.thread_at[f["EventTimeStamp"], cpu] = (f["EventTimeStamp"], f["StackThread"])
        elif what in ("DiskIo/Read", "DiskIo/Write"):
            self.transfers.append((self.at(e["raw"] - f["HighResResponseTime"]), t, e["event"], f["DiskNumber"], f["TransferSize"]))
        else:
            tid = self.running.get(cpu, NOBODY) if e["tid"] is None else e["tid"]
            self.others.append((t, e["event"], tid, tuple((k, plain(v)) for k, v in f.items())))


def plain(value):
    return ",".join(plain(v) for v in value) if isinstance(value, list) else str(value)


def same(what, ours, theirs):
    assert len(ours) == len(theirs), f"{what}: {len(ours)} in the trace, {len(theirs)} written"
    for number, (a, b) in enumerate(zip(ours, theirs)):
        assert a == b, f"{what} {number}: the trace has {a}, written is {b}"


def text_format(text):
    """protoc's text -> the fields of each packet: {name: [values]}."""
    root = collections.defaultdict(list)
    stack = [root]
    for line in text.splitlines():
        line = line.strip()
        if line.endswith(" {"):
            inner = collections.defaultdict(list)
            stack[-1][line[:-2]].append(inner)
            stack.append(inner)
        elif line == "}":
            stack.pop()
        else:
            key, value = line.split(": ", 1)
            stack[-1][key].append(unquote(value) if value[0] == '"' else int(value) if re.fullmatch(r"-?\d+", value) else value)
    return root["packet"]


def unquote(text):
    return re.sub(rb"\\(?:([0-7]{3})|(.))", lambda m: bytes([int(m[1], 8)]) if m[1] else {b"n": b"\n", b"t": b"\t", b"r": b"\r"}.get(m[2], m[2]),
                  text[1:-1].encode()).decode(errors="replace")


def check_perfetto(path, out, model):
    run(BINARY / "autologger", "convert", path, "--to", "perfetto", "-o", out, "--no-symbols", ok=(0, 1))
    schema = SOURCE / "autologger" / "export"
    with open(out, "rb") as trace:
        packets = text_format(run("protoc", "--decode=perfetto.Trace", f"-I{schema}", schema / "perfetto.proto", stdin=trace).decode())
    switches, wakes = collections.defaultdict(list), collections.defaultdict(list)
    samples, marks, slices, open_on, tracks, interned = [], [], [], {}, {}, {}
    for p in packets:
        for bundle in p["ftrace_events"]:
            for e in bundle["event"]:
                for s in e["sched_switch"]:
                    assert e["pid"] == s["prev_pid"]
                    switches[bundle["cpu"][0]].append((e["timestamp"][0], *(s[k][0] for k in (
                        "prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid", "next_prio"))))
                for w in e["sched_waking"]:
                    wakes[bundle["cpu"][0]].append((e["timestamp"][0], w["comm"][0], w["pid"][0], e["pid"][0]))
        for d in p["track_descriptor"]:
            thread = d["thread"]
            tracks[d["uuid"][0]] = thread[0]["tid"][0] if thread else d["name"][0]
        for e in p["track_event"]:
            at, track = p["timestamp"][0], e["track_uuid"][0]
            args = tuple((a["name"][0], a["string_value"][0]) for a in e["debug_annotations"])
            if e["type"] == ["TYPE_SLICE_BEGIN"]:
                open_on[track] = (at, e["name"][0], args, e["categories"][0])
            elif e["type"] == ["TYPE_SLICE_END"]:
                begin, name, had, category = open_on.pop(track)
                slices.append((begin, at, name, tracks[track], dict(had), category))
            elif e["type"] == ["TYPE_INSTANT"]:
                marks.append((at, e["name"][0], tracks[track], args))
        for data in p["interned_data"]:
            for n in data["function_names"]:
                interned["name", n["iid"][0]] = n["str"][0]
            for n in data["frames"]:
                interned["frame", n["iid"][0]] = interned["name", n["function_name_id"][0]]
            for n in data["callstacks"]:
                interned["stack", n["iid"][0]] = [interned["frame", i] for i in n["frame_ids"]]
        for s in p["perf_sample"]:
            samples.append((p["timestamp"][0], s["cpu"][0], s["pid"][0], s["tid"][0], interned["stack", s["callstack_iid"][0]]))
    for cpu in model.switches.keys() | switches.keys():
        same(f"perfetto: switch on cpu {cpu}", [s[:-1] for s in model.switches[cpu]], switches[cpu])
        same(f"perfetto: wake-up on cpu {cpu}", model.wakes[cpu], wakes[cpu])
    same("perfetto: sample", sorted((t, cpu, model.stacks[raw, tid][0], tid, model.stacks[raw, tid][1][::-1]) for raw, t, cpu, tid in model.samples
                                    if (raw, tid) in model.stacks), sorted(samples))
    same("perfetto: transfer", sorted((max(begin, 0), end, name, f"disk {disk}", str(size)) for begin, end, name, disk, size in model.transfers),
         sorted((b, e, name, re.sub(r" \(\d+\)$", "", lane), args.get("TransferSize")) for b, e, name, lane, args, category in slices if category == "disk"))
    times = {t for t, *_ in model.others}
    for begin, end, name, *_, category in slices:
        assert category == "disk" or (begin in times and end in times), f"perfetto: slice {name} of {category}, {begin} to {end}: not two events of the trace"
    check_marks("perfetto", model, [m for m in marks if isinstance(m[2], int)])
    return sum(map(len, switches.values())), len(samples), len(marks)


def check_marks(form, model, marks):
    """Each mark of a thread is an event of the trace: its time, its thread, its fields, and its name. A mark without an end has the name of its begin
    event."""
    known = collections.defaultdict(list)
    for t, name, tid, values in model.others:
        known[t, tid].append(({name, *dict(values).values()}, dict(values)))
    for t, name, tid, args in marks:
        assert any(name in names and dict(args).items() <= values.items() for names, values in known[t, tid]), (
            f"{form}: mark {name} of thread {tid} at {t} with {args}: the trace has {known[t, tid]}")


def ns(us):
    return int(us * 1000)


def check_chrome(path, out, model):
    run(BINARY / "autologger", "convert", path, "--to", "chrome", "-o", out, "--no-symbols", ok=(0, 1))
    events = json.loads(pathlib.Path(out).read_text(encoding="utf-8"), parse_float=decimal.Decimal)
    frames = events["stackFrames"]
    runs, wakes = collections.defaultdict(list), collections.defaultdict(list)
    marks, samples = [], []
    for e in events["traceEvents"]:
        if e.get("cat") == "sched" and e["ph"] == "X":
            assert e["pid"] == 0
            runs[e["tid"]].append((ns(e["ts"]), ns(e["dur"]), e["name"], int(e["args"]["tid"]), e["args"]["pid"]))
        elif e.get("cat") == "sched":
            assert e["pid"] == 0 and e["name"] == "wake"
            wakes[e["tid"]].append((ns(e["ts"]), e["args"]["thread"], int(e["args"]["tid"])))
        elif e["ph"] == "i" and e["pid"]:
            marks.append((ns(e["ts"]), e["name"], e["tid"], tuple(e["args"].items())))
        elif e["ph"] == "P":
            stack, at = [], str(e["sf"])
            while at:
                stack.append(frames[at]["name"])
                at = str(frames[at].get("parent", ""))
            samples.append((ns(e["ts"]), e["pid"], e["tid"], stack))
    for cpu in model.switches.keys() | runs.keys():
        wanted = []
        for s, after in zip(model.switches[cpu], model.switches[cpu][1:] + [None]):
            if s[6]:
                wanted.append((s[0], after and max(after[0] - s[0] - 1, 0), s[5] or "?", s[6], "?" if s[8] == NOBODY else str(s[8])))
        if wanted and wanted[-1][1] is None:  # runs until the end
            wanted[-1] = (wanted[-1][0], runs[cpu][-1][1]) + wanted[-1][2:]
        same(f"chrome: run on cpu {cpu}", wanted, runs[cpu])
        same(f"chrome: wake-up on cpu {cpu}", [w[:3] for w in model.wakes[cpu]], wakes[cpu])
    same("chrome: sample", sorted((t, model.stacks[raw, tid][0], tid, model.stacks[raw, tid][1]) for raw, t, _, tid in model.samples
                                  if (raw, tid) in model.stacks), sorted(samples))
    check_marks("chrome", model, marks)


def check_folded(path, model):
    """The lines of the flame graphs: frames from the outermost to the leaf, with samples, or microseconds of waiting; and one of the process's
    names."""
    kinds = [("--no-symbols", [(raw, tid, 1) for raw, _, _, tid in model.samples]), ("--waiting", model.waits)]
    kinds += [("--event=" + name, model.kinds[name]) for name in ("Thread/CSwitch", "Thread/ReadyThread", "PerfInfo/SampledProfile")]
    for what, triggers in kinds:
        text = run(BINARY / "autologger", "convert", path, "--to", "folded", "--no-symbols", what, "-o", "-", ok=(0, 1)).decode()
        written, called = collections.Counter(), collections.defaultdict(set)
        for line, number in (x.rsplit(" ", 1) for x in text.splitlines()):
            name, _, frames = line.partition(";")
            written[frames] += int(number)
            called[frames].add(name)
        wanted, times, names = collections.Counter(), collections.Counter(), collections.defaultdict(set)
        for raw, tid, weight in triggers:
            at = (raw, tid) if not what.startswith("--event") else model.thread_at.get((raw, tid), (raw, None))  # events: by time and processor
            pid, stack = model.stacks.get(at, (None, []))
            line = ";".join(stack[::-1])
            names[line] |= {"[no stack]"} if pid is None else (model.names_of[pid] or {f"process {pid}"})
            wanted[line] += weight
            times[line] += weight > 0
        if what == "--waiting":  # ns; each was rounded to 100 ns at both ends, each process's line to 1 us
            wrong = {k: (v, written.get(k)) for k, v in wanted.items()
                     if times[k] and abs(v - 1000 * written.get(k, -10**9)) > 1000 * len(called[k]) + 200 * times[k]}
        else:
            wrong = {k: (v, written.get(k)) for k, v in wanted.items() if v != written.get(k)}
        more = [k for k in written if k not in wanted] + [(called[k], names[k]) for k in written if not called[k] <= names[k]]
        assert not wrong and not more, f"folded {what}: the trace has, written is: {list(wrong.items())[:3]}; {more[:3]}"
        print(f"{path.name}: {len(triggers)} stacks in {len(written)} lines, {what}")


def ctf_values(text):
    """The values between the braces of babeltrace2's line, in order; it prints hex in capitals."""
    return [unquote(v) if v[0] == '"' else v.lower() for v in re.findall(r'"(?:\\.|[^"\\])*"|[^\s,{}\[\]]+', text)]


def flat(value):
    if isinstance(value, dict):
        return [x for v in value.values() for x in flat(v)]
    return [plain(value)]


def check_ctf(path, folder, events, model):
    """Each event of each processor, in order: time, name, and the value of each field."""
    run(BINARY / "autologger", "convert", path, "--to", "ctf", "-o", folder, ok=(0, 1))
    for cpu in sorted({e["cpu"] for e in events}):
        alone = pathlib.Path(f"{folder}-{cpu}")
        alone.mkdir()
        shutil.copy(folder / "metadata", alone)
        shutil.copy(folder / f"cpu_{cpu}", alone)
        text = run("babeltrace2", "--names", "none", "--clock-cycles", alone).decode(errors="replace")
        rows = re.split(r"^(?=\[\d{20}\] \()", text, flags=re.M)[1:]
        mine, last = [e for e in events if e["cpu"] == cpu], 0
        assert len(rows) == len(mine), f"ctf: cpu {cpu}: {len(mine)} in the trace, {len(rows)} written"
        for number, (row, e) in enumerate(zip(rows, mine)):
            m = re.match(r"\[(\d+)\] \([^)]*\) (.*?): \{ (.*?) \}, \{(.*)\}\s*$", row, re.S)
            last = max(last, model.at(e["raw"]))
            name = (e["provider"].get("name") or e["provider"]["guid"]) + ":" + e["event"]
            assert (int(m[1]), m[2]) == (last, name), f"ctf: cpu {cpu}, event {number}: the trace has {(last, name)}, written is {m[0]}"
            context, wanted = ctf_values(m[3]), flat(e["fields"]) + ([e["payload"]] if "payload" in e else [])
            assert e["tid"] is None or context[:2] == [str(e["pid"]), str(e["tid"])], f"ctf: cpu {cpu}, event {number}: {m[0]}, {e}"
            found = ctf_values(m[4])
            # babeltrace2 2.0 repeats an earlier event's text for an empty one (fixed in 2.1)
            assert len(found) == len(wanted) and all(f == w or w == "" for f, w in zip(found, wanted)), (
                f"ctf: cpu {cpu}, event {number}: the trace has {wanted}, written is {m[4]}")


def check_ctf_together(exports):
    """One reader takes several exports, also two of one trace, and gets all events of each, in time order."""
    events = sum(count for _, count in exports)
    text = run("babeltrace2", "--names", "none", "--clock-cycles", *[path for path, _ in exports]).decode(errors="replace")
    rows = re.findall(r"^\[\d{20}\] \(", text, re.M)
    assert len(rows) == events, f"ctf: {len(exports)} exports together have {events} events, read were {len(rows)}"
    said = [re.search(r'uuid = "([0-9a-f-]{36})"', (path / "metadata").read_text(encoding="utf-8"))[1] for path, _ in exports]
    assert len(set(said)) == len(said) and all(u[14] == "4" and u[19] in "89ab" for u in said), said
    for (path, _), uuid in zip(exports, said):  # each packet has it, too
        for stream in path.glob("cpu_*"):
            assert stream.read_bytes()[4:20].hex() == uuid.replace("-", ""), stream


def main():
    missing = [p for p in ("babeltrace2", "protoc") if not shutil.which(p)]
    if missing:
        print("skipped: not installed:", *missing)
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="al-values-") as where:
        folder = pathlib.Path(where)
        files = [pathlib.Path(p) for p in sys.argv[1:]]
        if not files:
            run(BINARY / "tests" / "make_timeline", folder / "timeline.etl")
            (folder / "boot.etl").write_bytes(lzma.decompress((SOURCE / "docs" / "examples" / "boot.etl.xz").read_bytes()))
            files = [folder / "timeline.etl", folder / "boot.etl"]
        exports = []
        for number, path in enumerate(files):
            events = [json.loads(line) for line in run(BINARY / "autologger", "dump", "--json", path, ok=(0, 1)).splitlines()]
            model = Model(events)
            try:
                counts = check_perfetto(path, folder / f"{number}.pftrace", model)
                check_chrome(path, folder / f"{number}.json", model)
                check_folded(path, model)
                check_ctf(path, folder / f"{number}.ctf", events, model)
                run(BINARY / "autologger", "convert", path, "--to", "ctf", "-o", folder / f"{number}-again.ctf", ok=(0, 1))
                exports += [(folder / f"{number}.ctf", len(events)), (folder / f"{number}-again.ctf", len(events))]
            except AssertionError as e:
                sys.exit(f"{path}: {e}")
            print(f"{path.name}: {len(events)} events as CTF; %d switches, %d samples, %d marks as Perfetto and Chrome" % counts)
        try:
            check_ctf_together(exports)
        except AssertionError as e:
            sys.exit(e)
        print(f"{len(exports)} exports as CTF read together")


main()
