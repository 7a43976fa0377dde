"""Changes to a running session from outside: its file, MaximumBuffers and real time change while programs write and the daemon is killed. Attempted =
written + lost over all of it, and the files together hold each event once.
Proves: SES-06, SES-08, SES-22, COR-20, LGT-05."""
import glob
import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import threading
import time

if os.path.isdir("/dev/shm"):  # each new file is synced
    os.environ["TMPDIR"] = "/dev/shm"
from harness import BUILD, FULL, Machine, check

PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
BUFFERS = ("--set", "BufferSize=64KB", "--set", "MinimumBuffers=8", "--set", "MaximumBuffers=64")
ROUNDS = 60 if FULL else 8


def tally(path):
    with open(path, "rb") as f:
        return struct.unpack("<QQQ", f.read(24))


def writers_go(m, count, rate, programs=2):
    for i in range(programs):  # an existing tally would be continued
        pathlib.Path(m.dir, f"tally-{i}").unlink(missing_ok=True)
    return [m.writer(i, count, rate=rate, enabled=True) for i in range(programs)]


def query(m, name):
    return json.loads(m.tool("query", name, "--json").stdout)


def balance(m, info, writers, files):
    """The session's numbers against the programs', and the files' events against both."""
    for p, _ in writers:
        check(p.wait(60) == 0, "a writer")
    tallies = [t for _, t in writers]
    attempted, refused = sum(tally(t)[0] for t in tallies), sum(tally(t)[2] for t in tallies)
    print(info["name"], "attempted", attempted, "written", info["events_written"], "lost", info["events_lost"], "refused", refused, "files", len(files))
    check(info["events_lost"] == refused and info["events_written"] + refused == attempted, "attempted = written + lost", info, attempted, refused)
    whole = os.path.join(m.dir, f"whole-{info['name']}.etl")
    m.tool("merge", "--output", whole, *files)
    got = m.verify(whole, tallies)
    check(got["torn"] == got["doubled"] == got["invented"] == got["inversions"] == got["damage"] == 0, got)
    check(got["events_lost"] == refused, "each loss is in one file's header", got, refused)
    check(got["events"] == info["events_written"], "events in the files", got["events"], info["events_written"])


def stop(m, name):
    info = json.loads(m.tool("stop", name, "--json").stdout)
    return info.get("session", info)


