"""Times of sessions (D-05, D-09). A session of a long-running daemon starts at its own start, in its header and in every command that reads it. A
machine whose date is set while a session records (no battery clock, then NTP) ends with the right dates, also for a real-time reader. Files of two
daemons of one boot have one frequency and are merged.
Proves: SES-16."""
import datetime
import json
import os
import re
import signal
import subprocess
import time

from harness import BUILD, Machine, check

GUID = "{5ca1ab1e-7e57-0001-8000-000000000001}"
AGE = 4     # s by which the daemon is older than its session
LAZY = 2.5  # s that a busy machine may take for a command


def seconds(text):
    """Seconds since 1970 of a date as the commands print it."""
    return datetime.datetime.fromisoformat(re.sub(r"(\.\d{6})\d*Z?$", r"\1", text.rstrip("Z")) + "+00:00").timestamp()


def near(what, got, want, slack=LAZY):
    check(abs(got - want) <= slack, what, "is", got, "and should be", want)


def record(m, name, count=200, rate=200):
    """A session of its own, whose file holds `count` events in a second."""
    began = time.time()
    m.tool("start", name, "-p", GUID, "-o", name + ".etl")
    p, _ = m.writer(1, count, rate=rate, enabled=True)
    p.communicate(timeout=60)
    return began


def path_of(m, name):
    found = [os.path.join(d, f) for d, _, files in os.walk(m.logs) for f in files if f == name + ".etl"]
    check(len(found) == 1, name, "is in", found)
    return found[0]


def header(m, path):
    return json.loads(m.tool("summary", "--json", path).stdout)["header"]


with Machine() as m:
    m.env["AUTOLOGGER_CLOCK"] = os.path.join(m.dir, "clock")
    os.environ["AUTOLOGGER_CLOCK"] = m.env["AUTOLOGGER_CLOCK"]
    m.start()
    time.sleep(AGE)
    began = record(m, "short")
    m.tool("stop", "short")
    ended = time.time()
    path = path_of(m, "short")

    head = header(m, path)
    near("summary's start", seconds(head["start"]), began)
    near("summary's end", seconds(head["end"]), ended)
    check(seconds(head["end"]) - seconds(head["start"]) < AGE, "summary: the session lasted", head)

    events = [json.loads(line) for line in m.tool("dump", "--json", path).stdout.splitlines()]
    events = [e for e in events if e.get("provider") not in (None, "") and "5ca1ab1e" in json.dumps(e).lower()]
    check(len(events) == 200, len(events), "events of 200")
    for e in (events[0], events[-1]):
        check(began - 0.1 <= seconds(e["time"]) <= ended + 0.1, "dump:", e["time"], "is not within", began, ended)
    for since in re.findall(r"^\s*\[?(\d+\.\d+)", m.tool("dump", path).stdout, re.M)[1:]:
        check(float(since) < AGE, "dump: an event is", since, "s after the start")

    cut = os.path.join(m.dir, "cut.etl")
    kept = m.tool("relog", path, "-o", cut, "--from", "0", "--to", str(AGE)).stdout
    check(kept.startswith("201 of 201 "), "relog --from 0 --to", AGE, "said", kept)

    stats = json.loads(m.tool("analyse", "stats", path, "--json").stdout)
    check(stats["seconds"] < AGE, "analyse stats: the trace lasts", stats["seconds"], "s")
    xml = os.path.join(m.dir, "dumpfile.xml")
    m.tool("tracerpt", path, "-o", xml)
    with open(xml) as f:
        times = [seconds(t) for t in re.findall(r'SystemTime="([^"]+)"', f.read())]
    check(len(times) == 201 and began - 0.1 <= min(times) and max(times) <= ended + 0.1, "tracerpt: from", min(times), "to", max(times))
    chrome = os.path.join(m.dir, "chrome.json")
    m.tool("convert", "--to", "chrome", "-o", chrome, path)
    with open(chrome) as f:
        stamps = [e["ts"] for e in json.load(f)["traceEvents"] if e.get("ph") in ("i", "I", "X", "B")]
    check(stamps and max(stamps) < AGE * 1e6, "convert: an event is", max(stamps, default=None), "us after the start")
    m.shutdown()

    # ---- the next daemon of this boot takes over the clock's frequency, and its files are merged with the first one's
    m.start()
    began = record(m, "second")
    m.tool("stop", "second")
    both = os.path.join(m.dir, "both.etl")
    m.tool("merge", "-o", both, path, path_of(m, "second"))
    one, two = header(m, path), header(m, path_of(m, "second"))
    check(one["perfFreq"] == two["perfFreq"], "two clocks:", one, two)
    near("the merged file's end", seconds(header(m, both)["end"]), time.time(), 5)
    m.shutdown()

