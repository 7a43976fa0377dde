"""A machine that can be booted again and again, for tests of a boot's end. Private to it: the boot id, a systemctl of its own in PATH,
the folder that says that systemd runs, and the processors' counters."""
import json
import os
import signal
import threading
import time

from harness import Machine, check

SESSIONS = """[Autologger/web]
FileName = C:\\boot\\boot_TEST_1_um_premerge.etl
BufferSize = 64 KB
MinimumBuffers = 64
[Autologger/web/p]
Guid = {5ca1ab1e-7e57-0001-8000-000000000001}
[Autologger/other]
FileName = other.etl
[Autologger/other/p]
Guid = {5ca1ab1e-7e57-0001-8000-000000000002}
"""


class Boots(Machine):
    """A machine that can be booted again and again: `boot` is one boot of it."""

    def __init__(self, boot_section):
        super().__init__(boot_section + SESSIONS)
        self.bin = os.path.join(self.dir, "bin")
        os.mkdir(self.bin)
        self.stat = os.path.join(self.dir, "stat")
        self.guard = os.path.join(self.dir, "guard")
        self.merged = os.path.join(self.logs, "c", "boot", "boot_TEST_1.etl")
        self.number = 0
        self.path = os.environ["PATH"]
        self.ticks = 1000
        self.stat_put()
        self.systemctl("exec sleep 1000")

    def __enter__(self):
        os.environ["PATH"] = f"{self.bin}:{self.path}"
        return self

    def __exit__(self, *what):
        self.idle_end()
        os.environ["PATH"] = self.path
        super().__exit__(*what)

    def systemctl(self, wait, jobs=""):
        path = os.path.join(self.bin, "systemctl")
        with open(path + ".new", "w") as f:
            f.write(f"#!/bin/sh\ncase $1 in is-system-running) {wait};; list-jobs) echo '{jobs}';; esac\n"
                    f"case \"$*\" in *start*) echo \"$*\" >>{self.dir}/asked;; esac\n")
        os.chmod(path + ".new", 0o755)
        os.rename(path + ".new", path)

    def stat_put(self):
        mode = "r+" if os.path.exists(self.stat) else "w"
        with open(self.stat, mode) as f:
            f.write(f"cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 000000001000 0 0 {self.ticks:012} 0 0 0 0 0 0\nintr 1\n")

    def idle_begin(self):
        """From here on the machine's only processor is idle."""
        self.idling = True

        def run():
            while self.idling:
                self.ticks += 1
                self.stat_put()
                time.sleep(0.01)
        self.idler = threading.Thread(target=run)
        self.idler.start()

    def idle_end(self):
        if getattr(self, "idling", False):
            self.idling = False
            self.idler.join()

    def boot(self, again=False, wait=True, extra=()):
        self.number += not again
        if not again:
            try:
                os.unlink(os.path.join(self.runtime, "booted"))  # /run is empty after a boot
            except FileNotFoundError:
                pass
        self.start_keeper("--boot", "--boot-id", f"boot-{self.number}", "--guard", self.guard, "--systemd-dir", self.bin,
                          "--proc-stat", self.stat, *extra)
        self.began = time.time()
        if wait:
            return {s["name"] for s in self.wait_ready()["sessions"]}
        return None

    def power_cut(self):
        """Everything of the daemon ends at once."""
        pid = self.daemon_pid()
        self.keeper.kill()
        os.kill(pid, signal.SIGKILL)
        self.keeper.wait()

    def running(self):
        return {s["name"] for s in json.loads(self.tool("sessions", "--json").stdout)["sessions"]}

    def wait_stopped(self, seconds):
        """Waits until no session runs; returns the seconds since the boot."""
        end = time.time() + seconds
        while time.time() < end:
            if not self.running():
                return time.time() - self.began
            time.sleep(0.05)
        return check(False, "sessions still run after", seconds, "s:", self.running())

    def wait_merged(self, seconds=20):
        end = time.time() + seconds
        while time.time() < end:
            r = self.tool("status", "--store", self.store, "--json", expect=None)
            s = json.loads(r.stdout) if r.stdout else {"merged": ""}  # nothing was saved yet
            if s["merged"] and not self.premerge():
                return s
            time.sleep(0.05)
        return check(False, "not merged after", seconds, "s:", r.stdout, r.stderr, self.premerge())

    def premerge(self):
        return [f for _, _, files in os.walk(self.logs) for f in files if "premerge" in f or f == "other.etl" or "merging" in f]

    def log_files(self):
        return [f for _, _, files in os.walk(self.logs) for f in files]

    def status_of(self, number):
        return json.loads(self.tool("status", "--store", self.store, "--boot", str(number), "--json", expect=None).stdout)

    def asked(self):
        """The units that systemd was asked to start."""
        path = os.path.join(self.dir, "asked")
        return open(path).read().splitlines() if os.path.exists(path) else []

    def used_up(self, number):
        """Another boot, after the one that was asked for: nothing starts, the earlier boot's rows stay, and putting back is requested."""
        before, asked = self.status(), len(self.asked())
        check(self.boot() == set(), "sessions started, and one boot was asked for")
        end = time.time() + 10
        while len(self.asked()) == asked and time.time() < end:
            time.sleep(0.05)
        check(self.asked()[asked:] == ["--quiet --no-block start autologger-once.service"], "asked of systemd:", self.asked()[asked:])
        self.shutdown()
        check(self.status() == before and before["number"] == number, "the rows of the boot that was traced do not stay")
        check(not any(c["number"] == 1306 for s in before["sessions"] for c in s["conditions"]), "Status says the opposite", before)
        boots = json.loads(self.tool("boots", "--store", self.store, "--json").stdout)["boots"]
        check(max(b["number"] for b in boots) == number, "boots says", boots)

    def off(self, text, status, expect):
        check(self.boot() == set(), "sessions started, and should be off")
        rows = self.status(expect=expect)
        for s in rows["sessions"]:
            check(text in s["reason"] and s["status"] == status and not s["written"], "expected", text, "got", s)
            check(s["result"] == "off", "its result is", s["result"])
        check(rows["failed"] == 0 and rows["kept_off"] == (2 if status else 0), rows["failed"], rows["kept_off"])
        said = self.tool("status", "--store", self.store, expect=expect).stdout
        check("0 failed, 2 off" in said and ("everything that was asked for was done" in said) == (not status), said)
        boots = json.loads(self.tool("boots", "--store", self.store, "--json").stdout)["boots"]
        check(boots[0]["result"] == "off", "boots says", boots[0]["result"])
        self.shutdown()
