"""The work of each unit: processes of two made-up units, in cgroups of their own, do a known amount of work; the summary's table has it (processes,
time on a processor, bytes on disk, events), and dump --unit has only their events.
Proves: issue 4 "everything downstream can group by unit"."""
import json
import os
import sys

from harness import Machine, check, no_idle, skip, tool

if os.getuid() != 0:
    skip("kernel events need root")
mounts = [line.split() for line in open("/proc/mounts")]
root = next((m[1] for m in mounts if m[2] == "cgroup2"), None)
if not root or not os.access(root, os.W_OK):
    skip("the units' cgroups need a writable cgroup2 file system")

CHILDREN = {"al-test-alpha": 20, "al-test-beta": 5}
BYTES = {"al-test-alpha": 1 << 20, "al-test-beta": 0}
BURN = {"al-test-alpha": 0.3, "al-test-beta": 0.05}
DECLARED = """[GlobalLogger]
EnableKernelFlags  = PROC_THREAD+CSWITCH+DISK_IO
BufferSize         = 512 KB
MinimumBuffers     = 16
MaximumBuffers     = 128
FileName           = C:\\t_km_premerge.etl
[Autologger/units]
FileName = C:\\u.etl
[Autologger/units/Service Control Manager]
Guid = {0063715b-eeda-4007-9429-ad526f62696e}
"""
# Its processes: itself (sh becomes Python) and its children.
WORK = """import os, sys, time
name, children, burn, size, out = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
end = time.process_time() + burn
while time.process_time() < end:
    pass
for _ in range(children):
    if os.fork() == 0:
        os.execv("/bin/true", ["true"])
    os.wait()
if size:
    import mmap
    block = mmap.mmap(-1, 65536)
    fd = os.open(out + ".data", os.O_CREAT | os.O_WRONLY | os.O_DIRECT)
    for _ in range(size // 65536):
        os.write(fd, block)
    os.close(fd)
"""


def cgroup(name):
    return os.path.join(root, "al-test.slice", name + ".service")


def usage(name):
    with open(os.path.join(cgroup(name), "cpu.stat"), encoding="ascii") as f:
        return int(f.readline().split()[1]) / 1e6


with Machine() as m:
    work, script, declared, out = (os.path.join(m.dir, x) for x in ("work.py", "run.sh", "t.ini", "out"))
    open(work, "w").write(WORK)
    with open(script, "w") as f:
        for name in CHILDREN:
            f.write(f"sh -c 'echo $$ > {cgroup(name)}/cgroup.procs && exec {sys.executable} {work} {name} {CHILDREN[name]} {BURN[name]} {BYTES[name]} "
                    f"{os.path.join(m.dir, name)}'\n")
        f.write("true\n")
    with open(declared, "w") as f:
        f.write(DECLARED)
    for name in CHILDREN:
        os.makedirs(cgroup(name))
    try:
        with no_idle():
            r = tool("rehearse", declared, "--out", out, "--json", "--run", f"sh {script}", expect=None)
    finally:
        counted = {name: usage(name) for name in CHILDREN}
        for name in CHILDREN:
            os.rmdir(cgroup(name))
        os.rmdir(os.path.dirname(cgroup(name)))
    trace = json.loads(r.stdout)["merged"]
    check(trace, "nothing was merged:", r.stdout, r.stderr)

    summary = json.loads(tool("summary", "--json", trace).stdout)
    rows = {row["unit"]: row for row in summary["units"]}
    check(sum(row["events"] for row in rows.values()) == summary["events"], "events do not add up", rows, summary["events"])
    for name, children in CHILDREN.items():
        used, row = counted[name], rows.get(name + ".service")
        print(name, "used", used, row)
        check(row, "no such unit", sorted(rows))
        check(row["processes"] == children + 1, "processes", row)
        # by the cgroup's count in the kernel. A guest's kernel sometimes withholds a context switch, and with it up to a time slice
        check(used * 0.75 - 0.02 <= row["cpuSeconds"] <= used * 1.05 + 0.02, "time on a processor", row, used)
        written = rows[name + ".service"]["diskWritten"]
        check(written >= BYTES[name] if BYTES[name] else written < 65536, "bytes", row)
    text = tool("summary", trace).stdout
    check("al-test-alpha.service" in text and "disk written" in text, text[-1500:])

    # only theirs: by name, by glob, and by their actions; every event with a unit shows it
    everything = [json.loads(line) for line in tool("dump", "--json", trace).stdout.splitlines()]
    for pattern, units in (("al-test-alpha", {"al-test-alpha.service"}), ("al-test-*.service", {"al-test-alpha.service", "al-test-beta.service"})):
        events = [json.loads(line) for line in tool("dump", "--json", "--unit", pattern, trace).stdout.splitlines()]
        check({e.get("unit") for e in events if e["event"] == "CSwitch" and e.get("unit") in units} == units, pattern)
        theirs = sum(e.get("unit") in units for e in everything)
        check(sum(e.get("unit") in units for e in events) == theirs == sum(rows[u]["events"] for u in units), pattern, theirs)
        # the rest is about them: a switch away from one of their threads, a wake-up, the fork that made one
        others = {e["event"] for e in events if e.get("unit") not in units}
        check(others <= {"CSwitch", "ReadyThread", "Start", "ProcessCgroup", "End"}, pattern, others)
    pids = {e["fields"]["ProcessId"] for e in everything if e["event"] == "ProcessCgroup" and e["fields"]["Unit"] == "al-test-alpha.service"}
    check(len(pids) == CHILDREN["al-test-alpha"] + 1, len(pids))
    line = [x for x in tool("dump", "--unit", "al-test-beta", trace).stdout.splitlines() if " unit al-test-beta.service " in x]
    check(line, "the text does not show units")
    none = tool("dump", "--unit", "no-such-unit", trace)
    check("0 of " in none.stderr and "--unit" in none.stderr, none.stderr)
    print({name: rows[name] for name in ("(none)", "(idle)", "(kernel)", "(not told)") if name in rows})
