"""Real-time sessions over restarts, kills and reboots: unread events wait, are given to the next reader once, and acknowledged ones are not given
again; a consumer's buffer callback comes once for each buffer, with its counts.
Proves: CON-01, CON-03, LGT-07, SES-06, LGT-13, COR-20."""
import json
import os
import signal
import struct
import subprocess
import time

from early_machine import EarlyMachine
from harness import BUILD, FULL, Machine, check

LIVE = "ca0ee652-7ea9-57b4-a0bd-1370c64e09a7"  # the default Guid of a session of that name
DECLARED = """
[Autologger/live]
LogFileMode = REAL_TIME
BufferSize = 16 KB
MinimumBuffers = 512
MaximumBuffers = 1024
[Autologger/live/numbered]
Guid = {5ca1ab1e-7e57-0001-8000-000000000001}
[Autologger/both]
LogFileMode = REAL_TIME
FileName = both.etl
MaxFileSize = 0
BufferSize = 16 KB
MinimumBuffers = 512
MaximumBuffers = 1024
[Autologger/both/numbered]
Guid = {5ca1ab1e-7e57-0001-8000-000000000001}
"""


class Watcher:
    def __init__(self, m, session="live", *extra):
        self.path = os.path.join(m.dir, f"watch-{time.monotonic_ns()}")
        self.file = open(self.path, "w")
        self.errors = open(self.path + ".err", "w")
        self.p = subprocess.Popen([os.path.join(BUILD, "autologger"), "watch", session, "--json", *extra], env=m.env,
                                  stdout=self.file, stderr=self.errors)
        m.processes.append(self.p)

    def lines(self):
        with open(self.path) as f:
            text = f.read()
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def numbers(self):
        """(writer, number) of each event, in the order in which they came."""
        got = []
        for e in self.lines():
            if "payload" in e and e["id"] == 77:
                _, writer, number = struct.unpack(LAYOUT, bytes.fromhex(e["payload"])[: struct.calcsize(LAYOUT)])
                got.append((writer, number))
        return got

    def wait_for(self, count, seconds=30):
        end = time.time() + seconds
        while time.time() < end and len(self.numbers()) < count:
            check(self.p.poll() is None, "watch ended with", self.p.returncode, open(self.path + ".err").read())
            time.sleep(0.1)
        return self.numbers()

    def interrupt(self):
        self.p.send_signal(signal.SIGINT)
        check(self.p.wait(30) == 0, "watch ended with", self.p.returncode, open(self.path + ".err").read())


class Consumer:
    """boot-tests/trace_consumer.c, which uses libautologger-trace."""

    def __init__(self, m, *arguments):
        self.path = os.path.join(m.dir, f"consumer-{time.monotonic_ns()}")
        with open(self.path, "w") as f:
            self.p = subprocess.Popen([os.path.join(BUILD, "tests", "trace_consumer"), *(arguments or ["live"])], env=m.env, stdout=f)
        m.processes.append(self.p)

    def text(self, wait=True):
        if wait:
            check(self.p.wait(30) == 0, "trace_consumer ended with", self.p.returncode)
        with open(self.path) as f:
            text = f.read()
        return text[: text.rfind("\n") + 1].splitlines()

    def numbers(self):
        return [tuple(map(int, line.split())) for line in self.text(False) if line[0].isdigit()]

    def buffers(self):
        """The number of its buffer callbacks, once it has ended."""
        return int(next(line.split()[1] for line in self.text() if line.startswith("buffers ")))


LAYOUT = "<IIQ"


def write(m, number, count, rate=20000, wait=True):
    p, tally = m.writer(number, count, rate=rate, wait_ms=100)
    if wait:
        written(m, p)
    return p


