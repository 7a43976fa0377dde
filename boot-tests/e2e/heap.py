"""autologger heap: a program's memory and locks in a private session, without a daemon. Five leaks and three contended locks are named with their
lines; what was freed, by whatever thread, is not shown; the counts of a second reader of the file agree. A killed program, one that forks, that
replaces itself, that loads and unloads a library, that deadlocks; programs that nobody here wrote; a full disk; a program that cannot be traced.
Other sessions can't have these events.
Proves: SPC-01, SPC-02, SPC-03, SPC-05."""
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from harness import BUILD, SOURCE, Machine, check, skip, tool

if "asan" in BUILD or "tsan" in BUILD:
    skip("a sanitizer stands in front of malloc itself")

PROGRAM = pathlib.Path(SOURCE, "boot-tests", "heap_program.c")
LIBRARY = pathlib.Path(SOURCE, "boot-tests", "heap_library.c")
ODD = pathlib.Path(SOURCE, "boot-tests", "heap_odd.c")
HEAP, CRITSEC = "{222962ab-6180-4b88-a825-346b75f2a24a}", "{3ac66736-cc59-4cff-8115-8df50e39816b}"
NOBODY = 65534


def line_of(mark, source=PROGRAM):
    return next(n for n, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1) if f"/* {mark} */" in line)


def build(folder, *flags, source=PROGRAM, out="heap_program"):
    path = folder / out
    subprocess.run([flags[0], "-g", *flags[1:], "-o", path, source, "-lpthread"], check=True)
    return path


def run(folder, *words, expect=0, **more):
    r = subprocess.run([os.path.join(BUILD, "autologger"), "heap", "--json", *map(str, words)], cwd=folder, capture_output=True, text=True, timeout=120, **more)
    check(expect is None or r.returncode == expect, words, r.returncode, r.stdout[-2000:], r.stderr)
    return json.loads(r.stdout[r.stdout.index("{\n"):]), r.stdout


def places(report, kind="places"):
    """Innermost line of the program's source, and what is there."""
    found = collections.defaultdict(lambda: collections.Counter())
    for p in report[kind]:
        own = [f for f in p["stack"] if f.get("source", "").endswith((PROGRAM.name, LIBRARY.name, ODD.name))]
        for key in ("bytes_left", "blocks_left", "allocations", "waits", "wait_ns", "unfinished"):
            found[own[0]["line"] if own else 0][key] += p.get(key, 0)
    return found


class Second:
    """The file once more, from the events that dump decodes: blocks by address, in the order of time."""

    def __init__(self, path):
        self.events = 0
        self.live, self.allocations, self.frees, self.bytes, self.waits, self.pids = {}, 0, 0, 0, 0, set()
        r = subprocess.run([os.path.join(BUILD, "autologger"), "dump", path, "--json"], capture_output=True, text=True, check=True)
        for line in r.stdout.splitlines():
            e = json.loads(line)
            name, f = (e.get("provider", {}).get("name"), e.get("event")), e.get("fields", {})
            at = {k: int(str(v), 0) for k, v in f.items() if re.fullmatch(r"0x[0-9a-f]+|\d+", str(v))}
            self.events += name[0] in ("Heap", "CritSec", "Image")
            if name[0] in ("Heap", "CritSec"):
                self.pids.add(e["pid"])
            if name == ("Heap", "Alloc"):
                self.live[at["AllocAddress"]] = (at["AllocSize"], e["raw_time"] if "raw_time" in e else e["time"])
                self.allocations += 1
                self.bytes += at["AllocSize"]
            elif name == ("Heap", "Free"):
                self.live.pop(at["FreeAddress"], None)
                self.frees += 1
            elif name == ("Heap", "ReAlloc"):
                self.live.pop(at["OldAllocAddress"], None)
                if at["NewAllocAddress"]:
                    self.live[at["NewAllocAddress"]] = (at["NewAllocSize"], 0)
                    self.bytes += at["NewAllocSize"]
            elif name == ("Heap", "Create"):
                self.live = {}
            elif name == ("CritSec", "Collision"):
                self.waits += 1


LEAKS = {"LEAK 1": (5, 555), "LEAK 2": (5, 1100), "LEAK 3": (5, 16665), "LEAK 4": (5, 3200), "LEAK 5": (5, 125)}


