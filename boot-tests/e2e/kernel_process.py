"""Microsoft-Windows-Kernel-Process: processes, threads and images of a known workload, recorded by a session of programs without the kernel logger:
every start and stop once, in order, with parents, codes and paths; keywords choose; the provider's program starts when a session wants it, restarts
when it is killed, and ends with the last session; its records that perf loses are counted.
Proves: LEG-11, SPC-10 (start, run programs, stop, decode)."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

from harness import SOURCE, Machine, check, skip, tool

if os.getuid() != 0:
    skip("records of all processes need root")

GUID = "{22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716}"
CHILDREN = 40
DECLARED = f"""
[Autologger/all]
FileName = all.etl
[Autologger/all/Microsoft-Windows-Kernel-Process]
[Autologger/images]
FileName = images.etl
[Autologger/images/Microsoft-Windows-Kernel-Process]
Guid = {GUID}
MatchAnyKeyword = 0x40
"""
WORK = """import os, signal, sys, threading
pids = []
for i in range(int(sys.argv[1])):
    pid = os.fork()
    if pid == 0:
        if i % 4 == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        os.execv("/bin/sh", ["sh", "-c", f"exit {i}"])
    pids.append(pid)
    os.waitpid(pid, 0)
stop = threading.Event()
threads = [threading.Thread(target=stop.wait) for _ in range(3)]
for t in threads: t.start()
tids = [t.native_id for t in threads]
stop.set()
for t in threads: t.join()
print(os.getpid(), *pids, "|", *tids)
"""


def teller(m):
    """The pid of this daemon's provider program, or None."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = open(f"/proc/{pid}/cmdline").read()
        except OSError:
            continue
        if "autologger-processes" in line.split("\0")[0] and m.runtime in line:
            return int(pid)
    return None


def wait_for(what, *say):
    end = time.time() + 30
    while not what():
        check(time.time() < end, *say)
        time.sleep(0.05)


def registered(m):
    text = m.tool("providers", "--registered", "--json", expect=None).stdout
    return GUID in text


def events(path):
    said = tool("dump", path, "--json").stdout
    return [e for e in map(json.loads, said.splitlines()) if e["provider"]["guid"] == GUID]


def work(m):
    script = os.path.join(m.dir, "work.py")
    open(script, "w").write(WORK)
    said = subprocess.run([sys.executable, script, str(CHILDREN)], capture_output=True, text=True, check=True).stdout
    pids, tids = said.split("|")
    pids = [int(x) for x in pids.split()]
    return pids[0], pids[1:], [int(x) for x in tids.split()]


def of(told, name, pid):
    return [e for e in told if e["event"] == name and e["fields"]["ProcessID"] == pid]


def judge(told, parent, pids, tids):
    shell = os.path.realpath("/bin/sh")
    short = []  # a program that ended before its file could be looked up has its short name: some do, on a busy machine
    for i, pid in enumerate(pids):
        starts, stops = of(told, "ProcessStart", pid), of(told, "ProcessStop", pid)
        execs = 0 if i % 4 == 3 else 1
        check(len(starts) == len(stops) == 1 + execs, pid, "started", len(starts), "times, stopped", len(stops), "times, not", 1 + execs)
        check(starts[0]["fields"]["ParentProcessID"] == parent, pid, "has another parent", starts[0])
        code = 137 if not execs else i
        check(stops[-1]["fields"]["ExitCode"] == code, pid, "ended with", stops[-1]["fields"], "not", code)
        check([e["id"] for e in starts + stops] == [1] * len(starts) + [2] * len(stops), "ids are Windows'", starts, stops)
        numbers = [e["fields"]["ProcessSequenceNumber"] for e in starts]
        check(numbers == [e["fields"]["ProcessSequenceNumber"] for e in stops] and len(set(numbers)) == len(numbers), "numbers", starts, stops)
        order = [e["raw"] for pair in zip(starts, stops) for e in pair]
        check(order == sorted(order), pid, "is not in order", order)
        if execs:
            name = starts[1]["fields"]["ImageName"]
            check(name in (shell, "sh"), starts[1]["fields"], "is not", shell)
            short += [pid] if name == "sh" else []
            loads = [e["fields"]["ImageName"] for e in of(told, "ImageLoad", pid)]
            check(shell in loads and any("libc" in x for x in loads), pid, "lacks images", loads)
    check(10 * len(short) <= len(pids), "programs without the path of their file", len(short), "of", len(pids))
    for name in ("ThreadStart", "ThreadStop"):
        own = [e["fields"]["ThreadID"] for e in of(told, name, parent)]
        check(all(own.count(tid) == 1 for tid in tids) and own.count(parent) == 1, name, own, tids)
    return 2 * sum(2 if i % 4 != 3 else 1 for i in range(len(pids)))


