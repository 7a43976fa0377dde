"""The early program on this machine: it starts from a sealed snapshot, writes nothing, and hands everything to the daemon under load; no event whose
call had returned is lost, torn or doubled, also when its service is killed before and during the hand-over. Members of a provider group are enabled
while the early program holds the boot. Without a daemon
it starts one by itself, or saves all to a file that `recover` turns into traces. Proves: REG-19, REG-25, REG-26."""
import hashlib
import json
import os
import signal
import subprocess
import sys
import time

from early_machine import EARLY, EarlyMachine
from harness import BUILD, FULL, check, tool

DECLARED = """
[Autologger/first]
BufferSize = 64 KB
MinimumBuffers = 900
MaximumBuffers = 1024
FileName = first.etl
MaxFileSize = 0
[Autologger/first/numbered]
Guid = {5ca1ab1e-7e57-0001-8000-000000000001}
[GlobalLogger]
EnableKernelFlags = PROC_THREAD+LOADER
FileName = kernel.etl
BufferSize = 256 KB
MaximumBuffers = 256
"""
def verify(m, name, tallies):
    got = m.verify(os.path.join(m.logs, name), tallies, expect=None)
    check(got["torn"] == got["doubled"] == got["invented"] == got["inversions"] == got["damage"] == 0, name, got)
    check(all(got[f"gaps{i}"] == 0 for i in range(len(tallies))), name, "lost events whose call had returned:", got)
    check(got["events"] > 50000, name, "has too few events", got)


def handover(kills):
    with EarlyMachine(DECLARED) as m:
        held = m.early()
        text = m.armed()
        check("Status 0" in text, text)
        writer, tally = m.writer(0, 120000, rate=40000)
        for _ in range(kills):  # the keeper starts another one
            time.sleep(0.15)
            os.kill(m.early_pids()[1], signal.SIGKILL)
            m.armed()
        time.sleep(0.5)
        check(m.files() == [], "files were made before there was a daemon:", m.files())
        m.start()
        m.gone()
        late, late_tally = m.writer(1, 40000, rate=40000)
        for p in (writer, late):
            p.wait(60)
            check(p.returncode == 0, "a writer ended with", p.returncode)
        m.shutdown()
        verify(m, "first.etl", [tally, late_tally])
        status = m.status()
        check(status["failed"] == 0 and len(status["sessions"]) == 2, json.dumps(status)[:4000])
        print(f"handed over after {kills} kills; the start took {held * 1000:.1f} ms")


def image_gone():
    """The switch to the root removes the image's files while the early program is still busy starting."""
    for _ in range(5):
        with EarlyMachine(DECLARED) as m:
            m.early()
            os.unlink(m.snapshot)
            m.armed()
    print("started although the image's files went at once")


def stopped_while_held():
    """A stop while the early program still holds everything waits for the daemon, which hurries; nothing is lost."""
    with EarlyMachine(DECLARED) as m:
        m.early()
        m.armed()
        writer, tally = m.writer(0, 60000, rate=60000)
        writer.wait(60)
        stop = subprocess.Popen([os.path.join(BUILD, "autologger"), "stop", "first", "--json"], env=m.env, stdout=subprocess.PIPE, text=True)
        time.sleep(0.3)
        check(stop.poll() is None and m.files() == [], "stopped, though nothing can be written yet:", m.files())
        m.start_calm()
        said = json.loads(stop.communicate(timeout=60)[0])
        check(stop.returncode == 0 and said["events_written"] == 60000, said)
        m.gone()
        m.shutdown()
        verify(m, "first.etl", [tally])
        print("a stop waited for the daemon")


GROUPED = """
[Autologger/grouped]
BufferSize = 64 KB
MinimumBuffers = 100
MaximumBuffers = 200
FileName = grouped.etl
[Autologger/grouped/gang]
Guid = {5ca1ab1e-7e57-0009-8000-000000000000}
"""


def group_members():
    """The early program records each provider with the group in its traits, whether registered earlier or later, and no other."""
    with EarlyMachine(DECLARED + GROUPED) as m:
        m.env["EVENT_WRITER_GROUP"] = "1"
        before, before_tally = m.writer(0, 3000, provider=2, wait_ms=8000)  # its traits come with its registration
        time.sleep(1)
        m.early()
        m.armed()
        late, late_tally = m.writer(1, 3000, provider=3, wait_ms=3000)  # its traits come after its registration
        del m.env["EVENT_WRITER_GROUP"]
        other, _ = m.writer(2, 3000, provider=4, wait_ms=3000)
        for p in (late, other, before):
            p.wait(60)
            check(p.returncode == 0, "a writer ended with", p.returncode)
        check(m.files() == [], "files were made before there was a daemon:", m.files())
        m.start()
        m.gone()
        m.shutdown()
        got = m.verify(os.path.join(m.logs, "grouped.etl"), [before_tally, late_tally], expect=None)
        check(got["events"] == 6000 and got["torn"] == got["doubled"] == got["invented"] == got["gaps0"] == got["gaps1"] == 0, "members:", got)
        print("members of a group were recorded by the early program")


def no_daemon():
    """No daemon comes: the early program starts one in the real root."""
    with EarlyMachine(DECLARED) as m:
        script = os.path.join(m.dir, "daemon")
        with open(script, "w") as f:  # in the place of /usr/sbin/autologgerd, whose defaults for store and logs differ
            f.write(f"#!/bin/sh\nexec {BUILD}/autologgerd \"$@\" --store {m.store} --log-dir {m.logs}\n")
        os.chmod(script, 0o755)
        m.early("--wait", "1", "--daemon", script)
        m.armed()
        writer, tally = m.writer(0, 60000, rate=20000)
        m.gone(20)
        writer.wait(60)
        tool("stop", "first", env=m.env)
        verify(m, "first.etl", [tally])
        pids = [int(p) for p in subprocess.run(["pgrep", "-f", f"autologgerd --keep .*{m.runtime}"], capture_output=True, text=True).stdout.split()]
        for pid in pids:
            os.kill(pid, signal.SIGTERM)
        print("a daemon was started when none came")


