"""The program's part of kernel events' stacks: a known chain of calls, names and order, of a program with frame pointers (by the kernel) and of one
without (UserStacks = dwarf, unwound by the merge), on context switches, wake-ups, profile samples, disk requests, system calls and page faults.
Copies that were not unwound are counted; without the unwinding program the copies stay, and a later merge unwinds them.
Proves: KRN-08 (whose call woke a thread), KRN-16, KRN-17, issue 4 "stacks: a known call chain, names and order, on CSwitch, ReadyThread, Profile, DiskIoInit, SysCallEnter, page faults, for a
program with frame pointers and one without"."""
import collections
import glob
import json
import os
import platform
import shutil
import subprocess

from harness import BUILD, SOURCE, Machine, check, no_idle, skip, tool

CHAIN = ["chain::middle(void (*)(int), int)", "chain::outer(void (*)(int), int)", "main", "__libc_start_call_main"]
LEAVES = {"SampledProfile": "spin", "CSwitch": "rest", "ReadyThread": "wake", "WriteInit": "put", "DemandZeroFault": "touch", "SysClEnter": "rest"}
IN_KERNEL = ("CSwitch", "ReadyThread", "WriteInit")
DECLARED = """[GlobalLogger]
EnableKernelFlags  = PROC_THREAD+LOADER+{}
StackWalkingFilter = {}
UserStacks         = {}
BufferSize         = 512 KB
MinimumBuffers     = 16
MaximumBuffers     = 192
FileName           = C:\\t_km_premerge.etl
"""
SOME = ("CSWITCH+DISPATCHER+PROFILE+DISK_IO+DISK_IO_INIT", "Profile+CSwitch+ReadyThread+DiskWriteInit")
MORE = ("SYSCALL+ALL_FAULTS", "SyscallEnter+PagefaultDemandZero") # frequent in all programs: in a session of their own, with small copies
if os.getuid() != 0:
    skip("kernel events need root")
if platform.machine() != "x86_64" or not shutil.which("g++"):
    skip("the program with the known stacks needs x86-64 and g++")


def record(m, name, program, declared, rounds=0):
    """rounds 0: the program runs already, and its images are in the rundown, whatever the rings lose."""
    ini, out = os.path.join(m.dir, name + ".ini"), os.path.join(m.dir, name)
    with open(ini, "w") as f:
        f.write(DECLARED.format(*declared))
    blocks = os.path.join(m.dir, "blocks")
    others = [] if rounds else [[program, "1000000", blocks]]
    with no_idle(*others):
        r = tool("rehearse", ini, "--out", out, "--json", "--keep-premerge", "--run", f"{program} {rounds} {blocks}" if rounds else "sleep 0.5", expect=None)
    trace = json.loads(r.stdout)["merged"]
    check(trace, "nothing was merged:", r.stdout, r.stderr)
    return trace, glob.glob(os.path.join(out, "**", "*premerge*"), recursive=True)[0]


def process_of(trace, program):
    images = [json.loads(x) for x in tool("dump", "--json", "--provider", "Image", trace).stdout.splitlines()]
    pids = [e["fields"]["ProcessId"] for e in images if e["fields"]["FileName"].endswith("\\" + os.path.basename(program))]
    check(pids, "the program's image is not in the trace")
    return pids[-1]


def user_stacks(trace, program):
    """Trigger's name -> the chains of user functions of the program, leaf first; and the number of triggers with frames of both kernel and
    program."""
    pid = process_of(trace, program)
    events = [json.loads(x) for x in tool("dump", "--json", "--symbols", "--process", str(pid), trace).stdout.splitlines()[:-1]]
    triggers = {(e["raw"], e["cpu"]): e["event"] for e in events if e["event"] in LEAVES}
    found, parts = collections.defaultdict(list), collections.defaultdict(set)
    for e in events:
        if e["event"] != "Stack" or e["fields"]["StackProcess"] != pid:
            continue
        trigger = e["fields"]["EventTimeStamp"], e["cpu"]
        kind = triggers.get(trigger)
        frames = [f.get("function") for f in e["frames"] if int(f["address"], 16) < 1 << 47]
        parts[trigger] |= {int(f["address"], 16) >= 1 << 47 for f in e["frames"]}
        if kind and frames:
            found[kind].append(frames)
    return found, collections.Counter(triggers.get(trigger) for trigger, of in parts.items() if of == {True, False})


