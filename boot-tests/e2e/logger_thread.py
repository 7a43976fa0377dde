"""The thread of each session: what it waits for and what it writes; a real-time session's events, which arrive later and in order, its backup file,
and consumers that come and go.
Proves: LGT-01, LGT-02, LGT-03, LGT-04, LGT-06, LGT-08, LGT-09, LGT-10, LGT-11, LGT-12."""
import json
import os
import re
import shutil
import struct
import subprocess
import time

from harness import BUILD, Machine, check

PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
SIZES = ("--set", "BufferSize=16KB", "--set", "MinimumBuffers=16", "--set", "MaximumBuffers=64")


def query(m, name):
    return json.loads(m.tool("query", name, "--json").stdout)


def buffers(m, name):
    q = query(m, name)
    return (q[0] if isinstance(q, list) else q.get("session", q))["buffers_written"]


def threads(pid):
    """Threads of the daemon by name; a duplicate name fails."""
    found = {}
    for t in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{t}/comm") as f:
                name = f.read().strip()
        except OSError:  # it has just ended
            continue
        check(name not in found, "two threads are called", name)
        found[name] = int(t)
    return found


def one_each(m):
    """LGT-01: each session has one thread with its name, from its start to its stop."""
    before = threads(m.daemon_pid())
    for count in range(1, 4):
        m.tool("start", f"each-{count}", "--output", f"each-{count}.etl", *SIZES)
        more = {name: t for name, t in threads(m.daemon_pid()).items() if name not in before}
        check(set(more) == {f"each-{n}" for n in range(1, count + 1)}, "sessions", count, "threads", more)
        check(query(m, f"each-{count}")["logger_thread_id"] == more[f"each-{count}"], "the one that query names", more)
    for count in range(1, 4):
        m.tool("stop", f"each-{count}")
        wait_until("a thread ends with its session", lambda: f"each-{count}" not in threads(m.daemon_pid()))
    wait_until("the threads of before", lambda: threads(m.daemon_pid()) == before)


def wait_until(what, holds, seconds=20):
    end = time.time() + seconds
    while time.time() < end:
        if holds():
            return
        time.sleep(0.02)
    check(False, what)


def write(m, count, number=1):
    p, tally = m.writer(number, count)
    check(p.wait(60) == 0, "event_writer")
    os.unlink(tally)


def waits(m):
    """LGT-02, LGT-03, LGT-04: one session waits for its timer, the other for requests. Each wakes only for its own."""
    m.tool("start", "timed", "--output", "timed.etl", "--set", "FlushTimer=1", *SIZES, "--provider", PROVIDER)
    m.tool("start", "asked", "--output", "asked.etl", *SIZES, "--provider", PROVIDER)
    names = threads(m.daemon_pid())
    check("timed" in names and "asked" in names, "a thread by each session's name", names)
    before = buffers(m, "timed"), buffers(m, "asked")
    write(m, 5)
    wait_until("the timer flushes a buffer that is not full", lambda: buffers(m, "timed") > before[0])
    check(buffers(m, "asked") == before[1], "nothing flushes the other one by itself")
    m.tool("flush", "asked")
    check(buffers(m, "asked") > before[1], "it does when it is asked")
    now = buffers(m, "asked")
    write(m, 2000)
    wait_until("full buffers are written by themselves", lambda: buffers(m, "asked") > now)
    if shutil.which("strace"):
        m.tool("flush", "asked")  # writes the rest: strace itself wakes the thread once
        time.sleep(1)
        for name, quiet in (("timed", False), ("asked", True)):
            calls = system_calls(names[name], 2.5)
            print(name, "system calls of its thread in 2.5 s:", sum(calls.values()), calls)
            check(sum(calls.values()) <= 2 and "pwrite64" not in calls if quiet else 1 <= sum(calls.values()) < 60, name, calls)
    m.tool("stop", "timed")
    in_file = numbered(m, "asked")
    write(m, 5)
    check(numbered(m, "asked") == in_file, "in a buffer that nothing flushes")
    m.tool("stop", "asked")
    check(numbered(m, "asked") == in_file + 5, "a stop writes what is left")


def numbered(m, name):
    """The number of the writer's events in the session's file."""
    lines = m.tool("dump", os.path.join(m.logs, name + ".etl"), "--json", expect=None).stdout.splitlines()
    return sum(json.loads(line)["id"] == 77 for line in lines)


def system_calls(thread, seconds):
    """Why a sleeping thread wakes up: its system calls, without the one that it was in when strace attached."""
    r = subprocess.run(["timeout", "-s", "INT", str(seconds), "strace", "-qq", "-p", str(thread)], capture_output=True, text=True)
    calls = {}
    if "Operation not permitted" in r.stderr:
        return calls
    for line in r.stderr.splitlines():
        name = re.match(r"(\w+)\(", line)
        if name and not line.startswith("restart_syscall") and "detached" not in line and not line.rstrip().endswith("= ?"):
            calls[name.group(1)] = calls.get(name.group(1), 0) + 1
    return calls


