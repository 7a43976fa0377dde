"""trace-boot --runs 3 to its end: three boots of one machine, each applied by --continue as the unit calls it, each with the real daemon, its own
boot-done and merge; then median and spread. And a boot whose trace does not reach its end must not lead to endless runs. The machine that is set up
is a tree of its own (tools/tests/machine.sh); systemd, its unit and the boot id are of that tree.
Proves: CTL-16."""
import json
import os
import subprocess

from boot_end_machine import SESSIONS, Boots
from harness import BUILD, SOURCE, check

RUNS = 3


class Runs(Boots):
    def __init__(self):
        super().__init__("[Boot]\nOnce = yes\n")
        self.tree = "grub,hook,installed"
        with open(os.path.join(self.dir, "one.ini"), "w") as f:
            f.write("[Boot]\nOnce = yes\nStopAfter = boot-done\n" + SESSIONS)

    def trace_boot(self, words, expect=0):
        command = [os.path.join(BUILD, "autologger"), "trace-boot", *words.split(), "--root", "m", "--store", self.store]
        r = subprocess.run(["sh", os.path.join(SOURCE, "tools/tests/machine.sh"), self.tree, *command], cwd=self.dir, capture_output=True,
                           text=True, timeout=200)
        check(r.returncode == expect, words, "-> exit", r.returncode, r.stdout, r.stderr)
        self.tree = "keep"
        return r.stdout + r.stderr

    def in_tree(self, path, text=""):
        path = os.path.join(self.dir, "m", path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)

    def calls(self):
        with open(os.path.join(self.dir, "calls")) as f:
            return f.read()

    def one_boot(self):
        """A boot that reaches its end while the unit waits for it; returns the unit's output."""
        check(self.boot() == {"web", "other"}, "not booted")
        self.in_tree("proc/sys/kernel/random/boot_id", f"boot-{self.number}\n")
        w, _ = self.writer(0, 100 * self.number, wait_ms=1000)
        w.wait(60)
        said = self.trace_boot("--continue --wait 120")
        check(not self.premerge(), "the next run was prepared before this one was merged:", self.premerge())
        self.shutdown()
        return said


with Runs() as m:
    m.systemctl("echo running")
    m.trace_boot("one.ini --runs 3 --dry-run")
    m.in_tree("usr/lib/systemd/system/autologger-runs.service")
    m.trace_boot(f"one.ini --runs {RUNS}")
    check("enable --quiet autologger-runs.service" in m.calls(), m.calls())
    m.idle_begin()
    for run in range(1, RUNS):
        said = m.one_boot()
        check(f"run {run + 1} of {RUNS}" in said, said)
        check("disable --quiet autologger-runs.service" not in m.calls(), "ended too early:", m.calls())
    said = m.one_boot()
    m.idle_end()
    print(said)
    check(f"{RUNS} of {RUNS} boots" in said and "median" in said, said)
    check("disable --quiet autologger-runs.service" in m.calls(), "the unit goes on:", m.calls())
    found = json.loads(m.trace_boot("--results --json"))
    check(found["done"] == found["wanted"] == RUNS and [b["number"] for b in found["boots"]] == [1, 2, 3], found)
    check([b["events"] for b in found["boots"]] == [100, 200, 300] and found["events"] == {"median": 200, "least": 100, "most": 300}, found)
    check(found["lost"] == {"median": 0, "least": 0, "most": 0}, found)
    for column in ("target_ms", "boot_done_ms"):
        values = sorted(b[column] for b in found["boots"])
        check(found[column] == {"median": values[1], "least": values[0], "most": values[2]} and values[0] > 0, column, found)
    check(all(b["boot_done_ms"] >= b["target_ms"] + 9000 for b in found["boots"]), found)
    m.used_up(3)

with Runs() as m:  # a boot whose trace does not reach its end: nothing is prepared, and the unit ends
    m.trace_boot(f"one.ini --runs {RUNS}")
    m.in_tree("usr/lib/systemd/system/autologger-runs.service")
    m.in_tree("proc/sys/kernel/random/boot_id", "boot-1\n")
    m.boot()
    said = m.trace_boot("--continue --wait 2", expect=1)
    check("was not traced to its end within 2 s" in said and f"0 of {RUNS} are done" in said, said)
    check("disable --quiet autologger-runs.service" in m.calls(), "it would reboot for ever:", m.calls())
    m.shutdown()
