"""Units as a provider, with a systemd that the test controls: earlier and later states have their original times, once, over kills of the provider
and of the daemon; Unit= narrows it; a systemd that refuses, dies or floods harms nothing else; without systemd a
condition says so. Proves: LEG-12."""
import fcntl
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

from harness import BUILD, SOURCE, Machine, check, tool

MANAGER = "{0063715b-eeda-4007-9429-ad526f62696e}"
RECORD = os.path.join(SOURCE, "autologger", "units", "tests", "units-debian12.txt")
DECLARED = f"""
[Autologger/xboot]
FileName = xboot.etl
[Autologger/xboot/Service Control Manager]
Guid = {MANAGER}
[Autologger/one]
FileName = one.etl
[Autologger/one/some]
Unit = broken, systemd-j*.service
EnableLevel = Informational
[Autologger/narrow]
FileName = narrow.etl
[Autologger/narrow/Service Control Manager]
Guid = {MANAGER}
Unit = late.service
MatchAnyKeyword = 0x1
"""
TIMES = {"InactiveExitTimestampMonotonic": "UnitActivating", "ActiveEnterTimestampMonotonic": "UnitActive",
         "ActiveExitTimestampMonotonic": "UnitDeactivating", "InactiveEnterTimestampMonotonic": "UnitInactive",
         "ExecMainStartTimestampMonotonic": "UnitMainProcessStart", "ExecMainExitTimestampMonotonic": "UnitMainProcessExit"}

# fields that are empty in the record: its failed unit has no invocation, and its rundown no earlier exit
EMPTY = {"UnitFailed": ["InvocationId"], "UnitRundown": ["ActiveExitMonotonicUs"]}


def record():
    out = {}
    for block in open(RECORD).read().split("\n\n"):
        properties = dict(line.split("=", 1) for line in block.splitlines() if line)
        out[properties["Id"]] = properties
    return out


def wanted(properties):
    """(event, us) for each time that is not 0."""
    out = {(name, int(properties[p])) for p, name in TIMES.items() if int(properties.get(p, 0))}
    if properties["ActiveState"] == "failed":
        out = {("UnitFailed" if name == "UnitInactive" else name, us) for name, us in out}
    return out


