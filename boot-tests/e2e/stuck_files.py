"""A user's files whose server, a program of that user, may answer or never does: FUSE below the daemon's own mounts, an overlay above it in a
namespace of the user's reached through /proc, links to either, a folder that becomes such a one while the session runs. Each is refused with words,
at once; no request reaches the program; other sessions go on and root's commands answer. A local folder behind a link works. F6."""
import ctypes
import json
import os
import signal
import struct
import subprocess
import sys
import time

from harness import BUILD, SOURCE, Machine, check, skip

PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
USER, GROUP = 6205, 6200
SOON = 3.0
REFUSED = 111
libc = ctypes.CDLL(None, use_errno=True)
MNT_DETACH, PR_SET_PDEATHSIG = 2, 1
INIT = 26

if os.getuid() != 0:
    skip("needs root, to be another user")
if not os.path.exists("/dev/fuse"):
    skip("no /dev/fuse here")


class Silent:
    """A file system as fusermount mounts it for a user. Its server answers INIT, and records all other requests without an answer. It is a process of
    its own: when it ends, the kernel gives up the waiting requests."""
    all = []

    def __init__(self, folder):
        self.folder, self.notes = folder, folder + "-asked"
        device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={device},rootmode=40000,user_id={USER},group_id={USER},allow_other"
        if libc.mount(b"fuse", folder.encode(), b"fuse", 0, options.encode()) < 0:
            skip(f"FUSE cannot be mounted here: {os.strerror(ctypes.get_errno())}")
        self.server = os.fork()
        if self.server == 0:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            try:
                self.serve(device)
            finally:
                os._exit(0)
        os.close(device)
        Silent.all.append(self)

    def serve(self, device):
        while True:
            request = os.read(device, 1 << 20)
            _, kind, unique, _ = struct.unpack_from("<IIQQ", request)
            if kind == INIT:
                body = struct.pack("<IIIIHHIIHHII", 7, 31, 65536, 0, 12, 9, 65536, 1, 16, 0, 0, 0) + bytes(24)
                os.write(device, struct.pack("<IiQ", 16 + len(body), 0, unique) + body)
            else:
                with open(self.notes, "a", encoding="ascii") as f:
                    f.write(f"{kind}\n")

    def asked(self):
        return open(self.notes, encoding="ascii").read().split() if os.path.exists(self.notes) else []

    def end(self):
        os.kill(self.server, signal.SIGKILL)
        os.waitpid(self.server, 0)
        libc.umount2(self.folder.encode(), MNT_DETACH)
        Silent.all.remove(self)


def as_user(m, *words, expect):
    begin = time.monotonic()
    try:
        r = subprocess.run([os.path.join(BUILD, "autologger"), *words], env=dict(m.env, HOME=m.dir), user=USER, group=USER, extra_groups=[GROUP],
                           capture_output=True, text=True, timeout=SOON, check=False)
    except subprocess.TimeoutExpired:
        check(False, "autologger", *words, "has no answer in", SOON, "s")
    check(r.returncode == expect or (expect and r.returncode == REFUSED), words, "-> exit", r.returncode, "expected", expect, r.stdout, r.stderr)
    print(" ".join(words[:2]), f"{time.monotonic() - begin:.2f} s", (r.stdout + r.stderr).strip().split("\n")[0][:160])
    return r.stdout + r.stderr


def start(m, name, path, expect, *more):
    return as_user(m, "start", name, "-o", path, "--provider", PROVIDER, "--set", "BufferSize=64KB", *more, expect=expect)


def answers(m):
    """Root's commands, and another user's session."""
    begin = time.monotonic()
    m.tool("sessions", timeout=SOON)
    live = json.loads(m.tool("query", "honest", "--json", timeout=SOON).stdout)
    check(live.get("session", live)["events_lost"] == 0, live)
    check(time.monotonic() - begin < SOON, "root waits", time.monotonic() - begin)


