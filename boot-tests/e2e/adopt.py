"""SIGKILL the daemon under load, again and again: the keeper starts a new one, which adopts; both sessions go on; nothing whose
call had returned is lost, torn or doubled. Proves: COR-12, COR-20, API-05, ENB-02, REG-25, LGT-05."""
import os
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


with Machine(DECLARED) as m:
    early, early_tally = m.writer(0, 400000, rate=40000, wait_ms=300)  # registers before there is a daemon
    m.start()
    late, late_tally = m.writer(1, 400000, rate=40000)
    kills = 40 if FULL else 6
    time.sleep(0.7)
    for _ in range(kills):
        os.kill(m.daemon_pid(), signal.SIGKILL)
        time.sleep(0.35)
        m.wait_ready()
    for p in (early, late):
        p.wait(60)
        check(p.returncode == 0, "a writer ended with", p.returncode)
    m.shutdown()
    for session in m.status()["sessions"]:  # counted by the loggers of all these daemons, published with each buffer
        by_provider = sum(p["written"] for p in session["providers"])
        check(by_provider == session["written"] > 0, "events by provider:", by_provider, "of", session["written"])
    print("events refused (no room) by the writers:", refused(early_tally), refused(late_tally))
    for name in ("first.etl", "second.etl"):
        got = m.verify(os.path.join(m.logs, name), [early_tally, late_tally], expect=None)
        check(got["torn"] == got["doubled"] == got["invented"] == got["inversions"] == got["damage"] == 0, name, got)
        # the early writer wrote before any daemon was there: what counts is that nothing is missing once it was heard
        check(got["gaps0"] == got["gaps1"] == 0, name, "lost events whose call had returned:", got)
        check(got["events"] > 500000, name, "has too few events", got)
print("adopted", kills, "times")