def classes(told):
    """Each class of ours in written.def was seen, with its row's fields."""
    rows = re.findall(r'OWN\(PROCESSES, "(\w+)", "([^"]*)"', pathlib.Path(SOURCE, "autologger/kernel/tables/written.def").read_text())
    check(len(rows) == 6, "rows of written.def:", rows)
    for name, fields in rows:
        found = [e for e in told if e["event"] == name]
        check(found and list(found[0]["fields"]) == [f.split(":")[0] for f in fields.split()], name, "has other fields:", found[:1])
    check({e["event"] for e in told} == {name for name, _ in rows}, "events without a row")


def told_of(m, session, event, pids):
    """Does a running session's file have this event of one of these processes?"""
    m.tool("flush", session)
    said = m.tool("dump", "--json", "--provider", "Microsoft-Windows-Kernel-Process", os.path.join(m.logs, session + ".etl"), expect=None).stdout
    return any(e["event"] == event and e["fields"]["ProcessID"] in pids for e in map(json.loads, said.splitlines()))


def heard(m):
    """Waits until the provider writes the start of new processes: its program registers first, and learns of its sessions a little later."""
    pids = []

    def begin():
        p = subprocess.Popen(["/bin/true"])
        p.wait()
        pids.append(p.pid)
        time.sleep(0.2)
        return told_of(m, "all", "ProcessStart", pids)
    wait_for(begin, "the provider is not enabled")


with Machine(DECLARED) as m:
    m.start()
    wait_for(lambda: teller(m) and registered(m), "the provider was not registered")
    heard(m)
    parent, pids, tids = work(m)
    time.sleep(0.1)
    # a third session is started by hand meanwhile: the same program serves it
    first = teller(m)
    m.tool("start", "late", "--output", "late.etl")
    m.tool("enable", "late", "Microsoft-Windows-Kernel-Process", "--wait", "10000")
    again = work(m)
    time.sleep(0.1)
    m.tool("enable", "late", "Microsoft-Windows-Kernel-Process", "--capture-state")
    wait_for(lambda: told_of(m, "late", "ProcessRundown", [os.getpid()]), "no rundown")
    check(teller(m) == first, "the program was started anew for another session")
    m.tool("stop", "late")
    said = m.tool("tracerpt", os.path.join(m.logs, "late.etl"), "-o", os.path.join(m.dir, "late.csv"), "-of", "CSV").stdout
    rows = open(os.path.join(m.dir, "late.csv"), encoding="utf-8-sig").read()
    check(rows.count("ProcessStart") >= CHILDREN, "tracerpt shows", rows.count("ProcessStart"), "starts:", said)
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: teller(m) not in (None, first) and registered(m), "the program was not started again")
    heard(m)
    third = work(m)
    time.sleep(0.1)
    m.shutdown()
    wait_for(lambda: teller(m) is None, "the program outlives the daemon")
    status = m.status()
    told = {name: events(os.path.join(m.logs, name + ".etl")) for name in ("all", "images", "late")}
    for row in (r for r in status["sessions"] if r["name"] in ("all", "images")):
        check(row["lost"]["total"] == 0, "events were lost", row)
        conditions = [c for c in row["providers"][0]["conditions"] if c["item"] == "Kernel-Process"]
        check(conditions and conditions[0]["number"] == 50 and "again" in conditions[0]["reason"], "the kill is not told", row["providers"][0])
    count = judge(told["all"], parent, pids, tids) + judge(told["all"], *again) + judge(told["all"], *third)
    judge(told["late"], *again)
    classes(told["late"])
    run = [e["fields"] for e in told["late"] if e["event"] == "ProcessRundown"]
    check(any(f["ProcessID"] == os.getpid() and f["ImageName"] == os.path.realpath(sys.executable) for f in run), "the rundown lacks this process", run)
    check(told["images"] and all(e["event"] == "ImageLoad" for e in told["images"]), "keyword 0x40 is images alone",
          {e["event"] for e in told["images"]})
    print(f"{count} starts and stops of {3 * CHILDREN} processes, each once, {len(told['all'])} events in all")
