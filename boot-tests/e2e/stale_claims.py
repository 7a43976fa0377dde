"""A private session belongs to a living process and to its original user, and a process id decides nothing. A user's program that becomes a setuid or
setgid program, before or after it asks, an id that another user's program gets, a daemon that does not see the id: no event of others reaches the
user's file. An ordinary exec keeps the session. A connection ends with the process that made it, also while the daemon is dead. Root of another user
or process namespace controls nothing; its programs are ordinary providers.
Proves: SEC-09."""
import glob
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time

from harness import AS_SHIPPED, BUILD, Machine, check, skip

PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
USER, OTHER, COUNT, HELD = 6101, 6102, 50, 150
WRITER, CLAIM = (os.path.join(BUILD, "tests", name) for name in ("event_writer", "pid_claim"))
PRIVATE = 0x20800  # PRIVATE_LOGGER, PRIVATE_IN_PROC

if os.getuid() != 0:
    skip("needs root, to be several users")


class Thief:
    """pid_claim of USER, its declared session, and the events in its files."""

    def __init__(self, m, name, *how):
        self.m, self.name, self.folder = m, name, os.path.join(m.dir, name)
        os.mkdir(self.folder)
        declared, store, snapshot = (os.path.join(self.folder, f) for f in ("declared.ini", "store", "snapshot"))
        with open(declared, "w", encoding="utf-8") as f:
            f.write(f"[Autologger/{name}]\nLogFileMode = {PRIVATE}\nFileName = {self.folder}/got.etl\n"
                    f"[Autologger/{name}/p]\nGuid = {PROVIDER}\n")
        m.tool("import", "--store", store, declared)
        subprocess.run([os.path.join(BUILD, "tests", "store_seal"), store, snapshot, m.logs], check=True)
        for path in (m.dir, snapshot):
            os.chmod(path, 0o755)
        os.chown(self.folder, USER, USER)
        self.p = subprocess.Popen([CLAIM, m.runtime, snapshot, *how], env=m.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                  user=USER, group=USER, extra_groups=[])
        m.processes.append(self.p)

    def ask(self, what):
        try:
            self.p.stdin.write(what + "\n")
            self.p.stdin.flush()
            return self.p.stdout.readline().strip() or "gone"
        except BrokenPipeError:
            return "gone"

    def got(self):
        """Events of the provider in the thief's files, after their sessions."""
        for line in json.loads(self.m.tool("sessions", "--json").stdout).get("sessions", []):
            if line["name"] == self.name:
                self.m.tool("stop", self.name, expect=None)
        files = glob.glob(os.path.join(self.folder, "*.etl*"))
        return sum(self.m.tool("dump", "--json", f).stdout.count(PROVIDER.strip("{}")) for f in files)


def copy(m, name, uid, gid, mode):
    path = os.path.join(m.dir, name)
    shutil.copy(CLAIM, path)
    os.chown(path, uid, gid)
    os.chmod(path, mode)
    return path


def writer_words(m, number, wait_ms=2000):
    tally = os.path.join(m.dir, f"tally-{number}")
    open(tally, "w", encoding="utf-8").close()
    os.chmod(tally, 0o666)
    return [WRITER, tally, str(number), str(COUNT), "0", "1", str(wait_ms)]


def registered(m, pid, seconds=10):
    end = time.time() + seconds
    while time.time() < end:
        rows = json.loads(m.tool("providers", "--registered", "--json").stdout)["registered"]
        if any(pid in row["programs"] for row in rows):
            return True
        time.sleep(0.02)
    return False


def exec_rows(m):
    """Results for a program that execs another: (name, owner and mode of the other, events that the first user may have)."""
    rows = [("ordinary", USER, USER, 0o755, COUNT), ("setuid-root", 0, 0, 0o4755, 0), ("setuid-other", OTHER, OTHER, 0o4755, 0),
            ("setgid", 0, OTHER, 0o2755, 0)]
    for number, (name, uid, gid, mode, may) in enumerate(rows, 10):
        for when in ("after", "before"):
            who = f"{name}-{when}"
            words = writer_words(m, f"{number}{when}"[:12])
            become = [copy(m, f"become-{who}", uid, gid, mode), "-", "-", "become", *words]
            if when == "before": # the shell waits until the session runs
                become = ["/bin/sh", "-c", f'while [ ! -e {m.dir}/go-{who} ]; do sleep 0.05; done; exec "$@"', "sh", *become]
            t = Thief(m, who, "exec", *become)
            if when == "before":
                answer = t.ask("start 0")
                open(os.path.join(m.dir, f"go-{who}"), "w", encoding="utf-8").close()
                check(registered(m, t.p.pid), who, "the program has not come")
            else:
                check(registered(m, t.p.pid), who, "the program has not come")
                answer = t.ask("start 0")
                check(may or answer != "0", who, "the session started")
            t.p.wait(30)
            n = t.got()
            print(who, "start:", answer, "events:", n)
            refused = AS_SHIPPED and answer != "0"  # a daemon that may not take on its user's rights makes no files for that user
            check(n == (0 if refused else may), who, "the user has", n, "events of the program, may have", may)


