"""Clients of the control socket that take as much as they are given, by hand and without the library. Each is a process of an unprivileged user
(e2e/quotas.py), goes on until told to end, and then reports how often it asked, and how often it was refused. It is a fork, not a program of its own:
the interpreter may lie where other users do not reach it.

  places         connections with 1,000 registrations each, of providers that nobody else has
  registrations  the same of one provider
  connections    greeted ones, held
  waits          a private session (a snapshot) of its own provider, and requests that wait for a callback that never returns
  hellos         connects, says hello, goes
  starts         asks for a session (a snapshot) whose name is taken
  deaf           asks for long answers and reads none"""
import array
import ctypes
import gc
import hashlib  # noqa: F401 - uuid5 wants it, where it may be out of reach
import json
import os
import pathlib
import re
import resource
import select
import signal
import socket
import struct
import subprocess
import time
import uuid

from harness import BUILD, SOURCE

# wire/control.h
HELLO, REGISTER, STATE, PROVIDERS, START, ENABLE = 1, 2, 21, 22, 28, 29
VERSION, NAME = 1, 256
SHM_MAJOR = int(re.search(r"SHM_MAJOR = (\d+)", pathlib.Path(SOURCE, "autologger/wire/shm.h").read_text()).group(1))
CAPTURE_STATE = 2
NO_SYSTEM_RESOURCES, BUSY = 1450, 170


def message(kind, body=b"", sequence=1):
    return struct.pack("<IHHII", 16 + len(body), kind, VERSION, sequence, 0) + body


