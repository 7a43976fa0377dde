"""D-31: programs fork while a kernel session begins, before its walk of /proc reaches them: each start of a process and of a thread has a
name, and the command line of its parent. Proves: KRN-03."""
import json
import os
import subprocess
import time

from harness import Machine, check, skip, tool

if os.getuid() != 0:
    skip("kernel events need root")

INI = """[GlobalLogger]
Start = 1
EnableKernelFlags = PROC_THREAD
FileName = C:\\forks_km_premerge.etl
BufferSize = 64 KB
MinimumBuffers = 16
MaximumBuffers = 256
"""
FORKER = "while :; do (:); done; # named-forks"

with Machine() as m:
    ini, out = os.path.join(m.dir, "forks.ini"), os.path.join(m.dir, "out")
    with open(ini, "w") as f:
        f.write(INI)
    forkers = [subprocess.Popen(["sh", "-c", FORKER]) for _ in range(3)]
    try:
        time.sleep(0.1)
        r = tool("rehearse", ini, "--out", out, "--run", "sleep 0.2", "--json", expect=None)
    finally:
        for p in forkers:
            p.kill()
            p.wait()
    said = json.loads(r.stdout)
    pids = {p.pid for p in forkers}
    processes, threads, before, told = [], [], 0, set()
    for line in tool("dump", "--json", "--provider", "Process", "--provider", "Thread", said["merged"], expect=None).stdout.splitlines():
        e = json.loads(line)
        kind, f = e["provider"]["name"] + "/" + e["event"], e["fields"]
        if kind == "Process/DCStart":
            told.add(f["ProcessId"])
        if kind == "Process/Start" and f["ParentId"] in pids:
            processes.append((f["ImageFileName"], f["CommandLine"]))
            before += f["ParentId"] not in told
        if kind == "Thread/Start" and e["pid"] in pids:
            threads.append(f["ThreadName"])
    print(len(processes), "starts of processes,", before, "of them before their parent was told;", len(threads), "of threads")
    check(len(processes) > 20 and before > 0, "too few, or none of them early", len(processes), before)
    blank = [p for p in processes if not p[0] or "named-forks" not in p[1]]
    check(not blank, len(blank), "starts have no name, or no command line:", blank[:3])
    check(threads and all(threads), "threads without a name:", threads.count(""))
