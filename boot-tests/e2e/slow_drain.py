"""A read of /proc that takes 1.5 s in the thread that takes the kernel's records: the journal has a line, the session a condition with what to do, and no
loss that is not counted. A quick one says nothing. F6."""
import json
import os
import subprocess
import time

from harness import BUILD, Machine, check, skip

if os.getuid() != 0:
    skip("kernel events need root")

DECLARED = """[GlobalLogger]
Start = 1
EnableKernelFlags = PROC_THREAD+LOADER
FileName = kernel.etl
BufferSize = 64 KB
"""


def conditions(m):
    row, = m.status()["sessions"]
    return [c for c in row["conditions"] if c["item"] == "kernel-drain"]


def until(what, seconds=20):
    end = time.time() + seconds
    while time.time() < end:
        if what():
            return
        subprocess.run(["/bin/true"], check=True)  # a process to look up
        time.sleep(0.05)
    check(False, "not within", seconds, "s")


with Machine(DECLARED) as m:
    slow, said = os.path.join(m.dir, "slow"), os.path.join(m.dir, "said")
    os.environ.update(LD_PRELOAD=os.path.join(BUILD, "tests", "libslow_proc.so"), SLOW_PROC=slow)
    own, log = os.dup(2), os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 2)
    m.start()
    os.dup2(own, 2)
    del os.environ["LD_PRELOAD"]
    lines = lambda: [line for line in open(said, encoding="utf-8") if "was not taken for" in line]
    for ms, expected in ((100, 0), (1500, 1)):
        with open(slow, "w", encoding="ascii") as f:
            f.write(f"{ms}\n")
        until(lambda: not os.path.exists(slow))
        if expected:
            until(lambda: len(lines()) == 1 and len(conditions(m)) == 1)
        time.sleep(0.5)
        check(len(lines()) == expected and len(conditions(m)) == expected, ms, lines(), conditions(m))
    print(lines(), conditions(m))
    condition, = conditions(m)
    check("session NT Kernel Logger" in lines()[0] and condition["number"] == 1460 and "memory map" in condition["advice"], lines(), condition)
    live = json.loads(m.tool("query", "NT Kernel Logger", "--json").stdout)
    check(live.get("session", live)["events_lost"] == 0, "1.5 s of few events have room", live)
    m.shutdown()