class Connection:
    """Raises OSError when the daemon hangs up, or does not answer within 30 s."""

    def __init__(self, timeout=30):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(timeout)
        end = time.time() + timeout
        while True:
            try:
                self.socket.connect(os.path.join(os.environ["AUTOLOGGER_RUNTIME_DIR"], "control"))
                return
            except BlockingIOError:  # the listen queue is full
                if time.time() > end:
                    raise
                time.sleep(0.001)

    def receive(self):
        data, ancillary, _, _ = self.socket.recvmsg(65536, socket.CMSG_SPACE(32))
        for level, kind, bytes_ in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                for fd in array.array("i", bytes_[:len(bytes_) // 4 * 4]):
                    os.close(fd)
        if not data:
            raise ConnectionResetError
        return data

    def ask(self, kind, body=b"", sequence=1):
        """The Status, and the whole answer."""
        self.socket.send(message(kind, body, sequence))
        while True:
            data = self.receive()
            _, got, _, answered, status = struct.unpack_from("<IHHII", data)
            if got == kind and answered == sequence:
                return status, data

    def hello(self):
        return self.ask(HELLO, struct.pack("<HHIQ", VERSION, SHM_MAJOR, 0, 0))[0]

    def register(self, provider, index):
        return self.ask(REGISTER, provider.bytes_le + struct.pack("<II", index, 0))[0]

    def start(self, snapshot):
        status, data = self.ask(START, struct.pack("<II", len(snapshot), 0) + snapshot)
        return status, data[16:16 + 4096].split(b"\0")[0].decode()

    def enable(self, session, provider, code=1, wait=1, ask=True):
        body = session.encode().ljust(NAME, b"\0") + provider.bytes_le + struct.pack("<IIIB3xQQII", code, wait, 0, 5, 0, 0, 0, 0)
        return self.ask(ENABLE, body)[0] if ask else self.socket.send(message(ENABLE, body))

    def close(self):
        self.socket.close()


counts = {"asked": 0, "refused": 0, "hung_up": 0}
libc = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
GO = signal.SIGUSR1  # tells a flood that already has its connection to begin, once others have used up the rest


def counted(status):
    counts["asked"] += 1
    counts["refused"] += status != 0
    return status


def registering(provider_of, connections_most=20, each=1000):
    """Repeats refused registrations for ever, but not so often that it uses up all the user's requests."""
    held = [Connection() for _ in range(connections_most)]
    for c in held:
        c.hello()
        for index in range(each):
            while counted(c.register(provider_of(), index)):
                time.sleep(0.01)


def places():
    registering(uuid.uuid4)


def registrations():
    one = uuid.uuid5(uuid.NAMESPACE_DNS, f"one of {os.getuid()}")
    registering(lambda: one)


def connections():
    held = []
    while True:
        try:
            c = Connection()
            c.hello()
            held.append(c)
            counts["asked"] += 1
        except OSError:
            counts["hung_up"] += 1


def waits(snapshot, provider, session):
    c = Connection()
    c.hello()
    while c.register(provider, 0):
        time.sleep(0.01)
    status, why = c.start(snapshot)
    if status:
        raise SystemExit(f"the private session: {status} {why}")
    signal.sigwait({GO})
    c.socket.setblocking(False)
    while True:
        select.select([c.socket], [c.socket], [], 0.1)
        try:
            c.enable(session, provider, CAPTURE_STATE, ask=False)
            counts["asked"] += 1
        except BlockingIOError:
            pass
        try:
            while True:
                _, kind, _, _, status = struct.unpack_from("<IHHII", c.receive())
                counts["refused"] += kind == ENABLE and status == BUSY
        except BlockingIOError:
            pass


def hellos():
    while True:
        try:
            c = Connection()
            c.socket.send(message(HELLO, struct.pack("<HHIQ", VERSION, SHM_MAJOR, 0, 0)))
            c.close()
            counts["asked"] += 1
        except OSError:
            counts["hung_up"] += 1


def starts(snapshot):
    c = Connection()
    c.hello()
    signal.sigwait({GO})
    while True:
        counted(c.start(snapshot)[0])


def deaf():
    """A socket has room for two answers; with more the daemon hangs up."""
    held = []
    while True:
        try:
            c = Connection()
            c.hello()
            held.append(c)
            for _ in range(2):
                c.socket.send(message(PROVIDERS, bytes(NAME + 8)))
                counts["asked"] += 1
        except OSError:
            counts["hung_up"] += 1


def sealed(m, name, text):
    """The sealed snapshot of a declaration, as `start` sends one."""
    store, path, ini = (os.path.join(m.dir, name + end) for end in (".db", ".snapshot", ".ini"))
    with open(ini, "w", encoding="utf-8") as f:
        f.write(text)
    m.tool("import", "--store", store, ini)
    subprocess.run([os.path.join(BUILD, "tests", "store_seal"), store, path, m.logs], check=True)
    with open(path, "rb") as f:
        return f.read()


def private(m, name, provider):
    return sealed(m, name, f"[Autologger/{name}]\nGuid = {{{uuid.uuid4()}}}\nLogFileMode = PRIVATE_LOGGER+PRIVATE_IN_PROC+BUFFERING\n"
                           f"BufferSize = 64 KB\nMinimumBuffers = 8\nMaximumBuffers = 16\n[Autologger/{name}/{{{provider}}}]\nEnableLevel = Verbose\n")


def as_user(user, function, *args):
    """Runs the function in a child of that user, without groups and rights: its exit code is the function's result."""
    child = os.fork()
    if child:
        return child
    code = 2
    try:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
        code = function(*args)
    except BaseException as error:  # a child reports its own failure
        print("uid", user, function.__name__, repr(error), flush=True)
    os._exit(code)


class Ended(Exception):
    pass


flooding = False


def end(*_):
    if flooding:
        raise Ended


class Flood:
    def __init__(self, user, kind, *args):
        self.user, self.kind = user, kind
        self.answer, answer = os.pipe()
        self.pid = as_user(user, self.run, answer, kind, args)
        os.close(answer)

    def run(self, answer, kind, args):
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        gc.disable()  # objects of the parent's other threads must not close their descriptors again
        for first, last in ((3, answer), (answer + 1, 65536)):  # a pipe of a program that another thread starts just now, and waits for
            os.closerange(first, last)
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        global flooding
        flooding = True
        signal.signal(signal.SIGTERM, end)
        signal.pthread_sigmask(signal.SIG_BLOCK, {GO})
        try:
            try:
                globals()[kind](*args)
            except Ended:
                flooding = False
        except Ended:  # the signal comes again and again
            flooding = False
        os.write(answer, json.dumps(counts).encode())
        return 0

    def go(self):
        os.kill(self.pid, GO)

    def lasts(self):
        return os.waitpid(self.pid, os.WNOHANG)[0] == 0

    def end(self):
        """The client's counts; None: it failed."""
        ended, patience = 0, time.time() + 10
        while not ended:  # repeated: an exception that a handler raises while an object is deleted is ignored
            os.kill(self.pid, signal.SIGTERM if time.time() < patience else signal.SIGKILL)
            time.sleep(0.01)
            ended, failed = os.waitpid(self.pid, os.WNOHANG)
        out = os.read(self.answer, 4096)
        os.close(self.answer)
        return None if failed else json.loads(out)