class Systemd:
    def __init__(self, m, *extra):
        self.socket = os.path.join(m.dir, "systemd.sock")
        self.dir = os.path.join(m.dir, "systemd")
        os.makedirs(self.dir, exist_ok=True)
        if os.path.exists(self.socket):
            os.unlink(self.socket)
        self.p = subprocess.Popen([os.path.join(BUILD, "tests", "fake_systemd"), self.socket, *extra], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        m.processes.append(self.p)
        check(self.p.stdout.readline() == "listening\n", "the fake systemd listens")

    def options(self):
        return ["--systemd-dir", self.dir, "--systemd-bus", "unix:path=" + self.socket]

    def say(self, text):
        self.p.stdin.write(text + "\n")
        self.p.stdin.flush()
        check(self.p.stdout.readline() == "done\n", "the fake systemd did", text)

    def set(self, unit, **properties):
        self.say(f"set {unit}\n" + "".join(f"{k}={v}\n" for k, v in properties.items()))


def events(path):
    out = tool("dump", "--json", path, timeout=60).stdout
    return [e for e in map(json.loads, out.splitlines()) if e["provider"].get("name") == "systemd-Units"]


def us_now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


def run_told(m):
    """Earlier states, and states that come while it runs; over a kill of the provider and one of the daemon."""
    systemd = Systemd(m, RECORD)
    m.start(*systemd.options())
    expected = {unit: wanted(p) for unit, p in record().items()}
    time.sleep(1)
    began = us_now()
    systemd.say("job 7 late.service start")
    systemd.say("run 7")
    time.sleep(0.5)
    for i, pid in enumerate((4242, 4343, 4444)):
        at = us_now()
        systemd.set("late.service", ActiveState="active", SubState="running", Result="success", MainPID=pid, ExecMainPID=pid, ControlGroup="/", After="basic.target", InvocationID="00112233445566778899aabbccddeeff",
                    ExecMainStartTimestampMonotonic=at + 1, InactiveExitTimestampMonotonic=at, ActiveEnterTimestampMonotonic=at + 2)
        expected.setdefault("late.service", set()).update({("UnitActivating", at), ("UnitMainProcessStart", at + 1), ("UnitActive", at + 2)})
        if i == 0:
            systemd.say("end 7 done")
        time.sleep(0.3)
        if i == 0:  # the program is killed, and its successor repeats nothing
            os.kill(provider_pid(m), signal.SIGKILL)
            time.sleep(1.6)
        if i == 1:  # the daemon is killed, and its program ends with it
            os.kill(m.daemon_pid(), signal.SIGKILL)
            m.wait_ready()
            time.sleep(1)
    at = us_now()
    systemd.set("late.service", ActiveState="inactive", SubState="dead", MainPID=0, ExecMainCode=1, ExecMainStatus=3, ControlGroup="",
                ActiveExitTimestampMonotonic=at, ExecMainExitTimestampMonotonic=at + 1, InactiveEnterTimestampMonotonic=at + 2)
    expected["late.service"].update({("UnitDeactivating", at), ("UnitMainProcessExit", at + 1), ("UnitInactive", at + 2)})
    time.sleep(0.3)
    waiting = run_waiting(m, systemd, expected)
    ended = us_now()
    m.shutdown()
    return expected, began, ended, waiting


CALLS = {"flock": {"x86_64": 73, "aarch64": 32}, "poll": {"x86_64": 7, "aarch64": 73}}


def call_of(pid):
    number = pathlib.Path(f"/proc/{pid}/syscall").read_text(encoding="ascii").split()[0]
    return int(number) if number.lstrip("-").isdigit() else None


def wait_for(ready, *what):
    end = time.monotonic() + 20
    while not ready():
        check(time.monotonic() < end, *what, ": not within 20 s")
        time.sleep(0.02)


def run_waiting(m, systemd, expected):
    """A unit that starts slowly, with two processes that wait: {pid: the expected fields}."""
    folder = os.path.join("/sys/fs/cgroup/unified" if os.path.isdir("/sys/fs/cgroup/unified") else "/sys/fs/cgroup", f"al-units-{os.getpid()}")
    path = os.path.join(m.dir, "lock")
    with open(path, "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        children = [subprocess.Popen(["flock", path, "true"]),
                    subprocess.Popen([sys.executable, "-c", "import select, socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                                      "s.connect(('127.0.0.1', 53))\nt = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                                      "t.connect(('127.0.0.1', 9))\np = select.poll()\np.register(s, select.POLLIN)\np.poll()"])]
        m.processes.extend(children)
        try:
            os.mkdir(folder)
            for child, call in zip(children, ("flock", "poll")):
                wait_for(lambda: call_of(child.pid) == CALLS[call][os.uname().machine], child.args[0], "waits")
                pathlib.Path(folder, "cgroup.procs").write_text(str(child.pid), encoding="ascii")
            at = us_now()
            systemd.set("slow.service", ActiveState="activating", SubState="start", Result="success", ControlGroup="/" + os.path.basename(folder),
                        InactiveExitTimestampMonotonic=at)
            expected["slow.service"] = {("UnitActivating", at)}
            time.sleep(2.5)  # the first look is after 1 s, the next one after 3 s
        finally:
            for child in children:
                child.kill()
                child.wait()
            for _ in range(100):  # until the kernel has removed the processes
                try:
                    os.rmdir(folder)
                    break
                except OSError:
                    time.sleep(0.05)
    return {children[0].pid: {"Unit": "slow.service", "SinceUs": at, "Name": "flock", "Kind": "lock", "Object": path, "Guessed": 0,
                              "HolderProcessId": os.getpid(), "Call": "flock"},
            children[1].pid: {"Unit": "slow.service", "SinceUs": at, "Kind": "dns", "Object": "127.0.0.1:53", "Guessed": 1, "HolderProcessId": 0, "Call": "poll"}}


def provider_pid(m):
    daemon = m.daemon_pid()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if open(f"/proc/{pid}/comm").read().strip() == "autologger-unit" and int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1]) == daemon:
                return int(pid)
        except OSError:
            pass
    check(False, "no provider of units runs below", daemon)


