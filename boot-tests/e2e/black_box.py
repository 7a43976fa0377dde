"""A black box under bursts: BUFFERING refuses no event, whatever its programs write. A snapshot has the newest events, without a hole in any
program's numbers; written + overwritten = attempted, EventsLost is 0. Also with a stopped daemon, with a daemon that is killed in the middle of a
burst, with programs of several users and with compressed buffers.
The trace is decoded here, from its bytes. D-04. Proves: COR-16, SES-03, SES-04."""
import collections
import glob
import json
import os
import pathlib
import signal
import struct
import subprocess
import time

from harness import BUILD, FULL, Machine, check

PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
EVENTS = 100000
PROGRAMS = 3
MAGIC = 0x4E554D42
BUFFERS = 16
SESSION = ("--set", "BufferSize=64KB", "--set", f"MinimumBuffers={BUFFERS}", "--set", f"MaximumBuffers={BUFFERS}", "--provider", PROVIDER)

Event = collections.namedtuple("Event", "time thread process")


def tally(path):
    try:
        with open(path, "rb") as f:
            return struct.unpack("<QQQ", f.read(24))
    except (OSError, struct.error):
        return (0, 0, 0)


def events_in(path, process):
    """Writer -> number -> event. Each event is compared with its expected contents; `process`: writer -> process id."""
    data = pathlib.Path(path).read_bytes()
    found = collections.defaultdict(dict)
    size, = struct.unpack_from("<I", data, 0)
    for at in range(size, len(data), size):
        filled, = struct.unpack_from("<I", data, at + 0x30)
        place, last = at + 0x48, 0
        while place < at + filled:
            length, kind, marker = struct.unpack_from("<HBB", data, place)
            check(marker == 0xC0 and kind in (0x12, 0x13) and length >= 80, "a record at", place, hex(marker), kind, length)
            thread, pid, when = struct.unpack_from("<IIQ", data, place + 8)
            check(when >= last, "time goes back in a buffer")
            last = when
            if struct.unpack_from("<I", data, place + 80)[0] == MAGIC:
                _, writer, number = struct.unpack_from(LAYOUT, data, place + 80)
                check(number not in found[writer], "doubled", writer, number)
                check(process is None or pid == process[writer], "the event of another process", pid, process)
                found[writer][number] = Event(when, thread, pid)
            place += (length + 7) & ~7
    return found


LAYOUT = "<IIQ"


def start(m, name, mode="BUFFERING"):
    m.tool("start", name, "--set", "LogFileMode=" + mode, *SESSION)


