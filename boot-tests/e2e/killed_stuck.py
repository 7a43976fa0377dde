"""A killed daemon that does not end: a tracer keeps one of its threads, as the kernel keeps a thread that waits for a hung file system, and the lock
of its log file stays held. A successor serves within 5 s, goes on with the file, and loses and doubles nothing; the dead daemon is reaped when it
ends. The same when it is to leave for a new one, and at the final stop: the keeper ends with the daemon's exit code.
Proves: COR-20."""
import ctypes
import json
import os
import signal
import time

from harness import Machine, check, skip

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
SEIZE, WALL, SYS_pidfd_open, SYS_pidfd_getfd, SOON = 0x4206, 0x40000000, 434, 438, 5
PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"

if os.geteuid():
    skip("needs root, to trace the daemon")


def thread(pid, name):
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/comm", encoding="ascii") as f:
            if f.read().strip() == name:
                return int(task)
    check(False, "the daemon has no thread", name)


def target(link):
    try:
        return os.readlink(link)
    except FileNotFoundError:  # closed since it was listed
        return None


def hold(pid, path):
    """Keeps the daemon from ending: (its thread, a copy of its descriptor of the file)."""
    task = thread(pid, "web")
    if libc.ptrace(SEIZE, task, None, None) != 0:
        skip(f"no thread can be traced here: {os.strerror(ctypes.get_errno())}")
    process = libc.syscall(SYS_pidfd_open, pid, 0)
    copies = [libc.syscall(SYS_pidfd_getfd, process, int(fd), 0) for fd in os.listdir(f"/proc/{pid}/fd") if target(f"/proc/{pid}/fd/{fd}") == path]
    os.close(process)
    check(len(copies) == 1 and copies[0] >= 0, "the descriptor of the log file", copies)
    return task, copies[0]


def let_go(task, copy):
    os.close(copy)
    os.waitpid(task, WALL)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(child) for child in f.read().split()]


def successor(m, pid, what):
    begin = time.time()
    while True:
        r = m.tool("sessions", "--json", expect=None)
        others = [child for child in children(m.keeper.pid) if child != pid]
        if r.returncode == 0 and others:
            break
        check(time.time() - begin < SOON, what, "- no successor within", SOON, "s", r.stdout, r.stderr)
        time.sleep(0.02)
    print(f"{what}: a successor serves after {time.time() - begin:.2f} s")
    check(pid in children(m.keeper.pid), "the dead one has ended: nothing was shown")
    return others[0]


with Machine() as m:
    m.start()
    log = os.path.join(m.logs, "web.etl")
    m.tool("start", "web", "-o", "web.etl", "--provider", PROVIDER, "--set", "BufferSize=64KB", "--set", "MaximumBuffers=512")
    p, tally = m.writer(0, 60000, rate=5000, enabled=True)  # 12 s
    time.sleep(1)
    m.tool("flush", "web")
    for what, how in (("killed", signal.SIGKILL), ("to leave", signal.SIGHUP)):
        pid = m.daemon_pid()
        held = hold(pid, log)
        if how == signal.SIGKILL:
            os.kill(pid, how)
        else:
            m.keeper.send_signal(how)
        new = successor(m, pid, what)
        m.tool("flush", "web")
        info = json.loads(m.tool("query", "web", "--json").stdout)
        check(info.get("session", info)["status"] == 0, what, "- the session", info)
        let_go(*held)
        end = time.time() + SOON
        while children(m.keeper.pid) != [new] and time.time() < end:
            time.sleep(0.05)
        check(children(m.keeper.pid) == [new], "the dead one was not reaped", children(m.keeper.pid))
    check(p.wait(60) == 0, "the writer")
    task, copy = hold(m.daemon_pid(), log)
    info = json.loads(m.tool("stop", "web", "--json").stdout)
    info = info.get("session", info)
    check(info["events_written"] == 60000 and info["events_lost"] == 0, info)
    m.verify(log, [tally])
    begin = time.time()
    m.keeper.send_signal(signal.SIGTERM)
    code = m.keeper.wait(20)
    print(f"the keeper ended with {code} after {time.time() - begin:.2f} s")
    check(code == 0, "the exit code of the daemon")
    os.close(copy)
