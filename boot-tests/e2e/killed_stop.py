"""SIGKILL the daemon while it ends: its successor ends the sessions as requested; the files are complete and
hold every event. Proves: COR-20."""
import os
import signal
import time

from harness import FULL, Machine, check, tool

DECLARED = "".join(f"[Autologger/{name}]\nFileName = {name}.etl\nBufferSize = 256 KB\nMaximumBuffers = 400\nMaxFileSize = 0\n"
                   f"[Autologger/{name}/numbered]\nGuid = {{5ca1ab1e-7e57-0001-8000-000000000001}}\n"
                   for name in ("first", "second", "third"))

killed = 0
for trial in range(40 if FULL else 8):
    with Machine(DECLARED) as m:
        m.start()
        writer, tally = m.writer(0, 60000)
        writer.wait(60)
        pid = m.daemon_pid()
        m.keeper.send_signal(signal.SIGTERM)
        time.sleep(trial % 8 * 0.003)
        try:
            os.kill(pid, signal.SIGKILL)
            killed += 1
        except ProcessLookupError:
            pass  # the stop was faster
        m.keeper.wait(60)
        check(m.keeper.returncode == 0, "the daemon ended with", m.keeper.returncode)
        for name in ("first", "second", "third"):
            path = os.path.join(m.logs, name + ".etl")
            got = m.verify(path, [tally], expect=None)
            check(got["torn"] == got["doubled"] == got["invented"] == got["damage"] == got["gaps0"] == 0, trial, name, got)
            check(got["events"] + got["events_lost"] == 60000, trial, name, got)
            tool("summary", path)
        rows = m.status()["sessions"]
        check(len(rows) == 3 and all(r["status"] == 0 for r in rows), trial, rows)
check(killed > 0, "every kill came too late to prove anything")
print("killed while it ended:", killed, "times")