def times_of(found):
    """unit -> {(event, us)}, and the number of all such events."""
    out, count = {}, 0
    for e in found:
        if e["event"] in set(TIMES.values()) | {"UnitFailed"}:
            out.setdefault(e["fields"]["Unit"], set()).add((e["event"], e["fields"]["MonotonicUs"]))
            count += 1
    return out, count


def check_order(found, what):
    raw = [e["raw"] for e in found]
    check(raw == sorted(raw), what, "is not in time order")


def check_clock(found, what):
    """An event's time is systemd's, as exactly as the two clocks can be joined: events of known moments give the line."""
    marks = [(e["raw"], e["fields"]["MonotonicUs"]) for e in found if e["fields"].get("MonotonicUs")]
    rates = [(b[0] - a[0]) / (b[1] - a[1]) for a, b in zip(marks, marks[1:]) if b[1] - a[1] > 100000]
    check(rates and max(rates) / min(rates) < 1.02, what, "times and their fields do not run alike:", rates)


def check_classes(found):
    """Each class of ours in written.def was seen, with its row's fields, each filled at least once."""
    rows = re.findall(r'OWN\(UNITS, "(\w+)", "([^"]*)", "([^"]*)"', pathlib.Path(SOURCE, "autologger/kernel/tables/written.def").read_text())
    check(len(rows) > 10, "rows of written.def:", rows)
    told = {e["event"] for e in found}
    check(told == {name for name, *_ in rows}, "events without a row, or the other way round:", told ^ {name for name, *_ in rows})
    for name, fields, never in rows:
        wanted = [f.split(":")[0] for f in fields.split()]
        each = [e["fields"] for e in found if e["event"] == name]
        check(all(list(f) == wanted for f in each), name, "has the fields", each[0], "wanted", wanted)
        empty = [w for w in wanted if not any(f[w] for f in each)]
        check(empty == never.split() + EMPTY.get(name, []), name, "empty:", empty)
    print("classes read back:", len(rows))