def no_daemon_at_all():
    """No daemon can be started: one file, from which recover makes the traces that the boot would have written."""
    with EarlyMachine(DECLARED) as m:
        m.early("--wait", "20", "--daemon", "/nonexistent", "--raw-dir", os.path.join(m.logs, "raw"))
        m.armed()
        writer, tally = m.writer(0, 60000, rate=20000)
        writer.wait(60)
        copy = os.path.join(m.dir, "copy.alraw")
        r = subprocess.run([EARLY, "--runtime-dir", m.runtime, "save", copy], capture_output=True, text=True)
        check(r.returncode == 0 and "recover --unsealed " + copy in r.stdout, "save:", r.stdout, r.stderr)  # without the machine's key: there is no root yet
        m.armed()  # it goes on
        m.gone(60)
        files = m.files()
        raw = [f for f in files if f.endswith(".alraw")]
        check(len(raw) == 1 and len(files) == 2, "expected one .alraw and its Status:", files)
        with open(raw[0].replace(".alraw", ".status.txt")) as f:
            check("first: Status 0" in f.read(), "the Status beside it")
        r = tool("recover", copy, "--log-dir", m.dir, "--store", m.store, expect=None)
        check(r.returncode == 111 and "has no seal" in r.stderr and "--unsealed " + copy in r.stderr, "recover without a seal:", r.stdout, r.stderr)
        r = tool("recover", raw[0], "--log-dir", m.dir, "--store", os.path.join(m.logs, "registry.db"), expect=None)
        check(r.returncode == 111 and "not have the seal of this machine" in r.stderr, "recover on another machine:", r.stdout, r.stderr)
        check(not [f for f in os.listdir(m.dir) if f.endswith(".etl")], "a refused file has written", os.listdir(m.dir))
        for path, out, sealed in ((raw[0], "out", ()), (copy, "copied", ("--unsealed",))):
            where = os.path.join(m.dir, out)
            os.mkdir(where)
            r = tool("recover", path, *sealed, "--log-dir", where, "--store", m.store, "--json", expect=None)
            check(r.returncode in (0, 1) and r.stdout, "recover:", r.stdout, r.stderr)
            rows = json.loads(r.stdout)["sessions"]
            check([x for x in rows if x["status"] != 0] == [], "recover:", rows)
            got = m.verify(os.path.join(where, "first.etl"), [tally], expect=None)
            check(got["torn"] == got["doubled"] == got["gaps0"] == 0 and got["events"] > 50000, out, got)
        kernel = next(x for x in m.status()["sessions"] if x["kernel"])
        print("recovered; kernel session:", {k: kernel[k] for k in kernel if k.startswith(("attempted", "written", "lost", "withheld"))})


def first_conditions(m):
    return m.status()["sessions"][0]["conditions"]


def damaged(change, word):
    """A changed or half-written snapshot: nothing starts, the caller goes on, and the daemon's boot gives the reason."""
    with EarlyMachine(DECLARED) as m:
        with open(m.snapshot, "r+b") as f:
            change(f)
        m.early()
        m.gone()
        m.start()
        m.shutdown()
        found = [c for c in first_conditions(m) if c["item"] == "early boot"]
        check(len(found) == 1 and found[0]["number"] == 13 and word in found[0]["reason"] and "apply" in found[0]["advice"], first_conditions(m))


def flip(f):
    f.seek(200)
    byte = f.read(1)
    f.seek(200)
    f.write(bytes([byte[0] ^ 1]))


def stale():
    """The store was changed after the snapshot was made: the boot follows the snapshot, and says so."""
    with EarlyMachine(DECLARED) as m:
        more = os.path.join(m.dir, "more.ini")
        with open(more, "w") as f:
            f.write("[Autologger/first]\nFlushTimer = 3\n")
        tool("import", "--store", m.store, more)
        m.early()
        m.armed()
        m.start()
        m.gone()
        m.shutdown()
        found = [c for c in first_conditions(m) if c["item"] == "snapshot"]
        check(len(found) == 1 and "older than the store" in found[0]["reason"] and "apply" in found[0]["advice"], first_conditions(m))


def forged():
    """An attacker changed the snapshot, with a matching head and checksum: the boot follows it, and says so."""
    with EarlyMachine(DECLARED) as m:
        said = open(m.snapshot, "rb").read()
        name = "first.etl".encode("utf-16-le")
        check(said.count(name) == 1 and hashlib.sha1(said[:-20]).digest() == said[-20:], "the snapshot's form")
        changed = said[:-20].replace(name, "other.etl".encode("utf-16-le"))
        with open(m.snapshot, "wb") as f:
            f.write(changed + hashlib.sha1(changed).digest())
        m.early()
        m.armed()
        m.start()
        m.gone()
        m.shutdown()
        found = [c for c in first_conditions(m) if c["item"] == "snapshot"]
        check(len(found) == 1 and "not of this machine" in found[0]["reason"], first_conditions(m))


if os.geteuid() != 0:
    print("skipped: needs root")
    sys.exit(77)
handover(0)
handover(12 if FULL else 2)
image_gone()
stopped_while_held()
group_members()
no_daemon()
no_daemon_at_all()
damaged(flip, "checksum")
damaged(lambda f: f.truncate(100), "")
stale()
forged()
