"""The state by events alone: a tree of processes is stopped at 100 moments, and the trace's state at each moment (living processes, with parent and
command line; their threads, each with its last processor and its wait; open disk I/Os) equals that of /proc and /sys at the time. The I/Os are writes
to a loop device whose file lies in a frozen file system: open until it thaws. The rundowns have all that lives when the session begins, and when it
ends: each program's process with its parent, its threads, and the images of this one.
Proves: KRN-03, KRN-05, KRN-24, and issue 4 "the state rebuilt from events alone"."""
import datetime
import fcntl
import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time

from harness import BUILD, Machine, check, no_idle, skip

MOMENTS, WAITING, SUSPENDED, WRITES = 100, 5, 5, 32
FIFREEZE, FITHAW = 0xC0045877, 0xC0045878 # linux/fs.h
DECLARED = """[GlobalLogger]
EnableKernelFlags = PROC_THREAD+LOADER+CSWITCH+DISK_IO+DISK_IO_INIT
BufferSize        = 1024 KB
MinimumBuffers    = 16
MaximumBuffers    = 256
FileName          = C:\\state.etl
"""
SWITCH = re.compile(r'.*?"cpu":(\d+),.*"event":"CSwitch","fields":.*"NewThreadId":(\d+),"OldThreadId":(\d+),.*"OldThreadWaitReason":(-?\d+),'
                    r'.*"OldThreadState":(-?\d+),')
TREE = os.path.join(BUILD, "tests", "tree")
if os.getuid() != 0:
    skip("kernel events need root")


def sh(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


class SlowDisk:
    """A loop device that accepts writes but does not complete them while it is frozen."""

    def __init__(self, folder):
        self.why, self.folder, self.loops = None, os.path.join(folder, "slow"), []
        needed = [x for x in ("losetup", "mkfs.ext4") if not shutil.which(x)]
        if needed:
            self.why = f"{' '.join(needed)}: missing"
            return
        try:
            os.mkdir(self.folder)
            with tempfile.NamedTemporaryFile(dir="/dev/shm" if os.path.isdir("/dev/shm") else folder) as outer: # in memory: each freeze writes all of it out
                self.image(outer.name, 64 << 20)
            sh("mkfs.ext4", "-q", self.loops[0])
            sh("mount", self.loops[0], self.folder)
            self.image(os.path.join(self.folder, "inner"), 16 << 20)
        except subprocess.CalledProcessError as e:
            self.why = e.stderr.strip()
            self.remove()

    def image(self, path, size):
        with open(path, "wb") as f:
            f.write(bytes(size)) # allocated, so that later writes need no free blocks
        self.loops.append(sh("losetup", "--find", "--show", path))

    def freeze(self, on):
        fd = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, FIFREEZE if on else FITHAW, 0)
        finally:
            os.close(fd)

    def open_now(self):
        with open(f"/sys/block/{os.path.basename(self.loops[1])}/inflight") as f:
            return sum(int(x) for x in f.read().split())

    def remove(self):
        try:
            self.freeze(False)
        except OSError:
            pass # it is not frozen
        if len(self.loops) > 1:
            subprocess.run(["losetup", "--detach", self.loops[1]])
        for _ in range(200): # a program that probes new devices may have it open
            if not os.path.ismount(self.folder) or subprocess.run(["umount", self.folder], capture_output=True).returncode == 0:
                break
            time.sleep(0.05)
        if self.loops:
            subprocess.run(["losetup", "--detach", self.loops[0]])


def stat(path):
    """(pid, comm, state, parent, group, processor), or None when it is gone."""
    try:
        with open(path + "/stat") as f:
            text = f.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    rest = text[text.rindex(")") + 2:].split()
    return int(text.split()[0]), text[text.index("(") + 1:text.rindex(")")], rest[0], int(rest[1]), int(rest[2]), int(rest[36])


def tree_now(roots):
    """pid -> its stat, of the roots and all below them; here a parent outlives its children"""
    found, left = {}, list(roots)
    while left:
        pid = left.pop()
        s = stat(f"/proc/{pid}")
        if not s:
            continue
        found[pid] = s
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children") as f:
                    left += map(int, f.read().split())
        except (FileNotFoundError, ProcessLookupError):
            pass # it is ending: looked up again
    return found


def threads_of(pid):
    return [s for s in (stat(f"/proc/{pid}/task/{t}") for t in os.listdir(f"/proc/{pid}/task")) if s]


def stopped(roots):
    """Waits until all threads of the tree are stopped (or have ended); returns them."""
    for _ in range(2000):
        found = tree_now(roots)
        try:
            threads = {pid: threads_of(pid) for pid, s in found.items() if s[2] not in "ZX"}
        except (FileNotFoundError, ProcessLookupError):
            continue
        if all(t[2] in "TZX" for ts in threads.values() for t in ts):
            return found, threads
        time.sleep(0.001)
    check(False, "the tree does not stop:", found)


