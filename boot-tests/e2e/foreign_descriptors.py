"""Descriptors that a client sends to the daemon: files of a user's own file system that does not answer, sockets that linger for a day, 253 with each
of 110 messages. The daemon never holds or waits for one, and when it is killed meanwhile its successor serves. Both ways are shown: the kernel
refuses to send any (Linux 6.16), and, with a library that hides this from the daemon, older kernels.
Proves: SEC-09, COR-20."""
import contextlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time

from harness import BUILD, Machine, check, skip

BAD, MESSAGES, EACH = 5001, 110, 253
OUTCASTS = 16  # daemon/parts/outcasts.h
OLD = os.path.join(BUILD, "tests", "libold_sockets.so")
CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fuse_client.py")
SOON = 5  # s within which a successor serves

if os.geteuid():
    skip("needs root, to be another user")


def client(m, *words):
    """A client that becomes the user itself: only root may be able to run the interpreter."""
    p = subprocess.Popen([sys.executable, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    m.processes.append(p)
    return p


@contextlib.contextmanager
def silent_files(m, kind, count):
    """(process, sent): sends the daemon files whose owner does not answer. Afterwards the owner is gone."""
    folder = os.path.join(m.dir, kind)
    os.mkdir(folder)
    os.chown(folder, BAD, BAD)
    p = client(m, CLIENT, str(BAD), kind, folder, m.runtime, str(count))
    try:
        line = p.stdout.readline().split()
        if not line or line[0] == "no":
            skip(f"no FUSE for users here: {' '.join(line)}")
        print(kind, *line)
        check(line[0] == "sent" and int(line[1]) + int(line[3]) == count, "the client", line)
        yield p, int(line[1])
    finally:
        p.stdin.close()
        check(p.wait(30) == 0, "the owner of the files did not end:", p.returncode)


def states(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/stat", encoding="latin-1") as f:
            found.append(f.read().rsplit(")", 1)[1].split()[0])
    return found


os.environ["AL_TEST_RUN"] = f"of-{os.getpid()}"
OWN = f"AL_TEST_RUN=of-{os.getpid()}\0".encode()


def helpers():
    """Processes that close clients' descriptors: process id -> state."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if b"\0--outcasts\0" not in f.read():
                    continue
            with open(f"/proc/{pid}/environ", "rb") as f:
                if OWN not in f.read():  # of another run of this test (plain or as shipped) at the same time
                    continue
            found[int(pid)] = states(pid)[0]
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def serves(m, pid, what, seconds=2):
    begin = time.time()
    m.tool("sessions", "--json", timeout=30)
    took = time.time() - begin
    check(took < seconds, what, "- the daemon answered after", took, "s")
    check(m.daemon_pid() == pid, what, "- the daemon was replaced")
    check("D" not in states(pid), what, "- a thread of the daemon waits for somebody", states(pid))
    fds, tasks = len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task"))
    check(fds < 1000 and tasks < 20, what, "- descriptors", fds, "threads", tasks)
    return took, fds, tasks


def killed(m, pid, what):
    begin = time.time()
    os.kill(pid, signal.SIGKILL)
    m.wait_ready(SOON)
    print(f"{what}: a successor serves after {time.time() - begin:.2f} s")
    check(time.time() - begin < SOON and m.daemon_pid() != pid, what, "- no successor")


LINGER = """
import array, os, socket, struct, sys
user, runtime, port, each, state = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), struct.pack("<IHHII", 16, 21, 1, 1, 0)
os.setgroups([])
os.setresgid(user, user, user)
os.setresuid(user, user, user)
s = socket.socket()
s.connect(("127.0.0.1", port))
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 86400))
s.setblocking(False)
try:
    while True:
        s.send(bytes(65536))
except BlockingIOError:
    pass
null = os.open("/dev/null", os.O_RDONLY)
d = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
d.settimeout(10)
d.connect(runtime + "/control")
try:
    for n in range(60):  # answers that nobody reads, so that the daemon is told of a reset first
        d.send(struct.pack("<IHHII", 280, 22, 1, 9, 0) + bytes(264))
    d.sendmsg([state], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [s.fileno()] + [null] * (each - 1)))])
except PermissionError:
    os._exit(3)