def ended_rows(m):
    """A connection ends with its process, even if the process ends while the daemon is dead."""
    for name in ("living", "killed"):
        t = Thief(m, f"ended-{name}", "exec", "/bin/sleep", "60")
        check(t.ask("state 0") == "0", "a connection that another process uses, too")
        if name == "killed":
            os.kill(m.keeper.pid, signal.SIGSTOP)
            os.kill(m.daemon_pid(), signal.SIGKILL)
        t.p.kill()
        t.p.wait(10)
        if name == "killed":
            os.kill(m.keeper.pid, signal.SIGCONT)
            m.wait_ready()
        end = time.time() + 5
        while (said := t.ask("state 0")) != "gone" and time.time() < end:
            time.sleep(0.05)
        check(said == "gone", name, "a connection outlives its process:", said)
    print("connections end with their processes")


def foreign_rows(m):
    ways = {"process": ["unshare", "-p", "-f", "--mount-proc"], "user": ["unshare", "-U", "-r"]}
    m.tool("start", "all", "-o", "all.etl", "--provider", PROVIDER)
    written = 0
    for name, way in ways.items():
        if subprocess.run([*way, "true"], capture_output=True, check=False).returncode:
            print("not here:", *way)
            continue
        for words in (["stop", "all"], ["start", f"own-{name}", "-o", "own.etl", "--provider", PROVIDER], ["access"]):
            r = subprocess.run([*way, os.path.join(BUILD, "autologger"), *words], env=m.env, capture_output=True, text=True, timeout=60, check=False)
            check(r.returncode == 111, name, words, "exit", r.returncode, r.stdout, r.stderr)
        p = subprocess.run([*way, *writer_words(m, f"foreign-{name}", 200)], env=m.env, capture_output=True, timeout=60, check=False)
        check(p.returncode == 0, name, p.stderr)
        written += COUNT
    info = json.loads(m.tool("stop", "all", "--json").stdout)
    info = info.get("session", info)
    check(info["events_written"] == written and info["events_lost"] == 0, "events of programs of other namespaces", info, written)
    print("root of other namespaces controls nothing;", written, "events of it are in the session of all")


def unseen(m):
    """The daemon is in a process namespace of its own, the user is not: the user's process id is 0 there."""
    m.keeper = subprocess.Popen(["unshare", "-p", "-f", "--mount-proc", "--kill-child=KILL", os.path.join(BUILD, "autologgerd"), "--keep", "--store", m.store,
                                 "--log-dir", m.logs, "--runtime-dir", m.runtime])
    m.wait_ready()
    t = Thief(m, "unseen", "exec", "/bin/sleep", "60")
    answer = t.ask("start 0")
    subprocess.run(writer_words(m, "of-root", 300), env=m.env, check=True, timeout=60)
    t.ask("stop 0 unseen")
    n = sum(m.tool("dump", "--json", f, expect=None).stdout.count(PROVIDER.strip("{}")) for f in glob.glob(os.path.join(t.folder, "*.etl*")))
    print("unseen start:", answer, "events:", n)
    check(answer != "0", "the session of a process without a number started")
    check(n == 0, "a process without a number has the events of all:", n)


def burn():
    """Uses up one process id."""
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)
    return pid


def reused():
    """Ids are reused within one turn of a small namespace."""
    with open("/proc/sys/kernel/pid_max", "w", encoding="ascii") as f:
        f.write("800")
    while burn() < 310:  # the kernel gives ids below 300 out only once
        pass
    with Machine() as m:
        m.start()
        t = Thief(m, "reused", "hold", str(HELD))
        held = [int(n) for n in t.p.stdout.readline().split()]
        check(len(held) == HELD, held)
        for _ in range(20000):
            if burn() + 1 not in held:
                continue
            victim = subprocess.Popen(writer_words(m, "victim"), env=m.env, user=OTHER, group=OTHER, extra_groups=[], stdout=subprocess.DEVNULL)
            if victim.pid in held:
                break
            victim.kill()
            victim.wait()
        check(victim.pid in held, "no number came again")
        check(registered(m, victim.pid), "the program has not come")
        answer = t.ask(f"start {held.index(victim.pid)}")
        check(victim.wait(30) == 0, "the program")
        n = t.got()
        print("reused", victim.pid, "start:", answer, "events:", n)
        check(n == 0 and answer == "gone", "a number that came again has", n, "events")
        m.shutdown()


if sys.argv[1:] == ["reused"]:
    reused()
    sys.exit(0)
with Machine() as machine:
    machine.start()
    exec_rows(machine)
    ended_rows(machine)
    foreign_rows(machine)
    machine.shutdown()
if not AS_SHIPPED:
    with Machine() as machine:
        unseen(machine)
if tuple(map(int, platform.release().split(".")[:2])) >= (6, 14):  # pid_max is each namespace's own
    r = subprocess.run(["unshare", "-p", "-f", "--mount-proc", "--kill-child=KILL", sys.executable, __file__, "reused"], timeout=100, check=False)
    check(r.returncode == 0, "numbers that come again")
else:
    print("not here: a process namespace with few numbers")
