"""Private sessions of programs: two programs of an unprivileged user have one of the same name each, while other programs write the same provider;
each file has only its program's events. A program that exits without a stop ends its session, also while the daemon is dead. A private session of
several processes has a file for each, with only its events, also for a killed and for a later process; each file's balance holds by itself, and over
a kill of the daemon.
Proves: SPC-01, SPC-03."""
import glob
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import tempfile
import time

from harness import BUILD, Machine, check

PROVIDER = "5ca1ab1e-7e57-0001"
NOBODY = 65534


def events(m, path):
    lines = [json.loads(line) for line in m.tool("dump", path, "--json").stdout.splitlines()]
    return [e for e in lines if PROVIDER in json.dumps(e)]


def go(m, folder, name, count, how):
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    p = subprocess.Popen([os.path.join(BUILD, "tests", "trace_private"), os.path.join(folder, name), str(count), how], env=m.env,
                         stdout=subprocess.PIPE, text=True, **user)
    m.processes.append(p)
    return p


def file_of(p):
    out = p.communicate(timeout=60)[0]
    check(p.returncode == 0, out)
    return out.strip().splitlines()[-1]


def side_by_side(m, folder):
    m.tool("start", "everything", "-o", "everything.etl", "--provider", "{5ca1ab1e-7e57-0001-8000-000000000001}", "--set", "MaximumBuffers=256")
    other, _ = m.writer(0, 20000, rate=20000)
    programs = [go(m, folder, "own.etl", 500 + i, "stop") for i in range(2)]
    pids = [p.pid for p in programs]
    files = [file_of(p) for p in programs]
    other.wait(60)
    for i, path in enumerate(files):
        check(path == os.path.join(folder, f"own.etl_{pids[i]}"), path)
        if os.geteuid() == 0:
            check(os.stat(path).st_uid == NOBODY, "the file is its user's")
        got = events(m, path)
        check(len(got) == 500 + i and all(e["pid"] == pids[i] for e in got), len(got), got[:2])
    info = json.loads(m.tool("stop", "everything", "--json").stdout)
    info = info.get("session", info)
    check(info["events_written"] + info["events_lost"] == 20000 + 1001, "an ordinary session has the events of all", info)
    print("side by side: 500 and 501 events of one program each,", info["events_written"], "in the session for all")


def limits(m, folder):
    """A user may have four, and a provider's other places are kept for ordinary sessions; another user's sessions start, but get none of its
    places."""
    if os.geteuid() != 0:
        return
    programs = []
    for user, how in ((NOBODY, "fill"), (NOBODY - 1, "fill-none")):
        where = os.path.join(folder, str(user))
        os.makedirs(where)
        os.chown(where, user, user)
        p = subprocess.Popen([os.path.join(BUILD, "tests", "trace_private"), os.path.join(where, "f.etl"), "4", how], env=m.env,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, user=user, group=user, extra_groups=[])
        m.processes.append(p)
        programs.append(p)
        said = p.stdout.readline().strip()
        check(said == "0", user, said, p.stdout.readline() if said != "0" else "")
    m.tool("start", "ordinary", "-o", "ordinary.etl", "--provider", "{5ca1ab1e-7e57-0001-8000-000000000001}")
    m.tool("stop", "ordinary")
    for p in programs:
        p.stdin.close()
        p.stdin = None
        p.communicate(timeout=60)
        check(p.returncode == 0, p.returncode)
    none_left(m)
    print("limits: four sessions a user, four of them with a provider; an ordinary one still has it")


def sessions(m):
    return [s["name"] for s in json.loads(m.tool("sessions", "--json").stdout)["sessions"]]


def none_left(m):
    end = time.time() + 20
    while any("(private, " in s for s in sessions(m)):
        check(time.time() < end, "the session of a program that is gone", sessions(m))
        time.sleep(0.05)