def burst(m, events, users=None, first=0):
    """Programs begin to write at once; each writes its share of the events."""
    for i in range(PROGRAMS):
        pathlib.Path(m.dir, f"tally-{first + i}").unlink(missing_ok=True)
    return [m.writer(first + i, events // PROGRAMS + (i < events % PROGRAMS), enabled=True, user=users[i] if users else None) for i in range(PROGRAMS)]


def ended(writers, refused=0):
    for p, _ in writers:
        p.wait(90)
        check(p.returncode == 0, "a program ended with", p.returncode)
    attempted = [tally(t)[0] for _, t in writers]
    check(sum(tally(t)[2] for _, t in writers) == refused, "events were refused", [tally(t) for _, t in writers])
    return sum(attempted)


def whole(found, last=None):
    """No program's numbers have a hole; with `last`: they end with the program's last one."""
    for writer, events in found.items():
        low, high = min(events), max(events)
        missing = [n for n in range(low, high) if n not in events]
        check(not missing, "a hole in the window: writer", writer, "of", low, "to", high, "lacks", len(missing), "from", missing[:3])
        check(last is None or high == last[writer], "the newest is not there", writer, high)
    # together: from `begins` on the window has every event of every program
    begins = max(min(e.time for e in events.values()) for events in found.values()) if found else 0
    return begins


def kept(m, name, writers, attempted, holes=False):
    """A snapshot of the session, against the programs and the session's own numbers."""
    m.tool("snapshot", name, "-o", f"{name}-{attempted}.etl")
    path = os.path.join(m.logs, f"{name}-{attempted}.etl")
    info = json.loads(m.tool("query", name, "--json").stdout)
    found = events_in(path, {i: p.pid for i, (p, _) in enumerate(writers)})
    events = sum(len(e) for e in found.values())
    print(name, "attempted", attempted, "written", info["events_written"], "overwritten", info["overwritten"], "in the snapshot", events)
    check(info["events_lost"] == 0, "EventsLost", info["events_lost"])
    check(info["events_written"] == attempted, "written, with those that were overwritten", info["events_written"], attempted)
    check(events + info["overwritten"] == attempted, "in the ring + overwritten = attempted", events, info["overwritten"], attempted)
    if not holes:
        whole(found, {i: tally(t)[0] - 1 for i, (_, t) in enumerate(writers)})
    got = m.verify(path, [t for _, t in writers], expect=None)
    check(got["torn"] == got["doubled"] == got["invented"] == got["inversions"] == got["damage"] == 0, got)
    check(got["events"] == events, "another decoder has", got["events"], events)
    check(os.path.getsize(path) <= (BUFFERS + 1) * 65536, os.path.getsize(path))
    return found, info


def a_burst(m):
    for n in range(20 if FULL else 5):
        start(m, "burst")
        writers = burst(m, EVENTS)
        attempted = ended(writers)
        check(attempted == EVENTS, attempted)
        found, info = kept(m, "burst", writers, attempted)
        check(sum(len(e) for e in found.values()) >= 1000, "hardly anything is kept")
        busy = sum(u["busy_bytes"] + u["free_bytes"] for u in info["users"])
        check(busy <= BUFFERS * 65536, "memory beyond MaximumBuffers", busy)
        again, _ = kept(m, "burst", writers, attempted)
        check(again == found, "a second snapshot has other events")
        m.tool("stop", "burst")
        for path in glob.glob(os.path.join(m.logs, "burst*")):
            os.unlink(path)


def little(m):
    """With room for all events none is overwritten, and none is missing."""
    start(m, "little")
    writers = burst(m, 1500)
    found, info = kept(m, "little", writers, ended(writers))
    check(info["overwritten"] == 0 and sum(len(e) for e in found.values()) == 1500, info["overwritten"])
    last = json.loads(m.tool("stop", "little", "--json").stdout)
    gone = [c["reason"] for c in last["conditions"] if c["item"] == "LogFileMode"]
    check(gone == ["BUFFERING: 1500 events were in memory alone, and are gone"], "what only its end can tell", last["conditions"])


def in_the_middle(m):
    """Snapshots while programs write: each is whole up to its own end."""
    start(m, "middle")
    writers = burst(m, 4 * EVENTS)
    process = {i: p.pid for i, (p, _) in enumerate(writers)}
    n = 0
    while any(p.poll() is None for p, _ in writers) and n < 20:
        m.tool("snapshot", "middle", "-o", f"during-{n}.etl")
        whole(events_in(os.path.join(m.logs, f"during-{n}.etl"), process))
        n += 1
    kept(m, "middle", writers, ended(writers))
    m.tool("stop", "middle")


def nobody_reads(m):
    """The daemon is stopped for as long as the burst takes."""
    start(m, "alone")
    writers = burst(m, EVENTS)
    while not all(tally(t)[0] for _, t in writers):
        time.sleep(0.001)
    os.kill(m.daemon_pid(), signal.SIGSTOP)
    try:
        attempted = ended(writers)
    finally:
        os.kill(m.daemon_pid(), signal.SIGCONT)
    kept(m, "alone", writers, attempted)
    m.tool("stop", "alone")


def killed(m):
    """A successor has the same events."""
    for n in range(10 if FULL else 3):
        start(m, f"killed{n}")
        writers = burst(m, EVENTS)
        while sum(tally(t)[0] for _, t in writers) < EVENTS // 4:
            time.sleep(0.001)
        os.kill(m.daemon_pid(), signal.SIGKILL)
        m.wait_ready()
        kept(m, f"killed{n}", writers, ended(writers))
        m.tool("stop", f"killed{n}")


def several_users(m):
    start(m, "users")
    writers = burst(m, EVENTS, users=(5001, 5002, 5003))
    kept(m, "users", writers, ended(writers))
    m.tool("stop", "users")


def beside_an_idle_user(m):
    """Memory that an attached program has for a burst, and does not use, is the writer's: it has its part of the ring, and not what is set aside."""
    os.chmod(m.dir, 0o755)
    start(m, "idle")
    idle = subprocess.Popen([os.path.join(BUILD, "tests", "untrue_times"), "1", "1", "0"], env=m.env, user=5004, group=5004, extra_groups=[],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    m.processes.append(idle)
    check(idle.stdout.readline() == "wrote 0\n", "the idle program")
    writer, _ = m.writer(0, 20000, rate=20000, user=5005, enabled=True)
    best = 0
    while writer.poll() is None:
        users = {u["uid"]: u["busy_bytes"] + u["free_bytes"] for u in json.loads(m.tool("query", "idle", "--json").stdout)["users"]}
        best = max(best, users.get(5005, 0))
    print("parts of an idle and a writing user:", users[5004], best)
    check(best >= BUFFERS * 65536 // 3, "what the writing user had of", BUFFERS * 65536, best)
    idle.stdin.close()
    idle.wait(10)
    m.tool("stop", "idle")


def users_after_another(m):
    """More users than there are places and buffers, one after another, and a successor now and then: small bursts do not push the large rest out."""
    users, events, least = 300, 50, 2500
    start(m, "many")
    writers = []
    for n in range(users):
        path = pathlib.Path(m.dir, f"tally-{n}")
        path.unlink(missing_ok=True)
        writers.append(m.writer(n, events, enabled=True, user=6000 + n))
        if n % 75 == 40:
            os.kill(m.daemon_pid(), signal.SIGKILL)
            m.wait_ready()
        writers[-1][0].wait(60)
    attempted = ended(writers)
    check(attempted == users * events, attempted)
    found, _ = kept(m, "many", writers, attempted)
    check(sum(len(e) for e in found.values()) >= least, "hardly anything is kept")
    newest = sorted(found)
    check(newest == list(range(newest[0], users)), "users are missing", newest)
    check(all(len(found[n]) == events for n in newest[1:]), "a user's events are missing")
    m.tool("stop", "many")


def compressed(m):
    start(m, "packed", "BUFFERING+COMPRESSED")
    writers = burst(m, EVENTS)
    attempted = ended(writers)
    m.tool("snapshot", "packed", "-o", "packed.etl")
    path = os.path.join(m.logs, "packed.etl")
    m.tool("relog", "--output", os.path.join(m.dir, "plain.etl"), path)
    info = json.loads(m.tool("query", "packed", "--json").stdout)
    got = m.verify(path, [t for _, t in writers], expect=None)
    check(info["events_lost"] == 0 and info["events_written"] == attempted and got["events"] + info["overwritten"] == attempted, info, got)
    check(got["torn"] == got["doubled"] == got["invented"] == got["inversions"] == got["damage"] == 0, got)
    m.tool("stop", "packed")


os.environ["EVENT_WRITER_FIXED"] = "1"
with Machine() as m:
    m.start()
    for part in (little, a_burst, in_the_middle, nobody_reads, killed, several_users, beside_an_idle_user, users_after_another, compressed):
        part(m)
    m.shutdown()
