"""The modes of sessions under writers and a daemon that is killed: events in the file, overwritten and lost events add up to the programs' writes.
Circular keeps the newest events in its size; several files have no event missing or doubled at their seams; a ring in memory survives the daemon, and
snapshots leave it as it is; append continues a file; preallocated space is given back.
Proves: SES-02, SES-03, SES-04, SES-05, LGT-05."""
import glob
import json
import os
import pathlib
import re
import signal
import struct

from harness import FULL, Machine, check

PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
COUNT = 400000 if FULL else 60000
BUFFERS = ("--set", "BufferSize=64KB", "--set", "MinimumBuffers=64", "--set", "MaximumBuffers=256")


def written(m, name, mode, *args, kill=True, count=COUNT, first=0):
    """Starts a session, has two programs write into it at a rate, kills the daemon in the middle. Returns the tallies."""
    m.tool("start", name, *(("--set", "LogFileMode=" + mode) if mode else ()), "--provider", PROVIDER, *args)
    for i in range(2):  # an existing tally would be continued
        pathlib.Path(m.dir, f"tally-{first + i}").unlink(missing_ok=True)
    writers = [m.writer(first + i, count, rate=count // 2, enabled=True) for i in range(2)]
    if kill:
        while sum(tally(t)[0] for _, t in writers) < count:
            pass
        os.kill(m.daemon_pid(), signal.SIGKILL)
        m.wait_ready()
    for p, _ in writers:
        p.wait(90)
    return [t for _, t in writers]


def tally(path):
    try:
        with open(path, "rb") as f:
            return struct.unpack("<QQQ", f.read(24))
    except (OSError, struct.error):
        return (0, 0, 0)


def balance(m, name, tallies, stop=True):
    """Compares the session's numbers with the programs'."""
    info = json.loads(m.tool("stop" if stop else "query", name, "--json").stdout)
    info = info.get("session", info)
    attempted, refused = sum(tally(t)[0] for t in tallies), sum(tally(t)[2] for t in tallies)
    lost = info["events_lost"]
    print(name, "attempted", attempted, "written", info["events_written"], "overwritten", info["overwritten"], "lost", lost)
    check(lost == refused, "lost is what the programs were told:", lost, refused)
    if stop:
        check(info["events_written"] + lost == attempted, "attempted = written + lost")
    return info


def sound(got, events=None):
    check(got["torn"] == got["doubled"] == got["invented"] == got["inversions"] == got["damage"] == 0, got)
    check(events is None or got["events"] == events, got["events"], "events in the file, expected", events)


def circular(m):
    tallies = written(m, "round", "CIRCULAR", "-o", "round.etl", "--set", "MaxFileSize=2MB", *BUFFERS)
    info = balance(m, "round", tallies)
    path = os.path.join(m.logs, "round.etl")
    check(info["overwritten"] > 0 and os.path.getsize(path) <= 2 << 20, os.path.getsize(path))
    got = m.verify(path, tallies, expect=None)
    sound(got, info["events_written"] - info["overwritten"])
    check(got["missing"] <= info["overwritten"], "more is missing than was overwritten")
    summary = json.loads(m.tool("summary", path, "--json").stdout)
    check("EventTrace" in json.dumps(summary), summary)


def several_files(m):
    tallies = written(m, "new", "NEWFILE", "-o", "new-%d.etl", "--set", "MaxFileSize=1MB", *BUFFERS)
    info = balance(m, "new", tallies)
    files = sorted(glob.glob(os.path.join(m.logs, "new-*.etl")), key=lambda f: int(f.rsplit("-", 1)[1][:-4]))
    check(len(files) > 3 and info["log_path"] == files[-1], files, info["log_path"])
    check(all(os.path.getsize(f) == 1 << 20 for f in files[:-1]), "all but the last are full")
    whole = os.path.join(m.dir, "whole.etl")
    m.tool("merge", "--output", whole, *files)
    print(len(files), "files")
    got = m.verify(whole, tallies)
    sound(got, info["events_written"])
    check(got["events_lost"] == info["events_lost"], "the files count on from one to the next, the result has them once", info["events_lost"])


def in_memory(m, name="ring", mode="BUFFERING"):
    tallies = written(m, name, mode, "--set", "BufferSize=64KB", "--set", "MinimumBuffers=32")
    check(not glob.glob(os.path.join(m.logs, name + "*")), "a file without being asked")
    first = os.path.join(m.logs, f"{name}-1.etl")
    counts = []
    for n in (1, 2):
        m.tool("snapshot", name, "-o", f"{name}-{n}.etl")
        info = balance(m, name, tallies, stop=False)
        got = m.verify(os.path.join(m.logs, f"{name}-{n}.etl"), tallies, expect=None)
        sound(got, info["events_written"] - info["overwritten"])
        counts.append(got["events"])
    check(counts[0] == counts[1] > 0 and os.path.getsize(first) <= 33 * 65536, counts)
    info = balance(m, name, tallies)
    check(info["overwritten"] == info["events_written"], "what was in memory is gone")
    return counts[0]


def in_memory_compressed(m):
    """With compression the same memory holds more of the newest events."""
    r = m.tool("start", "said", "--set", "LogFileMode=BUFFERING+COMPRESSED")
    check("COMPRESSED" not in r.stdout + r.stderr, r.stdout)
    m.tool("stop", "said")
    plain, packed = in_memory(m, "plain"), in_memory(m, "packed", "BUFFERING+COMPRESSED")
    print("in memory:", plain, "events, compressed", packed)
    check(packed > plain * 5 // 4, plain, packed)
    whole = os.path.join(m.dir, "packed.etl")
    m.tool("relog", "--output", whole, os.path.join(m.logs, "packed-1.etl"))
    check(json.loads(m.tool("summary", whole, "--json").stdout), "another reader of it")


def goes_on(m):
    tallies = []
    for run in range(2):
        tallies += written(m, "more", "APPEND", "-o", "more.etl", *BUFFERS, kill=run == 0, count=COUNT // 4, first=2 * run)
        balance(m, "more", tallies[-2:])
    sound(m.verify(os.path.join(m.logs, "more.etl"), tallies))


def set_aside(m):
    tallies = written(m, "aside", "PREALLOCATE", "-o", "aside.etl", "--set", "MaxFileSize=64MB", *BUFFERS, count=COUNT // 4)
    path = os.path.join(m.logs, "aside.etl")
    info = balance(m, "aside", tallies)
    sound(m.verify(path, tallies), info["events_written"])
    check(os.path.getsize(path) < 64 << 20, os.path.getsize(path))


DECLARED = f"""[Autologger/turn]
FileName = turn.etl
LogFileMode = CIRCULAR
MaxFileSize = 2 MB
BufferSize = 64 KB
MinimumBuffers = 64
MaximumBuffers = 256
[Autologger/turn/numbered]
Guid = {PROVIDER}
"""


def overwritten_is_said(m, info, *words):
    """Checks where a verb reports losses, in text and JSON."""
    answer = json.loads(m.tool(*words, "--json", expect=None).stdout)
    rows = [s for s in answer["sessions"] if s["name"] == "turn"]
    text = m.tool(*words, expect=None).stdout
    line = re.search(r"overwritten: (\d+)\s+of\s+the\s+(\d+)\s+events\s+written", text)
    check(line and rows[0]["overwritten"] > 0, words, text, rows)
    check(info is None or [rows[0]["overwritten"], int(line.group(1)), int(line.group(2))] == [info["overwritten"], info["overwritten"], info["written"]], words,
          rows, text, info)
    return rows[0]


def ended():
    """status reports the same for a session that has ended, also after the daemon's end."""
    with Machine(DECLARED) as m:
        m.start()
        tallies = [m.writer(i, COUNT, rate=COUNT // 2, enabled=True) for i in range(2)]
        for p, _ in tallies:
            p.wait(90)
        m.tool("flush", "turn")
        overwritten_is_said(m, None, "sessions")
        text = m.tool("stop", "turn").stdout
        m.shutdown()
        row = overwritten_is_said(m, None, "status", "--store", m.store)
        overwritten_is_said(m, row, "status", "--store", m.store)
        check(f"overwritten: {row['overwritten']} of the {row['written']} events written" in text, text)
        got = m.verify(os.path.join(m.logs, "turn.etl"), [t for _, t in tallies], expect=None)
        sound(got, row["written"] - row["overwritten"])


def never_stopped(m):
    m.tool("start", "always", "--set", "LogFileMode=NONSTOPPABLE+BUFFERING")
    r = m.tool("stop", "always", expect=1)
    check("NONSTOPPABLE" in r.stderr, r.stderr)


with Machine() as m:
    m.start()
    for part in (circular, several_files, in_memory, in_memory_compressed, goes_on, set_aside, never_stopped):
        part(m)
    m.shutdown()
ended()
