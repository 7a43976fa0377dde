"""A boot's report of a snapshot that is stale, damaged, tampered with or half written: its advice is followed literally, and then
the next boot has nothing but Status 0. The machine that is set up is a tree of its own (tools/tests/machine.sh); the early program and
the daemon are the real ones, on this machine, with the snapshot of that tree's image. Proves: REG-19, REG-21."""
import os
import re
import subprocess

from early_machine import EarlyMachine
from harness import BUILD, SOURCE, check, skip, tool

DECLARED = """[Boot]
Once = no
[GlobalLogger]
EnableKernelFlags = PROC_THREAD
FileName = kernel.etl
[Autologger/first]
FileName = first.etl
[Autologger/first/numbered]
Guid = {5ca1ab1e-7e57-0001-8000-000000000001}
"""


class Applied(EarlyMachine):
    """A machine with an applied configuration; the early program gets the files of its image."""

    def __enter__(self):
        self.snapshot = os.path.join(self.dir, "m", "image")
        self.tree = "grub,hook,installed"
        with open(os.path.join(self.dir, "one.ini"), "w") as f:
            f.write(DECLARED)
        self.number = 0
        self.autologger("apply one.ini")
        return self

    def autologger(self, words):
        """Runs a command line as an administrator types it, on this machine."""
        command = [os.path.join(BUILD, "autologger"), *words.split(), "--root", "m", "--store", self.store, "--log-dir", self.logs]
        r = subprocess.run(["sh", os.path.join(SOURCE, "tools/tests/machine.sh"), self.tree, *command], cwd=self.dir, capture_output=True, text=True)
        check(r.returncode == 0, words, "-> exit", r.returncode, r.stdout, r.stderr)
        self.tree = "keep"
        return r.stdout

    def boot(self, early):
        """One boot; returns its rows."""
        self.number += 1
        self.early()
        if early:
            self.armed()
        else:
            self.gone()
        self.start("--boot", "--boot-id", f"boot-{self.number}", "--guard", os.path.join(self.dir, "guard"), "--systemd-dir", "/nonexistent")
        self.gone()
        w, _ = self.writer(0, 50, wait_ms=1000)
        w.wait(60)
        self.tool("stop", "--merge")
        self.shutdown()
        os.unlink(os.path.join(self.runtime, "booted"))  # /run is empty after a boot
        return self.status()["sessions"]


def advised(rows, item):
    """The command of the one condition about `item`."""
    found = [c for s in rows for c in s["conditions"] if c["item"] == item]
    check(len(found) == 1, "conditions about", item, ":", found)
    print(f"{found[0]['reason']}. Do: {found[0]['advice']}")
    command = re.match(r"autologger (\w+(?: \w+)?)(?:,|$)", found[0]["advice"])
    check(command and "then reboot" in found[0]["advice"], "no command in", found[0]["advice"])
    return command.group(1)


def followed(what, change, item, early):
    print("--", what, flush=True)
    with Applied() as m:
        change(m)
        command = advised(m.boot(early), item)
        m.autologger(command)
        rows = m.boot(early=True)
        check(len(rows) == 2, what, rows)
        for s in rows:
            check(s["status"] == 0 and s["result"] in ("ok", "note"), what, s)
            check(not [c for c in s["conditions"] if c["item"] in ("snapshot", "early boot")], what, s["conditions"])
            check(all(p["status"] == 0 for p in s["providers"]), what, s["providers"])


def store_changed(m):
    with open(os.path.join(m.dir, "more.ini"), "w") as f:
        f.write("[Autologger/first]\nFlushTimer = 3\n")
    tool("import", "--store", m.store, os.path.join(m.dir, "more.ini"))


def bytes_changed(m, at, text):
    with open(m.snapshot, "r+b") as f:
        f.seek(at)
        f.write(text)


def name_changed(m):
    """A change by an attacker who knows what to change, but cannot seal it."""
    with open(m.snapshot, "rb") as f:
        data = f.read()
    old, new = ("kernel.etl".encode("utf-16-le"), "passwd.etl".encode("utf-16-le"))
    check(data.count(old) == 1, "the snapshot has no kernel.etl")
    bytes_changed(m, data.index(old), new)


if os.geteuid() != 0:
    skip("needs root")
followed("stale: the store was changed afterwards", store_changed, "snapshot", early=True)
followed("damaged: a byte is another one", lambda m: bytes_changed(m, 200, b"\xff\xfe"), "early boot", early=False)
followed("tampered with: a file name is another one", name_changed, "early boot", early=False)
followed("half written", lambda m: os.truncate(m.snapshot, os.path.getsize(m.snapshot) // 2), "early boot", early=False)
followed("empty", lambda m: os.truncate(m.snapshot, 0), "early boot", early=False)
