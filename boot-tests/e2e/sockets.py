"""The daemon's three sockets: who may connect to which, which requests each takes, and that a queue full of users' connections does not affect
root's. A stopped daemon (SIGSTOP) accepts no connection: its queues fill. Programs and commands find an older daemon, which has one socket, also
beside a newer one's leftover files. With --control-group, users outside the group control nothing, but their programs write. A successor has all
three sockets.
Proves: issue 15, finding F13."""
import os
import signal
import socket
import stat
import struct
import subprocess
import time
import uuid

import floods
from harness import BUILD, Machine, check, skip

USER, OTHER, GROUP = 6051, 6052, 6059
DENIED = 5
PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
STOP, SHUTDOWN, QUERY = 17, 20, 16

if os.getuid() != 0:
    skip("programs of other users need root")


def at(m, name):
    return os.path.join(m.runtime, name)


def modes(m):
    return {name: oct(stat.S_IMODE(os.stat(at(m, name)).st_mode)) for name in ("provider", "control", "root")}


def connects(path):
    """0, or the error's name."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.setblocking(False)
    try:
        s.connect(path)
    except OSError as e:
        return type(e).__name__
    finally:
        s.close()
    return 0


def asks(path, kind, body=b""):
    """The Status."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.settimeout(10)
        s.connect(path)
        s.send(floods.message(kind, body))
        return struct.unpack_from("<IHHII", s.recv(65536))[4]


def as_user(user, work, *args):
    """The result of work(*args), run in a process of that user: a small number."""
    child = floods.as_user(user, work, *args)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def fills(path):
    """Connects until the queue is full, and holds the connections until it is killed."""
    held = []
    while True:
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.setblocking(False)
        try:
            s.connect(path)
            held.append(s)
        except BlockingIOError:
            s.close()
            time.sleep(0.001)


def writes(m, number, user):
    """A program of the user writes 100 events once a session wants them. Returns its tally."""
    w, tally = m.writer(number, 100, user=user, enabled=True)
    check(w.wait(30) == 0, "the program of", user)
    return tally


