"""A user's session on storage that stops answering: an ext4 of its own, frozen. Start, flush, snapshot, next file, update and stop of that session
wait, each up to its stated limit; all other requests are served meanwhile: root's commands, new programs, sessions that begin and end. Once the
storage answers again each is done, and each file is whole: decoded and compared with the writers. Also with a daemon that is killed meanwhile, and
one that is ended. F6.
Proves: CLI-10."""
import ctypes
import fcntl
import json
import os
import signal
import subprocess
import sys
import time

from harness import BUILD, Machine, check, skip

PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
OTHER = "{5ca1ab1e-7e57-0002-8000-000000000002}"
USER, GROUP = 6215, 6210
SOON, EVENTS = 2.0, 400
FIFREEZE, FITHAW, PR_SET_PDEATHSIG = 0xC0045877, 0xC0045878, 1
libc = ctypes.CDLL(None, use_errno=True)

if os.getuid() != 0:
    skip("needs root, to mount")


class Disk:
    """A file system in a file. While it is frozen, writes to it wait in the kernel. A process of its own thaws it when the test is killed."""

    def __init__(self, m):
        self.image, self.folder, self.frozen = os.path.join(m.dir, "disk.img"), os.path.join(m.dir, "disk"), False
        os.mkdir(self.folder)
        with open(self.image, "wb") as f:
            f.truncate(200 << 20)
        for words in (["mkfs.ext4", "-q", self.image], ["mount", "-o", "loop", self.image, self.folder]):
            try:
                r = subprocess.run(words, capture_output=True, text=True, check=False)
            except FileNotFoundError as e:
                skip(f"{e}")
            if r.returncode:
                skip(f"no file system in a file here: {r.stderr.strip()}")
        os.mkdir(os.path.join(self.folder, "user"))
        os.chown(os.path.join(self.folder, "user"), USER, USER)
        self.guard = os.fork()
        if self.guard == 0:
            signal.signal(signal.SIGUSR1, lambda *_: self.end_of_guard())
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGUSR1, 0, 0, 0)
            while True:
                signal.pause()

    def end_of_guard(self):
        self.change(FITHAW)
        subprocess.run(["umount", "-l", self.folder], check=False)
        os._exit(0)

    def change(self, how):
        fd = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, how, 0)
        except OSError:
            pass
        os.close(fd)

    def freeze(self):
        self.change(FIFREEZE)

    def thaw(self):
        self.change(FITHAW)

    def end(self):
        os.kill(self.guard, signal.SIGKILL)
        os.waitpid(self.guard, 0)
        self.thaw()
        subprocess.run(["umount", "-l", self.folder], check=False)

    def path(self, name):
        return os.path.join(self.folder, "user", name)


