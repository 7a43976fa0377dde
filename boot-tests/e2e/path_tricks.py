"""Tricks with paths and links: two users name, in every way that they can think of, files of root's and of each other's as log file, next file,
snapshot, or file of a private session. No file that they must not touch changes, appears, or can be read through the service, and each refusal
has words. What a user may do works. Proves: SEC-09."""
import hashlib
import json
import os
import socket
import stat
import subprocess
import threading

from harness import AS_SHIPPED, BUILD, FULL, Machine, check, skip

PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
USERS, GROUP = (6301, 6302), 6300
SOON = 10
SECRET = b"what only its owner may read"

if os.getuid() != 0:
    skip("needs root, to be other users")


def tool(m, user, *words):
    return subprocess.run([os.path.join(BUILD, "autologger"), *words], env=dict(m.env, HOME=m.dir), user=user, group=user, extra_groups=[GROUP],
                          capture_output=True, text=True, timeout=SOON, check=False)


def put(path, data, owner, mode):
    with open(path, "wb") as f:
        f.write(data)
    os.chown(path, owner, owner)
    os.chmod(path, mode)


def folder(path, owner, mode):
    os.makedirs(path)
    os.chown(path, owner, owner)
    os.chmod(path, mode)
    return path


def picture(top):
    """All paths below: names, owners, rights, contents, links' targets."""
    seen = {}
    for at, folders, files in os.walk(top):
        for name in folders + files:
            path = os.path.join(at, name)
            st = os.lstat(path)
            content = os.readlink(path) if stat.S_ISLNK(st.st_mode) else hashlib.sha256(open(path, "rb").read()).hexdigest() if stat.S_ISREG(st.st_mode) else ""
            seen[path] = (st.st_mode, st.st_uid, st.st_gid, st.st_ino, st.st_nlink if stat.S_ISREG(st.st_mode) else 0, content)
    return seen


class Field:
    """Root's folder, one of each user, and a real trace in each: their contents must not change."""

    def __init__(self, m):
        self.m = m
        self.root = folder(os.path.join(m.dir, "root"), 0, 0o755)
        self.home = {u: folder(os.path.join(m.dir, f"home-{u}"), u, 0o755) for u in USERS}
        self.tricks = {u: folder(os.path.join(m.dir, f"tricks-{u}"), u, 0o755) for u in USERS}
        self.shared = folder(os.path.join(m.dir, "shared"), 0, 0o1777)
        m.tool("start", "made", "-o", "made.etl", "--provider", PROVIDER)
        m.tool("stop", "made")
        trace = open(os.path.join(m.logs, "made.etl"), "rb").read()
        folder(os.path.join(self.root, "open"), 0, 0o755)
        folder(os.path.join(self.root, "closed"), 0, 0o700)
        for place, owner in [(self.root, 0), *((self.home[u], u) for u in USERS)]:
            put(os.path.join(place, "trace.etl"), trace, owner, 0o644)
            put(os.path.join(place, "secret.etl"), trace, owner, 0o600)
            put(os.path.join(place, "empty"), b"", owner, 0o644)
            put(os.path.join(place, "text"), SECRET, owner, 0o600)
        put(os.path.join(self.root, "closed", "deep.etl"), trace, 0, 0o644)
        put(os.path.join(self.shared, "others.etl"), trace, 0, 0o644)

    def kept(self, user):
        """The folders that this user must not touch."""
        return [self.root, *(self.home[u] for u in USERS if u != user), self.m.logs, self.m.runtime]

    def before(self, user):
        return {top: picture(top) for top in self.kept(user)}


def links(f, user):
    """(name, path): links of the user's, in the user's own folder."""
    own, other = f.tricks[user], next(u for u in USERS if u != user)
    targets = {"trace": f"{f.root}/trace.etl", "secret": f"{f.root}/secret.etl", "empty": f"{f.root}/empty", "text": f"{f.root}/text", "new": f"{f.root}/new.etl",
               "closed": f"{f.root}/closed/deep.etl", "other": f"{f.home[other]}/trace.etl", "others-secret": f"{f.home[other]}/secret.etl",
               "others-new": f"{f.home[other]}/new.etl", "store": f.m.store, "shadow": "/etc/shadow", "mem": "/dev/mem", "null": "/dev/null", "zero": "/dev/zero",
               "core": "/proc/sys/kernel/core_pattern", "self": "/proc/self/mem"}
    for name, target in targets.items():
        for number in ("", "1"):  # 1: the name of NEWFILE's first file
            os.symlink(target, f"{own}/link-{name}{number}.etl")
        yield f"link to {name}", f"{own}/link-{name}.etl"
    os.symlink("link-trace.etl", f"{own}/chain1.etl")
    os.symlink("chain1.etl", f"{own}/chain2.etl")
    os.symlink("chain1.etl", f"{own}/chain21.etl")
    yield "chain of links", f"{own}/chain2.etl"
    for name, target in {"root": f.root, "other": f.home[other], "logs": f.m.logs, "run": f.m.runtime, "state": f.m.dir, "etc": "/etc"}.items():
        os.symlink(target, f"{own}/folder-{name}")
        yield f"below a link to the folder {name}", f"{own}/folder-{name}/new.etl"
        yield f"below a link to the folder {name}, in a new one", f"{own}/folder-{name}/sub/new.etl"
    os.symlink(f"{f.root}/closed", f"{own}/shut")
    yield "a file in a closed folder", f"{own}/shut/deep.etl"
    for name in ("trace.etl", "secret.etl"):
        for number in ("", "1"):
            os.link(f"{f.root}/{name}", f"{own}/hard-{name[:-4]}{number}.etl")  # made by root: the kernel may not let users do so
        yield f"hard link to {name}", f"{own}/hard-{name}"


