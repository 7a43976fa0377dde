"""StackCaching: two sessions record the same work, one with whole stacks and one with keys. Each key is defined before its first use, also over a
SIGKILL of the daemon and after a merge of both files; no event has a stack twice; keys give a known chain of calls the same names as whole stacks;
stacks without room in a table of 1 KB are whole. The bytes of a stack, with and without keys, are printed.
A session whose file is changed twice has in each of the three files all keys that it refers to there; after a change to real time its stacks are
whole.
Proves: issue 4, optional de-duplication of stacks (stack keys)."""
import json
import os
import platform
import shutil
import signal
import subprocess
import time

from harness import SOURCE, Machine, check, no_idle, skip

if os.getuid() != 0:
    skip("kernel events need root")
if platform.machine() != "x86_64" or not shutil.which("g++"):
    skip("the program with the known stacks needs x86-64 and g++")

CHAIN = ["chain::rest(int)", "chain::middle(void (*)(int), int)", "chain::outer(void (*)(int), int)", "main"]
COMMON = """EnableKernelFlags = PROC_THREAD+LOADER+CSWITCH+DISPATCHER+PROFILE
StackWalkingFilter = Profile+CSwitch+ReadyThread
BufferSize = 512 KB
MinimumBuffers = 16
MaximumBuffers = 128
MaxFileSize = 0
"""
DECLARED = f"""
[GlobalLogger]
FileName = whole.etl
{COMMON}
[Autologger/keyed]
LogFileMode = SYSTEM_LOGGER
StackCaching = 8192, 4096
FileName = keyed.etl
{COMMON}
[Autologger/tight]
LogFileMode = SYSTEM_LOGGER
StackCaching = 1, 16
FileName = tight.etl
{COMMON}
"""
REFERENCES = ("KeyKernel", "KeyUser")


def stacks(m, path, *more):
    return [json.loads(x) for x in m.tool("dump", "--json", "--provider", "StackWalk", *more, path).stdout.splitlines()]


def frames(e):
    return e["fields"]["Stack"]


def size_of(e):
    """The size in the file, with the header."""
    return 40 if e["event"] in REFERENCES else (24 if e["event"].startswith("Key") else 32) + 8 * len(frames(e))


def proved(m, path, killed=False):
    """Returns the events of each kind, their bytes, and their bytes with whole stacks."""
    known, count, size, whole, seen = {}, {}, 0, 0, {}
    for e in stacks(m, path):
        kind, fields = e["event"], e["fields"]
        count[kind] = count.get(kind, 0) + 1
        size += size_of(e)
        if kind in ("KeyCreate", "KeyRundown"):
            check(known.setdefault(fields["StackKey"], frames(e)) == frames(e), "a key means two stacks", e)
        elif kind in REFERENCES:
            check(fields["StackKey"] in known, "a key is used and not defined before", e)
        whole += 32 + 8 * len(known[fields["StackKey"]]) if kind in REFERENCES else size_of(e) if kind == "Stack" else 0
        if kind in REFERENCES + ("Stack",):
            part = (fields["EventTimeStamp"], e["cpu"], fields["StackThread"])
            check(part not in seen, "an event has two stacks", e, seen.get(part))
            seen[part] = e
    check(killed or count.get("KeyRundown", 0) == count.get("KeyCreate", 0), "all keys are told at the end", count)
    return count, size, whole


def chains(m, path, program):
    """How many stacks of the known program end in the known chain."""
    images = [json.loads(x) for x in m.tool("dump", "--json", "--provider", "Image", path).stdout.splitlines()]
    pids = {e["fields"]["ProcessId"] for e in images if e["fields"]["FileName"].endswith("\\" + os.path.basename(program))}
    n = 0
    for e in stacks(m, path, "--symbols"):
        if e.get("event") in REFERENCES + ("Stack",) and e["fields"]["StackProcess"] in pids:
            names = [f.get("function") for f in e["frames"] if int(f["address"], 16) < 1 << 47]
            n += names[:4] == CHAIN
    return n