def prove(trace, program, kinds, to_the_end):
    found, both = user_stacks(trace, program)
    for kind in kinds:
        leaf = f"chain::{LEAVES[kind]}(int)"
        ours = [s for s in found[kind] if s[0] == leaf]
        whole = [s for s in ours if s[:5] == [leaf] + CHAIN and (not to_the_end or s[-1] == "_start")]
        print(os.path.basename(trace), kind, len(found[kind]), "stacks,", len(ours), "of them in", leaf + ",", len(whole), "with the whole chain")
        check(len(whole) >= 20, "too few whole chains at", kind, ours[:3], found[kind][:3])
        # the kernel's frames, and the program's frames that led there
        check(kind not in IN_KERNEL or both[kind] >= 20, "too few stacks from the kernel into the program at", kind, both)
        # with frame pointers a function has no frame at its first and last instructions: its caller is then left out
        check(len(whole) >= (1 if to_the_end else 0.95) * len(ours), "other chains at", kind, [s for s in ours if s not in whole][:5])


with Machine() as m:
    with_pointers, without = (os.path.join(m.dir, x) for x in ("with-pointers", "without"))
    source = os.path.join(SOURCE, "boot-tests", "call_chain.cpp")
    subprocess.run(["g++", "-O0", "-g", "-fno-omit-frame-pointer", "-Wl,--build-id", "-pthread", "-o", with_pointers, source], check=True)
    subprocess.run(["g++", "-O2", "-g", "-fomit-frame-pointer", "-fasynchronous-unwind-tables", "-Wl,--build-id", "-pthread", "-o", without, source],
                   check=True)
    subprocess.run([without, "1", os.path.join(m.dir, "blocks")], check=True, timeout=20)
    kinds = list(LEAVES)
    if not os.path.getsize(os.path.join(m.dir, "blocks")):
        print("the temporary folder takes no direct writes: disk requests are not proved here")
        kinds.remove("WriteInit")

    trace, _ = record(m, "pointers", with_pointers, (SOME[0] + "+" + MORE[0], SOME[1] + "+" + MORE[1], "frame-pointers"), 120)
    prove(trace, with_pointers, kinds, False)

    trace, kept = record(m, "dwarf", without, (*SOME, "dwarf 4 KB"))
    prove(trace, without, [k for k in kinds if k in ("SampledProfile", "CSwitch", "ReadyThread", "WriteInit")], True)
    small, _ = record(m, "dwarf-calls", without, (*MORE, "dwarf 1 KB"))
    prove(small, without, ["DemandZeroFault", "SysClEnter"], True)

    # the same again by hand: every copy becomes a stack, and its end has a counted reason
    again = os.path.join(m.dir, "again.etl")
    n = json.loads(tool("merge", "--json", "-o", again, kept).stdout)["user_stacks"]
    copies = [r["count"] for r in json.loads(tool("summary", "--json", kept).stdout)["counts"] if r["event"] == "UserStack"][0]
    stacks = {t: tool("dump", "--json", "--provider", "StackWalk", t).stdout.splitlines() for t in (trace, again, kept)}
    check(n["copies"] == copies > 0 and n["left"] == 0 and n["complete"] + n["end_of_copy"] + n["no_table"] + n["too_long"] == copies, n, copies)
    check(len(stacks[again]) == len(stacks[trace]) == len(stacks[kept]) + copies, [len(s) for s in stacks.values()], copies)
    size = os.path.getsize(kept)
    print(f"{copies} copies in {size >> 10} KB, {size // copies} bytes each; merged {os.path.getsize(again) >> 10} KB;", n)
    rows = {r["event"]: r for r in json.loads(tool("summary", "--json", again).stdout)["stackQuality"]}
    check(all(r["complete"] + r["cut"] + r["unknown"] == r["stacks"] for r in rows.values()), "parts of one stack are counted twice", rows)

    # the unwinding program is missing: the copies stay, which is reported; a merge with the program makes stacks of them
    alone, left = os.path.join(m.dir, "autologger"), os.path.join(m.dir, "left.etl")
    shutil.copy(os.path.join(BUILD, "autologger"), alone)
    r = subprocess.run([alone, "merge", "-o", left, kept], capture_output=True, text=True, timeout=120)
    check(r.returncode == 0 and f"{copies} were left as they are: the program autologger-unwind is not installed" in r.stdout, r.stdout, r.stderr)
    tool("merge", "-o", again, left)
    # only of our own program: other files may have been removed or replaced by now
    def ours(lines):
        return [x for x in lines if json.loads(x)["fields"]["StackProcess"] == known]

    known = process_of(trace, without)
    later = tool("dump", "--json", "--provider", "StackWalk", again).stdout.splitlines()
    check(len(later) == len(stacks[trace]) and ours(later) == ours(stacks[trace]) != [], "merged later it is another trace")
