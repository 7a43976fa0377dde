"""MaximumBuffers of a session of kernel events changes while nothing goes to its file: only the logger's thread is held, as a disk would hold it. The
new bound keeps what the old one loses; a killed daemon's successor has the same bound; then it becomes less again, under load.
Attempted = written + lost over all of it. Proves: SES-08; issue 4, UPDATE of a running session."""
import ctypes
import json
import os
import signal
import subprocess
import sys
import time

from harness import Machine, check, skip

if os.getuid() != 0:
    skip("kernel events need root")

DECLARED = """
[GlobalLogger]
EnableKernelFlags = PROC_THREAD+SYSCALL
BufferSize = 256 KB
MinimumBuffers = 16
MaximumBuffers = 128
FileName = kernel.etl
MaxFileSize = 0
"""
NAME = "NT Kernel Logger"
CALLS = 20000
SEIZE, INTERRUPT, WALL = 0x4206, 0x4207, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def ptrace(request, tid):
    if libc.ptrace(request, tid, None, None) < 0:
        skip(f"a thread may not be held here: {os.strerror(ctypes.get_errno())}")


def hold(pid):
    """Holds only the logger's thread of the daemon."""
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm") as f:
            if f.read().strip() == NAME[:15]:
                ptrace(SEIZE, int(tid))
                ptrace(INTERRUPT, int(tid))
                os.waitpid(int(tid), WALL)  # the thread is stopped
                return int(tid)
    check(False, "the daemon has no logger thread")


def load():
    subprocess.run([sys.executable, "-c", f"import os\nfor i in range({CALLS}): os.getppid()"], check=True)
    time.sleep(0.3)  # the drainer empties the rings


def maximum(m, buffers):
    out = m.tool("update", NAME, "--maximum-buffers", str(buffers))
    q = json.loads(m.tool("query", NAME, "--json").stdout)
    return q["maximum_buffers"], out.stdout + out.stderr


def lost(m):
    q = json.loads(m.tool("query", NAME, "--json").stdout)
    check(q["lost_conversion"] == q["lost_file"] == 0, "lost elsewhere", q)
    return q["lost_memory"]


with Machine(DECLARED) as m:
    m.start()
    time.sleep(0.3)
    pid = m.daemon_pid()
    check(lost(m) == 0, "lost before anything happens", lost(m))
    thread = hold(pid)
    rounds = 0
    while not lost(m):
        check(rounds < 100, "128 buffers hold all of it")
        load()
        rounds += 1
    load()
    before = lost(m)
    got, said = maximum(m, 500)
    check(got == 500, "more while the file is stuck", got, said)
    held = lost(m)
    load()
    now = lost(m)
    print(f"full after {rounds} loads; lost with 128 buffers {before}, with 500 {now - held}")
    check(now == held, "the new bound loses too", held, now)
    os.kill(pid, signal.SIGKILL)  # the events in memory are in no file yet
    os.waitpid(thread, WALL)  # a tracer learns of its thread's death before anyone learns of the daemon's
    m.wait_ready()
    check(json.loads(m.tool("query", NAME, "--json").stdout)["maximum_buffers"] == 500, "a successor has what was given")
    m.tool("flush", NAME)  # on a busy machine the waiting events fill nearly all the room
    held = lost(m)
    load()
    check(lost(m) == held, "what goes to the file again makes room", held, lost(m))
    got, said = maximum(m, 1 << 20)
    check(got == 512 and "address space" in said, "as far as there is address space", got, said)
    got, said = maximum(m, 64)
    check(got == 64, "less", got, said)
    load()
    m.shutdown()
    row = m.status()["sessions"][0]
    print({k: row[k] for k in ("attempted", "converted", "written", "lost")})
    check(row["status"] == 0, row)
    check(row["attempted"] == row["converted"] + row["lost"]["total"], "attempted = written + lost", row)
    summary = json.loads(m.tool("summary", "--json", os.path.join(m.logs, "kernel.etl")).stdout)
    check(summary["inversions"] == 0 and not summary["damage"], summary["inversions"], summary["damage"])