# ---- no battery clock
with Machine() as m:
    shift = os.path.join(m.dir, "shift")
    with open(shift, "w") as f:
        f.write(str(-40 * 365 * 86400))
    for_daemon = {"DATE_SHIFT": shift, "LD_PRELOAD": os.path.join(BUILD, "tests", "libdate_shift.so")}
    os.environ.update(for_daemon)
    m.start_keeper()
    for name in for_daemon:
        del os.environ[name]
    m.wait_ready()
    began = record(m, "late", 100)
    m.tool("start", "live", "-p", GUID, "-o", "live.etl", "--set", "LogFileMode=REAL_TIME")
    readers = {}
    for name in ("quick", "slow"):
        with open(os.path.join(m.dir, name), "w") as f:
            readers[name] = subprocess.Popen([os.path.join(BUILD, "autologger"), "watch", "live", "--json"], env=m.env, stdout=f)
        m.processes.append(readers[name])

    def connected(reader):
        fds = f"/proc/{reader.pid}/fd"
        return any(os.readlink(os.path.join(fds, fd)).startswith("socket:") for fd in os.listdir(fds))

    for _ in range(200):  # the first to connect gets the waiting events, the other one gets none of them
        if all(connected(r) for r in readers.values()):
            break
        time.sleep(0.05)
    time.sleep(0.5)

    def write_live(number, count):
        p, _ = m.writer(number, count, enabled=True)
        p.communicate(timeout=60)

    def seen_dates(reader, count):
        """The dates of the events that a reader has printed, once there are `count`."""
        for _ in range(200):
            with open(os.path.join(m.dir, reader)) as f:
                lines = f.read().split("\n")[:-1]
            if len(lines) >= count:
                break
            time.sleep(0.05)
        check(len(lines) == count, reader, "has seen", len(lines), "events of", count)
        return [seconds(json.loads(line)["time"]) for line in lines]

    write_live(3, 10)
    seen_dates("slow", 10)
    readers["slow"].send_signal(signal.SIGSTOP)  # until it has read all, the quick one's events come from the same backup file
    write_live(4, 40)
    for date in seen_dates("quick", 50):
        near("a date that a reader sees before NTP", date, time.time() - 40 * 365 * 86400, 10)
    m.tool("flush", "late")
    running = header(m, path_of(m, "late"))
    near("the running file's start", seconds(running["start"]), began - 40 * 365 * 86400)
    with open(shift, "w") as f:  # NTP
        f.write("0")
    m.tool("update", "live", "-o", "next.etl")  # the update makes the session take in the date; a really set date does so, too
    write_live(5, 50)
    for date in seen_dates("quick", 100)[50:]:
        near("a date that the same reader sees after NTP", date, time.time(), 10)
    readers["slow"].send_signal(signal.SIGCONT)
    seen_dates("slow", 100)
    m.tool("stop", "live")
    check(all(r.wait(20) == 0 for r in readers.values()), "watch ended with", [r.returncode for r in readers.values()])
    p, _ = m.writer(2, 100, rate=200, enabled=True)
    p.communicate(timeout=60)
    m.tool("stop", "late")
    ended = time.time()
    head = header(m, path_of(m, "late"))
    near("the start after NTP", seconds(head["start"]), began)
    near("the end after NTP", seconds(head["end"]), ended)
    times = [seconds(json.loads(line)["time"]) for line in m.tool("dump", "--json", path_of(m, "late")).stdout.splitlines()]
    check(len(times) >= 200, len(times), "events")
    check(all(began - LAZY <= t <= ended + LAZY for t in times), "dates from", min(times), "to", max(times), "not within", began, ended)
    m.shutdown()
print("fine")
