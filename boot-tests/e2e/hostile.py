"""Clients that mean harm, against a daemon that serves other users meanwhile: frames that are too large or have false sizes, a thousand silent
connections, unrequested descriptors whose closing waits, clients that do not read, a provider that overwrites all that it can map. The daemon stays
the same process and answers, and all events of the other users are in the file.
Proves: COR-20, COR-18."""
import json
import os
import signal
import socket
import struct
import subprocess
import time

from harness import BUILD, FULL, Machine, check, skip

PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
BAD, GOOD, SECOND = 5001, 5002, 5003
ROUNDS = 10000 if FULL else 1000

if os.geteuid():
    skip("needs root, to be other users")


def hostile(m, kind, count, *args, wait=True, user=BAD):
    p = subprocess.Popen([os.path.join(BUILD, "tests", "hostile"), m.runtime, kind, str(count), *args], user=user, group=user, extra_groups=[],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    m.processes.append(p)
    if not wait:
        return p
    out, _ = p.communicate(timeout=280)
    print("hostile", kind, out.strip())
    check(p.returncode == 0, "hostile", kind, "-> exit", p.returncode, "(2: it was let do what it must not)")
    return p


def tally(path):
    with open(path, "rb") as f:
        return struct.unpack("<QQQ", f.read(24))


def answers(m, pid, what):
    m.tool("sessions", "--json", timeout=30)
    check(m.daemon_pid() == pid, "the daemon was replaced:", what)


def scribble(m, pid):
    """The hostile user is admitted to `shared`, as the others are; `quiet` has another provider and is never shown to it. Its scribbling makes the
    logger write buffers that are far from full, so the file has no limit: 10,000 rounds need about 100 MB for 24 MB of events."""
    m.tool("start", "shared", "-o", "shared.etl", "--provider", PROVIDER, "--set", "BufferSize=64KB", "--set", "MaximumBuffers=512",
           "--set", "MaxFileSize=0")
    begin = time.time()
    writers = [m.writer(i, 60000, rate=10000, user=user, enabled=True) for i, user in enumerate((GOOD, SECOND))]
    hostile(m, "scribble", ROUNDS, PROVIDER)
    for p, _ in writers:
        check(p.wait(120) == 0, "a writer failed")
    answers(m, pid, "scribble")
    tallies = [t for _, t in writers]
    info = json.loads(m.tool("stop", "shared", "--json", timeout=200).stdout)
    answers(m, pid, "stop")
    attempted, refused = sum(tally(t)[0] for t in tallies), sum(tally(t)[2] for t in tallies)
    r = m.verify(os.path.join(m.logs, "shared.etl"), tallies, expect=None)
    print("others' attempted", attempted, "lost", refused, "in the file", r["events"], "damaged records skipped", info["corrupt"], "buffers",
          info["buffers_written"])
    check(info["status"] == 0 and info["log_buffers_lost"] == 0, "the session goes on and its file takes all", info)
    check(info["lost_file"] <= info["corrupt"], "lost is what made no sense alone", info)
    check(r["missing"] == r["torn"] == r["doubled"] == 0 and r["events"] == attempted - refused, "the others' events are there, each once:", r)
    print(f"{ROUNDS} rounds in {time.time() - begin:.1f} s")


def silent(m, pid):
    """A thousand connections of one user, held; then of a second user: other users' programs and controllers still get in."""
    held = [hostile(m, "silent", 1000, wait=False, user=user) for user in (BAD, SECOND)]
    for p in held:
        check(p.stdout.readline().startswith("held"), "silent")
    m.tool("start", "open", "-o", "open.etl", "--provider", PROVIDER, "--set", "BufferSize=64KB", "--set", "MaximumBuffers=256")
    writers = [m.writer(10 + i, 2000, user=user, enabled=True) for i, user in enumerate((GOOD, BAD))]  # the hostile user's own programs, too
    for p, _ in writers:
        check(p.wait(60) == 0, "a writer failed")
    info = json.loads(m.tool("stop", "open", "--json").stdout)
    check(info["events_written"] + info["events_lost"] == 4000, info)
    answers(m, pid, "silent")
    for p in held:
        p.stdin.close()
        p.wait(30)


def descriptors(m, pid):
    """The daemon is stopped until the sender has ended: it then holds the last reference to each descriptor, and closing one takes a minute."""
    nobody_reads = socket.create_server(("127.0.0.1", 0), backlog=128)
    os.kill(pid, signal.SIGSTOP)
    try:
        hostile(m, "descriptors", 30, str(nobody_reads.getsockname()[1]))
    finally:
        os.kill(pid, signal.SIGCONT)
    begin = time.time()
    answers(m, pid, "descriptors")
    check(time.time() - begin < 30, "the daemon waited for what it was passed:", time.time() - begin)


with Machine() as m:
    os.chmod(m.dir, 0o755)
    m.start()
    pid = m.daemon_pid()
    m.tool("start", "quiet", "-o", "quiet.etl", "--provider", "Contoso-Web")
    for kind, count in (("oversize", 300), ("deaf", 5000)):
        hostile(m, kind, count)
        answers(m, pid, kind)
    silent(m, pid)
    descriptors(m, pid)
    scribble(m, pid)
    for n in range(5):
        m.tool("write", "Contoso-Web", "Still", f"n={n}")
    info = json.loads(m.tool("stop", "quiet", "--json").stdout)
    check(info["events_written"] == 5 and info["events_lost"] == 0 and info["corrupt"] == 0, "the quiet session", info)
    m.shutdown()
