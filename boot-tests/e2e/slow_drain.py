"""A read of /proc that takes 1.5 s in the thread that takes the kernel's records: the journal has a line, the session a condition with an advice, and
every loss is counted. A quick read causes no message. One that takes 4 s delays the stop of that session, and an update of its memory; all other
requests are served meanwhile. F6."""
import json
import os
import subprocess
import time

from harness import BUILD, Machine, check, skip

if os.getuid() != 0:
    skip("kernel events need root")

NT, PROVIDER = "NT Kernel Logger", "{5ca1ab1e-7e57-0001-8000-000000000001}"
SOON, HANG_MS = 1.0, 4000
DECLARED = """[GlobalLogger]
Start = 1
EnableKernelFlags = PROC_THREAD+LOADER
FileName = kernel.etl
BufferSize = 64 KB
"""


def conditions(m):
    row, = m.status()["sessions"]
    return [c for c in row["conditions"] if c["item"] == "kernel-drain"]


def until(what, seconds=20):
    end = time.time() + seconds
    while time.time() < end:
        if what():
            return
        subprocess.run(["/bin/true"], check=True)  # a process to look up
        time.sleep(0.05)
    check(False, "not within", seconds, "s")


def soon(m, *words):
    begin = time.monotonic()
    m.tool(*words)
    took = time.monotonic() - begin
    print(words[0], f"{took:.2f} s")
    check(took < SOON, words, "took", took, "s")


def waits(*words):
    return subprocess.Popen([os.path.join(BUILD, "autologger"), *words], env=m.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ends(p):
    out, err = p.communicate(timeout=30)
    check(p.returncode == 0, p.args[1:], p.returncode, out, err)
    return out + err


def hang(slow, ms):
    """Makes the drain thread's next pass take that long."""
    with open(slow + ".new", "w", encoding="ascii") as f:
        f.write(f"{ms}\n")
    os.rename(slow + ".new", slow)
    until(lambda: not os.path.exists(slow))


def others_are_served(m, name):
    begin = time.monotonic()
    soon(m, "sessions")
    soon(m, "query", NT)
    soon(m, "start", name, "-o", f"{name}.etl", "--provider", PROVIDER)
    writer, tally = m.writer(0, 400, enabled=True)
    writer.wait(20)
    soon(m, "stop", name)
    got = m.verify(os.path.join(m.logs, f"{name}.etl"), [tally])
    check(got["events"] == 400 and got["missing"] == 0 and got["events_lost"] == 0, got)
    os.unlink(tally)
    return time.monotonic() - begin


def a_slow_pass_holds_up_its_session_alone(m, slow):
    hang(slow, HANG_MS)
    began, update = time.monotonic(), waits("update", NT, "--maximum-buffers", "200")
    time.sleep(0.2)
    others_are_served(m, "first")
    check(time.monotonic() - began > 3 or update.poll() is None, "nothing was waited for")
    ends(update)
    row = json.loads(m.tool("query", NT, "--json").stdout)
    check(row.get("session", row)["maximum_buffers"] == 200, row)
    hang(slow, HANG_MS)
    began, stop = time.monotonic(), waits("stop", NT)
    time.sleep(0.2)
    others_are_served(m, "second")
    check(time.monotonic() - began > 3 or stop.poll() is None, "nothing was waited for")
    ends(stop)
    took = time.monotonic() - began
    check(took > HANG_MS / 1000 - 2, "the stop took", took, "s")
    check(NT not in m.tool("sessions").stdout, "it is still there")
    summary = json.loads(m.tool("summary", "--json", os.path.join(m.logs, "kernel.etl")).stdout)
    check(not summary["damage"] and summary["inversions"] == 0, summary)
    row, = m.status()["sessions"]
    check(row["status"] == 0 and row["attempted"] == row["converted"] + row["lost"]["total"], row)


with Machine(DECLARED) as m:
    slow, said = os.path.join(m.dir, "slow"), os.path.join(m.dir, "said")
    os.environ.update(LD_PRELOAD=os.path.join(BUILD, "tests", "libslow_proc.so"), SLOW_PROC=slow)
    own, log = os.dup(2), os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 2)
    m.start()
    os.dup2(own, 2)
    del os.environ["LD_PRELOAD"]
    lines = lambda: [line for line in open(said, encoding="utf-8") if "was not taken for" in line]
    for ms, expected in ((100, 0), (1500, 1)):
        with open(slow, "w", encoding="ascii") as f:
            f.write(f"{ms}\n")
        until(lambda: not os.path.exists(slow))
        if expected:
            until(lambda: len(lines()) == 1 and len(conditions(m)) == 1)
        time.sleep(0.5)
        check(len(lines()) == expected and len(conditions(m)) == expected, ms, lines(), conditions(m))
    print(lines(), conditions(m))
    condition, = conditions(m)
    check("session NT Kernel Logger" in lines()[0] and condition["number"] == 1460 and "memory map" in condition["advice"], lines(), condition)
    live = json.loads(m.tool("query", "NT Kernel Logger", "--json").stdout)
    check(live.get("session", live)["events_lost"] == 0, "1.5 s of few events have room", live)
    a_slow_pass_holds_up_its_session_alone(m, slow)
    m.shutdown()
