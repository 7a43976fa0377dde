"""Files that a traced process serves itself (boot-tests/user_mount.c: an overlay over its own FUSE), mapped as code before a kernel session starts
and while one runs: the daemon sends no request to such a file, answers in time, loses no event, and ends in order; images of other programs keep
their identity. Nor is it delayed by 2,000 such files that answer slowly. Only a helper may hang, and a killed daemon's successor starts all the same.
Proves: KRN-24."""
import json
import os
import selectors
import signal
import subprocess
import time

from harness import BUILD, Machine, check, skip

USER, FILES = 6101, 2000
SOON = 5.0  # seconds: for work that takes 0.1 s on a machine at rest
if os.getuid() != 0:
    skip("needs root, for kernel events and to be another user")


class Served:
    """A user's program that has mapped the files it serves; `asked` names the processes that have accessed them since."""

    def __init__(self, m, number, how, files):
        folder = os.path.join(m.dir, f"served-{number}")
        os.mkdir(folder)
        os.chown(folder, USER, USER)
        self.p = subprocess.Popen([os.path.join(BUILD, "tests", "user_mount"), folder, how, str(files)], user=USER, group=USER, extra_groups=[],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        m.processes.append(self.p)
        self.text = b""
        self.read(lambda text: b"mapped" in text or b"unable" in text, 60)
        if b"unable" in self.text:
            skip(self.text.decode())
        check(b"mapped" in self.text, "user_mount", self.text)

    def read(self, enough, seconds):
        end = time.time() + seconds
        with selectors.DefaultSelector() as s:
            s.register(self.p.stdout, selectors.EVENT_READ)
            while not enough(self.text) and time.time() < end:
                if s.select(0.1):
                    got = os.read(self.p.stdout.fileno(), 65536)
                    if not got:
                        return
                    self.text += got

    def asked(self):
        """The processes whose requests have arrived so far."""
        self.read(lambda text: False, 0.2)
        return {int(line.split()[2]) for line in self.text.splitlines() if line.startswith(b"asked")}

    def end(self):
        self.p.kill()
        self.p.wait(20)


def soon(m, *args):
    begin = time.time()
    try:
        r = m.tool(*args, timeout=SOON)
    except subprocess.TimeoutExpired:
        check(False, "autologger", *args, "has no answer in", SOON, "s")
    print(" ".join(args[:2]), f"{time.time() - begin:.2f} s")
    return r


def start(m, name):
    soon(m, "start", name, "--flags", "PROC_THREAD+LOADER", "-o", name + ".etl")


def stop(m, name):
    info = json.loads(soon(m, "stop", name, "--json").stdout)
    info = info.get("session", info)
    check(info["events_lost"] == 0, name, "has lost events", info)
    events = [json.loads(x) for x in m.tool("dump", "--json", "--provider", "Image", os.path.join(m.logs, name + ".etl")).stdout.splitlines()]
    return [e["fields"] for e in events if e["provider"].get("name") == "Image"]


def known(images, pid):
    """For a process: the number of its images, and how many of these have their file's identity and location."""
    mine = [f for f in images if f["ProcessId"] == pid and f["FileName"].startswith("\\")]
    return len(mine), sum(f["ImageCheckSum"] != "0x0" and int(f["ImageSize"], 16) > 4096 for f in mine)


def work():
    """Runs short programs; returns the process id of the last one, which lives until its images were looked at."""
    for _ in range(20):
        subprocess.run(["true"], check=True)
    p = subprocess.Popen(["sleep", "1"])
    p.wait()
    return p.pid


def of_others(images, pid, what):
    count, good = known(images, pid)
    check(count >= 2 and good == count, what, "images of another program:", count, "of these known:", good,
          [f for f in images if f["ProcessId"] == pid])


with Machine() as m:
    os.chmod(m.dir, 0o755)
    m.start()
    pid = m.daemon_pid()

    before = Served(m, 0, "silent", 3)
    start(m, "before")
    soon(m, "sessions", "--json")
    check(pid not in before.asked(), "the daemon has asked the user's program in the rundown")
    other = work()
    images = stop(m, "before")
    of_others(images, other, "before:")
    of_others(images, os.getpid(), "before, in the rundown:")
    served = [f for f in images if f["ProcessId"] == before.p.pid and "both" in f["FileName"]]
    check(len(served) >= 3, "images of the files that nobody serves", served)
    check(all(f["ImageCheckSum"] == "0x0" for f in served), "who said what these files are?", served)

    start(m, "during")
    during = Served(m, 1, "silent", 3)
    other = work()
    soon(m, "sessions", "--json")
    of_others(stop(m, "during"), other, "during:")
    check(pid not in during.asked() | before.asked(), "the daemon has asked the user's program in the session")
    check(m.daemon_pid() == pid, "the daemon was replaced")

    slow = Served(m, 2, "slow", 2000)
    start(m, "slow")
    other = work()
    images = stop(m, "slow")
    of_others(images, other, "slow:")
    count, _ = known(images, slow.p.pid)
    check(count >= FILES, "images of", FILES, "slow files:", count)
    check(pid not in slow.asked(), "the daemon has asked the slow program")

    start(m, "killed")
    os.kill(pid, signal.SIGKILL)  # its helpers can't be killed
    m.wait_ready(10)
    successor = m.daemon_pid()
    check(successor != pid, "no successor")
    stop(m, "killed")
    begin = time.time()
    m.shutdown()
    check(time.time() - begin < 2 * SOON, "the daemon's end took", time.time() - begin)
    for served in (before, during, slow):
        served.end()