with Machine() as m:
    os.chmod(m.dir, 0o755)
    m.start()
    check(modes(m) == {"provider": "0o666", "control": "0o666", "root": "0o600"}, modes(m))
    check(as_user(USER, lambda: int(connects(at(m, "root")) != "PermissionError")) == 0, "a user came in at root's socket")
    m.tool("start", "one", "--provider", PROVIDER, "-o", "one.etl")
    name = b"one".ljust(264, b"\0")  # struct ctl_session_request
    for kind in (QUERY, STOP, SHUTDOWN):
        said = asks(at(m, "provider"), kind, name)
        check(said == DENIED, "provider took", kind, "of root:", said)
    check(asks(at(m, "root"), QUERY, name) == asks(at(m, "control"), QUERY, name) == 0, "a query")
    check(as_user(USER, lambda: asks(at(m, "control"), STOP, name)) == DENIED, "a user stopped root's session")

    # where only programs need access, for example a container, that one socket is enough
    inner = os.path.join(m.dir, "inner")
    os.mkdir(inner)
    os.symlink(at(m, "provider"), os.path.join(inner, "provider"))
    outer = m.env["AUTOLOGGER_RUNTIME_DIR"]
    m.env["AUTOLOGGER_RUNTIME_DIR"] = inner
    tallies = [writes(m, 0, USER)]
    r = m.tool("sessions", expect=None)
    check(r.returncode != 0 and "no daemon listens" in r.stderr, "a command without a socket for it", r)
    m.env["AUTOLOGGER_RUNTIME_DIR"] = outer

    # no connection is accepted: a user fills the queues of users, root's stays free
    os.kill(m.daemon_pid(), signal.SIGSTOP)
    fillers = [floods.as_user(USER, fills, at(m, which)) for which in ("provider", "control")]
    end = time.time() + 20
    while time.time() < end and not connects(at(m, "control")) == connects(at(m, "provider")) == "BlockingIOError":
        time.sleep(0.05)
    said = {which: connects(at(m, which)) for which in ("provider", "control", "root")}
    check(said == {"provider": "BlockingIOError", "control": "BlockingIOError", "root": 0}, said)
    command = subprocess.Popen([os.path.join(BUILD, "autologger"), "sessions"], env=m.env, stdout=subprocess.PIPE, text=True)
    time.sleep(0.5)
    os.kill(m.daemon_pid(), signal.SIGCONT)
    began = time.time()
    check("one" in command.communicate(timeout=20)[0] and command.returncode == 0, "root's command behind full queues")
    print("root's command behind full queues:", round(time.time() - began, 3), "s")
    for pid in fillers:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    # a successor has the sockets, and knows which socket each connection came by
    provider = floods.Connection.__new__(floods.Connection)
    provider.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    provider.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 20, 0))
    provider.socket.connect(at(m, "provider"))  # waits: the fillers' connections are still in the queue
    provider.socket.settimeout(20)
    check(provider.hello() == 0 and provider.register(uuid.uuid4(), 0) == 0, "a provider's messages at its socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as old:  # a program with the library from before an update
        old.connect(at(m, "provider"))
        old.settimeout(20)
        old.send(floods.message(floods.HELLO, struct.pack("<HHIQ", floods.VERSION, floods.SHM_MAJOR - 1, 0, 0)))
        check(struct.unpack("<IHHII", old.recv(4096)[:16])[4] == 50, "a hello of an earlier version")
    os.kill(m.daemon_pid(), signal.SIGKILL)
    m.wait_ready()
    check(provider.ask(QUERY, name, sequence=9)[0] == DENIED and provider.register(uuid.uuid4(), 1) == 0, "after a kill of the daemon")
    provider.socket.close()
    check(modes(m)["root"] == "0o600" and all(connects(at(m, which)) == 0 for which in modes(m)), "the successor's sockets", modes(m))

    # an older daemon has only "control"; a newer one's leftover files are refused
    for left in (False, True):
        for which in ("provider", "root"):
            os.unlink(at(m, which))
            if left:
                with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
                    s.bind(at(m, which))
                os.chmod(at(m, which), 0o666 if which == "provider" else 0o600)
        check("one" in m.tool("sessions").stdout, "a command finds a daemon with one socket")
        tallies.append(writes(m, 1 + int(left), USER))
        if not left:
            for which in ("provider", "root"):
                open(at(m, which), "w").close()  # to be unlinked again above
    m.tool("stop", "one")
    check(m.verify(os.path.join(m.logs, "one.etl"), tallies)["events"] == 300, "events of programs that came by other sockets")
    m.shutdown()

with Machine() as m:
    os.chmod(m.dir, 0o755)
    m.start("--control-group", str(GROUP))
    check(modes(m) == {"provider": "0o666", "control": "0o660", "root": "0o600"} and os.stat(at(m, "control")).st_gid == GROUP, modes(m))
    m.tool("start", "two", "--provider", PROVIDER, "-o", "two.etl")
    tally = writes(m, 0, OTHER)
    words = [os.path.join(BUILD, "autologger"), "sessions"]
    inside = subprocess.run(words, env=m.env, capture_output=True, text=True, user=USER, group=GROUP, extra_groups=[])
    outside = subprocess.run(words, env=m.env, capture_output=True, text=True, user=OTHER, group=OTHER, extra_groups=[])
    check(inside.returncode == 0 and "two" in inside.stdout, "who is in the group:", inside)
    check(outside.returncode == 111 and "ermission denied" in outside.stderr and "Do: " in outside.stderr, "who is not:", outside)
    m.tool("stop", "two")
    check(m.verify(os.path.join(m.logs, "two.etl"), [tally])["events"] == 100, "events of a user outside of the group")
    m.shutdown()
r = subprocess.run([os.path.join(BUILD, "autologgerd"), "--control-group", "no-such-group"], capture_output=True, text=True)
check(r.returncode == 100 and "no-such-group" in r.stderr, r)
print("fine")