def leaks_are_named(report, times=1):
    found = places(report)
    for mark, (blocks, size) in LEAKS.items():
        p = found[line_of(mark)]
        check((p["blocks_left"], p["bytes_left"]) == (blocks * times, size * times), mark, dict(p), "wanted", blocks * times, size * times)


def all_of_it(folder, program):
    report, _ = run(folder, "--rows", "1000", program)
    leaks_are_named(report)
    check(report["events_attempted"] == report["events_written"] and report["events_lost"] == 0, "nothing is lost", report["events_lost"])
    ours = {line: p for line, p in places(report).items() if p["blocks_left"] and line}
    wanted = {line_of("LEAK %d" % i) for i in range(1, 6)}
    kept = {n for n, line in enumerate(PROGRAM.read_text(encoding="utf-8").splitlines(), 1) if "pthread_create(" in line or " printf(" in line}
    check(wanted <= set(ours) <= wanted | kept, "blocks that were freed are not shown", ours)  # kept: stacks of threads, the buffer of stdout
    locks = places(report, "locks")
    for i in (1, 2, 3):
        p = locks[line_of("LOCK %d" % i)]
        check(p["waits"] > 10 and p["wait_ns"] > 500000, "LOCK", i, dict(p))
    check(report["waits_unfinished"] == 0, "every wait ended")
    owners = {p["owner"] for p in report["locks"] if p["waits"] > 10}
    check(all(owners), "the thread that held it", owners)
    again = Second(folder / "heap_program.heap.etl")
    check(again.allocations == report["allocations"] and again.frees == report["frees"] and again.waits == report["waits"], "the second reader", vars(again)["allocations"])
    check(again.bytes == report["bytes"] and again.pids == {report["pid"]}, "bytes, and one process", again.bytes, report["bytes"], again.pids)
    check(sum(size for size, _ in again.live.values()) == report["bytes_left"] and len(again.live) == report["blocks_left"], "blocks that are left",
          len(again.live), report["blocks_left"])
    read, _ = run(folder, "--read", folder / "heap_program.heap.etl")
    check(read["places"] == report["places"], "the same from the file")
    peak, _ = run(folder, "--peak", "--read", folder / "heap_program.heap.etl")
    check(peak["bytes_left"] == peak["peak_bytes"] == report["peak_bytes"] and peak["blocks_left"] == report["peak_blocks"], "the moment of most bytes",
          peak["bytes_left"], report["peak_bytes"])
    check(sum(p["bytes_left"] for p in peak["places"]) == peak["bytes_left"], "each block has a place")
    text = tool("heap", "--read", str(folder / "heap_program.heap.etl")).stdout
    check(f"leak_realloc  at {PROGRAM}:{line_of('LEAK 3')}" in text and "never got it" not in text, text[:3000])
    print("5 leaks and 3 locks with their lines;", report["allocations"], "allocations,", report["waits"], "waits")


def other_ways(folder, program):
    killed, _ = run(folder, program, "kill")
    leaks_are_named(killed)
    check(killed["signal"] == 9 and killed["events_lost"] == 0, "killed", killed["events_lost"])
    forked, _ = run(folder, program, "fork")
    leaks_are_named(forked)  # the child's 1000 are not there
    check(Second(folder / "heap_program.heap.etl").pids == {forked["pid"]}, "only the program")
    replaced, _ = run(folder, program, "exec")
    leaks_are_named(replaced)  # those before are gone with the first program
    dead, _ = run(folder, program, "deadlock")
    locks = places(dead, "locks")
    check(dead["waits_unfinished"] >= 1 and locks[line_of("LOCK 1")]["unfinished"] >= 1, "a wait that never ended", dict(locks[line_of("LOCK 1")]))
    library = build(folder, "cc", "-shared", "-fPIC", source=LIBRARY, out="heap_library.so")
    loaded, _ = run(folder, program, "load", library)
    p = places(loaded)[line_of("LEAK 6", LIBRARY)]
    check((p["blocks_left"], p["bytes_left"]) == (20, 20 * 77), "a library that was unloaded", dict(p))
    print("killed, forked, replaced, deadlocked, with a library that is gone: all named")


