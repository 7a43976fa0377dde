"""All attacks at once, at random, from three users, beside three honest ones with 100,000 events each and a kernel session; the daemon and its child
processes are killed now and then. All events of the honest users are in the file, the kernel session loses none, root's commands are answered (it
prints how fast), and afterwards the daemon has the descriptors, the providers and the memory of before. Runs for a minute; with full counts for an
hour; or for HOSTILE_SECONDS."""
import collections
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid

import floods
from harness import BUILD, FULL, SOURCE, Machine, check, skip

PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
HOSTILE, HONEST = (6021, 6022, 6023), (6031, 6032, 6033)
SECONDS = int(os.environ.get("HOSTILE_SECONDS", "3600" if FULL else "60"))
EVENTS, KILL_EVERY = 100000, 12 if SECONDS >= 60 else 5
SOON = 2.0
SEED = int(os.environ.get("HOSTILE_SEED", str(random.randrange(1 << 30))))

if os.getuid() != 0:
    skip("programs of other users need root")
print("HOSTILE_SEED", SEED, flush=True)


class Attacker(threading.Thread):
    """One user: one attack after another, each for a few seconds, until it is told to end."""

    def __init__(self, m, user):
        super().__init__()
        self.m, self.user, self.dice, self.stop, self.done = m, user, random.Random(SEED + user), threading.Event(), collections.Counter()
        self.asked, self.waits = 0, (uuid.uuid4(), f"stuck{user}")
        self.own = floods.private(m, self.waits[1], self.waits[0])
        self.home = os.path.join(m.dir, f"home-{user}")
        os.mkdir(self.home)
        os.chown(self.home, user, user)

    def flood(self, kind, *args):
        f = floods.Flood(self.user, kind, *args)
        if kind in ("starts", "waits"):
            self.stop.wait(0.3)
            f.go()
        self.stop.wait(self.dice.uniform(1, 6))
        self.asked += (f.end() or {"asked": 0})["asked"]  # a client that lost its connection to a killed daemon reports nothing

    def program(self, *words, seconds=6.0):
        p = subprocess.Popen(words, user=self.user, group=self.user, extra_groups=[], env=dict(self.m.env, HOME=self.home), stdin=subprocess.PIPE,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.time() + self.dice.uniform(1, seconds)
        while p.poll() is None and time.time() < end and not self.stop.is_set():
            time.sleep(0.05)
        p.kill()
        p.wait()
        p.stdin.close()

    def hostile(self, kind, count, *args):
        self.program(os.path.join(BUILD, "tests", "hostile"), self.m.runtime, kind, str(count), *args)

    def paths(self):
        for path in self.dice.sample(["/etc/passwd", f"{self.m.dir}/registry.db", "../x.etl", "/proc/self/fd/1", f"{self.home}/x.etl", "/dev/mem", "honest.etl"], 3):
            self.program(os.path.join(BUILD, "autologger"), "start", f"p{self.user}", "-o", path, "--provider", PROVIDER, "--set",
                         "LogFileMode=PRIVATE_LOGGER+PRIVATE_IN_PROC")

    def descriptors(self):
        words = [sys.executable, os.path.join(SOURCE, "boot-tests/e2e/fuse_client.py"), str(self.user), "flush", self.home, self.m.runtime, "20"]
        p = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.stop.wait(self.dice.uniform(1, 4))
        p.stdin.close()  # ends its server, so that the kernel gives up the waiting requests
        try:
            p.wait(5)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()

    def run(self):
        attacks = {"places": lambda: self.flood("places"), "registrations": lambda: self.flood("registrations"), "connections": lambda: self.flood("connections"),
                   "hellos": lambda: self.flood("hellos"), "deaf": lambda: self.flood("deaf"), "starts": lambda: self.flood("starts", self.own),
                   "waits": lambda: self.flood("waits", self.own, *self.waits), "scribble": lambda: self.hostile("scribble", 1000000, PROVIDER),
                   "oversize": lambda: self.hostile("oversize", 1000000), "silent": lambda: self.hostile("silent", 3000),
                   "unread": lambda: self.hostile("deaf", 1000000), "paths": self.paths, "descriptors": self.descriptors,
                   "future": lambda: self.program(os.path.join(BUILD, "tests", "untrue_times"), "1", "fill", "64")}
        while not self.stop.is_set():
            name = self.dice.choice(sorted(attacks))
            attacks[name]()
            self.done[name] += 1


def of_daemon(m):
    pid = m.daemon_pid()
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        status = dict(line.split(":", 1) for line in f.read().splitlines())
    registered = json.loads(m.tool("providers", "--registered", "--json").stdout)["registered"]
    return {"fds": len(os.listdir(f"/proc/{pid}/fd")), "kb": int(status["RssAnon"].split()[0]), "providers": len(registered)}


slowest = {}


def ask(m, *args):
    begin = time.time()
    r = m.tool(*args, expect=None, timeout=60)
    took = time.time() - begin
    check(r.returncode == 0, args, "-> exit", r.returncode, r.stdout, r.stderr)
    slowest[args[0]] = max(slowest.get(args[0], 0), took)
    check(took < SOON, "autologger", *args, "took root", round(took, 2), "s;", round(time.time() - killed_at[0], 2), "s after a kill")
    return r.stdout


killed_at = [0.0]


def root_works(m, number):
    ask(m, "sessions")
    ask(m, "providers", "--registered")
    ask(m, "start", f"root{number}", "--provider", f"Honest-{number}", "-o", f"root{number}.etl")
    ask(m, "write", f"Honest-{number}", "Event")
    said = json.loads(ask(m, "stop", f"root{number}", "--json"))
    check(said["events_written"] == 1 and said["events_lost"] == 0, said)
    os.unlink(os.path.join(m.logs, f"root{number}.etl"))


def parts(m):
    """The processes that the daemon has started, even if no longer its children: makers of files, receivers of foreign descriptors."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read().split(b"\0")
            with open(f"/proc/{pid}/environ", "rb") as f:
                ours = b"AUTOLOGGER_RUNTIME_DIR=" + m.runtime.encode() in f.read().split(b"\0")
        except OSError:
            continue
        if ours and words[0] == b"autologgerd" and words[1:2] in ([b"--writer"], [b"--outcasts"], [b"--merge"], [b"--collector"]):
            yield int(pid)


def killed(m, dice):
    """Kills the daemon, or a process that it has started."""
    victim = m.daemon_pid()
    with open(f"/proc/{victim}/task/{victim}/children", encoding="ascii") as f:
        others = [int(x) for x in f.read().split()] + list(parts(m))
    victim = dice.choice(others) if others and dice.random() < 0.4 else victim
    try:
        os.kill(victim, signal.SIGKILL)
    except ProcessLookupError:
        pass
    killed_at[0] = time.time()
    m.wait_ready(10)


def hour(m):
    dice = random.Random(SEED)
    root_works(m, 0)
    time.sleep(1)
    before = of_daemon(m)
    m.tool("start", "honest", "-o", "honest.etl", "--provider", PROVIDER, "--set", "BufferSize=64KB", "--set", "MaximumBuffers=512", "--set", "MaxFileSize=0")
    m.tool("start", "kernel", "--flags", "PROC_THREAD", "-o", "kernel.etl", "--set", "BufferSize=256KB", "--set", "MaximumBuffers=256")
    writers = [m.writer(i, EVENTS, rate=max(1, int(EVENTS / (SECONDS * 0.8))), user=user, enabled=True) for i, user in enumerate(HONEST)]
    attackers = [Attacker(m, user) for user in HOSTILE]
    for a in attackers:
        a.start()
    try:
        rounds, kills, begin = 0, 0, time.time()
        while time.time() < begin + SECONDS:
            rounds += 1
            root_works(m, rounds)
            if time.time() > begin + (kills + 1) * KILL_EVERY:
                killed(m, dice)
                kills += 1
            time.sleep(0.2)
    finally:
        for a in attackers:
            a.stop.set()
        for a in attackers:
            a.join()
    for p, _ in writers:
        p.wait(SECONDS)
        check(p.returncode == 0, "an honest program ended with", p.returncode)
    print(rounds, "rounds,", kills, "kills; root's slowest:", {k: round(v, 2) for k, v in slowest.items()})
    for a in attackers:
        print("user", a.user, dict(a.done))
    check(all(sum(a.done.values()) > SECONDS / 30 for a in attackers) and sum(a.asked for a in attackers) > 100, "hardly any attack")
    return before, [t for _, t in writers]


def back(m, before):
    end = time.time() + 30
    while True:
        after = of_daemon(m)
        fine = after["fds"] <= before["fds"] + 4 and after["providers"] <= before["providers"] and after["kb"] < before["kb"] + 16384
        if fine or time.time() > end:
            break
        time.sleep(0.5)
    print("before", before, "after", after)
    check(fine, "not all is back", before, after)


with Machine() as m:
    os.chmod(m.dir, 0o755)
    os.environ["AUTOLOGGER_RUNTIME_DIR"] = m.runtime
    m.start()
    before, tallies = hour(m)
    kernel = json.loads(m.tool("stop", "kernel", "--json").stdout)
    honest = json.loads(m.tool("stop", "honest", "--json").stdout)
    print("kernel", kernel["events_written"], "lost", kernel["events_lost"], "honest", honest["events_written"], "lost", honest["events_lost"])
    back(m, before)
    check(kernel["events_lost"] == 0 and kernel["events_written"] > 1000, kernel)
    got = m.verify(os.path.join(m.logs, "honest.etl"), tallies, expect=None)
    check(got["missing"] == got["doubled"] == 0 and all(got[f"gaps{i}"] == 0 for i in range(3)), "honest events are missing", got)
    m.shutdown()