def overlay(m):
    """The path by which the user shows the daemon files of the user's own namespace. None: not possible here."""
    folder = os.path.join(m.dir, "overlay")
    os.mkdir(folder)
    os.chown(folder, USER, USER)
    p = subprocess.Popen([sys.executable, os.path.join(SOURCE, "boot-tests/e2e/fuse_client.py"), str(USER), "overlay", folder],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    m.processes.append(p)
    path = p.stdout.readline().strip()
    return None if path.startswith("no ") or not path else path


def users_folder(m, name):
    path = os.path.join(m.dir, name)
    os.mkdir(path)
    os.chown(path, USER, USER)
    return path


def refused(m, home, fuse):
    os.symlink(fuse.folder, os.path.join(home, "link"))
    os.symlink("../" * 20 + fuse.folder.lstrip("/"), os.path.join(home, "relative"))
    os.symlink("circle", os.path.join(home, "circle"))
    ways = {"fuse": f"{fuse.folder}/x.etl", "below": f"{fuse.folder}/a/b/x.etl", "link": f"{home}/link/x.etl", "relative": f"{home}/relative/x.etl",
            "deeper": f"{home}/relative/c/x.etl", "itself": fuse.folder, "circle": f"{home}/circle/x.etl",
            "root": f"/proc/{os.getpid()}/root{fuse.folder}/x.etl", "cwd": f"/proc/self/cwd/{os.path.basename(home)}/x.etl"}
    hidden = overlay(m)
    if hidden:
        ways["overlay"] = hidden + "/x.etl"
    for name, path in ways.items():
        text = start(m, name, path, 1)
        check("FUSE" in text or "/proc" in text or "folder" in text, name, text)
        answers(m)
    check(not fuse.asked(), "the program was asked", fuse.asked())
    print(len(ways), "ways are refused")


def below_the_log_folder(m):
    """The folder of snapshots and later files."""
    os.chmod(m.logs, 0o755)
    users = os.path.join(m.logs, "users")
    os.mkdir(users)
    os.chown(users, USER, USER)
    fuse = Silent(users_folder(m, "logs/users/served"))
    start(m, "snapped", "users/snapped.etl", 0)
    for words in (("snapshot", "snapped", "-o", "users/served/y.etl"), ("update", "snapped", "-o", "users/served/z.etl"),
                  ("snapshot", "snapped", "-o", "users/served/new/y.etl")):
        text = as_user(m, *words, expect=1)
        check("FUSE" in text, words, text)
        answers(m)
    as_user(m, "snapshot", "snapped", "-o", "users/whole.etl", expect=0)
    as_user(m, "stop", "snapped", expect=0)
    check(not fuse.asked(), "the program was asked", fuse.asked())
    fuse.end()


def works(m, home):
    real = users_folder(m, "real")
    os.symlink(real, os.path.join(home, "good"))
    os.symlink("../real", os.path.join(home, "near"))
    for n, path in enumerate((f"{home}/good/a.etl", f"{home}/near/b.etl", f"{home}/good/new/folder/d.etl")):
        start(m, f"good{n}", path, 0)
        as_user(m, "stop", f"good{n}", expect=0)
        check(os.stat(path).st_uid == USER, path, "is not the user's")
        check(m.tool("summary", path).returncode == 0, path)


def becomes_silent(m):
    """NEWFILE: the folder of the next file has been replaced by then."""
    folder = users_folder(m, "later")
    start(m, "later", f"{folder}/n%d.etl", 0, "--set", "LogFileMode=NEWFILE", "--set", "MaxFileSize=1")
    fuse = Silent(folder)
    writer, _ = m.writer(7, 6000, enabled=True, user=USER)  # more than one file holds
    writer.wait(60)
    answers(m)
    m.tool("stop", "later", expect=None, timeout=SOON)
    answers(m)
    check(not fuse.asked(), "the program was asked", fuse.asked())
    fuse.end()


with Machine() as m:
    os.chmod(m.dir, 0o755)
    m.start()
    m.tool("access", "default", "--allow", f"group:{GROUP}=query,realtime,ondisk,enable,consume")
    m.tool("start", "honest", "-o", "honest.etl", "--provider", "{5ca1ab1e-7e57-0001-8000-0000000000ff}")
    home = users_folder(m, "home")
    fuse = Silent(users_folder(m, "mounted"))
    try:
        works(m, home)
        refused(m, home, fuse)
        below_the_log_folder(m)
        becomes_silent(m)
    finally:
        for left in list(Silent.all):
            left.end()
    m.shutdown()
