"""The kernel changes its clocksource while sessions run (its watchdog finds the TSC unsteady, or the TSC has become ready), and the daemon is killed:
its successor keeps the sessions' clock. So the times of a file lie on one line, whatever the kernel uses by then,
and a new session of the same boot has that clock too. Proves: SES-15."""
import ctypes
import json
import os
import platform
import signal
import struct
import subprocess
import time
from datetime import datetime

from harness import Machine, check, skip

SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
DECLARED = f"""
[Autologger/kept]
ClockType = CPUCycle
FileName = kept.etl
[Autologger/kept/numbered]
Guid = {PROVIDER}
"""
CLONE_NEWNS = 0x20000
BUFFER, HEADER_AT_CPU_MHZ = 4096, 72 + 32 + 52  # buffer's header, event's header, TRACE_LOGFILE_HEADER.CpuSpeedInMHz

if os.getuid() != 0:
    skip("needs root, for a mount namespace")
with open("/proc/cpuinfo", encoding="utf-8") as f:
    flags = f.read().split("flags", 1)[-1].split("\n", 1)[0].split()
if platform.machine() != "x86_64" or not {"constant_tsc", "nonstop_tsc"} <= set(flags):
    skip("this processor has no TSC that counts always")


def says(clocksource):
    with open(said, "w", encoding="ascii") as f:
        f.write(clocksource + "\n")


def event(m, number):
    """Has a program write an event: the system's time before and after."""
    before = time.time()
    p, _ = m.writer(number, 1, enabled=True)
    check(p.wait(20) == 0, "writer")
    return before, time.time()


def seconds(m, name):
    """The time of each event: seconds since 1970."""
    r = m.tool("dump", "--format", "json", os.path.join(m.logs, name))
    rows = [json.loads(line) for line in r.stdout.splitlines() if line.startswith("{")]
    dates = [e["time"] for e in rows if e["id"] == 77]
    return [datetime.fromisoformat(d[:26] + "+00:00").timestamp() for d in dates]


def turns(before, after, cycles):
    """cycles: the boot's sessions use the TSC."""
    with Machine(DECLARED) as m:
        os.environ["AUTOLOGGER_CLOCK"] = os.path.join(m.dir, "clock")
        says(before)
        m.start()
        moments = [event(m, 1)]
        says(after)
        os.kill(m.daemon_pid(), signal.SIGKILL)
        time.sleep(0.3)
        m.wait_ready()
        moments.append(event(m, 2))
        m.tool("start", "late", "-o", "late.etl", "--provider", PROVIDER, "--set", "ClockType=CPUCycle")
        moments.append(event(m, 3))
        for verb in ("query", "stop"):
            told = [c for c in json.loads(m.tool(verb, "--json", "late").stdout)["conditions"] if c["item"] == "ClockType"]
            check(len(told) == (0 if cycles else 1) and all(c["number"] == 50 and "so QPC is used" in c["reason"] for c in told), before, after, verb, told)
        with open(os.path.join(m.dir, "clock"), encoding="ascii") if cycles else open(os.devnull, encoding="ascii") as f:
            kept = int((f.read().split() or [0, 0])[1])
        m.shutdown()
        for name, wanted in (("kept.etl", moments), ("late.etl", moments[2:])):
            info = json.loads(m.tool("summary", "--json", os.path.join(m.logs, name)).stdout)["header"]
            check(info["clockType"] == (3 if cycles else 1), before, after, name, "clock", info["clockType"])
            with open(os.path.join(m.logs, name), "rb") as f:
                mhz, = struct.unpack_from("<I", f.read(BUFFER), HEADER_AT_CPU_MHZ)
            check(not cycles or mhz == round(kept / 1e6), before, after, name, mhz, "MHz, the TSC has", kept)
            times = seconds(m, name)
            check(len(times) == len(wanted), before, after, name, times)
            for at, (first, last) in zip(times, wanted):
                check(first - 0.05 <= at <= last + 0.05, before, after, name, "an event of", first, "to", last, "has the time", at)
        print(before, "then", after, "two files, each time is the moment's")


libc = ctypes.CDLL(None, use_errno=True)
check(libc.unshare(CLONE_NEWNS) == 0, "unshare", ctypes.get_errno())
subprocess.run(["mount", "--make-rprivate", "/"], check=True)
said = f"/dev/shm/clocksource-{os.getpid()}"
try:
    says("tsc")
    subprocess.run(["mount", "--bind", said, SOURCE], check=True)
    turns("tsc", "hpet", True)
    turns("hpet", "tsc", False)
finally:
    os.unlink(said)