def optimised(folder):
    """Stacks without frame pointers, of two compilers, with and without optimisation."""
    for flags in (("gcc", "-O2"), ("gcc", "-O3", "-fomit-frame-pointer", "-fcf-protection=none"), ("clang", "-O2"), ("gcc", "-O0", "-no-pie")):
        if shutil.which(flags[0]):
            report, _ = run(folder, build(folder, *flags, out="optimised"))
            leaks_are_named(report)
            deep = [p for p in report["places"] if any(f["function"].startswith("leak_deep") for f in p["stack"])]
            check(deep and all(p["stack"][-1]["function"] in ("_start", "main") for p in deep), "whole stacks", deep)
            if flags[1] == "-O0":
                check(sum(f["function"].startswith("leak_deep") for f in deep[0]["stack"]) == 31, "each call of the recursion", deep[0]["stack"])
    print("four ways to compile it")


def odd(folder):
    """What made a traced program hang, crash, or tell what was not so."""
    program = build(folder, "gcc", "-O1", "-fno-inline", source=ODD, out="odd")
    for how, mark, blocks in (("getattr", "ODD 1", 2), ("small", "ODD 2", 100), ("zero", "ODD 3", 5), ("loader", None, 0)):
        report, said = run(folder, "-o", "odd.etl", program, how)
        check("fine" in said and report["events_lost"] == 0, how, said[:200])
        if mark:
            p = places(report)[line_of(mark, ODD)]
            check(p["blocks_left"] == blocks, how, dict(p))
    text = subprocess.run([os.path.join(BUILD, "autologger"), "heap", "-o", "odd.etl", program, "zero"], cwd=folder, capture_output=True, text=True, check=True).stdout
    check("0 bytes in 5 of 5 blocks" in text, text)
    for _ in range(3):
        report, _ = run(folder, "-o", "odd.etl", program, "threads")  # calls that did not return are no loss
        check(report["events_lost"] == 0 and report["events_attempted"] == report["events_written"] > 1000, report["events_attempted"])
    report, _ = run(folder, "-o", "odd.etl", program, "timed")
    check(places(report, "locks")[line_of("ODD 4", ODD)]["unfinished"] == 1, "a wait that timed out did not get the lock")
    twins = []
    for name in ("alpha", "omega"):
        source = folder / f"{name}.c"
        source.write_text(LIBRARY.read_text(encoding="utf-8").replace("library_make(size_t size) {", f"library_make(size_t size) {{ /* {name} */"), encoding="utf-8")
        twins.append(build(folder, "gcc", "-shared", "-fPIC", source=source, out=f"{name}.so"))
    report, _ = run(folder, "-o", "odd.etl", program, "plugins", "./alpha.so", "./omega.so")  # by relative paths
    found = {pathlib.Path(f["source"]).name: p["blocks_left"] for p in report["places"] for f in p["stack"] if f.get("source", "").endswith(("alpha.c", "omega.c"))}
    check(found == {"alpha.c": 2, "omega.c": 30}, "two libraries at one address", found)
    report, _ = run(folder, "-o", "odd.etl", program, "exec", folder / "nowhere")
    check(not report["replaced_by_untraced"], "an exec that fails ends nothing")
    (folder / "nothing.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
    build(folder, "gcc", "-static", source=folder / "nothing.c", out="static")
    report, _ = run(folder, "-o", "odd.etl", program, "exec", folder / "static")
    check(report["replaced_by_untraced"] and report["blocks_left"] == 0, "a program that replaced itself by one that is not traced", report["blocks_left"])
    own = build(folder, "gcc", "-O1", "-fno-builtin", source=pathlib.Path(SOURCE, "boot-tests", "heap_own.c"), out="own")
    r = subprocess.run([os.path.join(BUILD, "autologger"), "heap", "-o", "odd.etl", own], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    check(r.stdout.startswith("7\n") and r.returncode == 1 and "an allocator of its own" in r.stderr, r.returncode, r.stdout[:200], r.stderr)
    children = "import os, subprocess; print(subprocess.run(['sh', '-c', 'echo $LD_PRELOAD$AUTOLOGGER_HEAP; ls -l /proc/self/fd'], capture_output=True, text=True, check=True).stdout)"
    r = subprocess.run([os.path.join(BUILD, "autologger"), "heap", "--no-report", "-o", "odd.etl", sys.executable, "-c", children], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    check(r.stdout.startswith("\n") and "autologger-heap" not in r.stdout, "children have neither the library nor the memory", r.stdout)
    few = f"ulimit -n 200; exec {BUILD}/autologger heap --json -o odd.etl {program} zero"
    r = subprocess.run(["sh", "-c", few], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    check(r.returncode == 0, "few descriptors", r.stdout[-300:], r.stderr)
    print("programs that made trouble, and what they tell")


def separate(folder):
    """Debug information in a file of its own, found by its build id."""
    program = build(folder, "gcc", "-O1", "-fno-inline", "-Wl,--build-id", out="separate")
    notes = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True).stdout
    number = re.search(r"Build ID: ([0-9a-f]+)", notes)[1]
    place = folder / "debug" / ".build-id" / number[:2]
    place.mkdir(parents=True)
    subprocess.run(["objcopy", "--only-keep-debug", program, place / (number[2:] + ".debug")], check=True)
    subprocess.run(["strip", "--strip-all", program], check=True)
    report, _ = run(folder, program)
    check(not any(f.get("source", "").endswith(PROGRAM.name) for p in report["places"] for f in p["stack"]), "without it")
    report, _ = run(folder, "--symbol-path", folder / "debug", "--read", folder / "separate.heap.etl")
    leaks_are_named(report)


def collector(folder):
    """Signals of a terminal, a collector that sleeps too long, and one whose program takes the memory away."""
    program = folder / "odd"
    for number in (signal.SIGQUIT, signal.SIGINT):
        code = f"import os, signal, time; signal.signal({int(number)}, lambda *_: None); os.kill(os.getppid(), {int(number)}); time.sleep(0.3); x = [b'1' * 1000 for _ in range(50)]; print('end')"
        report, said = run(folder, "-o", "signal.etl", sys.executable, "-c", code)
        check("end" in said and report["allocations"] > 1000, number, said[:100])
    code = f"kill -STOP $PPID; exec {program} many"
    p = subprocess.Popen([os.path.join(BUILD, "autologger"), "heap", "--json", "-o", "late.etl", "sh", "-c", code], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(13)
    p.send_signal(signal.SIGCONT)
    out, err = p.communicate(timeout=60)
    report = json.loads(out[out.index("{\n"):])
    check(p.returncode == 1 and "fine" in out and "its buffers were not written" in err, p.returncode, err)
    check(report["events_attempted"] > 600000 and report["events_lost"] == report["events_attempted"] - report["events_written"] > 500000,
          "all that came afterwards is counted", report["events_attempted"], report["events_written"], report["events_lost"])
    print("signals, and a collector that slept:", report["events_lost"], "events lost, and told")


def foreign(folder):
    """Programs that nobody here wrote go on as without us."""
    os.makedirs(folder / "some", exist_ok=True)
    for words in ([sys.executable, "-c", "import json, threading, sqlite3; print(len(json.dumps(list(range(10000)))))"], ["perl", "-e", "my %h = map { $_ => [1..50] } 1..2000; print scalar(keys %h), qq(\\n)"],
                  ["sh", "-c", "ls / | sort | wc -l"], ["git", "-C", SOURCE, "log", "--oneline", "-20"], ["tar", "-C", SOURCE, "-czf", "/dev/null", "docs"],
                  ["gcc", "--version"], ["bash", "-c", "for i in 1 2 3; do (echo $i); done"]):
        if not shutil.which(words[0]):
            continue
        plain = subprocess.run(words, capture_output=True, text=True, cwd=folder / "some", check=False)
        r = subprocess.run([os.path.join(BUILD, "autologger"), "heap", "--no-report", "-o", "foreign.etl", *words], capture_output=True, text=True,
                           cwd=folder / "some", timeout=300, check=False)
        check(r.stdout == plain.stdout and r.returncode == 0 and r.stderr == plain.stderr, words, r.returncode, r.stdout[-300:], r.stderr[-300:])
        second = Second(folder / "some" / "foreign.etl")
        check(second.allocations > 20 and len(second.pids) == 1, words, second.allocations, second.pids)
    print("programs of others: the same output, and one process each")


def refused(folder, program):
    r = tool("heap", "-o", str(folder / "static.etl"), str(folder / "static"), expect=1)
    check("statically linked" in r.stderr, r.stderr)
    r = tool("heap", "-o", str(folder / "no.etl"), "/nowhere/program", expect=1)
    check("No such file" in r.stderr and not (folder / "no.etl").exists(), r.stderr)
    before = (folder / "heap_program.heap.etl").read_bytes()
    tool("heap", "-o", str(folder / "heap_program.heap.etl"), "/nowhere/program", expect=1)
    check((folder / "heap_program.heap.etl").read_bytes() == before, "a name that is wrong leaves the earlier trace")
    (folder / "mine.txt").write_text("precious\n")
    r = tool("heap", "-o", str(folder / "mine.txt"), str(program), expect=None)
    check(r.returncode in (1, 111) and (folder / "mine.txt").read_text() == "precious\n", "no file of another kind is replaced", r.returncode, r.stderr)
    r = tool("heap", "--read", str(folder / "mine.txt"), expect=None)
    check(r.returncode in (1, 111) and r.stderr, r.stderr)
    for words in ((), ("--rows", "-1", "x"), ("--only", "x", "x"), ("--read", "a", "b")):
        tool("heap", *words, expect=100)


def full_disk(folder):
    """A full disk: the program runs to its end, and every event is counted."""
    if os.geteuid() != 0:
        return
    small = folder / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=700k", "none", small], check=True)
    try:
        full(folder, small / "full.etl")
    finally:
        subprocess.run(["umount", small], check=True)


def full(folder, path):
    r = subprocess.run([os.path.join(BUILD, "autologger"), "heap", "--json", "-o", path, sys.executable, "-c",
                        "x = [str(i) * 600 for i in range(20000)]; print('the end')"], capture_output=True, text=True, timeout=120, check=False)
    check(r.returncode in (1, 111) and "the end" in r.stdout, r.returncode, r.stdout[-500:], r.stderr)
    written, attempted = map(int, re.search(r"(\d+) of (\d+) events are in", r.stderr).groups())
    second = Second(path)
    check(second.events == written < attempted, "what is there is counted", second.events, written, attempted)
    read, _ = run(folder, "--read", path, expect=1)
    check(read["events_lost"] == attempted - written, "the file's header says it", read["events_lost"], attempted, written)
    print("a full disk:", r.stderr.strip()[:150])


def others(folder, program):
    """Another user, without rights, without a daemon; and sessions that may not have these events."""
    if os.geteuid() == 0:
        home = folder / "nobody"
        home.mkdir()
        os.chown(home, NOBODY, NOBODY)
        report, _ = run(home, program, user=NOBODY, group=NOBODY, extra_groups=[])
        leaks_are_named(report)
    with Machine() as m:
        m.start()
        m.tool("start", "ordinary", "-o", "ordinary.etl")
        for guid in (HEAP, CRITSEC):
            r = m.tool("enable", "ordinary", guid, expect=1)
            check("50" in r.stderr and "autologger heap" in r.stderr, r.stderr)
        r = m.tool("start", "second", "-o", "second.etl", "--provider", HEAP, expect=None)
        check("condition 50" in r.stdout + r.stderr and "autologger heap" in r.stdout + r.stderr, r.stdout, r.stderr)
        for name in ("ordinary", "second"):
            m.tool("stop", name)
        ini = folder / "boot.ini"
        ini.write_text("[Autologger/x]\nStart = 1\n[Autologger/x/%s]\nEnableLevel = 5\n" % HEAP)
        r = m.tool("check", str(ini), expect=1)
        check("50" in r.stdout + r.stderr, r.stdout, r.stderr)


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="autologger-heap-"))
    os.chmod(folder, 0o755)
    try:
        program = build(folder, "gcc", "-O1", "-fno-inline")
        all_of_it(folder, program)
        other_ways(folder, program)
        optimised(folder)
        odd(folder)
        separate(folder)
        collector(folder)
        foreign(folder)
        refused(folder, program)
        full_disk(folder)
        others(folder, program)
    finally:
        shutil.rmtree(folder)


main()
