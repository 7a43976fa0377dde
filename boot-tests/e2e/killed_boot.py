"""SIGKILL the daemon while it boots, at many moments: its successor boots all declarations, as the same boot: one file of
each session, one step of each FileCounter; one that always dies is given up. Proves: REG-02."""
import os
import signal
import time

from harness import FULL, Machine, check

SESSIONS = 12
DECLARED = "".join(f"[Autologger/s{i:02}]\nFileName = s{i:02}.etl\nFileMax = 3\nBufferSize = 64 KB\n[Autologger/s{i:02}/p]\n"
                   f"Guid = {{5ca1ab1e-7e57-0001-8000-0000000000{i:02}}}\n" for i in range(SESSIONS))

booting = 0
for trial in range(80 if FULL else 16):
    with Machine(DECLARED) as m:
        m.start_keeper()
        pid = m.daemon_pid()
        time.sleep(trial % 16 * 0.002)
        os.kill(pid, signal.SIGKILL)
        booting += not os.listdir(m.logs)
        names = {s["name"] for s in m.wait_ready()["sessions"]}
        check(len(names) == SESSIONS, "after", trial, "only", sorted(names))
        m.shutdown()
        rows = m.status()["sessions"]
        check(len(rows) == SESSIONS and all(r["status"] == 0 for r in rows), trial, rows)
        for i in range(SESSIONS):
            files = [f for f in os.listdir(m.logs) if f.startswith(f"s{i:02}")]
            check(len(files) == 1, "trial", trial, "not one file of one boot:", files)
check(booting > 0, "every kill came too late to prove anything")
print("killed", booting, "times before it had made a file")

# a daemon that always dies is not restarted for ever
with Machine(DECLARED) as m:
    m.start_keeper()
    deaths, end = 0, time.time() + 30
    while m.keeper.poll() is None and time.time() < end:
        try:
            with open(f"/proc/{m.keeper.pid}/task/{m.keeper.pid}/children") as f:
                for pid in f.read().split():
                    os.kill(int(pid), signal.SIGKILL)
                    deaths += 1
        except OSError:
            pass
        time.sleep(0.01)
    check(m.keeper.poll() == 111, "the keeper ended with", m.keeper.returncode, "after", deaths)
print("given up, after", deaths, "kills")
