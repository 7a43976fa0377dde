"""A busy reader: meanwhile real time is switched off and its daemon is replaced. watch says in words what happened and what to do, and its advice
works."""
import os
import re
import signal
import subprocess
import time

from harness import BUILD, Machine, check

PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
EVENTS = 20000  # as JSON far more than a pipe holds


def busy_watch(m):
    """The reader waits in a write to its standard output, in the middle of a window of events."""
    p = subprocess.Popen([os.path.join(BUILD, "autologger"), "watch", "live", "--json"], env=m.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True)
    m.processes.append(p)
    w, _ = m.writer(0, EVENTS, enabled=True)
    check(w.wait(60) == 0, "the writer ended with", w.returncode)
    m.tool("flush", "live")
    end = time.time() + 20
    while time.time() < end and "pipe_write" not in (where := open(f"/proc/{p.pid}/wchan").read()):
        time.sleep(0.05)
    check("pipe_write" in where, "watch does not wait for its reader, but in", where)
    return p


def replaced(m):
    os.kill(m.daemon_pid(), signal.SIGKILL)
    m.wait_ready()


def said(p):
    _, text = p.communicate(timeout=60)
    check(p.returncode == 1 and "refused" not in text, "watch ended with", p.returncode, text)
    return text


with Machine() as m:
    m.start()
    start = ("start", "live", "-o", "live.etl", "--provider", PROVIDER, "--set", "LogFileMode=REAL_TIME", "--set", "MinimumBuffers=512", "--set",
             "MaximumBuffers=1024", "--set", "BufferSize=16KB")
    m.tool(*start)

    p = busy_watch(m)
    m.tool("update", "live", "--real-time", "off")
    replaced(m)
    text = said(p)
    check('real time of session "live" was switched off, and the daemon was replaced' in text, text)
    check(m.verify(re.search(r"is in the session's file \((\S+)\)", text).group(1), [os.path.join(m.dir, "tally-0")])["events"] == EVENTS, text)
    m.tool(*re.search(r"Do: autologger (update .*), then", text).group(1).replace('"', "").split())

    p = busy_watch(m)  # as the advice said
    m.tool("update", "live", "--real-time", "off")
    m.tool("update", "live", "--real-time", "on")
    replaced(m)
    text = said(p)
    check("switched off and on again" in text and "Do: begin to read again" in text, text)

    p = busy_watch(m)
    m.tool("stop", "live")
    replaced(m)
    text = said(p)
    check('session "live" has ended, and the daemon was replaced' in text, text)
    m.shutdown()
