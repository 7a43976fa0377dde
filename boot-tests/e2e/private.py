"""Sessions that are one program's own: two programs of a user without any right have one of the same name each, while others write the same
provider; each file has its program's events alone. A program that goes without a stop takes its session with it, also while the daemon is dead.
Proves: SPC-01, SPC-03."""
import json
import os
import shutil
import signal
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
    """One user has four, and a provider's other places are kept for ordinary sessions; another user's are started, and get nothing of it."""
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
    while any("private" in s for s in sessions(m)):
        check(time.time() < end, "the session of a program that is gone", sessions(m))
        time.sleep(0.05)


def gone(m, folder):
    for killed in (False, True):
        p = go(m, folder, f"gone-{killed}.etl", 300, "leave")
        if killed:  # the daemon dies at about the time at which the program does
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
        m.shutdown()
finally:
    shutil.rmtree(folder, ignore_errors=True)