def files_and_buffers(m):
    """Files and MaximumBuffers, one after the other."""
    m.tool("start", "sw", "-o", "sw-0.etl", "--provider", PROVIDER, *BUFFERS)
    writers = writers_go(m, 40000, 20000)
    time.sleep(0.3)
    for i in range(1, 5):
        m.tool("update", "sw", "--output", f"sw-{i}.etl", "--maximum-buffers", str((128, 16)[i % 2]))
        q = query(m, "sw")
        check(q["log_path"].endswith(f"/sw-{i}.etl") and q["maximum_buffers"] == (128, 16)[i % 2], q)
        time.sleep(0.2)
    r = m.tool("update", "sw", "--output", "sw-4.etl", expect=None)
    check(r.returncode == 1 and "161" in r.stderr, r.stderr)
    m.tool("start", "other", "-o", "other.etl")
    r = m.tool("update", "sw", "--output", "other.etl", expect=None)
    check(r.returncode == 1 and "161" in r.stderr and '"other"' in r.stderr, r.stderr)
    m.tool("stop", "other")
    r = m.tool("update", "sw", "--output", "../outside.etl", expect=None)
    check(r.returncode and not os.path.exists(os.path.join(m.dir, "outside.etl")), r.stderr)
    for p, _ in writers:
        p.wait(60)
    info = stop(m, "sw")
    files = [os.path.join(m.logs, f"sw-{i}.etl") for i in range(5)]
    check(info["buffers_written"] == sum(os.path.getsize(f) // 65536 for f in files), "BuffersWritten is of all files", info)
    balance(m, info, writers, files)


def killed_in_the_middle(m):
    """The daemon dies at a random moment of a change; whether or not the change took effect, every event is there once."""
    m.tool("start", "kill", "-o", "kill-0.etl", "--provider", PROVIDER, *BUFFERS)
    writers = writers_go(m, 20000 * ROUNDS // 8, 6000)
    dice = random.Random(7)
    for i in range(1, ROUNDS + 1):
        pid = m.daemon_pid()
        timer = threading.Timer(0.001 + dice.random() * 0.02, lambda: os.kill(pid, signal.SIGKILL))
        timer.start()
        m.tool("update", "kill", "--output", f"kill-{i}.etl", "--maximum-buffers", str(16 + 8 * (i % 5)), expect=None)
        timer.join()
        m.wait_ready()
        time.sleep(0.25)  # a keeper gives up when its daemon dies 20 times in 5 s
    m.tool("update", "kill", "--output", "kill-last.etl")
    for p, _ in writers:
        p.wait(120)
    info = stop(m, "kill")
    balance(m, info, writers, sorted(glob.glob(os.path.join(m.logs, "kill-*.etl")), key=os.path.getmtime))


def grows(path, size):
    """Waits until a file is larger than that."""
    end = time.time() + 30
    while os.path.getsize(path) <= size:
        check(time.time() < end, "no event comes")
        time.sleep(0.02)


def real_time(m):
    """On while consumers come, off while they read, on again over the daemon's death; then real time without a file."""
    m.tool("start", "rt", "-o", "rt.etl", "--provider", PROVIDER, *BUFFERS)
    (p, t), = writers_go(m, 60000, 10000, 1)
    r = subprocess.run([os.path.join(BUILD, "autologger"), "watch", "rt"], env=m.env, capture_output=True, text=True, timeout=30)
    check(r.returncode, "it is no real-time session yet", r.stdout[:200])
    m.tool("update", "rt", "--real-time", "on")
    check(query(m, "rt")["flush_timer"] == 1, "real time has a FlushTimer")
    shown = os.path.join(m.dir, "shown")
    with open(shown, "w") as out:
        watch = subprocess.Popen([os.path.join(BUILD, "autologger"), "watch", "rt", "--json"], env=m.env, stdout=out)
    m.processes.append(watch)
    grows(shown, 0)
    os.kill(m.daemon_pid(), signal.SIGKILL)
    m.wait_ready()
    grows(shown, os.path.getsize(shown))  # the consumer reads from the successor
    m.tool("update", "rt", "--real-time", "off")
    check(watch.wait(30) == 0, "who listens is told that it is over")
    check(not glob.glob(os.path.join(m.logs, "RtBackup", "*.etl")), "nothing waits for anybody")
    m.tool("update", "rt", "--real-time", "on")
    os.kill(m.daemon_pid(), signal.SIGKILL)
    m.wait_ready()
    m.tool("update", "rt", "--real-time", "off")
    p.wait(60)
    info = stop(m, "rt")
    balance(m, info, [(p, t)], [os.path.join(m.logs, "rt.etl")])


def alone(m):
    m.tool("start", "conv", "-o", "conv.etl", "--provider", PROVIDER, *BUFFERS)
    (p, t), = writers_go(m, 10000, 10000, 1)
    time.sleep(0.4)
    m.tool("update", "conv", "--real-time", "only")
    q = query(m, "conv")
    check(q["log_path"] == "" and q["log_file_mode"] == 0x100, q)
    os.kill(m.daemon_pid(), signal.SIGKILL)
    m.wait_ready()
    watch = subprocess.Popen([os.path.join(BUILD, "autologger"), "watch", "conv", "--json"], env=m.env, stdout=subprocess.PIPE, text=True)
    m.processes.append(watch)
    lines = []
    reader = threading.Thread(target=lambda: lines.extend(watch.stdout))
    reader.start()
    p.wait(60)
    info = stop(m, "conv")
    check(watch.wait(30) == 0, "watch")
    reader.join()
    path = os.path.join(m.logs, "conv.etl")
    in_file = sum(PROVIDER[1:9] in line for line in m.tool("dump", path, "--json").stdout.splitlines())
    live = sum(PROVIDER[1:9] in line for line in lines)
    attempted, _, refused = tally(t)
    print("converted: in the file", in_file, "live", live, "written", info["events_written"], "refused", refused)
    check(in_file + live == info["events_written"] == attempted - refused and in_file and live, "each event once")
    r = m.tool("update", "none", "--real-time", "only", expect=None)
    check("4201" in r.stderr, r.stderr)


def killed_while_its_file_ends(m):
    """The daemon dies at a random moment of the change to real time without a file: its successor answers the controller, and no event is missing."""
    dice = random.Random(11)
    for i in range(ROUNDS // 2):
        name = f"end-{i}"
        m.tool("start", name, "-o", f"{name}.etl", "--provider", PROVIDER, *BUFFERS)
        (p, t), = writers_go(m, 3000, 6000, 1)
        while not os.path.exists(t) or os.path.getsize(t) < 24 or tally(t)[0] < 300:  # on a busy machine its start takes long
            time.sleep(0.01)
        pid = m.daemon_pid()
        timer = threading.Timer(dice.random() * 0.02, lambda: os.kill(pid, signal.SIGKILL))
        timer.start()
        m.tool("update", name, "--real-time", "only")
        timer.join()
        m.wait_ready()
        q = query(m, name)
        check(q["log_path"] == "" and q["log_file_mode"] == 0x100 and q["flush_timer"] == 1, q)
        watch = subprocess.Popen([os.path.join(BUILD, "autologger"), "watch", name, "--json"], env=m.env, stdout=subprocess.PIPE, text=True)
        m.processes.append(watch)
        p.wait(60)
        time.sleep(0.3)
        info = stop(m, name)
        live = {line for line in watch.stdout if PROVIDER[1:9] in line}
        check(watch.wait(30) == 0, "watch")
        filed = [line for line in m.tool("dump", os.path.join(m.logs, f"{name}.etl"), "--json").stdout.splitlines() if PROVIDER[1:9] in line]
        attempted, _, refused = tally(t)
        print(name, "in the file", len(filed), "live", len(live), "written", info["events_written"])
        check(info["events_written"] == attempted - refused and info["events_lost"] == refused, info)
        check(len(set(filed)) == len(filed) and len(filed) + len(live) >= info["events_written"], "each is in the file, or was delivered")


def next_file(m):
    m.tool("start", "new", "-o", "new-%d.etl", "--provider", PROVIDER, "--set", "LogFileMode=NEWFILE", "--set", "MaxFileSize=50MB", *BUFFERS)
    for i in range(2, 4):
        out = m.tool("flush", "new", "--next-file").stdout
        check(f"/new-{i}.etl" in out and os.path.exists(os.path.join(m.logs, f"new-{i}.etl")), out)
    m.tool("stop", "new")
    m.tool("start", "one", "-o", "one.etl")
    r = m.tool("flush", "one", "--next-file", expect=None)
    check(r.returncode == 1 and "NEWFILE" in r.stderr, r.stderr)
    m.tool("stop", "one")


with Machine() as m:
    m.start()
    for part in (files_and_buffers, killed_in_the_middle, real_time, alone, killed_while_its_file_ends, next_file):
        begin = time.time()
        part(m)
        print(f"{part.__name__}: {time.time() - begin:.1f} s")
    m.shutdown()