def names(f, user):
    own, other = f.tricks[user], next(u for u in USERS if u != user)
    yield from (("root's file", f"{f.root}/trace.etl"), ("root's secret", f"{f.root}/secret.etl"), ("a new file of root's", f"{f.root}/new.etl"),
                ("the other's", f"{f.home[other]}/trace.etl"), ("a new one of the other's", f"{f.home[other]}/new.etl"),
                ("a sticky folder's", f"{f.shared}/others.etl"), ("the store", f.m.store), ("the socket", os.path.join(f.m.runtime, "control")),
                ("the folder of sockets", f.m.runtime), ("the log folder", f.m.logs), ("the log folder's root", os.path.join(f.m.logs, "new.etl")),
                ("backups", os.path.join(f.m.logs, "RtBackup", "EtwRTx.etl")), ("root's session's file", os.path.join(f.m.logs, "honest.etl")),
                ("a name of root's session", "honest.etl"), ("up", "../root/new.etl"), ("up and down", "users/../../root/new.etl"), ("a folder", f.root),
                ("backslashes up", "users\\..\\..\\root\\new.etl"), ("a drive", "C:\\..\\root\\new.etl"), ("a device of Windows'", "\\\\.\\pipe\\x"),
                ("a share", "\\\\host\\share\\x.etl"), ("long", "\\\\?\\C:\\x.etl"), ("the system's root", "%SystemRoot%\\..\\..\\..\\root\\new.etl"),
                ("device", "/dev/mem"), ("full", "/dev/full"), ("passwd", "/etc/passwd"), ("cron", "/etc/cron.d/x"), ("core pattern", "/proc/sys/kernel/core_pattern"),
                ("sysrq", "/proc/sysrq-trigger"), ("sys", "/sys/kernel/uevent_helper"), ("root of a process", f"/proc/{os.getpid()}/root{f.root}/new.etl"),
                ("cwd of a process", f"/proc/{os.getpid()}/cwd/new.etl"), ("own cwd", "/proc/self/cwd/new.etl"), ("a descriptor", "/proc/self/fd/1"),
                ("too long", own + "/" + "x" * 256), ("too deep", own + "/d" * 2000), ("line break", f"{f.root}/a\nb.etl"), ("no name", ""), ("a stroke", "/"),
                ("below a file", f"{f.root}/trace.etl/x.etl"))
    os.mkfifo(f"{own}/fifo")
    s = socket.socket(socket.AF_UNIX)
    s.bind(f"{own}/socket")
    s.close()
    folder(f"{own}/folder", user, 0o755)
    for kind in ("fifo", "socket", "folder"):
        yield kind, f"{own}/{kind}"
    put(f"{own}/notes", SECRET, user, 0o600)
    yield "a text of one's own", f"{own}/notes"


WAYS = {"file": (), "append": ("--set", "LogFileMode=APPEND"), "ring": ("--set", "LogFileMode=CIRCULAR", "--set", "MaxFileSize=1"),
        "set aside": ("--set", "LogFileMode=PREALLOCATE", "--set", "MaxFileSize=1"), "next": ("--set", "LogFileMode=NEWFILE", "--set", "MaxFileSize=1"),
        "private": ("--set", "LogFileMode=PRIVATE_LOGGER+PRIVATE_IN_PROC")}
if AS_SHIPPED and not FULL:  # the daemon's rights change how a file is made, not which files are refused
    WAYS = {way: WAYS[way] for way in ("file", "next")}
SWAPS = 150 if FULL else 40


def as_named(path, way):
    """NEWFILE wants a number in the name."""
    return path[:-4] + "%d.etl" if way == "next" and path.endswith(".etl") else path