def written(m, p):
    """The (writer, number) of events whose call has succeeded: a writer is told when its event has no room."""
    p.wait(60)
    check(p.returncode == 0, "a writer ended with", p.returncode)
    writer = int(p.args[2])
    with open(p.args[1], "rb") as f:
        data = f.read()
    bitmap, capacity = data[32:], struct.unpack("<Q", data[24:32])[0]
    return [(writer, n) for n in range(capacity) if bitmap[n // 8] & 1 << n % 8]


def exactly(got, expected, what):
    check(len(got) == len(set(got)), what, len(got) - len(set(got)), "events came twice")
    check(set(got) == set(expected), what, "missing", len(set(expected) - set(got)), "too many", len(set(got) - set(expected)))


def query(m, session="live"):
    return json.loads(m.tool("query", session, "--json").stdout)


def backups(m):
    folder = os.path.join(m.logs, "RtBackup")
    return sorted(n for n in os.listdir(folder) if n.startswith("EtwRT" + LIVE)) if os.path.isdir(folder) else []


with Machine(DECLARED) as m:
    # ---- a reboot between write and consume
    m.start()
    expected = written(m, write(m, 0, 5000))
    m.shutdown()
    check(backups(m) == [f"EtwRT{LIVE}.etl"], backups(m))
    row = {s["name"]: s for s in m.status()["sessions"]}["live"]
    check(row["status"] == 0 and not [c for c in row["conditions"] if c["number"] == 50], row)
    check(row["written"] == len(expected) and row["written"] + row["lost"]["total"] == 5000, len(expected), row)
    m.start()
    expected += written(m, write(m, 1, 3000))
    w = Watcher(m)
    exactly(w.wait_for(len(expected)), expected, "after a reboot:")
    w.interrupt()
    m.shutdown()
    m.start()
    w = Watcher(m)
    expected = written(m, write(m, 2, 10))
    exactly(w.wait_for(10), expected, "a third boot:")
    time.sleep(2.5)
    check(not backups(m), "all was read, and there is still", backups(m))
    w.interrupt()

    # ---- the daemon is killed while a consumer reads, again and again
    w = Watcher(m)
    p = write(m, 3, 100000, wait=False)
    for _ in range(5):
        time.sleep(0.7)
        os.kill(m.daemon_pid(), signal.SIGKILL)
        m.wait_ready()
    expected = written(m, p)
    exactly(w.wait_for(len(expected)), expected, "the daemon was killed 5 times:")
    info = query(m)
    check(info["realtime_buffers_lost"] == 0, info)
    w.interrupt()

    # ---- a consumer is killed: whole buffers that it did not acknowledge come again, and nothing is missing
    p = write(m, 4, 60000, wait=False)
    w = Watcher(m)
    time.sleep(1.7)
    w.p.kill()
    w.p.wait()
    first = w.numbers()
    rest = Watcher(m)
    expected = written(m, p)
    end = time.time() + 30
    while time.time() < end and len(set(first) | set(rest.numbers())) < len(expected):
        time.sleep(0.1)
    second = rest.numbers()
    check(len(second) == len(set(second)) and len(first) == len(set(first)), "one reader got an event twice")
    check(set(first) | set(second) == set(expected), "missing:", len(expected) - len(set(first) | set(second)))
    print("a killed reader:", len(first), "events printed,", len(set(first) & set(second)), "of them came again")

    # ---- programs that use the library, one after another; each goes on where its predecessor ended
    rest.interrupt()
    p = write(m, 6, 60000, wait=False)
    time.sleep(1)
    closing = Consumer(m)
    time.sleep(1.2)
    closing.p.send_signal(signal.SIGTERM)  # CloseTrace by another thread
    text = closing.text()
    check("closed 7007" in text and text[-1] == "end 0", "CloseTrace:", text[-3:])
    enough = Consumer(m, "live", "1")
    check(enough.text()[-1] == "end 1223", "the buffer callback said stop:", enough.text()[-3:])
    expected = written(m, p)
    last = Consumer(m)
    end = time.time() + 30
    while time.time() < end and sum(len(c.numbers()) for c in (closing, enough, last)) < len(expected):
        time.sleep(0.2)
    exactly(closing.numbers() + enough.numbers() + last.numbers(), expected, "three programs:")
    wrong = ("torn", "late", "lost", "overfull", "uncounted")
    check(not [line for c in (closing, enough, last) for line in c.text(False) if line.split()[0] in wrong], "torn, late, lost, or a buffer's counts")
    check(closing.buffers() > 1 and enough.buffers() == 1, "a call for each buffer:", closing.buffers(), enough.buffers())
    check(Consumer(m, "nobody").text()[-1] == "end 4201", "a session that is not there")
    rest = Watcher(m)
    time.sleep(1)

    # ---- several at once, and the end of the session: every reader gets the rest
    others = [Watcher(m) for _ in range(3)]
    both = Watcher(m, "both")
    time.sleep(1)
    expected = written(m, write(m, 5, 20000))
    m.tool("stop", "live")
    for other in [rest] + others:
        check(other.p.wait(30) == 0, "watch ended with", other.p.returncode)
        exactly([n for n in other.numbers() if n[0] == 5], expected, "at the end of the session:")
    check(last.text()[-1] == "end 0", "the end of the session:", last.text()[-3:])
    exactly([n for n in last.numbers() if n[0] == 5], expected, "at the end of the session, a program:")
    check(not backups(m), "the session was stopped, and there is still", backups(m))

    # ---- a session that writes to a file, too
    both.wait_for(1)
    m.shutdown()
    check(both.p.wait(30) == 0, "watch ended with", both.p.returncode)
    got = both.numbers()
    check(len(got) == len(set(got)), "both: events came twice")
    row = {s["name"]: s for s in m.status()["sessions"]}["both"]
    check(row["written"] > 0 and row["status"] == 0, row)
    file = m.verify(os.path.join(m.logs, "both.etl"), [os.path.join(m.dir, f"tally-{n}") for n in range(7)], expect=None)
    check(file["torn"] == file["doubled"] == file["damage"] == 0, "both:", file)
    check(file["events"] >= len([n for n in got if n[0] == 5]), "both: the file has fewer than the reader", file)


# ---- LGT-13: nobody reads: the backup has its limit, events without room are lost and counted, and the session's row says so
with Machine(DECLARED + """[Autologger/small]
LogFileMode = REAL_TIME
BufferSize = 16 KB
MinimumBuffers = 32
MaximumBuffers = 32
MaxFileSize = 1
[Autologger/small/other]
Guid = {5ca1ab1e-7e57-0002-8000-000000000002}
""") as m:
    m.start()
    p, _ = m.writer(0, 60000, rate=30000, provider=2, wait_ms=100, enabled=True)
    expected = written(m, p)
    m.tool("flush", "small")
    info = query(m, "small")
    folder = os.path.join(m.logs, "RtBackup")
    sizes = [os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)]
    print("a backup of 1 MB:", sizes, "bytes;", info["realtime_buffers_lost"], "buffers lost,", info["events_lost"], "events of 60000")
    check(len(sizes) == 1 and 1 << 19 < sizes[0] <= 1 << 20, "the limit of the backup", sizes)
    check(info["realtime_buffers_lost"] > 0 and info["events_written"] + info["events_lost"] == 60000, info)
    w = Watcher(m, "small")
    got = w.wait_for(info["events_written"])
    places = {event: place for place, event in enumerate(expected)}
    kept = [places.get(event, -1) for event in got]
    check(len(set(kept)) == len(got) == info["events_written"] and min(kept) == 0, "each once, from the first on", len(got), info)
    # buffers of two processors do not end at one time: only much later events had no room
    check(max(kept) < len(expected) / 2, "the oldest are what was kept", max(kept), len(expected), info)
    w.interrupt()
    m.shutdown()
    row = {s["name"]: s for s in m.status()["sessions"]}["small"]
    said = [c for c in row["conditions"] if c["item"] == "RealTime"]
    check(len(said) == 1 and said[0]["number"] == 1502 and "EtwRT" in said[0]["reason"] and "is full" in said[0]["reason"], row)
    check(row["written"] == info["events_written"] and row["lost"]["total"] == info["events_lost"], row, info)

# ---- a reader that comes while a session stops gets all of it, or is told that there is none
with Machine() as m:
    m.start()
    there = 0
    for i in range(200 if FULL else 20):
        name = f"brief-{i}"  # an earlier session's leftovers are for its own successor
        m.tool("start", name, "--provider", "{5ca1ab1e-7e57-0001-8000-000000000001}", "--set", "LogFileMode=REAL_TIME", "--set", "FlushTimer=1")
        write(m, 100 + i, 1000)
        w = Watcher(m, name)
        time.sleep(i % 20 * 0.0015)
        info = json.loads(m.tool("stop", name, "--json").stdout)
        code = w.p.wait(30)
        check(code == 0 or (code == 1 and not w.lines()), name, "watch ended with", code, open(w.path + ".err").read())
        check(code or len(w.numbers()) == info["events_written"], name, len(w.numbers()), info)
        there += code == 0
    print("while it stopped:", there, "of", i + 1, "were there in time")
    check(there, "none was there in time")
    m.shutdown()

# ---- from the initramfs on: the early program holds the events, the daemon writes them to the backup
with EarlyMachine(DECLARED) as m:
    m.early()
    end = time.time() + 20
    while m.tool("sessions", expect=None).returncode:
        check(time.time() < end, "the early program was not ready")
        time.sleep(0.05)
    r = m.tool("watch", "live", expect=None)
    check(r.returncode == 1 and "not supported" in r.stderr, "watch of the early program:", r.returncode, r.stderr)
    expected = written(m, write(m, 0, 5000))
    check(m.files() == [], "files were made before there was a daemon:", m.files())
    m.start()
    m.gone()
    w = Watcher(m)
    expected += written(m, write(m, 1, 2000))
    exactly(w.wait_for(len(expected)), expected, "from the initramfs on:")
    w.interrupt()
    m.shutdown()
print("fine")