def writes(m):
    """LGT-09, LGT-10: a file is made if there is none, and appended to if requested; each write is a whole buffer with its header."""
    path = os.path.join(m.logs, "whole.etl")
    check(not os.path.exists(path), path)
    m.tool("start", "whole", "--output", "whole.etl", *SIZES, "--provider", PROVIDER)
    thread, log = threads(m.daemon_pid())["whole"], os.path.join(m.dir, "strace")
    tracer = None
    if shutil.which("strace"):
        tracer = subprocess.Popen(["strace", "-qq", "-e", "trace=write,pwrite64,writev,pwritev", "-o", log, "-p", str(thread)], stderr=subprocess.DEVNULL)
        time.sleep(0.5)
    write(m, 3000)
    m.tool("flush", "whole")
    check(os.path.exists(path), "made when there was none")
    if tracer and tracer.poll() is None:
        tracer.terminate()
        tracer.wait(10)
        sizes = [int(n) for n in re.findall(r"pwrite64\(\d+, .*, \d+, \d+\)\s*=\s*(\d+)", open(log).read())]
        vector = [int(n) for n in re.findall(r"pwritev\(.*\)\s*=\s*(\d+)", open(log).read())]
        big = [n for n in sizes + vector if n >= 16384]
        print("writes of the logger:", len(sizes), "and", len(vector), "of several buffers")
        check(big and all(n % 16384 == 0 for n in big), "whole buffers", sizes, vector)
    m.tool("stop", "whole")
    first = whole_buffers(path)
    m.tool("start", "again", "--output", "again.etl", "--set", "LogFileMode=APPEND", *SIZES, "--provider", PROVIDER)
    write(m, 1000)
    m.tool("stop", "again")
    one = whole_buffers(os.path.join(m.logs, "again.etl"))
    m.tool("start", "again", "--output", "again.etl", "--set", "LogFileMode=APPEND", *SIZES, "--provider", PROVIDER)
    write(m, 1000)
    m.tool("stop", "again")
    two = whole_buffers(os.path.join(m.logs, "again.etl"))
    print("whole.etl:", first, "buffers; appended to:", one, "then", two)
    check(two > one > 1 and first > 1, first, one, two)


def whole_buffers(path):
    """The number of a file's buffers: all have one size, each has a filled-in header."""
    with open(path, "rb") as f:
        data = f.read()
    check(len(data) % 16384 == 0, len(data))
    for at in range(0, len(data), 16384):
        size, _, current, _, _, sequence = struct.unpack_from("<IIIiqq", data, at)
        filled, = struct.unpack_from("<I", data, at + 0x30)
        check(size == 16384 and 72 <= filled <= size and sequence == at // 16384, at, size, current, filled, sequence)
    return len(data) // 16384


def realtime(m):
    """LGT-06, LGT-08, LGT-11, LGT-12."""
    program = os.path.join(BUILD, "tests", "trace_realtime")
    r = subprocess.run([program, "live"], env=m.env, capture_output=True, text=True, timeout=100)
    print(r.stdout.strip())
    check(r.returncode == 0, r.stdout, r.stderr)
    check(float(re.search(r"the quickest ([-0-9.]+) ms", r.stdout).group(1)) > 0, "an event comes after it was written", r.stdout)
    m.tool("enable", "live", PROVIDER)
    write(m, 100)  # no consumer is connected
    m.tool("flush", "live")
    backup = os.path.join(m.logs, "RtBackup", "EtwRT%s.etl" % json.loads(m.tool("query", "live", "--json").stdout)["guid"].strip("{}"))
    wait_until("the backup file", lambda: os.path.exists(backup) and os.path.getsize(backup) > 0)
    copy = os.path.join(m.dir, "copy.etl")
    shutil.copy(backup, copy)
    events = [json.loads(line) for line in m.tool("dump", copy, "--json", expect=None).stdout.splitlines()]
    check(sum(e["id"] == 77 for e in events) == 100, len(events))
    print(os.path.basename(backup), "is an .etl with", len(events), "events")
    count = 1000
    subprocess.run([program, "live", "50"], env=m.env, check=True, timeout=60)
    before = descriptors(m)
    r = subprocess.run([program, "live", str(count)], env=m.env, capture_output=True, text=True, timeout=100)
    check(r.returncode == 0, r.stdout, r.stderr)
    wait_until("descriptors of consumers that went", lambda: descriptors(m) <= before)
    print(count, "consumers came and went:", before, "descriptors before and", descriptors(m), "after")
    m.tool("stop", "live")


def descriptors(m):
    return len(os.listdir(f"/proc/{m.daemon_pid()}/fd"))


if not shutil.which("strace"):
    print("no strace: what the threads wait for, and how much each write is, is not looked at")
with Machine() as m:
    m.start()
    one_each(m)
    waits(m)
    writes(m)
    realtime(m)
    m.shutdown()