def same(f, user, before, what):
    after = f.before(user)
    for top, was in before.items():
        for path in {*was, *after[top]}:
            if path.startswith(os.path.join(f.m.logs, "users", f"own-{user}")):
                continue
            own = top in (f.m.logs, f.m.runtime)  # files that the daemon writes itself change their contents
            a, b = ((x.get(path) or ())[:2 if own else None] for x in (was, after[top]))
            check(a == b, what, "changed", path, a, b)


def tried(f, user):
    m, count, started = f.m, 0, 0
    for n, (way, mode) in enumerate(WAYS.items()):  # what a user is allowed to do works
        r = tool(m, user, "start", f"g{user}{n}", "-o", as_named(f"{f.home[user]}/good-{n}.etl", way), "--provider", PROVIDER, "--set", "BufferSize=64KB", *mode)
        check(r.returncode == 0, way, r.stdout, r.stderr)
        tool(m, user, "stop", f"g{user}{n}")
    check(sum(x.startswith("good-") for x in os.listdir(f.home[user])) == len(WAYS), os.listdir(f.home[user]))
    tricks = [*links(f, user), *names(f, user)]
    before = f.before(user)
    for name, path in tricks:
        for way, mode in WAYS.items():
            if "\n" in path and way != "file":
                continue
            r = tool(m, user, "start", f"t{user}", "-o", as_named(path, way), "--provider", PROVIDER, "--set", "BufferSize=64KB", *mode)
            count += 1
            check(SECRET.decode() not in r.stdout + r.stderr, name, way, "shows what it must not", r.stdout, r.stderr)
            if r.returncode == 0:
                started += 1
                tool(m, user, "stop", f"t{user}")
            else:
                check(len(r.stderr) > 20, name, way, "is refused without words", r.stdout, r.stderr)
        same(f, user, before, name)
    start = tool(m, user, "start", f"s{user}", "-o", f"{f.tricks[user]}/mine.etl", "--provider", PROVIDER, "--set", "BufferSize=64KB")
    check(start.returncode == 0, start.stdout, start.stderr)
    again = [*names_again(f, user)]
    before = f.before(user)
    for name, path in again:
        for verb in ("snapshot", "update"):
            r = tool(m, user, verb, f"s{user}", "-o", path)
            count += 1
            check(r.returncode != 0 or path.startswith(f"users/own-{user}"), name, verb, "worked", r.stdout)
        same(f, user, before, name)
    tool(m, user, "stop", f"s{user}")
    print("user", user, count, "tries", started, "of them a file of one's own")


def names_again(f, user):
    own = f.tricks[user]
    below = os.path.join(f.m.logs, "users", f"own-{user}")
    folder(below, user, 0o755)
    os.symlink(f.root, os.path.join(below, "up"))
    os.symlink(f"{f.root}/trace.etl", os.path.join(below, "link.etl"))
    for entry in sorted(os.listdir(own)):
        yield entry, os.path.join(own, entry)
    for path in ("honest.etl", "../root/new.etl", f"users/own-{user}/up/new.etl", f"users/own-{user}/link.etl", "RtBackup/x.etl", "users/new.etl"):
        yield path, path


def swapped(f, user):
    """A folder that becomes a link while its path is walked."""
    own, stop = folder(f"{f.tricks[user]}/swap", user, 0o755), threading.Event()
    folder(f"{own}/real", user, 0o755)
    os.symlink(f.root, f"{own}/evil")
    os.symlink("real", f"{own}/now")

    def swap():
        while not stop.is_set():
            for target in ("evil", "real"):
                os.symlink(target, f"{own}/next")
                os.rename(f"{own}/next", f"{own}/now")

    before = f.before(user)
    t = threading.Thread(target=swap)
    t.start()
    done = 0
    try:
        for n in range(SWAPS):
            done += tool(f.m, user, "start", f"w{user}", "-o", f"{own}/now/w{n}.etl", "--provider", PROVIDER, "--set", "BufferSize=64KB").returncode == 0
            tool(f.m, user, "stop", f"w{user}")
    finally:
        stop.set()
        t.join()
    same(f, user, before, "a link that changes")
    print("user", user, done, "of", SWAPS, "files beside a link that changes")


with Machine() as m:
    os.chmod(m.dir, 0o755)
    m.start()
    m.tool("access", "default", "--allow", f"group:{GROUP}=query,realtime,ondisk,enable,consume")
    os.chmod(m.logs, 0o755)
    field = Field(m)
    os.mkdir(os.path.join(m.logs, "users"))
    m.tool("start", "honest", "-o", "honest.etl", "--provider", PROVIDER)
    for user in USERS:
        tried(field, user)
        swapped(field, user)
    live = json.loads(m.tool("query", "honest", "--json").stdout)
    check(live.get("session", live)["events_lost"] == 0, live)
    m.shutdown()
