"""Kernel tracepoints as providers of a session that also has a program's provider: exact counts, fields and texts, a filter that the
kernel applies, call stacks, what is wrong on the row that it is about, and a daemon that is killed in between. Proves: API-17."""
import json
import os
import signal
import subprocess
import sys

from harness import Machine, check, skip, tool

if os.getuid() != 0:
    skip("kernel events need root")

DECLARED = """
[Autologger/trace]
MinimumBuffers = 8
MaximumBuffers = 64
FileName       = C:\\traces\\trace.etl
[Autologger/trace/Renames]
Tracepoint     = task:task_rename
EnableProperty = STACK_TRACE
[Autologger/trace/Forks]
Tracepoint = sched:sched_process_f?rk sched:sched_process_exit
[Autologger/trace/Filtered]
Tracepoint       = syscalls:sys_enter_getpgid
TracepointFilter = pid == 4242
[Autologger/trace/BadFilter]
Tracepoint       = task:task_rename
TracepointFilter = nonsense == 3
[Autologger/trace/NoSuch]
Tracepoint = nosuch:*
[Autologger/trace/numbered]
Guid = {5ca1ab1e-7e57-0001-8000-000000000001}
"""
WORK = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
print(os.getpid(), flush=True)
def work(first, last):
    for i in range(first, last):
        libc.prctl(15, ("rename-%d" % i).encode())
        libc.getpgid(4242 if i % 2 else 4243)
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
work(0, 60)
print("half", flush=True)
sys.stdin.readline()
work(60, 100)
"""

with Machine(DECLARED) as m:
    m.start()
    p = subprocess.Popen([sys.executable, "-c", WORK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    m.processes.append(p)
    pid = int(p.stdout.readline())
    check(p.stdout.readline() == "half\n", "the work did not get to its half")
    writer, tally = m.writer(0, 500, wait_ms=5000)
    writer.wait(30)
    os.kill(m.daemon_pid(), signal.SIGKILL)
    p.stdin.write("\n")
    p.stdin.close()
    check(p.wait(30) == 0, "the work ended with", p.returncode)
    m.wait_ready()
    m.shutdown()
    path = os.path.join(m.logs, "c", "traces", "trace.etl")
    if not os.path.exists(path):
        path = next(os.path.join(d, f) for d, _, files in os.walk(m.dir) for f in files if f == "trace.etl")
    summary = json.loads(tool("summary", path, "--json").stdout)
    check(summary["header"]["eventsLost"] == 0 and summary["inversions"] == 0, "summary:", summary)
    m.verify(path, [tally])
    events = [json.loads(line) for line in tool("dump", path, "--json").stdout.splitlines()]
    kernel = [e for e in events if e["provider"].get("name") in ("Renames", "Forks", "Filtered", "BadFilter", "NoSuch")]
    mine = [e for e in kernel if e["pid"] == pid]

    renames = [e for e in mine if e["event"] == "task_rename" and e["fields"]["newcomm"].startswith("rename-")]  # an exec renames the task, too
    names = [e["fields"]["newcomm"] for e in renames]
    check(names == [f"rename-{i}" for i in range(100)], "names:", len(names))
    check(all(e["fields"]["pid"] == pid and e["provider"].get("name") == "Renames" for e in renames), "renames")
    stacks = [e for e in renames if e.get("stack")]
    check(len(stacks) == 100, "renames with a stack:", len(stacks))
    check(all(any(int(f, 16) >> 63 for f in e["stack"]) for e in stacks), "a stack without the kernel's part")
    forks = [e for e in mine if e["event"] == "sched_process_fork"]
    check(len(forks) == 100 and len({e["fields"]["child_pid"] for e in forks}) == 100, "forks:", len(forks))
    children = {e["fields"]["child_pid"] for e in forks}
    exits = [e for e in kernel if e["event"] == "sched_process_exit" and e["fields"]["pid"] in children]
    check(len(exits) == 100, "exits:", len(exits))
    asked = [e for e in kernel if e["event"] == "sys_enter_getpgid"]
    check(len(asked) == 50 and all(e["fields"]["pid"] == 4242 for e in asked), "what the filter let through:", len(asked))
    check(not [e for e in kernel if e["provider"].get("name") in ("BadFilter", "NoSuch")], "events of providers that were refused")

    rows = {r["name"]: r for r in m.status()["sessions"][0]["providers"]}
    for name in ("Renames", "Forks", "Filtered"):
        check(rows[name]["status"] == 0 and not rows[name]["conditions"], name, rows[name])
        check(rows[name]["written"] == len([e for e in kernel if e["provider"].get("name") == name]), name, rows[name]["written"])
    for name, status, part in (("BadFilter", 87, "nonsense"), ("NoSuch", 50, "no tracepoint 'nosuch:*'")):
        row = rows[name]
        check(row["status"] == status and part in row["reason"] and row["advice"] and row["written"] == 0 and row["result"] == "failed", name, row)
print(f"{len(kernel)} events of tracepoints beside {len(events) - len(kernel)} of a program, over a killed daemon")
