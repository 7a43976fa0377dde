"""Shared by the whole-system tests: a folder, a daemon of its own in it, writers, and clean ends."""
import concurrent.futures
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import shipped

BUILD = os.environ["AL_BINARY_DIR"]
SOURCE = os.environ["AL_SOURCE_DIR"]
FULL = os.environ.get("AL_FULL") == "1"
AS_SHIPPED = os.environ.get("AL_AS_SHIPPED") == "1"  # daemons run with the rights of the shipped unit
SKIP = 77


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIP)


def check(condition, *what):
    if not condition:
        print("FAILED:", *what)
        raise SystemExit(1)


def each(function, rows, at_once=4):
    """function(*row) for each row, several at once: for tests that mostly wait. The first failure ends it, and is raised."""
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for done in [pool.submit(function, *row) for row in rows]:
            done.result()


def tool(*args, env=None, expect=0, timeout=120):
    """Runs the command-line tool; `expect` None accepts every exit code."""
    r = subprocess.run([os.path.join(BUILD, "autologger"), *args], capture_output=True, text=True, env=env, timeout=timeout)
    if expect is not None:
        check(r.returncode == expect, "autologger", *args, "-> exit", r.returncode, "expected", expect, "\n", r.stdout, r.stderr)
    return r


def verify(path, tallies, expect=0):
    """event_verify's counts for a trace and its writers' tallies."""
    r = subprocess.run([os.path.join(BUILD, "tests", "event_verify"), path, *tallies], capture_output=True, text=True)
    print(os.path.basename(path), r.stdout.strip(), r.stderr.strip())
    check(expect is None or r.returncode == expect, "event_verify", path, "-> exit", r.returncode)
    return {k: int(v) for k, v in (pair.split("=") for pair in r.stdout.split())}


@contextlib.contextmanager
def no_idle(*others):
    """Keeps every processor busy: each runs a loop of the lowest priority. Some guest kernels withhold the events of idle tasks, and a switch away
    from one is such an event. `others`: further commands to run meanwhile, which do not end by themselves."""
    loop = ["sh", "-c", "while :; do :; done"]
    running = []
    try:
        for words in [["nice", "-n", "19", "taskset", "-c", str(cpu), *loop] for cpu in sorted(os.sched_getaffinity(0))] + list(others):
            running.append(subprocess.Popen(words))
        yield
    finally:
        for p in running:
            p.kill()
            p.wait()


class Machine:
    """A runtime folder, a log folder and a store; `with` cleans up whatever happened."""

    def __init__(self, declaration=None):
        self.dir = tempfile.mkdtemp(prefix="autologger-test-")
        self.runtime = os.path.join(self.dir, "run")
        self.logs = os.path.join(self.dir, "logs")
        self.store = os.path.join(self.dir, "registry.db")
        os.mkdir(self.logs)
        self.env = dict(os.environ, AUTOLOGGER_RUNTIME_DIR=self.runtime)
        self.processes = []
        self.keeper = None
        if declaration:
            path = os.path.join(self.dir, "declared.ini")
            with open(path, "w") as f:
                f.write(declaration)
            tool("import", "--store", self.store, path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for p in self.processes + ([self.keeper] if self.keeper else []):
            if p.poll() is None:
                p.send_signal(signal.SIGKILL if p is not self.keeper else signal.SIGTERM)
                try:
                    p.wait(20)
                except subprocess.TimeoutExpired:
                    p.kill()
        shutil.rmtree(self.dir, ignore_errors=True)

    def start(self, *extra):
        self.start_keeper(*extra)
        self.wait_ready()

    def start_keeper(self, *extra):
        rules = shipped.Rules() if AS_SHIPPED else None
        self.keeper = subprocess.Popen([os.path.join(BUILD, "autologgerd"), "--keep", "--store", self.store, "--log-dir", self.logs,
                                        "--runtime-dir", self.runtime, *(rules.words if rules else ()), *extra],
                                       preexec_fn=rules.enter if rules else None)

    def wait_ready(self, seconds=20):
        end = time.time() + seconds
        while time.time() < end:
            r = self.tool("sessions", "--json", expect=None)
            if r.returncode == 0:
                return json.loads(r.stdout)
            time.sleep(0.02)
        check(False, "the daemon was not ready within", seconds, "s:", r.stdout, r.stderr)

    def tool(self, *args, **kw):
        return tool(*args, env=self.env, **kw)

    def daemon_pid(self):
        """The daemon below the keeper (the keeper's only child)."""
        for _ in range(1000):
            with open(f"/proc/{self.keeper.pid}/task/{self.keeper.pid}/children") as f:
                children = f.read().split()
            if children:
                return int(children[0])
            time.sleep(0.01)
        check(False, "the keeper has no daemon")

    def writer(self, number, count, rate=0, provider=1, wait_ms=0, user=None, enabled=False):
        """enabled: the writer waits until a session wants its events, so that the session writes or loses all of them."""
        tally = os.path.join(self.dir, f"tally-{number}")
        command = [os.path.join(BUILD, "tests", "event_writer"), tally, str(number), str(count), str(rate), str(provider), str(wait_ms)]
        if user is not None:
            open(tally, "w").close()
            os.chown(tally, user, user)
            os.chmod(self.dir, 0o755)
        env = dict(self.env, EVENT_WRITER_ENABLED="1") if enabled else self.env
        p = subprocess.Popen(command, env=env, user=user, group=user, extra_groups=[] if user is not None else None,
                             stdout=subprocess.PIPE, text=True)
        self.processes.append(p)
        return p, tally

    def verify(self, path, tallies, expect=0):
        return verify(path, tallies, expect)

    def shutdown(self):
        """Ends the daemon in order: all files are complete afterwards."""
        self.keeper.send_signal(signal.SIGTERM)
        self.keeper.wait(60)
        check(self.keeper.returncode == 0, "the daemon ended with", self.keeper.returncode)

    def status(self, expect=None):
        return json.loads(self.tool("status", "--store", self.store, "--json", expect=expect).stdout)