def gone(m, folder):
    for killed in (False, True):
        p = go(m, folder, f"gone-{killed}.etl", 300, "leave")
        if killed:  # the daemon dies at about the same time as the program
            time.sleep(0.1)
            os.kill(m.daemon_pid(), signal.SIGKILL)
            p.wait(60)
            m.wait_ready()
        else:
            path = file_of(p)
        none_left(m)
        if not killed:
            check(len(events(m, path)) == 300, "its file is complete")
    print("programs that are gone: no session is left")


class Controller:
    """trace_processes: a private session of several processes."""

    def __init__(self, m, file, *chosen):
        self.p = subprocess.Popen([os.path.join(BUILD, "tests", "trace_processes"), file, *map(str, chosen)], env=m.env, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        m.processes.append(self.p)
        said = self.p.stdout.readline().strip()
        check(said == "started", said)

    def ask(self, what):
        self.p.stdin.write(what + "\n")
        self.p.stdin.flush()
        said = self.p.stdout.readline().strip()
        if not said.startswith("buffers"):
            return said
        words = said.split()
        return {"buffers": int(words[1]), "lost": int(words[3]), "memory": int(words[5]), "file": words[7]}

    def end(self):
        rest = self.p.communicate(timeout=60)[0]
        check(self.p.returncode == 0 and not rest, rest)


def tally(path):
    with open(path, "rb") as f:
        return struct.unpack("<QQQ", f.read(24))


def wait_for(what, say):
    end = time.time() + 20
    while not what():
        check(time.time() < end, say)
        time.sleep(0.02)


def asked(m):
    said = json.loads(m.tool("query", "each", "--json").stdout)
    return said.get("session", said)


def parts(m):
    return [s for s in sessions(m) if s.startswith("each (process ")]


def balances(m, path, tallies, number, killed=False):
    """A file has only one process' events, and all of them are there or counted as lost."""
    alone = [t if i == number else "/dev/null" for i, t in enumerate(tallies)]
    empty = os.path.join(m.dir, "no-tally")  # of a writer that wrote nothing: any event found of it is invented
    with open(empty, "wb") as f:
        f.truncate(4096)
    got = m.verify(path, [empty if t == "/dev/null" else t for t in alone], expect=None)
    attempted = tally(tallies[number])[0]
    check(got["torn"] == got["doubled"] == got["invented"] == got["inversions"] == got["damage"] == got["missing"] == 0, path, got)
    cut = attempted - got["events"] - got["events_lost"]
    check(cut == 0 or (killed and cut == 1), path, "attempted", attempted, "in the file", got["events"], "lost", got["events_lost"])
    return got


def each_process(m):
    COUNT = 40000
    for i in range(6):  # an existing tally would be continued
        pathlib.Path(m.dir, f"tally-{i}").unlink(missing_ok=True)
    writers = [m.writer(i, COUNT, rate=20000, wait_ms=1500) for i in range(3)]
    time.sleep(0.3)
    c = Controller(m, "each.etl")
    # start while the session runs; the first one writes faster than its events can be taken, and loses some
    writers += [m.writer(3, 20 * COUNT, wait_ms=500), m.writer(4, COUNT, rate=20000, wait_ms=500)]
    wait_for(lambda: len(parts(m)) == 5, parts(m))
    m.tool("start", "everything", "-o", "beside.etl", "--provider", "{5ca1ab1e-7e57-0001-8000-000000000001}", "--set", "MaximumBuffers=256")
    pids = [p.pid for p, _ in writers]
    plain = os.path.join(m.logs, "each.etl")
    wait_for(lambda: len(glob.glob(plain + "*")) == 5, "a file for each process")
    check(m.tool("stop", f"each (process {pids[1]})", expect=None).returncode == 1, "a part is stopped with the whole")
    wait_for(lambda: os.path.exists(writers[4][1]) and tally(writers[4][1])[0] > 1000, "the writers write")
    said = c.ask("query")
    check(said["memory"] >= 5 and said["file"] == plain, said)
    check(c.ask("flush") == "0", "flush")
    wait_for(lambda: tally(writers[1][1])[0] > COUNT // 4, "the writers write")
    writers[1][0].send_signal(signal.SIGKILL)
    os.kill(m.daemon_pid(), signal.SIGKILL)  # its successor goes on with all parts
    m.wait_ready()
    later, tally_later = m.writer(5, 5000, rate=20000, wait_ms=500)
    pids.append(later.pid)
    for p, _ in writers:
        p.wait(60)
    later.wait(60)
    wait_for(lambda: not parts(m), "parts of processes that are gone")
    tallies = [t for _, t in writers] + [tally_later]
    files = {pid: plain + f"_{pid}" for pid in pids}
    first = [pid for pid in pids if not os.path.exists(files[pid])]
    check(len(first) == 1 and first[0] in pids[:3], "the first process has the name as given", first, glob.glob(plain + "*"))
    files[first[0]] = plain
    got = [balances(m, files[pid], tallies, i, killed=i == 1) for i, pid in enumerate(pids)]
    said = c.ask("query")
    check(said["lost"] == sum(g["events_lost"] for g in got), said, got)
    info = asked(m)
    check(info["processes"] == 6 and info["processes_refused"] == 0 and info["events_written"] == sum(g["events"] for g in got), info)
    check(c.ask("stop")["lost"] == said["lost"], "its numbers at the end")
    c.end()
    m.tool("stop", "everything")
    print("six processes:", [g["events"] for g in got], "events in their files, lost", [g["events_lost"] for g in got])


def chosen_processes(m):
    """By id, by executable; and a session that divides itself by process and by size."""
    writers = [m.writer(10 + i, 2000, rate=4000, wait_ms=2000) for i in range(2)]
    time.sleep(0.3)
    c = Controller(m, "chosen.etl", writers[1][0].pid)
    check(len(parts(m)) == 1 and str(writers[1][0].pid) in parts(m)[0], parts(m))
    for p, _ in writers:
        p.wait(30)
    c.ask("stop")
    c.end()
    check(glob.glob(os.path.join(m.logs, "chosen.etl*")) == [os.path.join(m.logs, "chosen.etl")], "one file")
    check(len(events(m, os.path.join(m.logs, "chosen.etl"))) == 2000, "its events alone")
    for name, files in (("other-name", 0), ("other-name;event_writer", 1)):
        c = Controller(m, f"named-{files}.etl", name)
        p, _ = m.writer(20, 500, wait_ms=500)
        p.wait(30)
        c.ask("stop")
        c.end()
        check(len(glob.glob(os.path.join(m.logs, f"named-{files}.etl*"))) == files, name)
    c = Controller(m, "many-%d.etl")
    writers = [m.writer(30 + i, 2000, rate=2000, wait_ms=500) for i in range(2)]
    wait_for(lambda: len(parts(m)) == 2, parts(m))
    check(c.ask("next") == "0", "the next file of each")
    for p, _ in writers:
        p.wait(30)
    c.ask("stop")
    c.end()
    found = sorted(os.path.basename(f).split("_")[0] for f in glob.glob(os.path.join(m.logs, "many-*.etl*")))
    check(found == ["many-1.etl", "many-1.etl", "many-2.etl", "many-2.etl"], found)
    check(sum(len(events(m, f)) for f in glob.glob(os.path.join(m.logs, "many-*.etl*"))) == 4000, "all events, in four files")
    print("chosen by id, by executable; files of several, for each process")


def by_command(m):
    """The same from the command line."""
    provider = "{5ca1ab1e-7e57-0001-8000-000000000001}"
    m.tool("start", "each", "--set", "LogFileMode=PRIVATE_LOGGER", "--set", "Guid=" + provider, "--provider", provider, "-o", "command.etl")
    writers = [m.writer(50 + i, 300, wait_ms=300) for i in range(2)]
    for p, _ in writers:
        p.wait(30)
    wait_for(lambda: not parts(m), "parts of processes that are gone")
    said = m.tool("query", "each").stdout
    check("2 with a file each; 0 got none" in said, said)
    m.tool("stop", "each")
    files = sorted(glob.glob(os.path.join(m.logs, "command.etl*")))
    check(len(files) == 2 and all(len(events(m, f)) == 300 for f in files), files)


def in_the_way(m):
    """One process' file cannot be made: the session reports it, and the other processes have theirs."""
    with open(os.path.join(m.logs, "taken.etl"), "w") as f:
        f.write("not a trace\n")
    c = Controller(m, "taken.etl")
    for i in range(2):
        p, _ = m.writer(70 + i, 200, wait_ms=500)
        wait_for(lambda: asked(m)["processes"] == i + 1, "a part")
        wait_for(lambda: asked(m)["status"] == 183, asked(m))
        p.wait(30)
    wait_for(lambda: not parts(m), "parts of processes that are gone")
    info = asked(m)
    check(info["status"] == 183 and info["events_written"] == 200 == info["events_lost"], info)
    check(c.ask("stop")["lost"] == 200, "the events of the one without a file")
    c.end()
    with open(os.path.join(m.logs, "taken.etl")) as f:
        check(f.read() == "not a trace\n", "what was there is as it was")


def in_memory(m):
    """A ring for each process, and snapshots of all rings."""
    provider = "{5ca1ab1e-7e57-0001-8000-000000000001}"
    m.tool("start", "each", "--set", "LogFileMode=PRIVATE_LOGGER+BUFFERING+COMPRESSED", "--set", "Guid=" + provider, "--provider", provider)
    r = m.tool("snapshot", "each", "-o", "rings.etl", expect=1)
    check("no process has a part" in r.stderr, r.stderr)
    writers = [m.writer(60 + i, 301, rate=100, wait_ms=300) for i in range(2)]
    wait_for(lambda: asked(m)["processes"] == 2, "two processes")
    wait_for(lambda: all(os.path.exists(t) and tally(t)[0] >= 128 for _, t in writers), "the writers write")
    m.tool("snapshot", "each", "-o", "rings.etl")
    for p, _ in writers:
        p.wait(30)
    wait_for(lambda: not parts(m), "parts of processes that are gone")
    info = asked(m)
    check(info["events_written"] == 602 == info["overwritten"] and info["events_lost"] == 0, info)
    m.tool("stop", "each")
    plain = os.path.join(m.logs, "rings.etl")
    pids = {p.pid for p, _ in writers}
    found = {f: events(m, f) for f in glob.glob(plain + "*")}
    check(len(found) == 2 and plain in found and {e["pid"] for got in found.values() for e in got} == pids, list(found))
    check(all(len({e["pid"] for e in got}) == 1 and 128 <= len(got) <= 301 for got in found.values()), [len(g) for g in found.values()])


def no_place(m):
    """A session has places for 16 processes; further ones are counted, and not recorded."""
    c = Controller(m, "crowd.etl")
    writers = [m.writer(40 + i, 100, wait_ms=4000) for i in range(18)]
    wait_for(lambda: len(parts(m)) == 16, parts(m))
    wait_for(lambda: asked(m)["processes_refused"] == 2, "two without a place are counted")
    check(asked(m)["processes"] == 16 and asked(m)["status"] == 1450, asked(m))
    for p, _ in writers:
        p.wait(60)
    wait_for(lambda: not parts(m), "parts of processes that are gone")
    check(c.ask("stop")["lost"] == 0, "nothing of the sixteen is lost")
    c.end()
    files = glob.glob(os.path.join(m.logs, "crowd.etl*"))
    check(len(files) == 16 and all(len(events(m, f)) == 100 for f in files), len(files))
    print("eighteen processes: sixteen files, two without a place are counted")


folder = tempfile.mkdtemp(prefix="autologger-private-")
try:
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
        os.chmod(folder, 0o755)
    with Machine() as m:
        os.chmod(m.dir, 0o755)
        m.start()
        side_by_side(m, folder)
        limits(m, folder)
        gone(m, folder)
        for part in (each_process, chosen_processes, by_command, in_the_way, in_memory, no_place):
            part(m)
        m.shutdown()
finally:
    shutil.rmtree(folder, ignore_errors=True)
