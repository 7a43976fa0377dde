"""Order: a thread's events, the kernel's events of it, and its switches leave the merge in their true order: 100,000 turns of two threads, each with
an event, a system call, an event and a switch within microseconds, from three sessions of one boot.
Proves: CTL-10, MRG-09, and issue 4 "kernel and user event of the same thread ... ordered correctly in 100,000 of 100,000 cases"."""
import json
import os
import subprocess

from harness import BUILD, Machine, check, no_idle, skip

TURNS = 100000
DECLARED = """[GlobalLogger]
EnableKernelFlags = PROC_THREAD+CSWITCH
BufferSize        = 1024 KB
MinimumBuffers    = 16
MaximumBuffers    = 128
FileName          = C:\\kernel.etl
[Autologger/user]
BufferSize     = 1024 KB
MinimumBuffers = 32
MaximumBuffers = 128
FileName       = C:\\user.etl
[Autologger/user/order]
Guid = {0de2c0de-7e57-0001-8000-000000000001}
[Autologger/points]
BufferSize     = 1024 KB
MinimumBuffers = 16
MaximumBuffers = 128
FileName       = C:\\points.etl
[Autologger/points/enter]
Tracepoint       = syscalls:sys_enter_getpgid
TracepointFilter = pid == 0x3ffffff0
[Autologger/points/exit]
Tracepoint       = syscalls:sys_exit_getpgid
"""
if os.getuid() != 0:
    skip("kernel events need root")
if not os.path.isdir("/sys/kernel/tracing/events/syscalls/sys_enter_getpgid"):
    skip("this kernel has no tracepoints of system calls (CONFIG_FTRACE_SYSCALLS)")



def recorded(m):
    """The threads' ids, once they were recorded without a loss; None: the machine was too busy for that, which the file shows."""
    m.start()
    with no_idle():
        r = subprocess.run([os.path.join(BUILD, "tests", "order_writer"), str(TURNS)], env=m.env, capture_output=True, text=True, timeout=120)
    check(r.returncode == 0, "order_writer", r.returncode, r.stdout, r.stderr)
    words = r.stdout.split()
    rows = [json.loads(m.tool("stop", "--json", name, timeout=120).stdout) for name in ("NT Kernel Logger", "user", "points")]
    m.shutdown()
    lost = {row["name"]: row["events_lost"] - row["withheld"] for row in rows}
    print("refused", words[4], "lost", lost)
    return None if any(lost.values()) or words[4] != "0" else (words[1], words[2])


for _ in range(3):
    with Machine(DECLARED) as m:
        tids = recorded(m)
        if not tids:
            continue
        parts = [os.path.join(m.logs, "c", x + ".etl") for x in ("kernel", "user", "points")]
        merged = os.path.join(m.dir, "merged.etl")
        m.tool("merge", *parts, "--output", merged)
        r = subprocess.run([os.path.join(BUILD, "tests", "order_verify"), merged, *tids], capture_output=True, text=True, timeout=120)
        print(r.stdout.strip(), r.stderr.strip())
        check(r.returncode == 0 and f"turns={TURNS} right={TURNS} " in r.stdout, "order_verify", r.returncode)
        break
else:
    check(False, "events were lost each time")