with Machine(DECLARED) as m:
    program = os.path.join(m.dir, "with-pointers")
    subprocess.run(["g++", "-O0", "-g", "-fno-omit-frame-pointer", "-Wl,--build-id", "-pthread", "-o", program,
                    os.path.join(SOURCE, "boot-tests", "call_chain.cpp")], check=True)
    with no_idle():
        m.start()
        work = subprocess.Popen([program, "800", os.path.join(m.dir, "blocks")])
        m.processes.append(work)
        time.sleep(2)
        os.kill(m.daemon_pid(), signal.SIGKILL)
        m.wait_ready()
        work.wait(60)
        m.shutdown()
    rows = {r["name"]: r for r in m.status(expect=None)["sessions"]}
    for name, r in rows.items():
        check(r["attempted"] == r["converted"] + r["lost"]["total"], "attempted = written + lost", name, r["attempted"], r["converted"], r["lost"])
    whole, keyed, tight = (os.path.join(m.logs, n + ".etl") for n in ("whole", "keyed", "tight"))

    plain, plain_bytes, _ = proved(m, whole)
    check(set(plain) == {"Stack"}, plain)
    counts, size, otherwise = proved(m, keyed, killed=True)
    references = counts["KeyKernel"] + counts["KeyUser"]
    check(references > counts["KeyCreate"] > 100, "stacks come again", counts)
    quality = {}
    for path in (whole, keyed):
        for row in json.loads(m.tool("summary", "--json", path).stdout)["stackQuality"]:
            quality.setdefault(row["event"], []).append(row)
    for event, (a, b) in ((k, v) for k, v in quality.items() if len(v) == 2):
        print(event, [(r["events"], r["stacks"], r["missing"], r["complete"]) for r in (a, b)])
        check(b["stacks"] > 0 and b["stacks"] + b["missing"] == b["events"], "stacks of keys are counted by event", b)
    stacks_told = references + counts["Stack"]
    print(f"{stacks_told} stacks with keys: {size} bytes with all definitions, {size / stacks_told:.0f} each; whole they would take {otherwise},",
          f"{otherwise / stacks_told:.0f} each; the other session's {plain_bytes / plain['Stack']:.0f} each", counts)
    check(size < otherwise, "keys save nothing")

    few, _, _ = proved(m, tight, killed=True)
    check(0 <= few.get("KeyCreate", 0) <= 2 * 20 and few["Stack"] > 300, "a table of 1 KB", few)

    named = [chains(m, path, program) for path in (whole, keyed, tight)]
    print("the known chain:", named)
    check(min(named) > 100, "the known chain, by keys as without", named)

    merged = os.path.join(m.dir, "merged.etl")
    m.tool("merge", "-o", merged, keyed, tight)
    both, _, _ = proved(m, merged, killed=True)
    check(both["KeyUser"] == counts["KeyUser"] + few.get("KeyUser", 0), "all are in the merged file", both)
    check(chains(m, merged, program) == named[1] + named[2], "and have the same names there")

with Machine() as m:
    program = os.path.join(m.dir, "with-pointers")
    subprocess.run(["g++", "-O0", "-g", "-fno-omit-frame-pointer", "-Wl,--build-id", "-pthread", "-o", program,
                    os.path.join(SOURCE, "boot-tests", "call_chain.cpp")], check=True)
    with no_idle():
        m.start()
        m.tool("start", "moving", "--flags", "PROC_THREAD+LOADER+CSWITCH+DISPATCHER+PROFILE", "--stacks", "Profile+CSwitch+ReadyThread", "-o", "one.etl",
               "--set", "StackCaching=8192, 4096", "--set", "BufferSize=512KB", "--set", "MinimumBuffers=16", "--set", "MaximumBuffers=128", "--set", "MaxFileSize=0")
        work = subprocess.Popen([program, "1000000", os.path.join(m.dir, "blocks")])
        m.processes.append(work)
        for name in ("two.etl", "three.etl"):
            time.sleep(1.5)
            m.tool("update", "moving", "-o", name)
        time.sleep(1.5)
        m.tool("update", "moving", "--real-time", "only")
        time.sleep(1)
        m.tool("stop", "moving")
        work.kill()
    paths = [os.path.join(m.logs, n) for n in ("one.etl", "two.etl", "three.etl")]
    told = []
    for path in paths:
        counts, _, _ = proved(m, path, killed=True)
        check(counts["KeyKernel"] + counts["KeyUser"] > 100, "references in each file", counts)
        told.append(counts)
    for before, after in zip(told, told[1:]):  # at the end of one, at the beginning and the end of the next
        check(before.get("KeyRundown", 0) > 0 and after["KeyRundown"] > before["KeyRundown"] > 0, told)
    names = [chains(m, path, program) for path in paths]
    merged = os.path.join(m.dir, "moved.etl")
    m.tool("merge", "-o", merged, *paths)
    proved(m, merged, killed=True)
    check(names[0] > 100 and chains(m, merged, program) > names[0], "the known chain, by keys, in all files", names)
    print("three files:", told, names)
