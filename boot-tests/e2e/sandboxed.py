"""Processes that read the bytes of other users have no rights: the daemon's process that merges a boot, under the shipped unit's rights, and
autologger-unwind, by the kernel's own report of them while they run. Its merge, of kernel events with copied stacks and names of functions, equals a
merge of the same files with all rights. After a merge that crashes, the boot's rows say so, its files stay, and the daemon goes on.
dump, analyse, summary, why, report, compare, merge, relog, convert and tracerpt, run by root, give up all rights that reading does not need.
Proves: issue 15, finding F12."""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

os.environ["AL_AS_SHIPPED"] = "1"
from boot_end_machine import Boots  # noqa: E402
from harness import BUILD, check, skip, tool  # noqa: E402

if os.getuid() != 0:
    skip("needs root, whose rights are given up")
KERNEL = """[Boot]
StopAfter = 3 s
[GlobalLogger]
EnableKernelFlags  = PROC_THREAD+LOADER+PROFILE
StackWalkingFilter = Profile
UserStacks         = dwarf 2 KB
BufferSize         = 256 KB
MaximumBuffers     = 128
FileName           = C:\\k_km_premerge.etl
"""


def status(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
            return {k: v.split() for k, v in (line.split(":", 1) for line in f if ":" in line)}
    except (FileNotFoundError, ProcessLookupError):
        return {}


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            return [int(p) for p in f.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def no_rights(who, s):
    print(who, {k: s.get(k) for k in ("Uid", "Gid", "Groups", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp", "Seccomp_filters")})
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        check(int(s[name][0], 16) == 0, who, name, s[name])
    check("0" not in s["Uid"] and "0" not in s["Gid"] and not s["Groups"], who, s["Uid"], s["Gid"], s["Groups"])
    check(s["NoNewPrivs"] == ["1"] and s["Seccomp"] == ["2"], who, s["NoNewPrivs"], s["Seccomp"])


def hosts(runtime):
    """The processes that merge for the daemon of this folder, recognised by their environment."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii", errors="replace") as f:
                if f.read() != "merge-host\n":
                    continue
            with open(f"/proc/{pid}/environ", "rb") as f:
                if runtime.encode() + b"/" in f.read():
                    yield int(pid)
        except OSError:
            pass


class Guests(threading.Thread):
    """The kernel's status of the merging processes' children, the last of each; `signal_` is sent to the first child without rights."""

    def __init__(self, runtime, signal_=None):
        super().__init__(daemon=True)
        self.runtime, self.signal, self.seen, self.over = runtime, signal_, {}, False
        self.start()

    def run(self):
        while not self.over:
            for child in hosts(self.runtime):
                for guest in children(child):
                    s = status(guest)
                    if "CapEff" in s and s["State"][0] != "Z":
                        self.seen[guest] = s
                    if self.signal and s.get("Uid", ["0"])[0] != "0":
                        os.kill(guest, self.signal)
                        self.signal = None
            time.sleep(0.0005)

    def end(self):
        self.over = True
        self.join()
        return self.seen


def unwinder():
    ours, its = socket.socketpair()
    p = subprocess.Popen([os.path.join(BUILD, "autologger-unwind")], stdin=its)
    its.close()
    end = time.time() + 10
    while status(p.pid).get("Seccomp") != ["2"] and time.time() < end:
        time.sleep(0.01)
    no_rights("autologger-unwind", status(p.pid))
    check(sorted(os.listdir(f"/proc/{p.pid}/fd")) == ["0", "1", "2"], os.listdir(f"/proc/{p.pid}/fd"))
    ours.close()
    check(p.wait(10) == 0, "autologger-unwind ended with", p.returncode)


def events(trace, pids):
    """The trace's events as lines, with names of functions, without the merge's events about itself. Between two merges BPF programs and other
    programs' files come and go: only the stacks of these processes count."""
    lines = (re.sub(r'{"address":"0xffffffffc[^}]*}', "", x) for x in tool("dump", "--json", "--symbols", trace).stdout.splitlines())
    kept = [x for x in lines if not any(w in x for w in ('"Autologger-Merge"', '"EventTrace"', "bpf_prog_", '"symbols":', '"Name":"bpf"'))]
    return [x for x in kept if '"name":"StackWalk"' not in x or any(f'"StackProcess":{pid},' in x for pid in pids)]


def merged():
    with Boots(KERNEL) as m:
        m.boot(extra=("--keep-premerge",))
        guests = Guests(m.runtime)
        busy = subprocess.Popen([sys.executable, "-c", "import time\nend = time.time() + 3\nwhile time.time() < end: sum(range(1000))"])
        w, _ = m.writer(0, 20000)
        busy.wait(30)
        w.wait(30)
        m.wait_stopped(20)
        end = time.time() + 60
        while not m.status()["merged"] and time.time() < end:
            time.sleep(0.1)
        s = m.status()
        seen = guests.end()
        check(s["merged"], "not merged:", s)
        merges = {pid: x for pid, x in seen.items() if x["Name"] != ["autologger-unwi"]}
        check(len(merges) == 1 and len(seen) >= 2, "not the processes that are meant:", {pid: x["Name"] for pid, x in seen.items()})
        for pid, x in seen.items():
            no_rights(" ".join(x["Name"]), x)
        files = [os.path.join(d, f) for d, _, names in os.walk(m.logs) for f in names if "premerge" in f or f == "other.etl"]
        check(len(files) == 3, files)
        again = os.path.join(m.dir, "again.etl")
        r = json.loads(tool("merge", "--json", "--one-boot", "-o", again, *files).stdout)
        check(r["user_stacks"]["copies"] > 20 and not r["user_stacks"]["left"], "no copies of stacks were unwound:", r["user_stacks"])
        pids = (busy.pid, w.pid)
        with_rights, without = events(again, pids), events(s["merged"], pids)
        stacks = sum('"name":"StackWalk"' in x for x in without)
        check(stacks > 20 and any('"function":' in x for x in without), "stacks of the two programs:", stacks)
        if with_rights != without:
            either = set(with_rights) ^ set(without)
            check(False, "another merge:", len(with_rights), len(without), [x for x in zip(with_rights, without) if x[0] != x[1]][:2], list(either)[:4])
        print(len(without), "events are the same,", r["user_stacks"])
        front = json.loads(m.tool("why", "--json", "--store", m.store).stdout)
        check(front["trace"] == s["merged"] and front["sentence"], "why finds another trace:", front)
        reads(s["merged"], os.path.join(m.dir, "page.html"))
        m.shutdown()


def reads(trace, page):
    """The commands that read another user's file, run by root: they keep only CAP_DAC_READ_SEARCH and CAP_SYSLOG. Their outputs are written all the
    same."""
    made = [page + end for end in ("", ".etl", ".part", ".pftrace", ".csv", ".compared.html")]
    for words in (["dump", "--symbols", trace], ["analyse", "stats", trace], ["summary", "--symbols", trace], ["why", trace], ["report", trace, "-o", page, "--text"],
                  ["merge", trace, "-o", made[1]], ["relog", trace, "-o", made[2]], ["convert", trace, "--to", "perfetto", "-o", made[3]],
                  ["tracerpt", trace, "-of", "CSV", "-o", made[4]], ["compare", trace, trace, "-o", made[5]]):
        p = subprocess.Popen([os.path.join(BUILD, "autologger"), *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seen = {}
        while p.poll() is None:
            for pid in [p.pid, *children(p.pid)]:
                s = status(pid)
                if s.get("Seccomp") == ["2"]:
                    seen[pid] = s
        check(p.returncode in (0, 1) and len(seen) == (2 if words[0] == "compare" else 1), words[0], p.returncode, "processes without rights:", len(seen))
        for s in seen.values():
            print(words[0], {k: s[k] for k in ("CapEff", "NoNewPrivs", "Seccomp")})
            check(int(s["CapEff"][0], 16) & ~(1 << 2 | 1 << 34) == 0 and s["NoNewPrivs"] == ["1"], words[0], s["CapEff"], s["NoNewPrivs"])
    check(all(os.path.getsize(path) > 10000 for path in made), [(path, os.path.getsize(path)) for path in made])


def crashed():
    with Boots("[Boot]\nStopAfter = 2 s\n") as m:
        m.boot()
        guests = Guests(m.runtime, signal.SIGSEGV)
        w, tally = m.writer(0, 200000)
        w.wait(60)
        m.wait_stopped(20)
        end, said = time.time() + 20, ""
        while "signal 11" not in said and time.time() < end:
            time.sleep(0.1)
            said = json.dumps(m.status())
        guests.end()
        check("was ended by the signal 11 (Segmentation fault)" in said, "the crash is not said:", said)
        check(sorted(m.premerge()) == ["boot_TEST_1_um_premerge.etl", "other.etl"], "files are gone, or rubbish was left:", m.premerge())
        m.tool("start", "after", "-o", "after.etl", "--provider", "{5ca1ab1e-7e57-0001-8000-000000000001}")  # the daemon still serves
        m.tool("stop", "after")
        v = m.verify(os.path.join(m.logs, "c", "boot", "boot_TEST_1_um_premerge.etl"), [tally])
        check(v["missing"] == 0 and v["damage"] == 0 and v["events"] + v["events_lost"] == 200000, "events are missing:", v)
        m.shutdown()


unwinder()
merged()
crashed()
