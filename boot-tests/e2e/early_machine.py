"""A machine of the harness with an early program: a sealed snapshot of its store, and a clean end."""
import glob
import os
import signal
import subprocess
import time

from harness import BUILD, Machine, check

EARLY = os.path.join(BUILD, "autologger-early")


class EarlyMachine(Machine):
    def __enter__(self):
        self.snapshot = os.path.join(self.dir, "boot.snapshot")
        subprocess.run([os.path.join(BUILD, "tests", "store_seal"), self.store, self.snapshot, self.logs], check=True)
        return self

    def start_calm(self):
        """As the unit does: the small program that waits for a calm moment, and becomes the daemon."""
        self.keeper = subprocess.Popen([os.path.join(BUILD, "autologger-calm"), os.path.join(BUILD, "autologgerd"), "--keep",
                                        "--store", self.store, "--log-dir", self.logs, "--runtime-dir", self.runtime],
                                       env=dict(os.environ, AUTOLOGGER_RUNTIME_DIR=self.runtime))
        self.wait_ready()

    def __exit__(self, *a):
        for pid in self.early_pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        super().__exit__(*a)

    def early_pids(self):
        """Keeper first: the service is its child."""
        found = []
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                with open(path, "rb") as f:
                    words = f.read().split(b"\0")
            except OSError:
                continue
            if self.snapshot.encode() in words and b"start" in words and b"autologger-early" in words[0].replace(b"@", b"/a"):
                found.append(int(path.split("/")[2]))
        return sorted(found)

    def early(self, *extra):
        began = time.monotonic()
        r = subprocess.run([EARLY, "--snapshot", self.snapshot, "--runtime-dir", self.runtime, *extra, "start"], timeout=5)
        held = time.monotonic() - began
        check(r.returncode == 0, "autologger-early ended with", r.returncode)
        return held

    def armed(self, seconds=20):
        end = time.time() + seconds
        while time.time() < end:
            r = subprocess.run([EARLY, "--runtime-dir", self.runtime, "status"], capture_output=True, text=True)
            if r.returncode == 0 and "NT Kernel Logger         held" in r.stdout and "NT Kernel Logger: Status" in r.stdout:
                return r.stdout
            time.sleep(0.02)
        check(False, "the early program was not ready:", r.stdout, r.stderr)

    def files(self):
        return [os.path.join(d, f) for d, _, names in os.walk(self.logs) for f in names]

    def gone(self, seconds=15):
        end = time.time() + seconds
        while self.early_pids():
            check(time.time() < end, "the early program is still there:", self.early_pids())
            time.sleep(0.05)
