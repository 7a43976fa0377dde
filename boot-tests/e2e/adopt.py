"""SIGKILL the daemon under load, 20 times (AL_FULL=1: 200): the keeper starts a successor, which adopts; both sessions go on; no event whose call had
returned is lost, torn or doubled, no call of the programs blocks for 10 ms, and events refused meanwhile are counted as lost. Then the keeper dies
with the daemon: the programs go on, and write by themselves into the next daemon's sessions; the killed daemon's file has all that was written to it,
and says that it was not finished.
Proves: COR-20, API-05, ENB-02, LGT-05."""
import os
import re
import shutil
import signal
import struct
import time

from harness import FULL, Machine, check

DECLARED = """
[Autologger/first]
BufferSize = 64 KB
MinimumBuffers = 64
MaximumBuffers = 2048
FileName = first.etl
MaxFileSize = 0
[Autologger/first/numbered]
Guid = {5ca1ab1e-7e57-0001-8000-000000000001}
[Autologger/second]
BufferSize = 256 KB
MinimumBuffers = 32
MaximumBuffers = 512
FileName = second.etl
MaxFileSize = 0
FlushTimer = 1
[Autologger/second/numbered]
Guid = {5ca1ab1e-7e57-0001-8000-000000000001}
"""



def refused(tally):
    with open(tally, "rb") as f:
        return struct.unpack("<QQQQ", f.read(32))[2]


def watched(p):
    """The program has ended well, and reports no blocked call."""
    out = p.communicate(timeout=240)[0]
    check(p.returncode == 0, "a writer ended with", p.returncode)
    longest, blocked = map(int, re.search(r"longest (\d+) ns blocked (\d+)", out).groups())
    print(f"the longest call took {longest / 1e6:.2f} ms, {blocked} blocked")
    check(blocked == 0, blocked, "calls blocked for more than 10 ms")


KILLS = 200 if FULL else 20
COUNT = 20000 * KILLS
with Machine(DECLARED) as m:
    m.env["EVENT_WRITER_WATCH"] = "1"
    early, early_tally = m.writer(0, COUNT, rate=40000, wait_ms=300)  # registers before there is a daemon
    m.start()
    late, late_tally = m.writer(1, COUNT, rate=40000)
    time.sleep(0.5)
    for _ in range(KILLS):
        os.kill(m.daemon_pid(), signal.SIGKILL)
        time.sleep(0.25)
        m.wait_ready()
    for p in (early, late):
        watched(p)
    m.shutdown()
    for session in m.status()["sessions"]:  # counted by the loggers of all these daemons, published with each buffer
        by_provider = sum(p["written"] for p in session["providers"])
        check(by_provider == session["written"] > 0, "events by provider:", by_provider, "of", session["written"])
    counted = {session["name"]: session for session in m.status()["sessions"]}
    print("events refused (no room) by the writers:", refused(early_tally), refused(late_tally))
    lost, told = sum(s["lost"]["total"] for s in m.status()["sessions"]), refused(early_tally) + refused(late_tally)
    check(told <= lost <= 2 * told, "of", told, "refused calls", lost, "events are lost, by one session or by both")
    for name in ("first.etl", "second.etl"):
        got = m.verify(os.path.join(m.logs, name), [early_tally, late_tally], expect=None)
        check(got["torn"] == got["doubled"] == got["invented"] == got["inversions"] == got["damage"] == 0, name, got)
        # the early writer wrote before any daemon ran: only gaps after its first recorded event count
        check(got["gaps0"] == got["gaps1"] == 0, name, "lost events whose call had returned:", got)
        check(got["events"] > 1.25 * COUNT, name, "has too few events", got)
        # LGT-05: the counts of these daemons, one after another, agree with the file: events written, events lost
        row = counted[name[:-4]]
        check(row["written"] == got["events"] and row["lost"]["total"] == got["events_lost"], name, got, row["written"], row["lost"])
print("adopted", KILLS, "times")

with Machine(DECLARED) as m:
    m.env["EVENT_WRITER_WATCH"] = "1"
    m.start()
    writer, tally = m.writer(0, (5 if FULL else 1) * 45000 + 50000, rate=40000)
    for round_number in range(5 if FULL else 1):
        time.sleep(1)
        daemon = m.daemon_pid()
        m.keeper.kill()
        os.kill(daemon, signal.SIGKILL)
        m.keeper.wait()
        for name in ("first.etl", "second.etl"):
            shutil.move(os.path.join(m.logs, name), os.path.join(m.logs, "cut-" + name))
        m.start()
    watched(writer)
    m.shutdown()
    for name in ("first.etl", "second.etl"):
        cut, last = (m.verify(os.path.join(m.logs, prefix + name), [tally], expect=None) for prefix in ("cut-", ""))
        for got in (cut, last):
            check(got["torn"] == got["doubled"] == got["invented"] == got["inversions"] == got["damage"] == 0 and got["events"] > 0, name, got)
        check(last["gaps0"] == 0, name, "lost events whose call had returned:", last)
        told = m.tool("summary", os.path.join(m.logs, "cut-" + name)).stdout
        check("not finalised: the session did not stop in order" in told, name, "does not say that its end is missing:", told)
