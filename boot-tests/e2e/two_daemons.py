"""Two daemons on one machine, told apart by their runtime folders: both record events of the kernel and of their own programs under the same names of
sessions, while one of them is killed and adopted; each file has all events of its own daemon's programs, and every process of the work. A third
daemon with the runtime folder of the first is refused, and makes no session or file; the first goes on. D-54."""
import collections
import json
import os
import signal
import subprocess

from harness import BUILD, Machine, check, skip

PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
DECLARED = f"""[GlobalLogger]
EnableKernelFlags = PROC_THREAD+LOADER+CSWITCH+FILE_IO+FILE_IO_INIT
StackWalkingFilter = CSwitch
BufferSize = 256 KB
MinimumBuffers = 16
MaximumBuffers = 128
MaxFileSize = 0
FileName = kernel.etl
[Autologger/programs]
MaxFileSize = 0
FileName = programs.etl
[Autologger/programs/numbered]
Guid = {PROVIDER}
"""
CHILDREN, EVENTS, REFUSED = 50, 2000, 111
if os.getuid() != 0:
    skip("kernel events need root")


def kernel_work(mark):
    """Runs CHILDREN programs, one after another, each of which opens a file with a name of its own. Returns each one's process id and command
    line."""
    made = []
    for i in range(CHILDREN):
        p = subprocess.Popen(["/bin/cat", f"/proc/self/{mark}-{i}"], stderr=subprocess.DEVNULL)
        p.wait(20)
        made.append((p.pid, f"/bin/cat /proc/self/{mark}-{i}"))
    return made


def program_work(machines, number):
    """A program of each daemon, at once and with the same number: in a wrong file its events would be there twice."""
    for p, _ in [m.writer(number, EVENTS, enabled=True) for m in machines]:
        check(p.wait(60) == 0, "a program ended with", p.returncode)


def events(m, *words):
    said = m.tool("dump", "--json", *words, os.path.join(m.logs, "kernel.etl")).stdout
    return [json.loads(line) for line in said.splitlines()]


def kernel_agrees(m, who, made):
    """Every program of the work has one start and one end in this daemon's file, no other program is there, and each file was opened once."""
    found = [(e["event"], e["fields"]) for e in events(m, "--provider", "Process")]
    for kind in ("Start", "End"):
        own = [(f["ProcessId"], f["CommandLine"]) for name, f in found if name == kind and f["ParentId"] == os.getpid() and f["ImageFileName"] == "cat"]
        check(own == made, who, "has", len(own), kind, "of", len(made), "programs, or others:", set(own) ^ set(made))
    opened = collections.Counter(e["fields"]["OpenPath"].rsplit("\\", 1)[-1] for e in events(m, "--provider", "FileIo") if e["event"] == "Create")
    once = [line for _, line in made if opened[line.rsplit("/", 1)[-1]] == 1]
    check(len(once) == len(made), who, "has", len(once), "of", len(made), "files opened")
    summary = json.loads(m.tool("summary", "--json", os.path.join(m.logs, "kernel.etl")).stdout)
    check(summary["inversions"] == 0 and not summary["damage"] and summary["stacks"]["events"] > 0, who, summary["damage"], summary["stacks"])
    print(who, len(made), "programs,", len(once), "files opened,", summary["stacks"]["events"], "stacks")


def rows_agree(m, who):
    for r in m.status()["sessions"]:
        print(who, r["name"], {k: r[k] for k in ("status", "attempted", "converted", "written")}, "lost", r["lost"]["total"])
        check(r["status"] == 0 and r["lost"]["total"] == 0, who, r)
        check(not [c for c in r["conditions"] if not c["note"]], who, r["conditions"])


def third_is_refused(first):
    """By the lock of the runtime folder, whatever its store and log folder are."""
    with Machine(DECLARED) as third:
        for words in ([], ["--keep"], ["--keep", "--boot"]):
            r = subprocess.run([os.path.join(BUILD, "autologgerd"), *words, "--store", third.store, "--log-dir", third.logs,
                                "--runtime-dir", first.runtime], capture_output=True, text=True, timeout=20, check=False)
            check(r.returncode == REFUSED, "a third daemon ended with", r.returncode, r.stderr)
            check("another daemon holds the lock" in r.stderr and "--runtime-dir" in r.stderr, "it said", r.stderr)
        check(not os.listdir(third.logs), "it left", os.listdir(third.logs))
        check(not third.status()["sessions"], "it left Status", third.status())


with Machine(DECLARED) as first, Machine(DECLARED) as second:
    both = [first, second]
    first.start()
    alone = kernel_work("alone")
    program_work([first], 0)
    second.start()
    shared = kernel_work("together")
    program_work(both, 1)
    before = first.daemon_pid(), second.daemon_pid()
    third_is_refused(first)
    os.kill(before[1], signal.SIGKILL)
    shared += kernel_work("adopted")
    second.wait_ready()
    program_work(both, 2)
    check(first.daemon_pid() == before[0], "the first daemon did not live on")
    second.shutdown()
    after = kernel_work("after")
    program_work([first], 3)
    first.shutdown()

    kernel_agrees(first, "first", alone + shared + after)
    kernel_agrees(second, "second", shared)
    for m, who, numbers in ((first, "first", [0, 1, 2, 3]), (second, "second", [1, 2])):
        rows_agree(m, who)
        mine = [os.path.join(m.dir, f"tally-{n}") for n in range(4)]
        for n in set(range(4)) - set(numbers):  # an empty tally: any event of that program would count as invented
            check(not os.path.exists(mine[n]), mine[n])
            with open(mine[n], "wb") as f:
                f.write(bytes(40))
        got = m.verify(os.path.join(m.logs, "programs.etl"), mine)
        check(got["events"] == len(numbers) * EVENTS and got["events_lost"] == 0 and got["missing"] == 0, who, got)