def tool_as_root(m, *words):
    return subprocess.Popen([os.path.join(BUILD, "autologger"), *words], env=m.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def tool_as_user(m, *words):
    return subprocess.Popen([os.path.join(BUILD, "autologger"), *words], env=dict(m.env, HOME=m.dir), user=USER, group=USER, extra_groups=[GROUP],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ends(p, expect, seconds):
    try:
        out, err = p.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        p.kill()
        check(False, p.args[1:], "has no answer in", seconds, "s")
    check(p.returncode == expect, p.args[1:], "-> exit", p.returncode, "expected", expect, out, err)
    return out + err


def now(m, *words, expect=0):
    return ends(tool_as_user(m, *words), expect, 20)


def still_waits(*processes):
    for p in processes:
        if p.poll() is not None:
            check(False, p.args[1:], "has an answer already:", p.returncode, *p.communicate())


def soon(m, what, function, *args, **kw):
    begin = time.monotonic()
    result = function(*args, **kw)
    took = time.monotonic() - begin
    check(took < SOON, what, "took", took, "s")
    return result


def others_are_served(m, number):
    """Requests of root and other programs meanwhile."""
    soon(m, "sessions", m.tool, "sessions")
    soon(m, "query", m.tool, "query", "honest", "--json")
    soon(m, "flush", m.tool, "flush", "honest")
    soon(m, "snapshot", m.tool, "snapshot", "honest", "-o", f"honest-{number}.etl")
    soon(m, "start", m.tool, "start", f"other{number}", "-o", f"other{number}.etl", "--provider", OTHER)
    writer, tally = m.writer(2, EVENTS, provider=2, enabled=True)
    writer.wait(20)
    soon(m, "stop", m.tool, "stop", f"other{number}")
    got = m.verify(os.path.join(m.logs, f"other{number}.etl"), [m.nobody, m.nobody, tally])
    check(got["events"] == EVENTS and got["missing"] == 0 and got["events_lost"] == 0, got)


def begin(m, disk, file, *more):
    now(m, "start", file.replace("%d", ""), "-o", disk.path(f"{file}.etl"), "--provider", PROVIDER, "--set", "BufferSize=64KB", *more)


def write(m, number):
    writer, tally = m.writer(number, EVENTS, enabled=True, user=USER)
    writer.wait(20)
    return tally


def whole(m, path, tallies, events):
    got = m.verify(path, tallies)
    check(got["events"] == events and got["missing"] == got["torn"] == got["invented"] == got["damage"] == 0, path, got)


def stop_waits(m, disk):
    begin(m, disk, "slow")
    tallies = [write(m, 0)]
    disk.freeze()
    tallies.append(write(m, 1))
    flush = tool_as_user(m, "flush", "slow")
    time.sleep(0.3)
    others_are_served(m, 1)
    still_waits(flush)
    text = ends(flush, 111, 10)
    check("1460" in text or "TIMEOUT" in text.upper(), text)
    stops = [tool_as_user(m, "stop", "slow") for _ in range(2)]
    time.sleep(0.3)
    others_are_served(m, 2)
    still_waits(*stops)
    rows = json.loads(m.tool("sessions", "--json").stdout)
    check("slow" in json.dumps(rows), "it is hidden while it ends", rows)
    again = now(m, "start", "slow", "-o", disk.path("again.etl"), "--provider", PROVIDER, expect=1)
    check("183" in again or "exists" in again.lower(), again)
    disk.thaw()
    for p in stops:
        ends(p, 0, 20)
    whole(m, disk.path("slow.etl"), tallies, 2 * EVENTS)
    check("slow" not in m.tool("sessions", "--json").stdout, "it is still there")


def start_waits(m, disk):
    """Events that come before the file is made wait in memory."""
    disk.freeze()
    start = tool_as_user(m, "start", "late", "-o", disk.path("late.etl"), "--provider", PROVIDER, "--set", "BufferSize=64KB")
    gone = tool_as_user(m, "start", "gone", "-o", disk.path("gone.etl"), "--provider", PROVIDER, "--set", "BufferSize=64KB")
    time.sleep(0.3)
    others_are_served(m, 5)
    still_waits(start, gone)
    gone.kill()  # its caller has gone: the session starts all the same
    text = ends(start, 0, 10)
    check("not made yet" in text, text)
    tallies = [write(m, 0)]
    stop = tool_as_user(m, "stop", "late")
    time.sleep(0.2)
    still_waits(stop)
    disk.thaw()
    ends(stop, 0, 20)
    now(m, "stop", "gone")
    for name in ("late", "gone"):
        whole(m, disk.path(f"{name}.etl"), tallies, EVENTS)


def files_wait(m, disk):
    begin(m, disk, "filed%d", "--set", "LogFileMode=NEWFILE", "--set", "MaxFileSize=5")
    tallies = [write(m, 0)]
    now(m, "flush", "filed")
    disk.freeze()
    tallies.append(write(m, 1))  # the snapshots wait for these events: they have all that was written
    snapshots = [tool_as_user(m, "snapshot", "filed", "-o", f"users/copy{i}.etl") for i in range(2)]
    time.sleep(0.2)
    more = tool_as_user(m, "flush", "filed", "--next-file")
    time.sleep(0.3)
    others_are_served(m, 3)
    still_waits(*snapshots, more)
    disk.thaw()
    for p in snapshots + [more]:
        ends(p, 0, 20)
    for i in range(2):
        whole(m, os.path.join(m.logs, f"users/copy{i}.etl"), tallies, 2 * EVENTS)
    now(m, "stop", "filed")


def query(m, name):
    return json.loads(m.tool("query", name, "--json").stdout)


def updates_wait(m, disk):
    """Less memory and another file, of a user's session and of root's. The first update waits 2 s, the second until the storage answers; then a
    further update has its turn."""
    ours = os.path.join(disk.folder, "ours.etl")
    more = ("--set", "MinimumBuffers=8", "--set", "MaximumBuffers=64")
    begin(m, disk, "less", *more)
    m.tool("start", "ours", "-o", ours, "--provider", PROVIDER, "--set", "BufferSize=64KB", *more)
    tallies = [write(m, 0)]
    disk.freeze()
    tallies.append(write(m, 1))
    user = tool_as_user(m, "update", "less", "--maximum-buffers", "16")
    root = tool_as_root(m, "update", "ours", "--maximum-buffers", "16")
    time.sleep(0.5)
    turn = tool_as_root(m, "update", "ours", "--flush-timer", "9")
    soon(m, "sessions", m.tool, "sessions")
    still_waits(user, root)
    others_are_served(m, 6)
    text = ends(user, 0, 10)
    check("1460" in text and "within 2 s" in text, text)
    still_waits(root, turn)
    check(query(m, "ours")["flush_timer"] == 0 and query(m, "ours")["maximum_buffers"] == 64, query(m, "ours"))
    disk.thaw()
    text = ends(root, 0, 20)
    check("condition" not in text and query(m, "ours")["maximum_buffers"] == 16, text, query(m, "ours"))
    ends(turn, 0, 20)
    check(query(m, "ours")["flush_timer"] == 9, query(m, "ours"))
    now(m, "update", "less", "--maximum-buffers", "16")
    check(query(m, "less")["maximum_buffers"] == 16, query(m, "less"))
    tallies.append(write(m, 2))
    for name in ("less", "ours"):
        m.tool("stop", name)
    for path in (disk.path("less.etl"), ours):
        whole(m, path, tallies, 3 * EVENTS)


def updates_end(m, disk):
    """The update's controller ends, its session is stopped, its daemon is killed."""
    files = {name: os.path.join(disk.folder, f"{name}.etl") for name in ("left", "stopped", "dead")}
    files["next"] = os.path.join(m.logs, "next.etl")
    for name in ("left", "stopped", "dead"):
        m.tool("start", name, "-o", files[name], "--provider", PROVIDER, "--set", "BufferSize=64KB", "--set", "MinimumBuffers=8", "--set", "MaximumBuffers=64")
    tallies = [write(m, 0)]
    disk.freeze()
    tallies.append(write(m, 1))
    left, stopped, dead = (tool_as_root(m, "update", name, "--maximum-buffers", "16") for name in ("left", "stopped", "dead"))
    time.sleep(0.5)
    left.kill()
    left.communicate()
    stop = tool_as_root(m, "stop", "stopped")
    others_are_served(m, 7)
    still_waits(stopped, dead, stop)
    disk.thaw()
    ends(stopped, 0, 20)
    ends(stop, 0, 20)
    ends(dead, 0, 20)
    check(query(m, "left")["maximum_buffers"] == 16, "what was begun is done", query(m, "left"))
    whole(m, files["stopped"], tallies, 2 * EVENTS)
    disk.freeze()
    tallies.append(write(m, 2))
    change = tool_as_root(m, "update", "dead", "--output", "next.etl", "--maximum-buffers", "8")
    time.sleep(0.5)
    os.kill(m.daemon_pid(), signal.SIGKILL)
    m.wait_ready()
    soon(m, "sessions", m.tool, "sessions")
    still_waits(change)
    disk.thaw()
    ends(change, 0, 30)
    row = query(m, "dead")
    check(row["maximum_buffers"] == 8 and row["log_path"] == files["next"], row)
    tallies.append(write(m, 3))
    m.tool("stop", "left")
    m.tool("stop", "dead")
    whole(m, files["left"], tallies, 4 * EVENTS)
    joined = os.path.join(m.dir, "joined.etl")
    m.tool("merge", "--output", joined, files["dead"], files["next"])
    whole(m, joined, tallies, 4 * EVENTS)


def killed(m, disk):
    begin(m, disk, "adopted")
    tallies = [write(m, 0)]
    disk.freeze()
    tallies.append(write(m, 1))
    stop = tool_as_user(m, "stop", "adopted")
    time.sleep(0.5)
    os.kill(m.daemon_pid(), signal.SIGKILL)
    m.wait_ready()
    others_are_served(m, 4)
    disk.thaw()
    ends(stop, 0, 20)
    whole(m, disk.path("adopted.etl"), tallies, 2 * EVENTS)


def ended(m, disk):
    """The daemon names what it waits for, and each other file is complete already."""
    begin(m, disk, "last")
    tallies = [write(m, 0)]
    disk.freeze()
    tallies.append(write(m, 1))
    m.keeper.send_signal(signal.SIGTERM)
    time.sleep(8)
    check(m.keeper.poll() is None, "the daemon has ended before the file was complete")
    check("does not end" in open(m.said, encoding="utf-8").read(), "it does not say for what it waits")
    disk.thaw()
    m.keeper.wait(30)
    check(m.keeper.returncode == 0, "the daemon ended with", m.keeper.returncode)
    whole(m, disk.path("last.etl"), tallies, 2 * EVENTS)


with Machine() as m:
    os.chmod(m.dir, 0o755)
    os.chmod(m.logs, 0o755)
    os.mkdir(os.path.join(m.logs, "users"))
    os.chown(os.path.join(m.logs, "users"), USER, USER)
    m.said, m.nobody = os.path.join(m.dir, "said"), os.path.join(m.dir, "nobody")
    with open(m.nobody, "wb") as f:
        f.write(bytes(4096))  # an empty tally, for a writer that does not exist
    disk = Disk(m)
    try:
        standard_error, said = os.dup(2), os.open(m.said, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(said, 2)
        m.start()
        os.dup2(standard_error, 2)
        m.tool("access", "default", "--allow", f"group:{GROUP}=query,realtime,ondisk,enable,consume")
        m.tool("start", "honest", "-o", "honest.etl", "--provider", "{5ca1ab1e-7e57-0001-8000-0000000000ff}")
        for part in (stop_waits, start_waits, files_wait, updates_wait, updates_end, killed, ended):
            part(m, disk)
    finally:
        disk.end()
    sys.stdout.flush()