except (BrokenPipeError, ConnectionResetError):
    os._exit(4)
os._exit(0)
"""


def linger(m, pid):
    nobody_reads = socket.create_server(("127.0.0.1", 0), backlog=2 * MESSAGES)
    port, begin, codes, worst = str(nobody_reads.getsockname()[1]), time.time(), {}, (0, 0, 0)
    for n in range(0, MESSAGES, 10):
        some = [client(m, "-c", LINGER, str(BAD), m.runtime, port, str(EACH)) for _ in range(10)]
        for p in some:
            code = p.wait(60)
            codes[code] = codes.get(code, 0) + 1
        worst = max(worst, serves(m, pid, f"{n + 10} messages with sockets that linger"))
    print(f"{MESSAGES} clients in {time.time() - begin:.1f} s: exits {codes}; slowest answer, descriptors, threads: {worst}")
    time.sleep(2)
    serves(m, pid, "after all messages with sockets that linger")
    return codes, nobody_reads


def refused():
    """The kernel lets no client send any descriptor."""
    with Machine() as m:
        os.chmod(m.dir, 0o755)
        m.start()
        os.chmod(m.runtime, 0o755)
        pid = m.daemon_pid()
        with silent_files(m, "flush", 3) as (_, sent):
            check(sent == 0, "descriptors came through:", sent)
            killed(m, pid, "files that do not answer a flush")
        with silent_files(m, "dirty", 3) as (_, sent):
            check(sent == 0, "descriptors came through to a successor:", sent)
        codes, port = linger(m, m.daemon_pid())
        port.close()
        check(codes.get(0, 0) == 0, "descriptors came through", codes)
        check(not helpers(), "a process was started for nothing", helpers())
        m.shutdown()


def helpers_hang(m, pid):
    """More descriptors than may hang at a time, and all of them hang."""
    os.kill(pid, signal.SIGSTOP)  # so that the daemon holds the last reference
    with silent_files(m, "dirty", OUTCASTS + 8) as (p, sent):
        check(sent == OUTCASTS + 8, "the hidden option was not hidden")
        p.stdin.write("\n")
        p.stdin.flush()
        check(p.stdout.readline() == "written\n", "the client")
        os.kill(pid, signal.SIGCONT)
        end = time.time() + 20
        while list(helpers().values()).count("D") < OUTCASTS and time.time() < end:
            serves(m, pid, "files with pages that are not written")
        found = helpers()
        print("processes that close what was sent:", sorted(found.values()))
        check(list(found.values()).count("D") == OUTCASTS and len(found) == OUTCASTS + 1, "not as many as may hang, and the one above them", found)
        m.tool("start", "web", "-o", "web.etl", "--provider", "Contoso-Web")
        m.tool("write", "Contoso-Web", "Started")
        serves(m, pid, "as many hang as may")
        killed(m, pid, "as many hang as may")
        info = json.loads(m.tool("stop", "web", "--json").stdout)
        check(info["events_written"] == 1, info)
    end = time.time() + 10  # all the waiting closes go on
    while helpers() and time.time() < end:
        time.sleep(0.1)
    check(not helpers(), "processes are left", helpers())


def older():
    with Machine() as m:
        os.chmod(m.dir, 0o755)
        os.environ["LD_PRELOAD"] = OLD
        m.start()
        del os.environ["LD_PRELOAD"]
        os.chmod(m.runtime, 0o755)
        pid = m.daemon_pid()
        codes, port = linger(m, pid)
        check(codes.get(0, 0) > MESSAGES / 2, "the hidden option was not hidden, or the clients failed", codes)
        with silent_files(m, "flush", 3) as (_, sent):
            check(sent == 3, "the hidden option was not hidden")
            serves(m, pid, "files that do not answer a flush")
            killed(m, pid, "files that do not answer a flush")
        helpers_hang(m, m.daemon_pid())
        port.close()
        m.shutdown()


resource.setrlimit(resource.RLIMIT_NOFILE, (4096, max(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
try:
    s.setsockopt(socket.SOL_SOCKET, 83, 0)
except OSError:
    print("this kernel has no SO_PASSRIGHTS: the older way alone")
else:
    refused()
older()