def check_told(m):
    expected, began, ended, waiting = run_told(m)
    expected = {unit: e for unit, e in expected.items() if e}
    everything = events(os.path.join(m.logs, "xboot.etl"))
    found, count = times_of(everything)
    check(found == expected, "told:", found, "expected:", expected)
    check(count == sum(map(len, expected.values())), count, "events, some of them twice")
    check_order(everything, "xboot")
    check_clock(everything, "xboot")
    check_classes(everything)
    jobs = [(e["event"], e["fields"]["JobId"], e["fields"].get("Result")) for e in everything if e["event"].startswith("UnitJob")]
    check(jobs == [("UnitJobQueued", 7, None), ("UnitJobRunning", 7, None), ("UnitJobEnd", 7, "done")], "jobs:", jobs)
    seen = {e["fields"]["ProcessId"]: e["fields"] for e in reversed(everything) if e["event"] == "UnitWaiting"}  # the first event of each process
    check(set(seen) == set(waiting), "looked at:", seen, "not", waiting)
    for pid in seen:
        at = [e["raw"] for e in everything if e["event"] == "UnitWaiting" and e["fields"]["ProcessId"] == pid]
        check(len(at) <= 2 and len(set(at)) == len(at), "a busy machine may be late for the first look, and see the second; not more:", at)
    for pid, fields in waiting.items():
        check(fields.items() <= seen[pid].items(), "what is said of", pid, seen[pid], fields)
    first = [e["fields"] for e in everything if e["event"] == "UnitActivating" and e["fields"]["Unit"] == "late.service"][0]
    # 0: on a busy machine the provider hears of the job after the unit's start
    check(0 <= first["JobWaitUs"] < ended - began, "the job of late.service waited", first)
    running = [e["fields"] for e in everything if e["event"] == "UnitJobRunning"][0]
    check(running["QueuedUs"] and running["JobWaitUs"] == running["RunningUs"] - running["QueuedUs"] < ended - began, "its job waited", running)
    check([e["fields"]["After"] for e in everything if e["event"] == "UnitRundown" and e["fields"]["Unit"] == "late.service"][-1] == "basic.target",
          "the order of late.service")
    rundown = {e["fields"]["Unit"] for e in everything if e["event"] == "UnitRundown"}
    check(rundown == set(record()) | {"late.service"}, "rundown:", rundown)

    some, _ = times_of(events(os.path.join(m.logs, "one.etl")))
    check(some == {u: expected[u] for u in ("broken.service", "systemd-journald.service")}, "Unit=broken, systemd-j*:", some)
    late, _ = times_of(events(os.path.join(m.logs, "narrow.etl")))
    check(late == {"late.service": {e for e in expected["late.service"] if "Process" not in e[0]}}, "Unit=late.service, states alone:", late)
    rows = {s["name"]: s for s in m.status()["sessions"]}
    for name in ("xboot", "one", "narrow"):
        provider = rows[name]["providers"][0]
        check(provider["status"] == 0 and provider["written"] == len(events(os.path.join(m.logs, name + ".etl"))) and rows[name]["lost"]["total"] == 0,
              name, provider, rows[name]["lost"])
    print("told once, with their times, over two kills:", count, "of", count)


def check_trouble(m):
    """A systemd that refuses, one that closes, one that floods, and none: the result is at most a condition."""
    systemd = Systemd(m, RECORD)
    systemd.say("refuse")
    m.start(*systemd.options())
    time.sleep(1)
    systemd.p.kill()
    systemd.p.wait()
    systemd = Systemd(m, RECORD)  # it starts again
    time.sleep(4)
    systemd.say("flood 20000 storm.service")
    systemd.say("set storm.service\nActiveEnterTimestampMonotonic=77777777\n")
    end = time.time() + 20
    while time.time() < end and 77777777 not in [us for _, us in told_now(m).get("storm.service", ())]:
        time.sleep(0.3)
    systemd.say("die")
    m.shutdown()
    found, _ = times_of(events(os.path.join(m.logs, "xboot.etl")))
    check(("UnitActive", 77777777) in found["storm.service"] and "systemd-journald.service" in found, "after refusal and flood:", list(found))
    floods = [us for name, us in found["storm.service"] if name == "UnitActivating"]
    row = {s["name"]: s for s in m.status()["sessions"]}["xboot"]
    check(len(floods) + row["lost"]["total"] >= 20000 - 1, "of 20,000 changes", len(floods), "are there,", row["lost"], "lost")
    condition = [c for c in row["providers"][0]["conditions"] if c["item"] == "units"]
    check(condition and condition[0]["number"] == 50 and "again" in condition[0]["reason"], row["providers"][0])
    print("a flood of 20,000:", len(floods), "written,", row["lost"]["total"], "lost;", condition[0]["reason"])


def told_now(m):
    m.tool("flush", "xboot", expect=None)
    return times_of(events(os.path.join(m.logs, "xboot.etl")))[0]


def check_without(m):
    m.start("--systemd-dir", os.path.join(m.dir, "nothing"))
    time.sleep(0.3)
    m.shutdown()
    for s in m.status()["sessions"]:
        p = s["providers"][0]
        check(p["status"] == 0 and p["result"] == "note" and [(c["number"], c["item"]) for c in p["conditions"]] == [(50, "units")] and
              "systemd does not run here" in p["conditions"][0]["reason"], p)
    print("without systemd:", p["conditions"][0]["reason"])


if __name__ == "__main__":
    for part in (check_told, check_trouble, check_without):
        with Machine(DECLARED) as machine:
            part(machine)