def moment(group, roots, disk, writes):
    os.killpg(group, signal.SIGSTOP)
    stopped(roots)
    time.sleep(0.002)
    found, threads = stopped(roots) # looked up twice: the state holds before and after
    at = time.clock_gettime_ns(time.CLOCK_REALTIME)
    text = datetime.datetime.fromtimestamp(at // 10**9, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S") + f".{at % 10**9:09}Z"
    seen = {"at": text, "open": disk.open_now() if not disk.why else 0, "writes": writes, "processes": {}, "threads": {}}
    for pid, s in found.items():
        if s[2] in "ZX":
            continue
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            command = f.read().rstrip(b"\0").replace(b"\0", b" ").decode()
        seen["processes"][pid] = (s[3], command)
        seen["threads"].update({t[0]: t[5] for t in threads[pid] if t[2] == "T"})
    time.sleep(0.002)
    os.killpg(group, signal.SIGCONT)
    return seen


def record(m, disk):
    """The moments, with the state from /proc."""
    tree = subprocess.Popen([TREE, "run"], process_group=0)
    m.processes.append(tree)
    group, io, moments = tree.pid, None, []

    def ask(what):
        io.stdin.write(what + "\n")
        io.stdin.flush()
        return io.stdout.readline().strip()

    if not disk.why:
        io = subprocess.Popen([TREE, "io", disk.loops[1]], process_group=group, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        m.processes.append(io)
        check(io.stdout.readline() == "ready\n", "the program that writes does not begin")
    try:
        for _ in range(MOMENTS):
            time.sleep(random.uniform(0.002, 0.02))
            writes = random.randint(0, WRITES)
            if io:
                disk.freeze(True)
                check(int(ask(str(writes))) == writes, "not all writes were taken")
            moments.append(moment(group, [group] + ([io.pid] if io else []), disk, writes if io else 0))
            if io:
                disk.freeze(False)
                check(ask(".") == "0", "the writes do not end")
    finally:
        os.killpg(group, signal.SIGKILL)
    for p in (tree, io):
        if p:
            p.wait()
    return group, io.pid if io else None, moments


class State:
    """The state by events, one after another."""

    def __init__(self, roots):
        self.roots, self.kept_back = frozenset(roots), 0
        self.tree, self.process, self.thread, self.out, self.running, self.io = set(roots), {}, {}, {}, {}, {}

    def switch(self, cpu, new, old, reason, state):
        self.running[cpu] = new
        self.out[old] = (cpu, state, reason)

    def event(self, e):
        kind, f = (e["provider"].get("name"), e["event"]), e["fields"]
        if kind[0] == "Process" and kind[1] in ("Start", "DCStart"):
            self.process[f["ProcessId"]] = (f["ParentId"], f["CommandLine"])
            if f["ParentId"] in self.tree:
                self.tree.add(f["ProcessId"])
        elif kind == ("Process", "End"):
            self.process.pop(f["ProcessId"], None)
            self.tree -= {f["ProcessId"]} - self.roots
        elif kind[0] == "Thread" and kind[1] in ("Start", "DCStart"):
            self.thread[f["TThreadId"]] = f["ProcessId"]
        elif kind == ("Thread", "End"):
            self.thread.pop(f["TThreadId"], None)
        elif kind[0] == "DiskIo" and kind[1] in ("ReadInit", "WriteInit"):
            self.io[f["Irp"]] = f["IssuingThreadId"]
        elif kind[0] == "DiskIo" and kind[1] in ("Read", "Write"):
            self.io.pop(f["Irp"], None)

    def compare(self, want, io_pid, withheld):
        mine = {pid: self.process[pid] for pid in self.tree if pid in self.process}
        check(mine == want["processes"], "live processes differ: only in the trace", {k: v for k, v in mine.items() if want["processes"].get(k) != v},
              "only in /proc", {k: v for k, v in want["processes"].items() if mine.get(k) != v})
        threads = {t for t, pid in self.thread.items() if pid in mine}
        check(threads == set(want["threads"]), "threads differ: only in the trace", threads - set(want["threads"]), "only in /proc",
              set(want["threads"]) - threads)
        check(not threads & set(self.running.values()), "stopped, and running by the trace:", threads & set(self.running.values()))
        for tid, cpu in want["threads"].items():
            check(self.out.get(tid) == (cpu, WAITING, SUSPENDED), "thread", tid, "was last on", cpu, "by /proc; the trace has", self.out.get(tid))
        mine = sum(tid == io_pid for tid in self.io.values())
        # requests whose completions the kernel withheld (and counted as withheld) look open
        check(want["open"] == want["writes"] and 0 <= mine - want["open"] <= withheld, "open I/Os:", mine, "by the trace,", want["open"], "by /sys,",
              want["writes"], "were begun; withheld by the kernel:", withheld)
        self.kept_back = max(self.kept_back, mine - want["open"])


def living():
    """pid -> parent and threads of each running program; a trace has the kernel's own threads as one process"""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            s, threads = stat(f"/proc/{pid}"), {int(t) for t in os.listdir(f"/proc/{pid}/task")}
        except (FileNotFoundError, ProcessLookupError):
            continue
        if s and s[2] not in "ZX" and 2 not in (s[0], s[3]):
            found[s[0]] = s[3], threads
    return found


def through(before, after):
    """Processes and threads that lived all the time between."""
    return {pid: (parent, threads & after[pid][1]) for pid, (parent, threads) in before.items() if pid in after and after[pid][0] == parent}


def images():
    """The code files that this process has mapped."""
    with open("/proc/self/maps") as f:
        rows = [line.split(maxsplit=5) for line in f]
    return {row[5].strip() for row in rows if len(row) == 6 and "x" in row[1] and row[5].startswith("/")}


def check_rundown(trace, kind, lived, withheld=0):
    """DCStart or DCEnd of everything that lived around it. A process whose parent ended while it was traced keeps that parent, as on Windows, whereas
    /proc has its new one; a process whose events this kernel withholds from every tracer has no parent."""
    text = subprocess.run([os.path.join(BUILD, "autologger"), "dump", "--json", *(x for p in ("Process", "Thread", "Image") for x in ("--provider", p)),
                           "--match", kind, trace], capture_output=True, text=True, check=True).stdout
    told = {"Process": {}, "Thread": set(), "Image": set()}
    for e in map(json.loads, text.splitlines()):
        f, of = e["fields"], e["provider"]["name"]
        if e["event"] != kind:
            continue
        if of == "Process":
            told[of][f["ProcessId"]] = f["ParentId"]
        elif of == "Thread":
            told[of].add((f["ProcessId"], f["TThreadId"]))
        elif f["ProcessId"] == os.getpid():
            told[of].add(f["FileName"].replace("\\Device\\HarddiskVolume1", "").replace("\\", "/"))
    threads = {(pid, t) for pid, (_, all_of_it) in lived.items() for t in all_of_it}
    wrong = {pid: (parent, told["Process"].get(pid)) for pid, (parent, _) in lived.items() if told["Process"].get(pid) != parent}
    wrong = {pid: (parent, said) for pid, (parent, said) in wrong.items()
             if said is None or kind == "DCStart" or (said == 0 and not withheld) or (said and said in lived)}
    names = {pid: subprocess.run(["ps", "-o", "lstart=,ppid=,nlwp=,args=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout.strip() for pid in wrong}
    check(lived and not wrong, kind, "processes, by /proc and by the trace:", wrong, names, "withheld", withheld)
    check(threads <= told["Thread"], kind, "threads that are missing:", threads - told["Thread"])
    check(images() and images() <= told["Image"], kind, "images of this process that are missing:", images() - told["Image"])
    print(f"{kind}: {len(lived)} processes, {len(threads)} threads, {len(images())} images of this one")


with Machine(DECLARED) as m:
    disk = SlowDisk(m.dir)
    if disk.why:
        print("open I/Os are not looked at:", disk.why)
    before = living()
    m.start()
    time.sleep(0.5)
    started = through(before, living())
    try:
        with no_idle():
            root, io_pid, moments = record(m, disk)
    finally:
        disk.remove()
    before = living()
    last = json.loads(m.tool("stop", "--json", "NT Kernel Logger", timeout=120).stdout)
    ended = through(before, living())
    m.shutdown()
    check(last["events_lost"] == last["withheld"], last)
    trace, compared = os.path.join(m.logs, "c", "state.etl"), []
    check_rundown(trace, "DCStart", started)
    check_rundown(trace, "DCEnd", ended, last["withheld"])
    state = State({root, io_pid} - {None})
    dump = subprocess.Popen([os.path.join(BUILD, "autologger"), "dump", "--json", *(x for p in ("Process", "Thread", "DiskIo") for x in ("--provider", p)),
                             trace], stdout=subprocess.PIPE, text=True)
    waiting = list(moments)
    for line in dump.stdout:
        while waiting and line[9:9 + len(waiting[0]["at"])] > waiting[0]["at"]: # {"time":"2026-...Z",
            state.compare(waiting[0], io_pid, last["withheld"])
            compared.append(waiting.pop(0))
        switch = SWITCH.match(line) # the bulk of the trace: parsed without JSON
        if switch:
            state.switch(*map(int, switch.groups()))
        else:
            state.event(json.loads(line))
    check(dump.wait() == 0 and not waiting, "moments behind the end of the trace:", len(waiting))
    print(f"{len(compared)} moments: {min(len(x['processes']) for x in compared)} to {max(len(x['processes']) for x in compared)} processes, "
          f"{sum(len(x['threads']) for x in compared)} threads, {len({p for x in compared for p in x['processes']})} different processes, "
          f"{sum(x['open'] for x in compared)} open writes; withheld by the kernel {last['withheld']}, of them at most {state.kept_back} of these writes' ends")
    check(len(compared) == MOMENTS and len({p for x in compared for p in x["processes"]}) > 50, "too little has happened")
